//! Checks what the analyzer parses and Explorer's schema accepts; a document must satisfy both.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::offered;
use super::table::{ANNOTATIONS, CALL, MESSAGE, OUTPUT, PARTS};
use crate::document::shape::Shape::Object;
use crate::document::shape::shown;
use crate::document::violations::{JsonPath, Violations};

/// Each document is a separate trace, or a row of a file.
pub(super) fn check(documents: &[(JsonPath<'_>, &Value)], found: &mut Violations) {
    let is_alone = documents.len() == 1;
    let mut rows = Rows {
        is_explorers: documents.iter().any(|(_, document)| is_explorers(document)),
        ..Rows::default()
    };
    for (number, (place, document)) in documents.iter().enumerate() {
        let place = *place;
        match document {
            Value::Array(events) => {
                if !is_alone {
                    rows.raw(place, events, found);
                }
                let skip = usize::from(!is_alone && events.first().is_some_and(is_about));
                trace(place, events, skip, found);
            }
            Value::Object(object) => match object.get("messages") {
                Some(Value::Array(lists)) if !lists.is_empty() && lists.iter().all(Value::is_array) => push(place, object, lists, found),
                Some(Value::Array(events)) => {
                    if !is_alone {
                        rows.annotated(place, object, found);
                    }
                    let about = |name: &str| object.get(name).filter(|value| !value.is_null());
                    if let Some(metadata) = about("metadata") {
                        Object.check(metadata, place.key("metadata"), found);
                    }
                    if let Some(annotations) = about("annotations") {
                        ANNOTATIONS.check(annotations, place.key("annotations"), found);
                    }
                    trace(place.key("messages"), events, 0, found);
                }
                Some(other) => found.add(place.key("messages"), format!("expected a list of events, found {}", shown(other))),
                None if object.contains_key("metadata") && number == 0 && !is_alone => {}
                None => found.add(
                    place,
                    "expected a list of events, or an object with `messages`; a row of metadata comes first, before other rows",
                ),
            },
            other => found.add(place, format!("expected a list of events, found {}", shown(other))),
        }
    }
}

/// Whether an element is the metadata of a row, which Explorer expects as a first element without a role.
fn is_about(event: &Value) -> bool {
    event.get("metadata").is_some() && event.get("role").is_none() && event.get("type").is_none()
}

/// Whether such a row only occurs in Explorer's files. Lines that are plain lists of events may also be separate traces.
fn is_explorers(row: &Value) -> bool {
    match row {
        Value::Array(events) => events.first().is_some_and(is_about),
        Value::Object(row) => row.contains_key("messages") || row.contains_key("metadata"),
        _ => false,
    }
}

/// What the rows of a file must agree on.
#[derive(Default)]
struct Rows {
    is_explorers: bool,
    has_raw: bool,
    has_annotated: bool,
    has_index: Option<bool>,
    indices: HashSet<i64>,
}

impl Rows {
    fn raw(&mut self, place: JsonPath<'_>, events: &[Value], found: &mut Violations) {
        let first = events.first();
        if self.is_explorers && first.is_some_and(|event| event.get("metadata").is_some() && event.get("role").is_some()) {
            let message =
                "Explorer takes the metadata of a row's first event for the row's and drops the event: write rows as {\"messages\": [...]}";
            found.add(place.item(0).key("metadata"), message);
        }
        self.has_raw = true;
        self.mixed(place, found);
    }

    fn annotated(&mut self, place: JsonPath<'_>, row: &Map<String, Value>, found: &mut Violations) {
        self.has_annotated = true;
        self.mixed(place, found);
        let index = row.get("index");
        if *self.has_index.get_or_insert(index.is_some()) != index.is_some() {
            let message = "`index` must be in all rows or in none: add it here, or remove it from the others";
            found.add(place, message);
        }
        match index.map(Value::as_i64) {
            Some(Some(index)) if !self.indices.insert(index) => {
                found.add(place.key("index"), "a row before has this index: every row needs one of its own")
            }
            Some(None) => found.add(place.key("index"), "expected an integer"),
            _ => {}
        }
    }

    fn mixed(&self, place: JsonPath<'_>, found: &mut Violations) {
        if self.has_raw && self.has_annotated {
            let message = "a file has either lists of events or objects with `messages`: write all rows as {\"messages\": [...]}";
            found.add(place, message);
        }
    }
}

fn push(place: JsonPath<'_>, request: &Map<String, Value>, lists: &[Value], found: &mut Violations) {
    let all = place.key("messages");
    for (index, events) in lists.iter().enumerate() {
        trace(all.item(index), events.as_array().map_or(&[], Vec::as_slice), 0, found);
    }
    for (name, shape) in [("annotations", ANNOTATIONS), ("metadata", Object)] {
        match request.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::Array(list)) if list.len() == lists.len() => {
                let all = place.key(name);
                for (index, value) in list.iter().enumerate().filter(|(_, value)| !value.is_null()) {
                    shape.check(value, all.item(index), found);
                }
            }
            Some(_) => found.add(
                place.key(name),
                format!("expected null or a list with one item for each of the {} traces", lists.len()),
            ),
        }
    }
    let is_plain = |name: &str| !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
    match request.get("dataset") {
        None | Some(Value::Null) => {}
        Some(Value::String(name)) if is_plain(name) => {}
        Some(_) => found.add(place.key("dataset"), "expected letters, digits, - and _, or null"),
    }
}

