//! Forms of exported spans: a table turns a record of a backend into the span that its client would have sent, with its ids and fields side
//! by side.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::conditions::{Conditions, any_of};
use super::own::{lines_without_json, values};
use super::source::{Kept, Path, Source, is_empty};
use super::table::{FormError, itself, with_nearest};

/// What a backend exports of a span.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpanForm {
    /// Its name: that of its file.
    #[serde(skip)]
    pub(crate) name: String,
    /// One line about the files that this table reads.
    pub(crate) reads: String,
    /// Links to the producer's description.
    #[serde(default)]
    #[expect(dead_code, reason = "for people")]
    see: Vec<String>,
    /// Conditions that identify a record; one set of them must hold.
    #[serde(deserialize_with = "any_of")]
    is: Vec<Conditions>,
    /// Paths to a record, or to a list of records; the first path where `is` holds counts.
    #[serde(default = "itself")]
    at: Vec<Path>,
    /// The path to a record's list of records below it.
    #[serde(default)]
    below: Option<Path>,
    /// The instrumentation scope of the spans.
    scope: String,
    /// The fields of the span.
    span: Places,
    /// Conditions under which the span failed; one set of them must hold.
    #[serde(default, deserialize_with = "any_of")]
    failed: Vec<Conditions>,
    /// The span's attributes. Of several rules for one key the first that gives a value counts.
    attributes: Vec<Written>,
    /// Objects whose other members become attributes too, by the prefix of their keys.
    rest: BTreeMap<String, Path>,
    /// Members that contain nothing about the run.
    #[serde(default)]
    ignored: Vec<String>,
}

/// The fields of the span.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Places {
    /// 16 bytes as hexadecimal digits, or any text, from which an id is derived.
    trace_id: Source,
    /// 8 bytes as hexadecimal digits, or any text.
    span_id: Source,
    /// The span above.
    parent_span_id: Source,
    /// The name.
    name: Source,
    /// ISO 8601, or a number since 1970 in seconds, milliseconds, microseconds or nanoseconds.
    start_time: Source,
    /// The same of the end.
    end_time: Source,
    /// The words of the failure.
    message: Option<Source>,
}

/// Attributes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// Conditions under which the rule applies.
    #[serde(default)]
    when: Conditions,
    /// Keys with the paths to their values. `key.*` writes each member of an object below the key.
    write: BTreeMap<String, Source>,
}

/// The tables as they are written, by name.
pub(super) const TABLES: &[(&str, &str)] = &[
    ("weave", include_str!("../../semconv/forms/weave.spans.yaml")),
    ("langsmith", include_str!("../../semconv/forms/langsmith.spans.yaml")),
];

/// The forms of exported spans that are known.
pub(super) fn forms() -> &'static [SpanForm] {
    // A test reads each of them.
    static FORMS: LazyLock<Vec<SpanForm>> =
        LazyLock::new(|| TABLES.iter().filter_map(|(name, text)| SpanForm::of(name, text).ok()).collect());
    &FORMS
}

/// The spans that a value of a known backend holds, as `{"spans": [..]}`; `None` where it is of none.
pub(crate) fn spans_of(value: &Value) -> Option<Value> {
    forms().iter().find_map(|form| form.spans(value))
}

impl SpanForm {
    /// Reads and checks a table.
    pub(crate) fn of(name: &str, text: &str) -> Result<Self, FormError> {
        let form: Self = serde_saphyr::from_str(text).map_err(|error| FormError::new(name, &with_nearest(&error.to_string())))?;
        Ok(Self {
            name: name.to_owned(),
            ..form
        })
    }

    /// The spans of a text, each with its line, and notes on the rest of it.
    pub(crate) fn read_text(&self, text: &str) -> (Vec<(usize, Value)>, Vec<String>) {
        let (mut spans, mut notes, mut others) = (Vec::new(), Vec::new(), 0);
        values(text, &mut others, &mut |line, value| match self.spans(&value) {
            Some(read) => spans.push((line, read)),
            None => notes.push(format!("line {line}: {}", self.unlike(&value))),
        });
        if others > 0 {
            notes.push(format!("{}: left out", lines_without_json(others)));
        }
        (spans, notes)
    }

