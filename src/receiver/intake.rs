//! From the bytes of a request to stored chunks, whatever the transport.

use std::error::Error as _;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::admission::Reservation;
use super::counters::Transport;
use super::limits::{Encoding, InflateError, inflate_with, json_objects};
use super::redact::Rules;
use super::{Receiver, Rejection};
use crate::otlp::{encode, scan, signal};
use crate::span::json::{JsonError, Message};
use crate::span::{IdFault, Refused, Signal};
use crate::store::Chunk;

/// How the message is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Protobuf,
    Json,
}

/// One export request, as it came.
#[derive(Debug)]
pub(super) struct Export {
    pub(super) signal: Signal,
    pub(super) transport: Transport,
    pub(super) form: Form,
    pub(super) encoding: Option<Encoding>,
    pub(super) body: Bytes,
    pub(super) reservation: Reservation,
}

/// What became of a request. `stored + duplicates + refused_count = received`.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) received: usize,
    pub(super) stored: usize,
    pub(super) duplicates: usize,
    /// The first of the refused items.
    pub(super) refused: Vec<Refused>,
    pub(super) refused_count: usize,
}

struct Prepared {
    chunks: Vec<Chunk>,
    taken: Taken,
    bytes: usize,
    /// Held until the chunks are stored.
    reservation: Reservation,
}

/// Bodies beyond this size are worked on aside, so that small requests do not wait for them: half a millisecond's work.
/// JSON is parsed, which costs many times a scan; what is compressed may become anything.
fn is_aside(export: &Export) -> bool {
    let limit = match export.form {
        Form::Protobuf => 1 << 20,
        Form::Json => 16 << 10,
    };
    export.encoding.is_some() || export.body.len() > limit
}

impl Receiver {
    /// Stores what a request carries, and returns when it is on the disk.
    pub(super) async fn take(&self, export: Export) -> Result<Taken, Rejection> {
        let (signal, transport) = (export.signal, export.transport);
        let keys = self.session_keys.clone();
        let limit = self.limits.request_bytes;
        let rules = self.redaction.rules();
        let prepared = if is_aside(&export) {
            let work = tokio::task::spawn_blocking(move || prepare(export, &keys, limit, rules));
            work.await.map_err(|_| Rejection::ShuttingDown)??
        } else {
            prepare(export, &keys, limit, rules)?
        };
        let Prepared {
            chunks,
            mut taken,
            bytes,
            reservation,
        } = prepared;
        if !chunks.is_empty() {
            let (sender, receiver) = oneshot::channel();
            self.store.submit(
                chunks,
                Box::new(move |result| {
                    // Given back here and not on return: the sender may have gone while the bytes still wait.
                    drop(reservation);
                    let _ = sender.send(result);
                }),
            );
            let receipt = receiver.await.map_err(|_| Rejection::ShuttingDown)?;
            let receipt = receipt.map_err(|source| {
                self.counters.not_stored(signal, transport, taken.received);
                Rejection::Store { source }
            })?;
            (taken.stored, taken.duplicates) = (receipt.stored, receipt.duplicates);
        }
        self.counters.took(signal, transport, bytes, &taken);
        Ok(taken)
    }
}

fn prepare(mut export: Export, session_keys: &[String], limit: usize, rules: Option<Arc<Rules>>) -> Result<Prepared, Rejection> {
    if let Some(encoding) = export.encoding {
        let reservation = &mut export.reservation;
        let plain = inflate_with(&export.body, encoding, limit, |more| reservation.grow(more));
        export.body = match plain {
            Ok(plain) => plain?.into(),
            Err(InflateError::TooLarge { limit }) => return Err(Rejection::TooLarge { limit }),
            Err(source) => return Err(Rejection::Compressed { source }),
        };
    }
    let bytes = export.body.len();
    let keys: Vec<&str> = session_keys.iter().map(String::as_str).collect();
    if rules.is_some() {
        export.reservation.grow(bytes)?;
    }
    let rules = rules.as_deref();
    let (chunks, taken) = match export.form {
        Form::Protobuf => from_protobuf(export.body, export.signal, &keys, rules)?,
        Form::Json => {
            export.reservation.grow(json_cost(&export.body)?)?;
            from_json(&export.body, export.signal, &keys, rules)?
        }
    };
    Ok(Prepared {
        chunks,
        taken,
        bytes,
        reservation: export.reservation,
    })
}

