//! Forms of exported spans: a table makes of a record the span that its client would have sent, with its ids and fields side by side.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::source::{Conditions, Kept, Source};

/// What a backend gives out of a span.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SpanForm {
    /// What it reads, in a line.
    #[expect(dead_code, reason = "for people")]
    reads: String,
    #[serde(default)]
    #[expect(dead_code, reason = "for people")]
    see: Vec<String>,
    /// By what a record is recognised.
    is: Conditions,
    /// The scope that its spans have.
    scope: String,
    span: Places,
    /// When the span failed.
    #[serde(default)]
    failed: Conditions,
    /// Attributes; of several rules for one key the first that gives a value.
    attributes: Vec<Written>,
    /// What the keys of members begin with that no rule reads.
    rest: String,
    /// Members that say nothing of a run.
    #[serde(default)]
    ignored: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Places {
    trace_id: Source,
    span_id: Source,
    parent_span_id: Source,
    name: Source,
    start_time: Source,
    end_time: Source,
    message: Option<Source>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    when: Conditions,
    write: BTreeMap<String, Source>,
}

const TABLES: &[(&str, &str)] = &[("weave", include_str!("../../semconv/forms/weave.spans.yaml"))];

fn forms() -> &'static [SpanForm] {
    static FORMS: LazyLock<Vec<SpanForm>> = LazyLock::new(|| super::built_in::read(TABLES));
    &FORMS
}

/// The span that a record of a known backend is; `None` where it is of none.
pub(crate) fn span_of(record: &Value) -> Option<Value> {
    let form = forms().iter().find(|form| form.is.hold(&[record]))?;
    Some(form.span(record))
}

impl SpanForm {
    fn span(&self, record: &Value) -> Value {
        let around = [record];
        let kept = Kept::new();
        let of = |source: &Source| source.of(&around, &kept).map(std::borrow::Cow::into_owned);
        let mut attributes = Map::new();
        let mut read: Vec<&str> = self.ignored.iter().map(String::as_str).chain(self.failed.members()).collect();
        for written in &self.attributes {
            read.extend(written.write.values().flat_map(Source::members));
            for (key, source) in written.write.iter().filter(|_| written.when.hold(&around)) {
                if let (Some(value), false) = (of(source), attributes.contains_key(key)) {
                    attributes.insert(key.clone(), plain(value));
                }
            }
        }
        let Places {
            trace_id,
            span_id,
            parent_span_id,
            name,
            start_time,
            end_time,
            message,
        } = &self.span;
        let places = [trace_id, span_id, parent_span_id, name, start_time, end_time];
        read.extend(places.into_iter().chain(message).flat_map(Source::members));
        for (key, value) in record.as_object().into_iter().flatten() {
            let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
            if !is_empty && !read.contains(&key.as_str()) {
                attributes.insert(format!("{}{key}", self.rest), plain(value.clone()));
            }
        }
        let code = if !self.failed.is_empty() && self.failed.hold(&around) {
            "ERROR"
        } else {
            "UNSET"
        };
        json!({
            "trace_id": of(trace_id),
            "span_id": of(span_id),
            "parent_span_id": of(parent_span_id),
            "name": of(name),
            "start_time": of(start_time),
            "end_time": of(end_time),
            "status": {"code": code, "message": message.as_ref().and_then(of)},
            "scope": {"name": self.scope},
            "attributes": attributes,
        })
    }
}

/// Scalars as they are, others as JSON text.
fn plain(value: Value) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) => value.to_string().into(),
        scalar => scalar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_table_is_right() {
        assert_eq!(forms().len(), TABLES.len());
    }

    #[test]
    fn a_call_of_weave_is_a_span() {
        let call = json!({
            "id": "c1", "trace_id": "t", "parent_id": null, "op_name": "weave:///team/shop/op/clerk:v1", "started_at": "2026-03-01T10:00:00Z",
            "ended_at": "2026-03-01T10:00:01Z", "inputs": {"q": "Open?"}, "output": "No.", "exception": "closed", "summary": {"n": 1}});
        let span = span_of(&call).unwrap_or_default();
        assert_eq!(span.pointer("/name"), Some(&json!("clerk")));
        assert_eq!(span.pointer("/status/code"), Some(&json!("ERROR")));
        assert_eq!(
            span.get("attributes"),
            Some(&json!({
                "weave.call.kind": "agent", "weave.call.inputs": "{\"q\":\"Open?\"}", "weave.call.output": "No.", "weave.call.summary": "{\"n\":1}"}))
        );
        assert_eq!(span_of(&json!({"op_name": "other"})), None);
    }
}
