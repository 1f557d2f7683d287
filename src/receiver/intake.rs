//! From the bytes of a request to stored chunks, for all transports.

use std::error::Error as _;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::admission::Reservation;
use super::export::{Export, Form, Taken};
use super::limits::{InflateError, Shape, inflate_with};
use super::reject::Rejection;
use super::service::Receiver;
use crate::otlp::scan::Scan;
use crate::otlp::{Fault, json, metrics, scan, signal};
use crate::redact::Rules;
use crate::span::Signal;
use crate::span::json::JsonError;
use crate::store::Chunk;

struct Prepared {
    chunks: Vec<Chunk>,
    taken: Taken,
    bytes: usize,
    /// Held until the chunks are stored.
    reservation: Reservation,
}

/// Whether a request is processed on another thread, so that small requests do not wait for it: work on an async thread may
/// take a few milliseconds at most. JSON is parsed, and redaction scans each text, which costs many times a scan; the size
/// of compressed data is unknown. Scanning protobuf takes time for items and attributes rather than for bytes.
fn is_auxiliary(export: &Export, has_rules: bool) -> bool {
    /// Most requests of exporters are smaller.
    const LARGE: usize = 1 << 20;
    /// Up to this size, scanning takes at most two milliseconds, whatever the content.
    const SMALL: usize = 128 << 10;
    const SMALL_TEXT: usize = 16 << 10;
    /// Before every item and every attribute value comes this key, field 2 of its message. Random bytes may contain it, too,
    /// but text does not.
    const KEY: u8 = 0x12;
    const MANY: usize = 16 << 10;
    let length = export.body.len();
    if export.encoding.is_some() {
        return true;
    }
    match export.form {
        Form::Protobuf if !has_rules => length > LARGE || length > SMALL && memchr::memchr_iter(KEY, &export.body).count() > MANY,
        _ => length > SMALL_TEXT,
    }
}

impl Receiver {
    /// Stores the content of a request, and returns once it is on disk.
    pub(super) async fn take(&self, export: Export) -> Result<Taken, Rejection> {
        let (signal, transport) = (export.signal, export.transport);
        let settings = Settings {
            keys: self.session_keys.clone(),
            keeps_metrics: self.keeps_metrics,
            limit: self.limits.request_bytes,
            rules: self.redaction.rules(),
        };
        let prepared = if is_auxiliary(&export, settings.rules.is_some()) {
            // At most one per processor: waiting requests take little memory, and other work gets a share of the processors.
            let turn = Arc::clone(&self.blocking).acquire_owned().await;
            let work = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                prepare(export, &settings)
            });
            work.await.map_err(|_| Rejection::ShuttingDown)??
        } else {
            prepare(export, &settings)?
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
                    // Released here rather than on return: the client may be gone while the bytes still wait to be stored.
                    drop(reservation);
                    let _ = sender.send(result);
                }),
            );
            let receipt = receiver.await.map_err(|_| Rejection::ShuttingDown)?;
            let receipt = receipt.map_err(|source| {
                self.counters.not_stored(signal, transport, taken.received);
                Rejection::Store { source }
            })?;
            (taken.stored, taken.duplicates, taken.deleted) = (receipt.stored, receipt.duplicates, receipt.deleted);
        }
        self.counters.took(signal, transport, bytes, &taken);
        Ok(taken)
    }
}

/// Settings that apply to every request.
struct Settings {
    /// Attribute keys that name a session, best first.
    keys: Vec<String>,
    keeps_metrics: bool,
    /// Maximum bytes of a request.
    limit: usize,
    rules: Option<Arc<Rules>>,
}

fn prepare(mut export: Export, settings: &Settings) -> Result<Prepared, Rejection> {
    let limit = settings.limit;
    let reservation = &mut export.reservation;
    if let Some(encoding) = export.encoding {
        let plain = inflate_with(&export.body, encoding, limit, |more| reservation.grow(more));
        export.body = match plain {
            Ok(plain) => plain?.into(),
            Err(InflateError::TooLarge { limit }) => return Err(Rejection::TooLarge { limit }),
            Err(source) => return Err(Rejection::Compressed { source }),
        };
        // The compressed bytes and the memory for decompression are freed.
        reservation.shrink(reservation.bytes().saturating_sub(export.body.len()));
    }
    let bytes = export.body.len();
    reservation.is_of(bytes);
    let keys: Vec<&str> = settings.keys.iter().map(String::as_str).collect();
    let mut intake = Intake {
        wanted: export.signal,
        keys: &keys,
        keeps_metrics: settings.keeps_metrics,
        rules: settings.rules.as_deref(),
        reservation,
        limit,
    };
    let (mut chunks, taken) = match export.form {
        Form::Protobuf => intake.protobuf(export.body)?,
        Form::Json => intake.json(export.body)?,
    };
    if export.of_document {
        chunks = chunks.into_iter().map(Chunk::packed).collect();
    }
    Ok(Prepared {
        chunks,
        taken,
        bytes,
        reservation: export.reservation,
    })
}

