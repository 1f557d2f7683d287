//! The rules of ADK's reader, whose own errors do not say where they occurred.

use serde_json::{Map, Value};

use super::table::{DATA, PART, SET};
use crate::document::rules::own_ids;
use crate::document::shape::shown;
use crate::document::violations::{JsonPath, Violations};

pub(super) fn check(place: JsonPath<'_>, document: &Value, found: &mut Violations) {
    let Some(set) = document.as_object() else {
        if document.is_array() {
            let detail = "a list is the form that ADK had before eval sets; `spanbridge convert --to adk` writes it as a set";
            return found.add(place, detail.to_owned());
        }
        return found.add(
            place,
            format!("expected an eval set (an object with `eval_cases`), found {}", shown(document)),
        );
    };
    // ADK accepts both spellings of a key.
    let set = snake(&Value::Object(set.clone()), 0);
    let Some(set) = set.as_object() else { return };
    SET.check(set, place, found);
    let place = place.key("eval_cases");
    let cases = list(set.get("eval_cases"));
    own_ids(place, cases, "eval_id", "case", found);
    for (at, case) in cases.iter().enumerate() {
        let place = place.item(at);
        let is_there = |key: &str| case.get(key).is_some_and(|value| !value.is_null());
        if is_there("conversation") == is_there("conversation_scenario") {
            let message = "a case has either a conversation or a conversation_scenario: leave one out, or add one";
            found.add(place, message);
        }
        let place = place.key("conversation");
        let conversation = list(case.get("conversation"));
        own_ids(place, conversation, "invocation_id", "invocation", found);
        for (at, invocation) in conversation.iter().enumerate() {
            let place = place.item(at);
            let place = place.key("intermediate_data");
            if let Some(data) = invocation.get("intermediate_data").and_then(Value::as_object) {
                intermediate(data, place, found);
            }
        }
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn intermediate(data: &Map<String, Value>, place: JsonPath<'_>, found: &mut Violations) {
    DATA.check(data, place, found);
    own_ids(place.key("tool_uses"), list(data.get("tool_uses")), "id", "tool call", found);
    responses(data, place.key("intermediate_responses"), found);
}

/// Checks pairs of an author and parts.
fn responses(data: &Map<String, Value>, place: JsonPath<'_>, found: &mut Violations) {
    let pairs = data.get("intermediate_responses").and_then(Value::as_array);
    for (at, pair) in pairs.into_iter().flatten().enumerate() {
        let place = place.item(at);
        let Some([Value::String(_), Value::Array(parts)]) = pair.as_array().map(Vec::as_slice) else {
            found.add(place, "a response is a pair: the author, and a list of parts");
            continue;
        };
        let place = place.item(1);
        for (at, part) in parts.iter().enumerate() {
            match part.as_object() {
                Some(part) => PART.check(part, place.item(at), found),
                None => found.add(place.item(at), format!("expected a part (an object), found {}", shown(part))),
            }
        }
    }
}

/// Members with objects whose keys are data, not names of fields.
const DATA_KEYS: [&str; 6] = [
    "args",
    "response",
    "state",
    "final_session_state",
    "app_details",
    "conversation_scenario",
];
/// Deeper values only hold data.
const MAX_DEPTH: usize = 12;

/// Converts keys to snake case, except in objects whose keys are data.
pub(super) fn snake(value: &Value, depth: usize) -> Value {
    match value {
        Value::Array(list) => list.iter().map(|item| snake(item, depth)).collect(),
        Value::Object(map) if depth < MAX_DEPTH => {
            let named = map.iter().map(|(key, value)| {
                let key = snake_key(key);
                let is_data = DATA_KEYS.contains(&key.as_str());
                (key, if is_data { value.clone() } else { snake(value, depth + 1) })
            });
            named.collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// Whether all keys are in snake case already.
pub(super) fn is_snake(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(list) => list.iter().all(|item| is_snake(item, depth)),
        Value::Object(map) if depth < MAX_DEPTH => map.iter().all(|(key, value)| {
            let is_data = DATA_KEYS.contains(&key.as_str());
            !key.bytes().any(|byte| byte.is_ascii_uppercase()) && (is_data || is_snake(value, depth + 1))
        }),
        _ => true,
    }
}

fn snake_key(key: &str) -> String {
    let mut out = String::with_capacity(key.len() + 4);
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}
