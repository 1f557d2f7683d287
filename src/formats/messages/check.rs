//! The rules that all trainers share.

use std::collections::{HashSet, VecDeque};

use serde_json::{Map, Value};

use crate::document::records::{records, variants};
use crate::document::shape::Shape::{self, Any, Deferred, Either, List, Maybe, Object, Of, OneOf, Text, Word};
use crate::document::shape::shown;
use crate::document::violations::{JsonPath, Violations};

variants! {
    /// A row without `messages` is split in two.
    ROWS "a row" {
        may messages: List(&Of(&MESSAGE));
        may prompt: List(&Of(&MESSAGE));
        may completion: List(&Of(&MESSAGE));
        may tools: Maybe(&Either(&[Text, List(&Object)]));
        may trace_id: Text;
        may span_id: Text;
    } of {
        (has messages) "a row" {}
        (other) "a row in two parts" { need prompt: List(&Of(&MESSAGE)); need completion: List(&Of(&MESSAGE)); }
    }
}

records! {
    MESSAGE "a message" {
        need role: Word(&["system", "user", "assistant", "tool"]);
        need content: Text;
        may reasoning_content: Maybe(&Text);
        may tool_calls: List(&Of(&CALL));
        may tool_call_id: Maybe(&Text);
        may name: Maybe(&Text);
        // Marks that one trainer reads and the others ignore.
        may weight: Any;
        may training: Any;
        may trainable: Any;
    }
    CALL "a tool call" {
        need id: Text;
        may type: Maybe(&Text);
        need function: Of(&FUNCTION);
    }
    FUNCTION "a function" {
        may name: Text;
        need arguments: Any;
    }
}

pub(super) const DOCUMENT: Shape = Deferred(&Of(&ROWS.common), &OneOf(&ROWS));

pub(super) fn check(place: JsonPath<'_>, document: &Value, found: &mut Violations) {
    let Some(row) = document.as_object() else {
        let message = format!("expected a row (an object with `messages`), found {}", shown(document));
        found.add(place, message);
        return;
    };
    ROWS.common.check(row, place, found);
    if let Some(text) = row.get("tools").and_then(Value::as_str)
        && !serde_json::from_str::<Value>(text).is_ok_and(|tools| tools.is_array() || tools.is_null())
    {
        found.add(place.key("tools"), "the text is not a JSON list of tools");
    }
    let list = |key: &str| row.get(key).and_then(Value::as_array);
    if let (Some(prompt), Some(completion)) = (list("prompt"), list("completion")) {
        // Together they are one conversation, and positions count through both.
        let all: Vec<&Value> = prompt.iter().chain(completion).collect();
        whole(place, &all, found);
    } else if let Some(all) = list("messages") {
        whole(place.key("messages"), &all.iter().collect::<Vec<_>>(), found);
    } else if !row.contains_key("messages") {
        found.add(place, "`messages` is missing, or `prompt` and `completion`");
    }
}

fn whole(place: JsonPath<'_>, all: &[&Value], found: &mut Violations) {
    let messages: Vec<&Map<String, Value>> = all.iter().filter_map(|message| message.as_object()).collect();
    if messages.len() == all.len() {
        conversation(place, &messages, found);
    }
}

fn conversation(place: JsonPath<'_>, messages: &[&Map<String, Value>], found: &mut Violations) {
    let role = |message: &Map<String, Value>| message.get("role").and_then(Value::as_str).map(str::to_owned);
    let Some(last) = messages.last() else {
        found.add(place, "a row needs messages, the last of them the assistant's");
        return;
    };
    if role(last).as_deref() != Some("assistant") {
        let message = "the last message is not the assistant's: trainers skip such a row; cut what follows its last message";
        found.add(place.item(messages.len() - 1), message);
    }
    let mut waiting: VecDeque<&str> = VecDeque::new();
    let mut known: HashSet<&str> = HashSet::new();
    let mut before: Option<String> = None;
    for (index, message) in messages.iter().enumerate() {
        let place = place.item(index);
        let role = role(message);
        match role.as_deref() {
            Some("system") if index > 0 => {
                let message = "a system message is allowed only at the beginning: join it to the first, or make it the user's";
                found.add(place.key("role"), message);
            }
            Some("tool") => {
                let id = message.get("tool_call_id").and_then(Value::as_str);
                let wanted = waiting.pop_front();
                if wanted.is_none() || id != wanted {
                    found.add(
                        place.key("tool_call_id"),
                        match wanted {
                            Some(wanted) => format!("expected {wanted:?}: results come after their calls, in the order of the calls"),
                            None => "no call waits for a result here: results come right after the message with their calls".to_owned(),
                        },
                    );
                }
            }
            Some(role) if before.as_deref() == Some(role) => {
                found.add(place, format!("two messages of the {role} follow one another: join them"));
            }
            _ => {}
        }
        if role.as_deref() != Some("tool") && !waiting.is_empty() {
            let ids: Vec<&str> = waiting.drain(..).collect();
            found.add(
                place,
                format!(
                    "before it are calls without a result ({}): add their results or leave the calls out",
                    ids.join(", ")
                ),
            );
        }
        let calls = place.key("tool_calls");
        for (index, call) in message
            .get("tool_calls")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            let place = calls.item(index);
            if let Some(id) = call.get("id").and_then(Value::as_str) {
                if !known.insert(id) {
                    let message = format!("a call before has the id {id:?}: every call needs an id of its own");
                    found.add(place.key("id"), message);
                }
                waiting.push_back(id);
            }
            if let Some(arguments) = call.get("function").and_then(|function| function.get("arguments"))
                && !is_object(arguments)
            {
                let message = "arguments are an object, or the JSON text of one";
                found.add(place.key("function").key("arguments"), message);
            }
        }
        before = role;
    }
}

fn is_object(arguments: &Value) -> bool {
    match arguments {
        Value::String(text) => serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object()),
        other => other.is_object(),
    }
}
