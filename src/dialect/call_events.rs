//! Model calls that only log records tell: pipelines that sample traces keep these events, and no span beside them.
//!
//! An event of [`EVENTS`] has the model, the messages and the tokens of one call under the keys of its span, so it becomes that span.
//! It was written when the call ended; when the call began is not known. A trace that has spans is read from these, with the records as
//! part of them.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::hash::{HashMap, HashSet};
use crate::span::{AnyValue, LOGS_SCOPE, LogRecord, Scope, Span, SpanId, SpanKind, TraceId};

/// The events that tell a whole call.
const EVENTS: &[&str] = &["gen_ai.client.inference.operation.details"];

/// Attributes that make the name of a span: what was done, and with which model.
const NAME: &[&str] = &["gen_ai.operation.name", "gen_ai.request.model"];

/// Whether a message of log records may have such events: a name of one is in it.
pub(crate) fn may_be_in(message: &[u8]) -> bool {
    EVENTS.iter().any(|event| memchr::memmem::find(message, event.as_bytes()).is_some())
}

/// The spans of the calls that only these records tell, where the traces of `spans` are known. A record without a trace gets one, whose
/// id derives from it. `is_told`: whether other records tell a record's call too.
pub(crate) fn spans_of(records: &mut [LogRecord], spans: &[Span], is_told: impl Fn(&LogRecord) -> bool) -> Vec<Span> {
    let have: HashSet<TraceId> = spans.iter().map(|span| span.trace_id).collect();
    let is_alone = |record: &LogRecord| record.trace_id.is_none_or(|trace| !have.contains(&trace));
    let mut events: Vec<(String, &mut LogRecord)> = records
        .iter_mut()
        .filter(|record| EVENTS.contains(&record.name()) && is_alone(record) && !is_told(record))
        .map(|record| (format!("{record:?}"), record))
        .collect();
    // An exporter that tries again sends a record twice.
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
        // Events that were written within another span name that one, all of them.
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
    // Some exporters write the content as the body.
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