/// A request being divided into chunks.
struct Intake<'a> {
    wanted: Signal,
    keys: &'a [&'a str],
    keeps_metrics: bool,
    rules: Option<&'a Rules>,
    reservation: &'a mut Reservation,
    /// Maximum bytes of a request.
    limit: usize,
}

/// On disk, a request may take at most this many times its size,
const MAX_STORED_FACTOR: usize = 3;
/// plus this many bytes, whatever its size.
const MAX_STORED_EXTRA: usize = 64 << 10;
/// The messages of its traces together may be at most this many times the largest request.
const MAX_READ_FACTOR: usize = 64;

impl Intake<'_> {
    fn protobuf(&mut self, body: Bytes) -> Result<(Vec<Chunk>, Taken), Rejection> {
        let wanted = self.wanted;
        let other = |body: &Bytes| signal::guess(body).filter(|found| *found != wanted);
        let broken = |body: &Bytes, fault| match other(body) {
            Some(found) => Rejection::WrongSignal { wanted, found },
            None => Rejection::Protobuf { signal: wanted, fault },
        };
        if wanted == Signal::Metrics {
            let points = signal::count_points(&body).map_err(|fault| broken(&body, fault))?;
            if let Some(found) = other(&body) {
                return Err(Rejection::WrongSignal { wanted, found });
            }
            if !self.keeps_metrics || points == 0 {
                return Ok((Vec::new(), counted(points)));
            }
            scan::check(&body, wanted).map_err(|fault| broken(&body, fault))?;
            let body = self.redacted(body, &broken)?;
            let taken = Taken {
                received: points,
                ..Taken::default()
            };
            return Ok((vec![Chunk::of_metrics(points, body)], taken));
        }
        let body = self.redacted(body, &broken)?;
        let mut refusal = None;
        let scanned = scan::scan_within(&body, wanted, self.keys, &mut |more| {
            refusal = self.reservation.grow(more).err();
            refusal.is_none()
        });
        let scan = match (scanned, refusal) {
            (_, Some(refusal)) => return Err(refusal),
            (Err(fault), None) => return Err(broken(&body, fault)),
            (Ok(scan), None) => scan,
        };
        // Not one usable item: it may have been sent to the wrong path.
        let fruitless = scan.items > 0 && scan.refused_count == scan.items;
        let all_loose = wanted == Signal::Logs && scan.parts.iter().all(|part| matches!(part.key, scan::Key::Session(_)));
        if (fruitless || all_loose)
            && let Some(found) = other(&body)
        {
            return Err(Rejection::WrongSignal { wanted, found });
        }
        let mut scan = scan;
        let taken = Taken {
            received: scan.items,
            refused: std::mem::take(&mut scan.refused),
            refused_count: scan.refused_count,
            ..Taken::default()
        };
        Ok((self.chunks(scan, body)?, taken))
    }

    fn redacted(&mut self, body: Bytes, broken: &dyn Fn(&Bytes, Fault) -> Rejection) -> Result<Bytes, Rejection> {
        let Some(rules) = self.rules else { return Ok(body) };
        // Rewriting needs a second copy; for a text with JSON in it also its unescaped form, the text and the resulting
        // messages, and the changes.
        const COPIES: usize = 6;
        const CHANGES: usize = 2 << 20;
        let before = self.reservation.bytes();
        let changes = body.len().saturating_mul(100).min(CHANGES);
        self.reservation.grow(body.len().saturating_mul(COPIES).saturating_add(changes))?;
        let Some(redacted) = rules.apply(&body, self.wanted).map_err(|fault| broken(&body, fault))? else {
            self.reservation.shrink(self.reservation.bytes() - before);
            return Ok(body);
        };
        if redacted.len() > self.limit {
            return Err(Rejection::TooLarge { limit: self.limit });
        }
        let kept = redacted.capacity().max(body.len());
        self.reservation.shrink((self.reservation.bytes() - before).saturating_sub(kept));
        Ok(redacted.into())
    }

    /// Divides a request into chunks, if they stay within the limits.
    fn chunks(&self, scan: Scan, body: Bytes) -> Result<Vec<Chunk>, Rejection> {
        let (parts, bytes, names) = (scan.parts.len(), body.len(), scan.names_shared);
        let divided = Chunk::divide(scan, body);
        let spread = |becomes, place, limit| match becomes > limit {
            true => Err(Rejection::Spread {
                parts,
                bytes,
                becomes,
                place,
                limit,
            }),
            false => Ok(()),
        };
        // The index has a trace's names twice: in its row, and in the order of rows.
        let stored = divided.stored.saturating_add(names.saturating_mul(2));
        spread(
            stored,
            "on the disk",
            bytes.saturating_mul(MAX_STORED_FACTOR).saturating_add(MAX_STORED_EXTRA),
        )?;
        spread(
            divided.messages,
            "when each is read by itself",
            self.limit.saturating_mul(MAX_READ_FACTOR),
        )?;
        Ok(divided.chunks)
    }

    fn json(&mut self, text: Bytes) -> Result<(Vec<Chunk>, Taken), Rejection> {
        let wanted = self.wanted;
        let unreadable = |source: JsonError| match source {
            JsonError::WrongSignal { wanted, found } => Rejection::WrongSignal { wanted, found },
            source => Rejection::Json {
                signal: wanted,
                detail: source.source().map_or_else(|| source.to_string(), ToString::to_string),
                source,
            },
        };
        let before = self.reservation.bytes();
        // Repairing invalid text takes a copy.
        self.reservation.grow(json_cost(&text)?.saturating_add(text.len()))?;
        let read = json::transcode(&text, wanted).map_err(unreadable)?;
        if wanted == Signal::Metrics && (!self.keeps_metrics || read.items == 0) {
            return Ok((Vec::new(), counted(read.items)));
        }
        if wanted == Signal::Metrics {
            // Names and values are parsed before they are separated, so they are in memory twice.
            self.reservation.grow(text.len().saturating_mul(VALUES_FACTOR))?;
            let message = metrics::from_json(&text, read.items).map_err(|source| unreadable(JsonError::Syntax { source }))?;
            drop(text);
            let kept = message.capacity().max(before);
            self.reservation.shrink(self.reservation.bytes().saturating_sub(kept));
            return self.protobuf(message.into());
        }
        drop(text);
        if read.items == read.refused_count
            && read.refused_as_base64
            && let Some(first) = read.refused.first()
        {
            return Err(Rejection::Base64Ids {
                first: first.clone(),
                count: read.refused_count,
            });
        }
        // Only the message remains allocated.
        let kept = read.protobuf.capacity().max(before);
        self.reservation.shrink(self.reservation.bytes().saturating_sub(kept));
        let (chunks, _) = self.protobuf(read.protobuf.into())?;
        let taken = Taken {
            received: read.items,
            refused_count: read.refused_count,
            refused: read.refused,
            replaced: read.replaced,
            ..Taken::default()
        };
        Ok((chunks, taken))
    }
}