    /// What this form makes of each value of a text: a line for each.
    pub(crate) fn try_text(&self, text: &str, say: &mut dyn FnMut(String)) {
        let mut others = 0;
        values(text, &mut others, &mut |line, value| {
            let count = self.spans(&value).and_then(|read| read.get("spans")?.as_array().map(Vec::len));
            say(match count {
                Some(1) => format!("line {line}: read as a span"),
                Some(count) => format!("line {line}: read as {count} spans"),
                None => format!("line {line}: {}", self.unlike(&value)),
            });
        });
        if others > 0 {
            say(format!("{}: left out", lines_without_json(others)));
        }
    }

    /// Why a value is not of this form.
    fn unlike(&self, value: &Value) -> String {
        let records = self.at.iter().filter_map(|path| path.find(&[value]));
        let record = records.map(|found| found.get(0).unwrap_or(found)).next();
        let failing = record.and_then(|record| self.is.iter().filter_map(|conditions| conditions.failing(&[record])).next());
        failing.map_or_else(
            || "not understood: it has nothing where the table has `at`".to_owned(),
            |failing| format!("not understood: nothing fits at `{failing}`, which `is` asks for"),
        )
    }

    /// The spans of a value, as `{"spans": [..]}`; `None` where it is not of this form.
    pub(crate) fn spans(&self, value: &Value) -> Option<Value> {
        let is_it = |record: &Value| self.is.iter().any(|conditions| conditions.hold(&[record]));
        let records = self.at.iter().find_map(|path| match path.find(&[value])? {
            Value::Array(list) => list.first().is_some_and(is_it).then_some(list.as_slice()),
            one => is_it(one).then_some(std::slice::from_ref(one)),
        })?;
        let mut open: Vec<&Value> = records.iter().rev().collect();
        let mut spans = Vec::with_capacity(records.len());
        while let Some(record) = open.pop() {
            spans.push(self.span(record));
            let below = self.below.as_ref().and_then(|below| below.find(&[record])?.as_array());
            open.extend(below.into_iter().flatten().rev());
        }
        Some(json!({ "spans": spans }))
    }

    fn span(&self, record: &Value) -> Value {
        let around = [record];
        let of = |source: &Source| source.of(&around, &Kept::new()).map(std::borrow::Cow::into_owned);
        let mut attributes = Map::new();
        for written in self.attributes.iter().filter(|written| written.when.hold(&around)) {
            for (key, source) in &written.write {
                match (of(source), key.strip_suffix('*')) {
                    (Some(Value::Object(map)), Some(prefix)) => {
                        attributes.extend(map.into_iter().map(|(name, value)| (format!("{prefix}{name}"), plain(value))));
                    }
                    (Some(value), _) if !value.is_null() && !attributes.contains_key(key) => {
                        attributes.insert(key.trim_end_matches(".*").to_owned(), plain(value));
                    }
                    _ => {}
                }
            }
        }
        for (prefix, path) in &self.rest {
            let rest = path.find(&around).and_then(Value::as_object);
            for (key, value) in rest.into_iter().flatten() {
                if !is_empty(value) && !self.reads_member(path, key) {
                    attributes.insert(format!("{prefix}{key}"), plain(value.clone()));
                }
            }
        }
        let places = &self.span;
        let has_failed = self.failed.iter().any(|conditions| conditions.hold(&around));
        json!({
            "trace_id": of(&places.trace_id),
            "span_id": of(&places.span_id),
            "parent_span_id": of(&places.parent_span_id),
            "name": of(&places.name),
            "start_time": of(&places.start_time),
            "end_time": of(&places.end_time),
            "status": {"code": if has_failed { "ERROR" } else { "UNSET" }, "message": places.message.as_ref().and_then(of)},
            "scope": {"name": self.scope},
            "attributes": attributes,
        })
    }

