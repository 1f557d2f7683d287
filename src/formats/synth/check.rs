//! The documentation's rules, and what the package's classes, store and readers need.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::table::{EVENT, SESSION};
use crate::document::rules::{not_before, own_ids};
use crate::document::shape::Shape::{self, Of};
use crate::document::shape::{shown, time};
use crate::document::violations::{JsonPath, Violations};

/// The flat lists, and the lists of a step that are part of them.
const HISTORIES: [(&str, &str); 2] = [
    ("event_history", "events"),
    ("markov_blanket_message_history", "markov_blanket_messages"),
];

pub(super) const DOCUMENT: Shape = Of(&SESSION);

pub(super) fn check(place: JsonPath<'_>, document: &Value, found: &mut Violations) {
    DOCUMENT.check(document, place, found);
    let Some(session) = document.as_object() else { return };
    if session.get("session_id").and_then(Value::as_str) == Some("") {
        found.add(place.key("session_id"), "it is empty: the store finds a session by it");
    }
    let steps = list(session, "session_time_steps");
    let ids: HashSet<&str> = steps.iter().filter_map(|step| step.get("step_id")?.as_str()).collect();
    all_steps(place.key("session_time_steps"), steps, found);
    for (history, _) in HISTORIES {
        let place = place.key(history);
        let items = list(session, history);
        for (index, item) in items.iter().enumerate() {
            if history == "event_history" {
                event(place.item(index), item, found);
            } else {
                message(place.item(index), item, found);
            }
        }
        chronological(place, items, found);
        for (index, item) in items.iter().enumerate() {
            let named = item.pointer("/metadata/step_id");
            if let Some(named) = named.filter(|named| !named.as_str().is_some_and(|id| ids.contains(id))) {
                let message = format!(
                    "no time step has the id {}: name a step of the session, or leave `step_id` out",
                    shown(named)
                );
                found.add(place.item(index).key("metadata").key("step_id"), message);
            }
        }
    }
    let all = place.key("session_time_steps");
    for (history, of_step) in HISTORIES {
        let left = in_history(all, steps, of_step, history, list(session, history), found);
        if history == "event_history" {
            in_steps(place.key(history), &ids, list(session, history), left, found);
        }
    }
}

fn list<'a>(object: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    object.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn all_steps(place: JsonPath<'_>, steps: &[Value], found: &mut Violations) {
    own_ids(place, steps, "step_id", "step", found);
    for (index, step) in steps.iter().enumerate() {
        let place = place.item(index);
        if step
            .get("step_index")
            .and_then(Value::as_i64)
            .is_some_and(|given| i64::try_from(index) != Ok(given))
        {
            let message = format!("expected {index}: steps are counted 0, 1, 2 without a gap");
            found.add(place.key("step_index"), message);
        }
        if step.get("turn_number").and_then(Value::as_i64).is_some_and(|turn| turn < 1) {
            found.add(place.key("turn_number"), "turns are counted from 1");
        }
        let late = "it is before `timestamp`: put the time of the end there, or null while the step goes on";
        let at = |name: &str| step.get(name).and_then(time);
        not_before(place.key("completed_at"), (at("timestamp"), at("completed_at")), late, found);
        let events = place.key("events");
        for (index, item) in step.get("events").and_then(Value::as_array).into_iter().flatten().enumerate() {
            event(events.item(index), item, found);
        }
    }
}

fn event(place: JsonPath<'_>, value: &Value, found: &mut Violations) {
    let Some(event) = value.as_object() else { return };
    let classes = EVENT.of.iter().filter(|(tag, _)| tag.is_on(event)).count();
    if classes != 1 {
        let message = "exactly one of `actions`, `reward` and `call_records` must be in an event: they determine its class";
        found.add(place, message);
        return;
    }
    EVENT.check(event, place, found);
    let number = |name: &str| event.get(name).and_then(Value::as_u64);
    if let (Some(total), Some(input), Some(output)) = (number("total_tokens"), number("input_tokens"), number("output_tokens"))
        && total < input.max(output)
    {
        found.add(place.key("total_tokens"), "it is less than one of its parts");
    }
    let records = place.key("call_records");
    own_ids(records, list(event, "call_records"), "call_id", "model call", found);
    for (at, record) in list(event, "call_records").iter().enumerate() {
        let calls = record.get("output_tool_calls").and_then(Value::as_array);
        for (index, call) in calls.into_iter().flatten().enumerate() {
            let is_broken = |text: &str| serde_json::from_str::<Value>(text).is_err();
            if call.get("arguments_json").and_then(Value::as_str).is_some_and(is_broken) {
                let record = records.item(at);
                let calls = record.key("output_tool_calls");
                let message = "the text is not JSON: write the arguments as JSON text";
                found.add(calls.item(index).key("arguments_json"), message);
            }
        }
    }
}

