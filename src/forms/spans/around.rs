//! The record around the records of an export: what it says of their trace, and its judgements of them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::attributes::{Beside, Written, attributes};
use super::{Places, SpanForm};
use crate::forms::conditions::{Conditions, any_of};
use crate::forms::source::{Kept, Path, Source};
use crate::forms::table::itself;
use crate::hash::{HashMap, HashSet};

/// The record around the records. Of several spans without one above them it becomes one above them all; otherwise what it has
/// becomes that span's.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Around {
    /// Paths to it; the first where `is` holds counts.
    #[serde(default = "itself")]
    at: Vec<Path>,
    /// Conditions that identify it; one set of them must hold.
    #[serde(deserialize_with = "any_of")]
    is: Vec<Conditions>,
    /// The fields of the span that it becomes. Without a start and an end these are the first and the last of the others.
    span: Places,
    /// Attributes, as those of a record are written.
    #[serde(default)]
    attributes: Vec<Written>,
    /// Objects whose other members become attributes too, by the prefix of their keys.
    #[serde(default)]
    rest: BTreeMap<String, Path>,
    /// Members that contain nothing about the run.
    #[serde(default)]
    ignored: Vec<String>,
    /// Events of the spans.
    events: Option<Events>,
}

/// Records that become events of the spans.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Events {
    /// Paths to lists of them. `../a` is a member of the value around the record.
    at: Vec<Path>,
    /// Conditions on an event; others are left out.
    #[serde(default)]
    is: Conditions,
    /// The id of the span that it is of; without one, it is of the span above all others.
    of: Source,
    /// The name.
    name: Source,
    /// The time.
    time: Source,
    /// Attributes, as those of a record are written.
    attributes: Vec<Written>,
    /// Objects whose other members become attributes too, by the prefix of their keys.
    #[serde(default)]
    rest: BTreeMap<String, Path>,
    /// Members that contain nothing about the run.
    #[serde(default)]
    ignored: Vec<String>,
}

impl Around {
    /// The record, behind the values around it.
    pub(super) fn find<'v>(&self, value: &'v Value) -> Option<Vec<&'v Value>> {
        self.at.iter().find_map(|path| {
            let found = path.find(&[value])?;
            let values = if path.steps.is_empty() { vec![value] } else { vec![value, found] };
            self.is.iter().any(|conditions| conditions.hold(&values)).then_some(values)
        })
    }

    /// Adds it to the spans.
    pub(super) fn add(&self, form: &SpanForm, values: &[&Value], spans: &mut Vec<Value>) {
        let ids: HashSet<String> = spans.iter().filter_map(|span| text(span, "span_id")).collect();
        // The span above may be one of another service, which is not in the export.
        let is_top = |span: &Value| text(span, "parent_span_id").is_none_or(|parent| !ids.contains(&parent));
        let tops: Vec<usize> = (0..spans.len()).filter(|place| spans.get(*place).is_some_and(is_top)).collect();
        let top = match tops.as_slice() {
            [only] => *only,
            _ => {
                let made = self.made(form, values, spans);
                for span in spans.iter_mut().filter(|span| is_top(span)) {
                    span["parent_span_id"] = made["span_id"].clone();
                }
                spans.insert(0, made);
                0
            }
        };
        let beside = Beside {
            places: self.span.paths(values).collect(),
            members: self.ignored.iter().map(String::as_str).collect(),
        };
        let said = attributes(values, &self.attributes, &self.rest, &beside);
        if let Some(own) = spans.get_mut(top).and_then(|span| span["attributes"].as_object_mut()) {
            for (key, value) in said {
                own.entry(key).or_insert(value);
            }
        }
        let mut events: HashMap<Option<String>, Vec<Value>> = HashMap::default();
        for (of, event) in self.events.iter().flat_map(|events| events.read(values)) {
            events.entry(of.filter(|of| ids.contains(of))).or_default().push(event);
        }
        let mut of_top = events.remove(&None).unwrap_or_default();
        for (place, span) in spans.iter_mut().enumerate() {
            let mut own = events.remove(&text(span, "span_id")).unwrap_or_default();
            if place == top {
                own.append(&mut of_top);
            }
            span["events"] = own.into();
        }
    }

    /// The span that it becomes, of the process that all the others are of.
    fn made(&self, form: &SpanForm, values: &[&Value], spans: &[Value]) -> Value {
        let mut made = self.span.written(form, values);
        let times = |member: &'static str| spans.iter().map(move |span| &span[member]).filter(|time| !time.is_null());
        if made["start_time"].is_null() {
            made["start_time"] = times("start_time").min_by(|a, b| order(a, b)).cloned().unwrap_or_default();
        }
        if made["end_time"].is_null() {
            let last = times("end_time").max_by(|a, b| order(a, b)).cloned();
            made["end_time"] = last.unwrap_or_else(|| made["start_time"].clone());
        }
        if let Some(first) = spans
            .first()
            .filter(|first| spans.iter().all(|span| span["resource"] == first["resource"]))
        {
            made["resource"] = first["resource"].clone();
        }
        made["attributes"] = json!({});
        made
    }
}

/// Two times of one export, as texts or numbers.
fn order(a: &Value, b: &Value) -> Ordering {
    let numbers = a.as_f64().zip(b.as_f64()).and_then(|(a, b)| a.partial_cmp(&b));
    numbers.unwrap_or_else(|| a.as_str().cmp(&b.as_str()))
}

fn text(span: &Value, member: &str) -> Option<String> {
    span.get(member)?.as_str().map(str::to_owned)
}

impl Events {
    /// Each event, with the id of its span.
    fn read(&self, values: &[&Value]) -> impl Iterator<Item = (Option<String>, Value)> {
        let lists = self.at.iter().filter_map(|path| path.find(values)?.as_array());
        lists.flatten().filter(|event| self.is.hold(&[event])).map(|event| {
            let of = |source: &Source| source.of(&[event], &Kept::new()).map(std::borrow::Cow::into_owned);
            let beside = Beside {
                places: [&self.of, &self.name, &self.time].into_iter().flat_map(Source::paths).collect(),
                members: self.ignored.iter().map(String::as_str).collect(),
            };
            let said = attributes(&[event], &self.attributes, &self.rest, &beside);
            let span = of(&self.of).and_then(|id| id.as_str().map(str::to_owned));
            (
                span,
                json!({"name": of(&self.name), "timestamp": of(&self.time), "attributes": said}),
            )
        })
    }
}
