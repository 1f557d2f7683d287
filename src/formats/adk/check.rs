//! The rules of ADK's reader, whose own errors name no place.

use serde_json::{Map, Value};

use crate::document::rules::own_ids;
use crate::document::shape::Shape::{self, Any, Count, Deferred, Flag, List, Maybe, Number, Object, Of, OneOf, Text};
use crate::document::shape::{Tag, Variants, record, records, shown};
use crate::document::violations::{JsonPath, Violations};

records! {
    SET "an eval set" {
        need eval_set_id: Text;
        need eval_cases: List(&Of(&CASE));
        may name: Maybe(&Text);
        may description: Maybe(&Text);
        may creation_timestamp: Number;
    }
    CASE "an eval case" {
        need eval_id: Text;
        may conversation: Maybe(&List(&Of(&INVOCATION)));
        may conversation_scenario: Maybe(&Object);
        may session_input: Maybe(&Of(&SESSION));
        may creation_timestamp: Number;
        may final_session_state: Maybe(&Object);
    }
    SESSION "a session" {
        need app_name: Text;
        need user_id: Text;
        may state: Object;
    }
    INVOCATION "an invocation", only "ADK refuses the whole file; leave it out" {
        need user_content: Of(&CONTENT);
        may invocation_id: Text;
        may final_response: Maybe(&Of(&CONTENT));
        may intermediate_data: Maybe(&Deferred(&Object, &OneOf(&DATA)));
        may creation_timestamp: Number;
        may duration: Maybe(&Number);
        may model_duration: Maybe(&Number);
        may tool_duration: Maybe(&Number);
        may rubrics: Maybe(&List(&Object));
        may app_details: Maybe(&Object);
    }
}

static DATA: Variants = Variants {
    common: record! { "intermediate data" {} },
    of: &[
        (
            Tag::Has("invocation_events"),
            &record! { "a list of events", only "events come alone, without the lists of calls and responses" {
                need invocation_events: List(&Of(&EVENT));
            } },
        ),
        (
            Tag::Other,
            &record! { "intermediate data", only "ADK refuses the whole file; leave it out" {
                may tool_uses: List(&Of(&CALL));
                may tool_responses: List(&Of(&RESPONSE));
                may intermediate_responses: List(&List(&Any));
            } },
        ),
    ],
};

records! {
    EVENT "an event" {
        need author: Text;
        may content: Maybe(&Of(&CONTENT));
        may usage_metadata: Maybe(&Deferred(&Object, &Of(&USAGE)));
        may model_version: Maybe(&Text);
    }
    USAGE "usage metadata" {
        may prompt_token_count: Maybe(&Count);
        may candidates_token_count: Maybe(&Count);
        may thoughts_token_count: Maybe(&Count);
        may cached_content_token_count: Maybe(&Count);
        may total_token_count: Maybe(&Count);
    }
    CONTENT "a content", only "a content has a role and parts" {
        may role: Maybe(&Text);
        may parts: Maybe(&List(&Of(&PART)));
    }
    PART "a part" {
        may text: Maybe(&Text);
        may thought: Maybe(&Flag);
        may inline_data: Maybe(&Of(&BYTES));
        may file_data: Maybe(&Of(&FILE));
        may function_call: Maybe(&Of(&CALL));
        may function_response: Maybe(&Of(&RESPONSE));
    }
    BYTES "the bytes of a file" {
        may mime_type: Maybe(&Text);
        may data: Maybe(&Text);
        may display_name: Maybe(&Text);
    }
    FILE "a file" {
        may mime_type: Maybe(&Text);
        may file_uri: Maybe(&Text);
        may display_name: Maybe(&Text);
    }
    CALL "a function call" {
        may id: Maybe(&Text);
        may name: Maybe(&Text);
        may args: Maybe(&Object);
    }
    RESPONSE "a function response" {
        may id: Maybe(&Text);
        may name: Maybe(&Text);
        may response: Maybe(&Object);
    }
}

/// A document.
pub(super) const DOCUMENT: Shape = Of(&SET);

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
    // ADK takes both spellings of a key.
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
            found.add(
                place,
                "a case has either a conversation or a conversation_scenario: leave one out, or add one",
            );
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
    let place = place.key("invocation_events");
    for (at, event) in data
        .get("invocation_events")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
    {
        let place = place.item(at);
        if let Some(usage) = event.get("usage_metadata").and_then(Value::as_object) {
            USAGE.check(usage, place.key("usage_metadata"), found);
        }
    }
}

/// Pairs of an author and parts.
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

/// Objects whose keys are data.
const DATA_KEYS: [&str; 6] = [
    "args",
    "response",
    "state",
    "final_session_state",
    "app_details",
    "conversation_scenario",
];
/// Deeper values hold data only.
const DEEPEST: usize = 12;

/// The same with keys in snake case, but for objects whose keys are data.
pub(super) fn snake(value: &Value, depth: usize) -> Value {
    match value {
        Value::Array(list) => list.iter().map(|item| snake(item, depth)).collect(),
        Value::Object(map) if depth < DEEPEST => {
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
        Value::Object(map) if depth < DEEPEST => map.iter().all(|(key, value)| {
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