fn message(place: JsonPath<'_>, message: &Value, found: &mut Violations) {
    let Some(content) = message.get("content").and_then(Value::as_object) else {
        return;
    };
    let text = |name: &str| content.get(name).and_then(Value::as_str);
    if text("text").is_none() && text("json_payload").is_none() {
        found.add(place.key("content"), "`text` or `json_payload` is required: a message has content");
    }
    if text("json_payload").is_some_and(|text| serde_json::from_str::<Value>(text).is_err()) {
        let message = "the text is not JSON: write the payload as JSON text, or put it into `text`";
        found.add(place.key("content").key("json_payload"), message);
    }
}

fn chronological(place: JsonPath<'_>, items: &[Value], found: &mut Violations) {
    let mut last = f64::MIN;
    for (index, item) in items.iter().enumerate() {
        let Some(seconds) = item.pointer("/time_record/event_time").and_then(Value::as_f64) else {
            continue;
        };
        let item = place.item(index);
        let record = item.key("time_record");
        if !(seconds > 0.0 && seconds < 1e11) {
            let message = "it is not in seconds since 1970: divide milliseconds by 1e3, nanoseconds by 1e9";
            found.add(record.key("event_time"), message);
        }
        if seconds < last {
            let message = "it is earlier than an item before it: put the list in the order of its times";
            found.add(record.key("event_time"), message);
        }
        last = last.max(seconds);
    }
}

/// Values of a list that have not been found in a step, with their counts.
type Unmatched = HashMap<Digest, usize>;

/// A value's hash.
pub(super) type Digest = [u8; 32];

/// Checks that each item of a step is in the flat list, too, and names its step. Returns the other items of that list.
fn in_history(place: JsonPath<'_>, steps: &[Value], of_step: &str, history: &str, items: &[Value], found: &mut Violations) -> Unmatched {
    let mut left = Unmatched::new();
    for item in items {
        *left.entry(digest(item)).or_default() += 1;
    }
    for (at, step) in steps.iter().enumerate() {
        let place = place.item(at);
        let place = place.key(of_step);
        for (index, item) in step.get(of_step).and_then(Value::as_array).into_iter().flatten().enumerate() {
            let place = place.item(index);
            match left.get_mut(&digest(item)).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => found.add(
                    place,
                    format!("it is not in `{history}`: copy it there as it is, since that list has the items of all steps"),
                ),
            }
            if item.pointer("/metadata/step_id") != step.get("step_id") {
                let message = format!(
                    "expected {}, the id of its step: the store links by it",
                    step.get("step_id").map_or_else(String::new, shown)
                );
                found.add(place.key("metadata").key("step_id"), message);
            }
        }
    }
    left
}

/// Checks that an event that names a step is in that step: the store links it, and its readers rely on it.
fn in_steps(place: JsonPath<'_>, ids: &HashSet<&str>, items: &[Value], mut left: Unmatched, found: &mut Violations) {
    for (index, item) in items.iter().enumerate().rev() {
        let Some(count) = left.get_mut(&digest(item)).filter(|count| **count > 0) else {
            continue;
        };
        *count -= 1;
        let named = item.pointer("/metadata/step_id").and_then(Value::as_str);
        if let Some(id) = named.filter(|id| ids.contains(id)) {
            let message = format!("the step {id:?} does not hold this event: add it to the step's `events`, or leave `step_id` out");
            found.add(place.item(index).key("metadata").key("step_id"), message);
        }
    }
}

/// A value's hash, independent of key order.
pub(super) fn digest(value: &Value) -> Digest {
    let mut hash = Sha256::new();
    match value {
        Value::Array(list) => {
            hash.update(b"[");
            for item in list {
                hash.update(digest(item));
            }
        }
        Value::Object(map) => {
            hash.update(b"{");
            let mut fields: Vec<(&String, &Value)> = map.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            for (key, value) in fields {
                hash.update(digest(&Value::from(key.as_str())));
                hash.update(digest(value));
            }
        }
        other => hash.update(other.to_string()),
    }
    hash.finalize().into()
}
