//! Splits batches into parts that receivers accept, as many refuse requests of more than 4 MiB.

use std::time::{Duration, Instant};

use opentelemetry::trace::Status;
use opentelemetry::{Array, KeyValue, Value};
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// Approximate maximum size of a part that has more than one span. JSON takes up to twice as many bytes.
const PART_BYTES: usize = 2 << 20;

/// If a part fails after longer than this, the remaining parts are not tried.
const GIVE_UP_AFTER: Duration = Duration::from_secs(1);

/// Exports a batch in parts. Calls `sent` for each accepted part, with what `of` returned for its spans. A refused part does not affect the
/// others.
pub(super) async fn export<E: SpanExporter, T>(
    exporter: &E,
    batch: Vec<SpanData>,
    of: impl Fn(&SpanData) -> T,
    mut sent: impl FnMut(Vec<T>),
) -> OTelSdkResult {
    let mut failure = Ok(());
    for part in parts(batch) {
        let about: Vec<T> = part.iter().map(&of).collect();
        let large = match part.as_slice() {
            [span] if size(span) > PART_BYTES => Some(name(span)),
            _ => None,
        };
        let begun = Instant::now();
        match (exporter.export(part).await, large) {
            (Ok(()), _) => sent(about),
            (Err(error), Some(name)) => failure = Err(OTelSdkError::InternalFailure(format!("{name}: {error}"))),
            (Err(error), None) => failure = Err(error),
        }
        if failure.is_err() && begun.elapsed() > GIVE_UP_AFTER {
            break;
        }
    }
    failure
}

fn parts(batch: Vec<SpanData>) -> Vec<Vec<SpanData>> {
    let mut parts: Vec<Vec<SpanData>> = Vec::new();
    let mut bytes = usize::MAX;
    for span in batch {
        let size = size(&span);
        bytes = bytes.saturating_add(size);
        match parts.last_mut() {
            Some(part) if bytes <= PART_BYTES => part.push(span),
            _ => {
                bytes = size;
                parts.push(vec![span]);
            }
        }
    }
    parts
}

/// Describes a span that is too large to share a part.
fn name(span: &SpanData) -> String {
    let (trace, bytes) = (span.span_context.trace_id(), size(span));
    format!(
        "the span {:?} of trace {trace}, which alone has about {} MB",
        span.name,
        bytes >> 20
    )
}

/// Approximate size of a span in a request, in bytes.
fn size(span: &SpanData) -> usize {
    /// Ids, times, kinds and length prefixes.
    const FIXED: usize = 128;
    let events = span
        .events
        .iter()
        .map(|event| FIXED + event.name.len() + attributes(&event.attributes));
    let links = span.links.iter().map(|link| FIXED + attributes(&link.attributes));
    let status = match &span.status {
        Status::Error { description } => description.len(),
        _ => 0,
    };
    let own = FIXED + span.name.len() + status + attributes(&span.attributes);
    events.chain(links).fold(own, usize::saturating_add)
}

fn attributes(list: &[KeyValue]) -> usize {
    let pairs = list.iter().map(|pair| 16 + pair.key.as_str().len() + value(&pair.value));
    pairs.fold(0, usize::saturating_add)
}

fn value(value: &Value) -> usize {
    match value {
        Value::String(text) => text.as_str().len(),
        Value::Array(Array::String(texts)) => texts.iter().map(|text| 8 + text.as_str().len()).fold(0, usize::saturating_add),
        Value::Array(Array::I64(list)) => list.len().saturating_mul(12),
        Value::Array(Array::F64(list)) => list.len().saturating_mul(12),
        Value::Array(Array::Bool(list)) => list.len().saturating_mul(4),
        _ => 12,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use super::*;
    use crate::layer::convert;
    use crate::span::{Span, SpanId, TraceId};

    /// Takes parts up to a length.
    #[derive(Debug, Default)]
    struct Taker {
        most: usize,
        taken: Mutex<Vec<usize>>,
    }

    impl SpanExporter for Taker {
        async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
            let bytes = batch.iter().map(size).sum::<usize>();
            if bytes > self.most {
                return Err(OTelSdkError::InternalFailure("status code: 413".to_owned()));
            }
            self.taken.lock().unwrap_or_else(PoisonError::into_inner).push(batch.len());
            Ok(())
        }
    }

    fn span(number: u64, bytes: usize) -> SpanData {
        let ids = (TraceId::from_bytes(&[1; 16]), SpanId::from_bytes(&number.to_be_bytes()));
        let (Some(trace), Some(id)) = ids else { panic!("no zeros") };
        let mut span = Span::new(trace, id, "call");
        span.attributes.push("input.value", "x".repeat(bytes));
        convert::sdk_span(&span)
    }

    fn exported(taker: &Taker, batch: Vec<SpanData>) -> (usize, OTelSdkResult) {
        let sent = std::cell::Cell::new(0);
        let mut future = std::pin::pin!(export(taker, batch, |_| (), |part| sent.set(sent.get() + part.len())));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let std::task::Poll::Ready(result) = future.as_mut().poll(&mut context) else {
            panic!("it waits for nothing");
        };
        (sent.get(), result)
    }

    #[test]
    fn a_batch_of_large_spans_is_sent_in_parts() {
        let taker = Taker {
            most: 4 << 20,
            ..Taker::default()
        };
        let (sent, result) = exported(&taker, (1..=512).map(|number| span(number, 200_000)).collect());
        assert!(result.is_ok());
        assert_eq!(sent, 512);
        let (sent, _) = exported(&taker, (1..=512).map(|number| span(number, 100)).collect());
        assert_eq!(sent, 512);
        let taken = taker.taken.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(taken.last(), Some(&512), "small spans go at once");
    }

    #[test]
    fn a_span_that_is_too_large_alone_is_named_and_takes_no_other_with_it() {
        let taker = Taker {
            most: 4 << 20,
            ..Taker::default()
        };
        let (sent, result) = exported(&taker, vec![span(1, 10), span(2, 5 << 20), span(3, 10)]);
        assert_eq!(sent, 2);
        let why = result.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(why.contains("\"call\"") && why.contains("5 MB") && why.contains("413"), "{why}");
    }
}
