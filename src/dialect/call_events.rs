//! Model calls recorded only in log records: pipelines that sample traces keep these events but not the spans.
//!
//! An event in [`EVENTS`] has the model, messages and tokens of one call under the keys of its span, so it becomes that span. It was
//! written at the end of the call; the start is unknown. If a trace has spans, it is read from those, with the records as parts of them.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::hash::{HashMap, HashSet};
use crate::span::{AnyValue, LOGS_SCOPE, LogRecord, Scope, Span, SpanId, SpanKind, TraceId};

/// Events that describe a whole call.
const EVENTS: &[&str] = &["gen_ai.client.inference.operation.details"];

/// Attributes that form the span's name: the operation and the model.
const NAME: &[&str] = &["gen_ai.operation.name", "gen_ai.request.model"];

/// Whether an encoded message of log records may contain such an event, judging by the event's name.
pub(crate) fn may_be_in(message: &[u8]) -> bool {
    EVENTS.iter().any(|event| memchr::memmem::find(message, event.as_bytes()).is_some())
}

/// The spans of calls recorded only in these records. `spans` are the known ones. A record without a trace gets one, with an id derived
/// from its content. `is_told` tells whether other records describe the same call.
pub(crate) fn spans_of(records: &mut [LogRecord], spans: &[Span], is_told: impl Fn(&LogRecord) -> bool) -> Vec<Span> {
    let have: HashSet<TraceId> = spans.iter().map(|span| span.trace_id).collect();
    let is_alone = |record: &LogRecord| record.trace_id.is_none_or(|trace| !have.contains(&trace));
    let mut events: Vec<(String, &mut LogRecord)> = records
        .iter_mut()
        .filter(|record| EVENTS.contains(&record.name()) && is_alone(record) && !is_told(record))
        .map(|record| (format!("{record:?}"), record))
        .collect();
    // An exporter that retries sends a record twice.
    let mut known: HashSet<String> = HashSet::default();
    events.retain(|(text, _)| known.insert(text.clone()));
    let mut named: HashMap<(Option<TraceId>, Option<SpanId>), usize> = HashMap::default();
    for (_, record) in &events {
        *named.entry((record.trace_id, record.span_id)).or_default() += 1;
    }
    let scope = Arc::new(Scope {
        name: LOGS_SCOPE.to_owned(),
        ..Scope::default()
    });
    let made = events.into_iter().filter_map(|(text, record)| {
        let digest = Sha256::digest(text.as_bytes());
        let (trace, rest) = digest.split_at(16);
        // If several events name the same span, it is the one around them, not theirs.
        let own = record.span_id.filter(|_| named.get(&(record.trace_id, record.span_id)) == Some(&1));
        let trace_id = record.trace_id.or_else(|| TraceId::from_bytes(trace))?;
        let span_id = own.or_else(|| SpanId::from_bytes(rest.get(..8)?))?;
        record.trace_id = Some(trace_id);
        Some(span(record, trace_id, span_id, &scope))
    });
    made.collect()
}

fn span(record: &LogRecord, trace_id: TraceId, span_id: SpanId, scope: &Arc<Scope>) -> Span {
    let name: Vec<&str> = NAME.iter().filter_map(|key| record.attributes.text(key)).collect();
    let mut span = Span::new(trace_id, span_id, name.join(" "));
    (span.kind, span.flags) = (SpanKind::Client, record.flags);
    (span.start, span.end) = (record.when(), record.when());
    span.attributes = record.attributes.clone();
    span.dropped_attributes = record.dropped_attributes;
    // Some exporters put the content into the body.
    if let AnyValue::KvList(body) = &record.body {
        for (key, value) in body.iter().filter(|(key, _)| record.attributes.get(key).is_none()) {
            span.attributes.push(key.clone(), value.clone());
        }
    }
    (span.resource, span.scope) = (Arc::clone(&record.resource), Arc::clone(scope));
    span
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn records(list: &Value) -> Vec<LogRecord> {
        let message = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": list}]}]}).to_string();
        crate::span::json::logs(message.as_bytes()).unwrap().items
    }

    fn record(response: &str, ids: &Value) -> Value {
        let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let mut record = json!({"timeUnixNano": "1795262685000000000", "eventName": "gen_ai.client.inference.operation.details",
            "attributes": [text("gen_ai.operation.name", "chat"), text("gen_ai.request.model", "m"), text("gen_ai.response.id", response)],
            "body": {"kvlistValue": {"values": [text("gen_ai.system", "openai")]}}});
        for (key, value) in ids.as_object().unwrap() {
            record[key] = value.clone();
        }
        record
    }

    #[test]
    fn each_call_becomes_a_span_of_its_trace() {
        let trace = "5b8efff798038103d269b633813fc60c";
        let ids = |span: &str| json!({"traceId": trace, "spanId": span});
        let mut list = records(&json!([
            record("1", &ids("eee19b7ec3c1b174")),
            record("1", &ids("eee19b7ec3c1b174")),
            record("2", &ids("eee19b7ec3c1b175")),
            record("3", &ids("eee19b7ec3c1b176")),
            record("4", &ids("eee19b7ec3c1b176")),
            record("5", &json!({})),
            {"eventName": "gen_ai.choice", "traceId": trace},
        ]));
        let made = spans_of(&mut list, &[], |_| false);
        let ids: HashSet<SpanId> = made.iter().map(|span| span.span_id).collect();
        assert_eq!((made.len(), ids.len()), (5, 5), "{made:#?}");
        assert_eq!(made.iter().filter(|span| span.trace_id.to_string() == trace).count(), 4);
        assert_eq!(made.first().unwrap().span_id.to_string(), "eee19b7ec3c1b174");
        for span in &made {
            assert_eq!(
                (span.name.as_str(), span.attributes.text("gen_ai.system")),
                ("chat m", Some("openai"))
            );
        }
        // The record is of the trace that was made for it.
        assert_eq!(list.get(5).unwrap().trace_id, Some(made.last().unwrap().trace_id));
        // A trace that has a span has its calls.
        assert_eq!(spans_of(&mut list, &made, |_| false), []);
    }
}
