//! Forms of exported spans. A table turns a record of a backend into the span that the client would have sent, with its ids and fields side
//! by side.

mod around;
mod attributes;
mod places;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use super::conditions::{Conditions, any_of};
use super::form::FormError;
use super::own::{lines_without_json, values};
use super::source::{Kept, Path};
use super::table::{itself, with_nearest};
use super::tables::SPANS;
use around::Around;
use attributes::{Beside, Written, attributes};
use places::{Places, Record};

/// A table for the spans that a backend exports.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpanForm {
    /// The name of its file.
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
    /// Paths to a record, or to a list of records. Each path where `is` holds for the first record counts.
    #[serde(default = "itself")]
    at: Vec<Path>,
    /// The path from a record to its list of child records.
    #[serde(default)]
    below: Option<Path>,
    /// Paths to members that may be an object as JSON text. The text is parsed first.
    #[serde(default)]
    opened: Vec<Path>,
    /// The instrumentation scope of the spans.
    scope: String,
    /// The fields of the span.
    span: Places,
    /// Conditions under which the span failed; one set of them must hold.
    #[serde(default, deserialize_with = "any_of")]
    failed: Vec<Conditions>,
    /// Conditions under which a record without an end ended when it began; one set of them must hold.
    #[serde(default, deserialize_with = "any_of")]
    instant: Vec<Conditions>,
    /// The span's attributes. If several rules write the same key, the first that has a value counts.
    attributes: Vec<Written>,
    /// Objects whose other members also become attributes, by the prefix for their keys. For the record itself, only members that are not
    /// empty.
    rest: BTreeMap<String, Path>,
    /// Members that contain nothing about the run.
    #[serde(default)]
    ignored: Vec<String>,
    /// The record that encloses the others.
    around: Option<Around>,
}

/// The known forms of exported spans.
pub(super) fn forms() -> &'static [SpanForm] {
    // A test checks that all tables can be read.
    static FORMS: LazyLock<Vec<SpanForm>> =
        LazyLock::new(|| SPANS.iter().filter_map(|(name, text)| SpanForm::of(name, text).ok()).collect());
    &FORMS
}

/// The spans of a value as `{"spans": [..]}`, or `None` if no form matches.
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

    /// The spans of a text with their line numbers, and notes on other values and lines.
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

    /// Reports how this form reads each value of a text, one line per value.
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

    /// Why this form does not match a value.
    fn unlike(&self, value: &Value) -> String {
        let records = self.at.iter().filter_map(|path| path.find(&[value]));
        let record = records.map(|found| found.get(0).unwrap_or(found)).next();
        let failing = record.and_then(|record| self.is.iter().filter_map(|conditions| conditions.failing(&[record])).next());
        failing.map_or_else(
            || "not understood: it has nothing where the table has `at`".to_owned(),
            |failing| format!("not understood: nothing fits at `{failing}`, which `is` asks for"),
        )
    }

    /// The spans of a value as `{"spans": [..]}`, or `None` if this form does not match.
    pub(crate) fn spans(&self, value: &Value) -> Option<Value> {
        let around = self.around.as_ref().and_then(|around| Some((around, around.find(value)?)));
        let is_it = |record: &Value| self.is.iter().any(|conditions| conditions.hold(&[record]));
        let lists = self.at.iter().filter_map(|path| match path.find(&[value])? {
            Value::Array(list) => list.first().map_or(around.is_some(), is_it).then_some(list.as_slice()),
            one => is_it(one).then_some(std::slice::from_ref(one)),
        });
        let lists: Vec<&[Value]> = lists.collect();
        if lists.is_empty() {
            return None;
        }
        let mut open: Vec<&Value> = lists.into_iter().flatten().collect();
        open.reverse();
        let mut spans = Vec::with_capacity(open.len());
        while let Some(record) = open.pop() {
            spans.push(self.span(value, &self.open(record)));
            let below = self.below.as_ref().and_then(|below| below.find(&[record])?.as_array());
            open.extend(below.into_iter().flatten().rev());
        }
        if let Some((around, values)) = around {
            around.add(&self.scope, &values, &mut spans);
        }
        Some(json!({ "spans": spans }))
    }

    /// The record with its JSON texts parsed.
    fn open<'v>(&self, record: &'v Value) -> Cow<'v, Value> {
        let mut record = Cow::Borrowed(record);
        for path in &self.opened {
            let text = path.find(&[&record]).and_then(Value::as_str).filter(|text| text.starts_with('{'));
            let Some(opened) = text.and_then(|text| serde_json::from_str(text).ok()) else {
                continue;
            };
            if let Some(place) = path.steps.iter().try_fold(record.to_mut(), |value, step| value.get_mut(step)) {
                *place = opened;
            }
        }
        record
    }

    /// Converts a record to a span. `whole` is the value that contains the record.
    fn span(&self, whole: &Value, record: &Value) -> Record {
        let around = [whole, record];
        let holds = |list: &[Conditions]| list.iter().any(|conditions| conditions.hold(&around));
        let mut span = self.span.written(&self.scope, &around);
        let failed = self.failed.iter().flat_map(Conditions::members);
        let beside = Beside {
            places: self.span.paths(&around).chain(&self.below).collect(),
            members: self.ignored.iter().map(String::as_str).chain(failed).collect(),
        };
        span.attributes = attributes(&around, &self.attributes, &self.rest, &beside);
        if holds(&self.failed) {
            let message = self.span.message.as_ref().and_then(|words| words.of(&around, &Kept::new()));
            span.status = Some(json!({"code": "ERROR", "message": message}));
        }
        if span.end_time.is_none() && holds(&self.instant) {
            span.end_time.clone_from(&span.start_time);
        }
        span
    }
}

#[cfg(test)]
mod tests;