    /// Whether a rule reads this member of the object at a path.
    fn reads_member(&self, at: &Path, member: &str) -> bool {
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
        let written = self.attributes.iter().flat_map(|written| written.write.values());
        let sources = places.into_iter().chain(message).chain(written);
        let paths = sources.flat_map(Source::paths).chain(self.rest.values()).chain(&self.below);
        let is_top = at.steps.is_empty();
        paths.into_iter().any(|path| {
            path.steps
                .strip_prefix(at.steps.as_slice())
                .and_then(<[String]>::first)
                .is_some_and(|step| step == member)
        }) || is_top
            && self
                .ignored
                .iter()
                .map(String::as_str)
                .chain(self.failed.iter().flat_map(Conditions::members))
                .any(|known| known == member)
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
    #![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

    use super::*;
    use crate::span::json::as_otlp;

    #[test]
    fn each_table_is_right() {
        for (name, text) in TABLES {
            if let Err(error) = SpanForm::of(name, text) {
                panic!("{error}");
            }
        }
    }

    #[test]
    fn a_call_of_weave_is_a_span() {
        let call = json!({
            "id": "c1", "trace_id": "t", "parent_id": null, "op_name": "weave:///team/shop/op/clerk:v1", "started_at": "2026-03-01T10:00:00Z",
            "ended_at": "2026-03-01T10:00:01Z", "inputs": {"q": "Open?"}, "output": "No.", "exception": "closed", "summary": {"n": 1}});
        let spans = spans_of(&call).unwrap_or_default();
        assert_eq!(spans.pointer("/spans/0/name"), Some(&json!("clerk")));
        assert_eq!(spans.pointer("/spans/0/status/code"), Some(&json!("ERROR")));
        assert_eq!(
            spans.pointer("/spans/0/attributes"),
            Some(&json!({
                "weave.call.kind": "agent", "weave.call.inputs": "{\"q\":\"Open?\"}", "weave.call.output": "No.", "weave.call.summary": "{\"n\":1}"}))
        );
        assert_eq!(spans_of(&json!({"op_name": "other"})), None);
    }

    #[test]
    fn what_langsmith_exports() {
        let run = |id: &str, kind: &str, below: Value| {
            json!({"id": id, "trace_id": "0196f9a0-0000-7000-8000-00000000000a", "run_type": kind, "name": "n", "start_time": "2026-09-21T14:13:20.000001",
                "end_time": "2026-09-21T14:13:25", "inputs": {"a": 1}, "outputs": null, "error": "no", "prompt_tokens": 3, "total_cost": "0.5", "tags": ["x", "y"],
                "extra": {"metadata": {"ls_model_name": "m", "n": 2}, "runtime": {"sdk": "x"}, "invocation_params": {"temperature": 0.5}}, "child_runs": below})
        };
        let child = run("0196f9a0-0000-7000-8000-00000000000c", "llm", json!([]));
        let runs = json!({"runs": [run("0196f9a0-0000-7000-8000-00000000000a", "chain", json!([child]))]});
        let request = as_otlp(&spans_of(&runs).unwrap_or_default()).unwrap_or_default();
        let spans = request
            .pointer("/resourceSpans")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        let spans: Vec<&Value> = spans.iter().filter_map(|one| one.pointer("/scopeSpans/0/spans/0")).collect();
        let [chain, llm] = spans.as_slice() else { panic!("two: {request}") };
        let attribute = |span: &Value, key: &str| {
            let list = span.get("attributes")?.as_array()?.clone();
            list.into_iter().find(|pair| pair["key"] == key).map(|pair| pair["value"].clone())
        };
        let text = |text: &str| Some(json!({"stringValue": text}));
        assert_eq!(attribute(llm, "langsmith.run.extra.runtime"), text(r#"{"sdk":"x"}"#));
        assert_eq!(
            attribute(llm, "langsmith.run.invocation_params.temperature"),
            Some(json!({"doubleValue": 0.5}))
        );
        assert_eq!(attribute(llm, "gen_ai.request.model"), text("m"));
        assert_eq!(attribute(llm, "gen_ai.usage.cost"), Some(json!({"doubleValue": 0.5})));
        assert_eq!(attribute(llm, "langsmith.metadata.n"), Some(json!({"intValue": "2"})));
        assert_eq!(attribute(llm, "gen_ai.usage.input_tokens"), Some(json!({"intValue": "3"})));
        assert_eq!(attribute(chain, "gen_ai.usage.input_tokens"), None);
        assert_eq!(attribute(chain, "langsmith.span.tags"), text("x, y"));
        assert_eq!(chain["traceId"], "0196f9a0000070008000 00000000000a".replace(' ', ""));
        assert_eq!(
            (&chain["spanId"], &chain["startTimeUnixNano"]),
            (&json!("800000000000000a"), &json!("1790000000000001000"))
        );
        assert_eq!(chain["status"]["code"], 2);
    }

    #[test]
    fn an_unknown_member_is_named() {
        let table = TABLES[0].1.replace("rest:", "rests:");
        let error = SpanForm::of("own", &table).expect_err("unknown").to_string();
        assert!(error.contains("did you mean `rest`?"), "{error}");
    }
}
