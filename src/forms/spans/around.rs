//! The record that encloses the others in an export, such as a trace around its observations, with attributes and scores of the whole
//! trace.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::attributes::{Beside, Written, attributes};
use super::places::{Places, Record};
use crate::forms::conditions::{Conditions, any_of};
use crate::forms::source::{Kept, Path, Source};
use crate::forms::table::itself;
use crate::hash::{HashMap, HashSet};

/// The record that encloses the others. If several spans have no parent, it becomes their parent; otherwise its attributes and events are
/// added to the only span without one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Around {
    /// Paths to the record; the first path where `is` holds counts.
    #[serde(default = "itself")]
    at: Vec<Path>,
    /// Conditions that identify it; one set of them must hold.
    #[serde(deserialize_with = "any_of")]
    is: Vec<Conditions>,
    /// The fields of the span that it becomes. A missing start is the earliest of the other spans, a missing end their latest.
    span: Places,
    /// The attributes, written by rules like those of a record.
    #[serde(default)]
    attributes: Vec<Written>,
    /// Objects whose other members also become attributes, by the prefix for their keys.
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
    /// Paths to lists of events. `../a` is a member of the value around the record.
    at: Vec<Path>,
    /// Conditions on an event; other events are left out.
    #[serde(default)]
    is: Conditions,
    /// The id of its span; an event without one belongs to the root span.
    of: Source,
    /// The event's name.
    name: Source,
    /// The event's time.
    time: Source,
    /// The attributes, written by rules like those of a record.
    attributes: Vec<Written>,
    /// Objects whose other members also become attributes, by the prefix for their keys.
    #[serde(default)]
    rest: BTreeMap<String, Path>,
    /// Members that contain nothing about the run.
    #[serde(default)]
    ignored: Vec<String>,
}

impl Around {
    /// The record and the values that enclose it, outermost first.
    pub(super) fn find<'v>(&self, value: &'v Value) -> Option<Vec<&'v Value>> {
        self.at.iter().find_map(|path| {
            let found = path.find(&[value])?;
            let values = if path.steps.is_empty() { vec![value] } else { vec![value, found] };
            self.is.iter().any(|conditions| conditions.hold(&values)).then_some(values)
        })
    }

    /// Adds the record's span, attributes and events to the spans.
    pub(super) fn add(&self, scope: &str, values: &[&Value], spans: &mut Vec<Record>) {
        let ids: HashSet<Value> = spans.iter().filter_map(|span| span.span_id.clone()).collect();
        // The parent may be a span of another service, which the export lacks.
        let is_top = |span: &Record| span.parent_span_id.as_ref().is_none_or(|parent| !ids.contains(parent));
        let tops = spans.iter().enumerate().filter(|(_, span)| is_top(span)).map(|(place, _)| place);
        let top = match tops.collect::<Vec<_>>().as_slice() {
            [only] => *only,
            _ => {
                let made = self.made(scope, values, spans);
                for span in spans.iter_mut().filter(|span| is_top(span)) {
                    span.parent_span_id.clone_from(&made.span_id);
                }
                spans.insert(0, made);
                0
            }
        };
        let mut events: HashMap<Option<Value>, Vec<Value>> = HashMap::default();
        for (of, event) in self.events.iter().flat_map(|events| events.read(values)) {
            events.entry(of.filter(|of| ids.contains(of))).or_default().push(event);
        }
        if let Some(top) = spans.get_mut(top) {
            let beside = Beside {
                places: self.span.paths(values).collect(),
                members: self.ignored.iter().map(String::as_str).collect(),
            };
            for (key, value) in attributes(values, &self.attributes, &self.rest, &beside) {
                top.attributes.entry(key).or_insert(value);
            }
            top.events = events.remove(&None).unwrap_or_default();
        }
        for span in spans {
            span.events.extend(events.remove(&span.span_id).unwrap_or_default());
        }
    }

    /// Creates a span for the record. If all other spans have the same resource, it has that resource, too.
    fn made(&self, scope: &str, values: &[&Value], spans: &[Record]) -> Record {
        let mut made = self.span.written(scope, values);
        let first = spans.iter().filter_map(|span| span.start_time.as_ref()).min_by(|a, b| order(a, b));
        let last = spans.iter().filter_map(|span| span.end_time.as_ref()).max_by(|a, b| order(a, b));
        made.start_time = made.start_time.or_else(|| first.cloned());
        made.end_time = made.end_time.or_else(|| last.cloned()).or_else(|| made.start_time.clone());
        if let Some(first) = spans
            .first()
            .filter(|first| spans.iter().all(|span| span.resource == first.resource))
        {
            made.resource.clone_from(&first.resource);
        }
        made
    }
}

/// Compares two times of one export, as numbers or texts.
fn order(a: &Value, b: &Value) -> Ordering {
    let numbers = a.as_f64().zip(b.as_f64()).and_then(|(a, b)| a.partial_cmp(&b));
    numbers.unwrap_or_else(|| a.as_str().cmp(&b.as_str()))
}

impl Events {
    /// The events, each with the id of its span.
    fn read(&self, values: &[&Value]) -> impl Iterator<Item = (Option<Value>, Value)> {
        let lists = self.at.iter().filter_map(|path| path.find(values)?.as_array());
        lists.flatten().filter(|event| self.is.hold(&[event])).map(|event| {
            let of = |source: &Source| source.of(&[event], &Kept::new()).map(std::borrow::Cow::into_owned);
            let beside = Beside {
                places: [&self.of, &self.name, &self.time].into_iter().flat_map(Source::paths).collect(),
                members: self.ignored.iter().map(String::as_str).collect(),
            };
            let said = attributes(&[event], &self.attributes, &self.rest, &beside);
            (
                of(&self.of),
                json!({"name": of(&self.name), "timestamp": of(&self.time), "attributes": said}),
            )
        })
    }
}
