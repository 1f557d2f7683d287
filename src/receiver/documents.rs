//! Documents and blocks over HTTP: read within the limits of export requests, and stored the same way.

use std::sync::Arc;

use bytes::Bytes;
use hyper::Request;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};

use super::admission::Reservation;
use super::export::{Export, Form, Taken, Transport};
use super::headers::encoding;
use super::http;
use super::limits::{Encoding, InflateError, inflate_with};
use super::reject::Rejection;
use super::service::Receiver;
use crate::formats::{self, UnpackError};
use crate::redact::Rules;
use crate::span::Signal;

/// The body of a request.
#[derive(Debug)]
pub struct Document {
    /// The decompressed text. Its memory, and what is reserved for reading it, is released when the last clone is dropped:
    /// work on another thread outlives the client's connection, and keeps a clone until it ends.
    pub bytes: Bytes,
}

/// Bytes with their reservation.
struct ReservedBytes {
    bytes: Vec<u8>,
    _reservation: Reservation,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Estimates the memory needed to process a text, in addition to the text.
pub type Cost = fn(&[u8]) -> usize;

/// Larger documents are processed on another thread, so that small requests do not wait for them.
const SMALL_BYTES: usize = 64 << 10;

impl Document {
    /// Decompresses a body, and reserves memory for reading it.
    fn of(body: Vec<u8>, encoding: Option<Encoding>, limit: usize, cost: Cost, mut reservation: Reservation) -> Result<Self, Rejection> {
        let bytes = match encoding {
            None => body,
            Some(encoding) => {
                let plain = inflate_with(&body, encoding, limit, |more| reservation.grow(more));
                let plain = match plain {
                    Ok(plain) => plain?,
                    Err(InflateError::TooLarge { limit }) => return Err(Rejection::TooLarge { limit }),
                    Err(source) => return Err(Rejection::Compressed { source }),
                };
                drop(body);
                reservation.shrink(reservation.bytes().saturating_sub(plain.len()));
                plain
            }
        };
        let bytes = unpacked(bytes, limit, &mut reservation)?;
        reservation.is_of(bytes.len());
        let needed = cost(&bytes);
        reservation.grow(needed).map_err(|rejection| match rejection {
            Rejection::Costly { limit } => Rejection::Dense {
                bytes: bytes.len(),
                needed,
                limit,
            },
            other => other,
        })?;
        let held = ReservedBytes {
            bytes,
            _reservation: reservation,
        };
        Ok(Self {
            bytes: Bytes::from_owner(held),
        })
    }
}

/// Unpacks a document whose format is an archive; other bytes are returned unchanged.
fn unpacked(bytes: Vec<u8>, limit: usize, reservation: &mut Reservation) -> Result<Vec<u8>, Rejection> {
    let mut refused = None;
    let text = formats::unpacked(&bytes, limit, &mut |more| {
        reservation.grow(more).map_err(|rejection| {
            refused = Some(rejection);
            UnpackError::Memory
        })
    });
    let text = match (text, refused) {
        (None, _) => return Ok(bytes),
        (Some(Ok(text)), _) => text,
        (_, Some(rejection)) => return Err(rejection),
        (Some(Err(UnpackError::TooLarge { limit })), _) => return Err(Rejection::TooLarge { limit }),
        (Some(Err(source)), _) => return Err(Rejection::Packed { source }),
    };
    drop(bytes);
    reservation.shrink(reservation.bytes().saturating_sub(text.len()));
    Ok(text)
}

/// The outcome of storing spans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stored {
    /// Number of new spans.
    pub stored: usize,
    /// Number of spans stored before, in a request with the same bytes.
    pub duplicates: usize,
    /// Number of spans not stored because their traces were deleted on request.
    pub deleted: usize,
}