fn from_protobuf(body: Bytes, wanted: Signal, keys: &[&str], rules: Option<&Rules>) -> Result<(Vec<Chunk>, Taken), Rejection> {
    let other = || signal::guess(&body).filter(|found| *found != wanted);
    let broken = |fault| match other() {
        Some(found) => Rejection::WrongSignal { wanted, found },
        None => Rejection::Protobuf { signal: wanted, fault },
    };
    if wanted == Signal::Metrics {
        let points = signal::count_points(&body).map_err(broken)?;
        if let Some(found) = other() {
            return Err(Rejection::WrongSignal { wanted, found });
        }
        return Ok((Vec::new(), counted(points)));
    }
    let redacted = rules.map_or(Ok(None), |rules| rules.apply(&body, wanted)).map_err(broken)?;
    let scan = scan::scan(redacted.as_deref().unwrap_or(&body), wanted, keys).map_err(broken)?;
    // Not one usable item: perhaps it was never meant for this path.
    let fruitless = scan.items > 0 && scan.refused_count == scan.items;
    let all_loose = wanted == Signal::Logs && scan.parts.iter().all(|part| matches!(part.key, scan::Key::Session(_)));
    if (fruitless || all_loose)
        && let Some(found) = other()
    {
        return Err(Rejection::WrongSignal { wanted, found });
    }
    let chunks = Chunk::of_request(&scan, redacted.map_or(body, Bytes::from));
    let taken = Taken {
        received: scan.items,
        refused: scan.refused,
        refused_count: scan.refused_count,
        ..Taken::default()
    };
    Ok((chunks, taken))
}

fn from_json(bytes: &[u8], wanted: Signal, keys: &[&str], rules: Option<&Rules>) -> Result<(Vec<Chunk>, Taken), Rejection> {
    let unreadable = |source: JsonError| match source {
        JsonError::WrongSignal { wanted, found } => Rejection::WrongSignal { wanted, found },
        source => Rejection::Json {
            signal: wanted,
            detail: source.source().map_or_else(|| source.to_string(), ToString::to_string),
            source,
        },
    };
    let message = Message::parse(bytes).map_err(unreadable)?;
    message.expect(wanted).map_err(unreadable)?;
    if wanted == Signal::Metrics {
        return Ok((Vec::new(), counted(message.metric_points())));
    }
    let (spans, logs) = message.into_parts();
    let (items, refused, protobuf) = if wanted == Signal::Traces {
        (spans.items.len(), spans.refused, encode::traces(&spans.items))
    } else {
        (logs.items.len(), logs.refused, encode::logs(&logs.items))
    };
    let base64 = |refused: &Refused| refused.reason.fault() == IdFault::Base64;
    if items == 0
        && refused.iter().all(base64)
        && let Some(first) = refused.first()
    {
        return Err(Rejection::Base64Ids {
            first: first.clone(),
            count: refused.len(),
        });
    }
    let (chunks, _) = from_protobuf(protobuf.into(), wanted, keys, rules)?;
    let taken = Taken {
        received: items + refused.len(),
        refused_count: refused.len(),
        refused,
        ..Taken::default()
    };
    Ok((chunks, taken))
}

/// Bytes that the values of a JSON message take: a multiple of its text, and something for each object, however empty.
fn json_cost(text: &[u8]) -> Result<usize, Rejection> {
    const OBJECT: usize = 320;
    let objects = json_objects(text);
    if objects > 100_000 && objects.saturating_mul(12) > text.len() {
        return Err(Rejection::Hollow {
            objects,
            bytes: text.len(),
        });
    }
    Ok(text.len().saturating_mul(6).max(objects.saturating_mul(OBJECT)))
}

fn counted(points: usize) -> Taken {
    Taken {
        received: points,
        stored: points,
        ..Taken::default()
    }
}