/// Parsing the values of metrics takes at most this many times their size as text.
const VALUES_FACTOR: usize = 16;

/// Memory needed to read a JSON message, in addition to its text: the result, twice while it is assembled; the longest item
/// twice, as values; and some bytes for each object, however empty.
fn json_cost(text: &[u8]) -> Result<usize, Rejection> {
    const OBJECT: usize = 320;
    let shape = Shape::of(text);
    if shape.objects > 100_000 && shape.objects.saturating_mul(12) > text.len() {
        return Err(Rejection::Hollow {
            objects: shape.objects,
            bytes: text.len(),
        });
    }
    let objects = shape.outside.saturating_add(shape.in_one);
    let texts = text.len().saturating_add(shape.longest).saturating_mul(2);
    Ok(texts.saturating_add(objects.saturating_mul(OBJECT)))
}

fn counted(points: usize) -> Taken {
    Taken {
        received: points,
        stored: points,
        ..Taken::default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::admission::{Budget, Reservation};
    use super::super::export::Transport;
    use super::{Export, Form, is_auxiliary};
    use crate::otlp::encode;
    use crate::span::{Signal, Span, SpanId, TraceId};

    fn is_scanned_aside(body: Vec<u8>) -> bool {
        let budget = Arc::new(Budget::new(usize::MAX));
        let export = Export {
            signal: Signal::Traces,
            transport: Transport::Http,
            form: Form::Protobuf,
            of_document: false,
            encoding: None,
            body: body.into(),
            reservation: Reservation::new(&budget).expect("is open"),
        };
        is_auxiliary(&export, false)
    }

    #[test]
    fn what_an_exporter_sends_is_scanned_where_it_came_and_a_million_items_are_not() {
        let span = |number: u64| {
            let trace_id = TraceId::from_bytes(&[7; 16]).expect("an id");
            let span_id = SpanId::from_bytes(&(number + 1).to_be_bytes()).expect("an id");
            let mut span = Span::new(trace_id, span_id, "chat");
            for at in 0..12 {
                span.attributes.push(
                    format!("key {at}"),
                    "seventy bytes of text, as a message has them, and not much more than that",
                );
            }
            span
        };
        let spans: Vec<Span> = (0..512).map(span).collect();
        let batch = encode::traces(&spans);
        assert!(batch.len() > 500_000, "{}", batch.len());
        assert!(!is_scanned_aside(batch));
        assert!(is_scanned_aside([0x12, 0].repeat(100_000)));
        assert!(!is_scanned_aside([0x12, 0].repeat(50_000)));
        assert!(is_scanned_aside(vec![b'x'; (1 << 20) + 1]));
    }
}