impl Receiver {
    /// Reads the body of a request with JSON. `cost`: the memory to reserve for processing it.
    ///
    /// # Errors
    ///
    /// It has another type, is too large or too slow, or cannot be decompressed; or the requests in progress take too much
    /// memory at the moment.
    pub async fn document<B>(&self, request: Request<B>, cost: Cost) -> Result<Document, Rejection>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
    {
        let (head, mut body) = request.into_parts();
        let read = self.read_document(&head.headers, &mut body, cost).await;
        if let Err(rejection) = &read {
            self.counters.refused(rejection);
            http::drain(&mut body, &head, rejection).await;
        }
        read
    }

    async fn read_document<B>(&self, headers: &HeaderMap, body: &mut B, cost: Cost) -> Result<Document, Rejection>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
    {
        if let Some(content_type) = other_type(headers) {
            return Err(Rejection::DocumentType { content_type });
        }
        let encoding = encoding(headers, &CONTENT_ENCODING)?;
        let limit = self.limits.request_bytes;
        let mut reservation = Reservation::new(&self.budget)?;
        let bytes = self.read_body(body, &mut reservation, limit, |_| None).await?;
        if encoding.is_none() && bytes.len() <= SMALL_BYTES {
            return Document::of(bytes, None, limit, cost, reservation);
        }
        let turn = Arc::clone(&self.blocking).acquire_owned().await;
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            Document::of(bytes, encoding, limit, cost, reservation)
        });
        work.await.map_err(|_| Rejection::ShuttingDown)?
    }

    /// The redaction rules.
    #[must_use]
    pub fn rules(&self) -> Option<Arc<Rules>> {
        self.redaction.rules()
    }

    /// Stores the spans of an `ExportTraceServiceRequest` built here, as if it had been received.
    ///
    /// # Errors
    ///
    /// Those of a received request.
    pub async fn store(&self, message: Vec<u8>) -> Result<Stored, Rejection> {
        let stored = self.store_message(message).await;
        if let Err(rejection) = &stored {
            self.counters.refused(rejection);
        }
        stored
    }

    async fn store_message(&self, message: Vec<u8>) -> Result<Stored, Rejection> {
        let mut reservation = Reservation::new(&self.budget)?;
        reservation.grow(message.len())?;
        let taken = self.take(Export {
            signal: Signal::Traces,
            transport: Transport::Http,
            form: Form::Protobuf,
            of_document: true,
            encoding: None,
            body: message.into(),
            reservation,
        });
        let Taken {
            stored,
            duplicates,
            deleted,
            ..
        } = taken.await?;
        Ok(Stored {
            stored,
            duplicates,
            deleted,
        })
    }

    /// Counts spans stored without [`Receiver::store`].
    pub fn count(&self, spans: usize, bytes: usize) {
        let taken = Taken {
            received: spans,
            stored: spans,
            ..Taken::default()
        };
        self.counters.took(Signal::Traces, Transport::Http, bytes, &taken);
    }
}

/// The content type of a request, if it is neither JSON nor an archive of it. Without one, JSON is assumed.
fn other_type(headers: &HeaderMap) -> Option<String> {
    let types = headers.get_all(CONTENT_TYPE).iter().map(|value| {
        let text = String::from_utf8_lossy(value.as_bytes());
        text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    });
    let is_json = |essence: &str| {
        essence
            .strip_prefix("application/")
            .is_some_and(|name| matches!(name, "zip" | "json" | "x-ndjson" | "ndjson" | "jsonl" | "x-jsonlines") || name.ends_with("+json"))
    };
    let mut others = types.filter(|essence| !is_json(essence));
    others.next().map(|essence| essence.chars().take(100).collect())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::super::admission::Budget;
    use super::*;

    #[test]
    fn who_works_on_a_document_holds_its_memory() {
        let budget = Arc::new(Budget::new(1 << 20));
        let reservation = Reservation::new(&budget).unwrap();
        let document = Document::of(b"[{}]".to_vec(), None, 1 << 20, |_| 100, reservation).unwrap();
        let work = document.bytes.clone();
        let reserved = budget.in_flight();
        assert!(reserved > 4, "{reserved}");
        drop(document);
        assert_eq!(budget.in_flight(), reserved, "the request is gone, the work is not");
        drop(work);
        assert_eq!(budget.in_flight(), 0);
    }
}