/// Checks one list of events, skipping the first `skip` elements, which are not events.
fn trace(place: JsonPath<'_>, events: &[Value], skip: usize, found: &mut Violations) {
    if events.len() <= skip {
        found.add(place, "a trace needs at least one event");
    }
    let mut calls: HashMap<&str, bool> = HashMap::new();
    let mut last: Option<&str> = None;
    for (index, value) in events.iter().enumerate().skip(skip) {
        let place = place.item(index);
        let Some(event) = value.as_object() else {
            found.add(place, format!("expected an event (an object), found {}", shown(value)));
            continue;
        };
        let role = event.get("role");
        match (role.and_then(Value::as_str), role) {
            (Some("tool"), _) => {
                OUTPUT.check(event, place, found);
                parts(place, event, found);
                output(place, event, &mut calls, last, found);
            }
            (_, Some(_)) => {
                MESSAGE.check(event, place, found);
                parts(place, event, found);
                let all = place.key("tool_calls");
                for (index, call) in event.get("tool_calls").and_then(Value::as_array).into_iter().flatten().enumerate() {
                    last = known(all.item(index), call, &mut calls, found).or(last);
                }
            }
            (_, None) if event.contains_key("tools") => {
                offered::check(place, event, found);
            }
            (_, None) if event.contains_key("type") => {
                CALL.check(event, place, found);
                last = known(place, value, &mut calls, found).or(last);
            }
            (_, None) => found.add(place, "`role` is missing: an event is a message or a tool output with a role, a bare tool call with `type`, or {\"tools\": [...]}"),
        }
    }
}

fn known<'a>(place: JsonPath<'_>, call: &'a Value, calls: &mut HashMap<&'a str, bool>, found: &mut Violations) -> Option<&'a str> {
    let id = call.get("id")?.as_str()?;
    if id.is_empty() {
        found.add(place.key("id"), "it is empty: outputs name their call by it");
    } else if calls.insert(id, false).is_some() {
        let message = format!("a call before has the id {id:?}: every call of a trace needs an id of its own");
        found.add(place.key("id"), message);
    }
    Some(id)
}

fn output<'a>(
    place: JsonPath<'_>,
    event: &'a Map<String, Value>,
    calls: &mut HashMap<&'a str, bool>,
    last: Option<&'a str>,
    found: &mut Violations,
) {
    // An output that names no call answers the last one.
    let id = match event.get("tool_call_id") {
        None => last,
        Some(id) => id.as_str(),
    };
    match id.and_then(|id| calls.get_mut(id)) {
        None => {
            let message = "no call with this id comes before it: put the call before its output, or correct the id";
            found.add(place.key("tool_call_id"), message);
        }
        Some(answered) if *answered => found.add(place.key("tool_call_id"), "the call has an output already: keep one"),
        Some(answered) => *answered = true,
    }
}

fn parts(place: JsonPath<'_>, event: &Map<String, Value>, found: &mut Violations) {
    let content = place.key("content");
    for (index, part) in event.get("content").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let place = content.item(index);
        let is_text = |value: Option<&Value>| value.is_some_and(Value::is_string);
        if let Some(part) = part.as_object() {
            PARTS.common.check(part, place, found);
        }
        match part.get("type").and_then(Value::as_str) {
            Some("text") if !is_text(part.get("text")) => found.add(place, "`text` is missing: a part of type \"text\" needs text"),
            Some("image_url")
                if part
                    .get("image_url")
                    .and_then(Value::as_object)
                    .is_some_and(|map| map.values().any(|value| !value.is_string())) =>
            {
                found.add(place.key("image_url"), "all its values must be text: the software takes no others");
            }
            Some("image_url") if !is_text(part.pointer("/image_url/url")) => {
                let message = "`image_url.url` is missing: {\"type\": \"image_url\", \"image_url\": {\"url\": ...}}";
                found.add(place, message);
            }
            Some("text" | "image_url") => {}
            _ => found.add(
                place.key("type"),
                "expected text or image_url: readers know no other parts; put others into the event's `metadata`",
            ),
        }
    }
}
