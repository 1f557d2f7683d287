//! Content that AWS's distribution of OpenTelemetry moved from a span and its events into the body of one log record: `input` and `output`,
//! each with `messages` that have a role and content.
//!
//! The content is that of the attribute or event: text, JSON of a whole input or output, or the attributes of an event as a map. Roles and
//! calls stay on the span, in flattened keys without the text.

use serde_json::{Map, Value};

use super::client_messages::{message_members_of_event, results_after_calls};
use super::empty::is_empty;
use super::paths::at;
use crate::dialect::flat;
use crate::dialect::messages::{self, Direction};
use crate::dialect::rule::Field;
use crate::operation::{Message, Role};
use crate::span::AnyValue;

/// One message of the body.
struct Entry {
    /// An object with a role, or the parsed content if that was JSON of more than one message.
    value: Value,
    /// Whether the content was JSON of a whole input or output.
    is_whole: bool,
    /// Whether it is an earlier answer: an input event that the body lists among the output.
    is_history: bool,
}

impl Entry {
    /// The text, if the content is nothing else.
    fn words(&self) -> Option<&str> {
        self.value.get("content").filter(|_| !self.is_whole)?.as_str()
    }
}

/// Whether a log record's body has this form, judging by a quick look.
pub(in crate::dialect) fn is_body(body: &AnyValue) -> bool {
    match body {
        AnyValue::KvList(pairs) => pairs.iter().any(|(key, _)| matches!(key.as_str(), "input" | "output")),
        AnyValue::String(text) => text.trim_start().starts_with('{') && text.contains("\"messages\""),
        _ => false,
    }
}

/// The content of a body for a field.
pub(super) enum Found {
    Messages(Vec<Message>),
    Value(Value),
}

/// Extracts the content for a field; `beside` holds the span's own messages of that direction, in flattened keys.
pub(super) fn decode(field: Field, body: &AnyValue, beside: &[(&str, &AnyValue)]) -> Option<Found> {
    let body = match body {
        AnyValue::String(text) => crate::dialect::mend::parse(text)?,
        other => other.to_json(),
    };
    let entries_of = |path: &str| -> Vec<Entry> {
        let list = at(&body, path).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(entry).collect()
    };
    let answers = entries_of("output.messages");
    let is_out = matches!(field, Field::OutputMessages | Field::Output);
    let entries: Vec<Entry> = if is_out {
        answers.into_iter().filter(|entry| !entry.is_history).collect()
    } else {
        in_turn(
            entries_of("input.messages"),
            answers.into_iter().filter(|entry| entry.is_history).collect(),
        )
    };
    if entries.is_empty() {
        return None;
    }
    let tree = flat::tree(beside.iter().enumerate().map(|(place, (key, value))| (place, *key, *value))).value;
    let mut own = match tree {
        Value::Array(own) => own,
        _ => Vec::new(),
    };
    let is_told = give_words(&mut own, &entries);
    let direction = if is_out { Direction::Output } else { Direction::Input };
    match field {
        Field::InputMessages | Field::OutputMessages => {
            // The span has its text itself.
            if !is_told && own.iter().any(has_words) {
                return None;
            }
            let list = if is_told { own } else { spliced(entries) };
            let said = messages::read(&Value::Array(list), direction)?;
            Some(Found::Messages(if is_out { said } else { results_after_calls(said) }))
        }
        Field::System => {
            let said = messages::read(&Value::Array(spliced(entries)), direction)?;
            let prompts: Vec<String> = said
                .iter()
                .filter(|message| matches!(message.role, Role::System | Role::Developer))
                .map(Message::content)
                .collect();
            (!prompts.is_empty()).then(|| Found::Value(prompts.join("\n\n").into()))
        }
        _ => {
            let value = match <[Entry; 1]>::try_from(entries) {
                Ok([only]) if only.is_whole => only.value,
                Ok([only]) => Value::Array(vec![only.value]),
                Err(_) if is_told => Value::Array(own),
                Err(entries) => Value::Array(spliced(entries)),
            };
            (!is_empty(&value)).then_some(Found::Value(value))
        }
    }
}

fn entry(message: &Value) -> Option<Entry> {
    let message = message.as_object()?;
    // The distribution writes this if it found no role.
    let role = message.get("role").and_then(Value::as_str).filter(|role| *role != "unknown");
    let with_role = |mut map: Map<String, Value>| {
        if let Some(role) = role {
            let _ = map.entry("role".to_owned()).or_insert_with(|| role.into());
        }
        Value::Object(map)
    };
    let content = message.get("content").filter(|content| !is_empty(content))?;
    let plain = |value: Value| Entry {
        value,
        is_whole: false,
        is_history: false,
    };
    Some(match content {
        Value::Object(event) if event.contains_key("content") || event.contains_key("message") => Entry {
            value: with_role(message_members_of_event(event.clone())),
            is_whole: false,
            is_history: role == Some("assistant") && !event.contains_key("message"),
        },
        Value::String(text) => match whole(text) {
            Some(value) => Entry {
                value,
                is_whole: true,
                is_history: false,
            },
            None => plain(with_role(message_without_role(message))),
        },
        _ => plain(with_role(message_without_role(message))),
    })
}

fn message_without_role(message: &Map<String, Value>) -> Map<String, Value> {
    let mut map = message.clone();
    let _ = map.remove("role");
    map
}

/// Parses JSON text of a whole input or output; `None` for the text of a single message.
fn whole(text: &str) -> Option<Value> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let opened = crate::dialect::mend::parse(text)?;
    match &opened {
        Value::Array(items) => {
            let is_message = |item: &Value| item.get("role").is_some() || item.get("lc").is_some();
            (!items.is_empty() && items.iter().all(is_message)).then_some(opened)
        }
        Value::Object(map) => {
            // The input or output of a chain, next to its tags and settings (OpenLLMetry).
            if let Some(inner) = map.get("inputs").or_else(|| map.get("outputs")) {
                return Some(inner.clone());
            }
            let is_list = |key: &str| map.get(key).is_some_and(Value::is_array);
            let is_object = |key: &str| map.get(key).is_some_and(Value::is_object);
            let is_body = ["messages", "output", "choices", "candidates", "contents", "generations"]
                .into_iter()
                .any(is_list)
                || ["content", "new_message"].into_iter().any(is_object);
            is_body.then_some(opened)
        }
        _ => None,
    }
}

/// Merges the input with the earlier answers, system prompts first. As the distribution may have dropped messages (it keeps the last one of
/// each role) and input never ends with an answer, turns are counted from the end.
fn in_turn(given: Vec<Entry>, earlier: Vec<Entry>) -> Vec<Entry> {
    let has_role = |entry: &Entry, role: &str| entry.value.get("role").and_then(Value::as_str) == Some(role);
    let (mut list, mut asked): (Vec<Entry>, Vec<Entry>) = given.into_iter().partition(|entry| has_role(entry, "system"));
    let asks = |entry: &Entry| {
        let said = messages::read(&Value::Array(vec![entry.value.clone()]), Direction::Output);
        said.iter().flatten().any(|message| !message.tool_calls.is_empty())
    };
    // Calls are followed by results, text by a user's message.
    if earlier.last().is_some_and(|last| !asks(last)) && asked.iter().any(|entry| has_role(entry, "user")) {
        asked.sort_by_key(|entry| !has_role(entry, "tool"));
    }
    let mut begin = asked.len().saturating_sub(earlier.len());
    // If there are more answers than turns, the first ones stand alone.
    let alone = earlier.len().saturating_sub(asked.len());
    let mut earlier = earlier.into_iter();
    list.extend(earlier.by_ref().take(alone));
    for entry in asked {
        match begin.checked_sub(1) {
            Some(less) => begin = less,
            None => list.extend(earlier.next()),
        }
        list.push(entry);
    }
    list
}

/// All messages in one list.
fn spliced(entries: Vec<Entry>) -> Vec<Value> {
    let mut list = Vec::new();
    for entry in entries {
        match entry.value {
            Value::Array(items) if entry.is_whole => list.extend(items),
            value => list.push(value),
        }
    }
    list
}

/// Puts the body's texts in order into the span's messages without text. The body may repeat the whole input or output before them, as JSON
/// or as a text that ends like one of them. Returns `false` if it is unclear which text belongs where.
fn give_words(own: &mut [Value], entries: &[Entry]) -> bool {
    let mut texts: Vec<&str> = entries.iter().filter_map(Entry::words).collect();
    // A message that only has calls may lack text.
    let has_calls = |item: &Value| members(item).is_some_and(|map| map.contains_key("tool_calls"));
    let blank: Vec<usize> = (0..own.len())
        .filter(|place| own.get(*place).is_some_and(|item| !has_words(item)))
        .collect();
    let without_calls: Vec<usize> = blank
        .iter()
        .copied()
        .filter(|place| own.get(*place).is_some_and(|item| !has_calls(item)))
        .collect();
    let repeats = |texts: &[&str]| matches!(texts, [first, rest @ ..] if rest.iter().any(|text| first.ends_with(text)));
    if !blank.is_empty() && texts.len() == blank.len() + 1 && repeats(&texts) {
        let _ = texts.remove(0);
    }
    let places = [blank, without_calls].into_iter().find(|places| places.len() == texts.len());
    let Some(places) = places.filter(|places| !places.is_empty()) else {
        return false;
    };
    for (place, text) in places.into_iter().zip(texts) {
        if let Some(map) = own.get_mut(place).and_then(members_mut) {
            let _ = map.insert("content".to_owned(), text.into());
        }
    }
    true
}

/// The members of a message; OpenInference nests them one level deeper.
fn members(item: &Value) -> Option<&Map<String, Value>> {
    item.get("message").unwrap_or(item).as_object()
}

fn members_mut(item: &mut Value) -> Option<&mut Map<String, Value>> {
    let item = item.as_object_mut()?;
    if item.contains_key("message") {
        return item.get_mut("message")?.as_object_mut();
    }
    Some(item)
}

fn has_words(item: &Value) -> bool {
    let has = |map: &Map<String, Value>| {
        ["content", "contents"]
            .iter()
            .any(|key| map.get(*key).is_some_and(|value| !is_empty(value)))
    };
    members(item).is_some_and(has)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(field: Field, body: &Value, beside: &[(&str, &str)]) -> Vec<(String, String)> {
        let values: Vec<AnyValue> = beside.iter().map(|(_, value)| AnyValue::from(*value)).collect();
        let beside: Vec<(&str, &AnyValue)> = beside.iter().zip(&values).map(|((key, _), value)| (*key, value)).collect();
        let body = AnyValue::from(body.to_string().as_str());
        let Some(Found::Messages(list)) = decode(field, &body, &beside) else {
            return Vec::new();
        };
        let pair = |message: &Message| (format!("{:?}", message.role).to_lowercase(), message.content());
        list.iter().map(pair).collect()
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(role, words)| ((*role).to_owned(), (*words).to_owned())).collect()
    }

    #[test]
    fn events_as_maps_and_earlier_answers_among_them() {
        let text = |words: &str| json!([{"text": words}]).to_string();
        let body = json!({
            "input": {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": {"content": text("Hello")}},
                {"role": "user", "content": {"content": text("And now?")}}]},
            "output": {"messages": [{"role": "assistant", "content": {"content": text("Hi")}},
                {"role": "assistant", "content": {"message": text("Bye"), "finish_reason": "end_turn"}}]}});
        assert_eq!(
            said(Field::InputMessages, &body, &[]),
            pairs(&[
                ("system", "Be brief."),
                ("user", "Hello"),
                ("assistant", "Hi"),
                ("user", "And now?")
            ])
        );
        assert_eq!(said(Field::OutputMessages, &body, &[]), pairs(&[("assistant", "Bye")]));
    }

    #[test]
    fn an_earlier_answer_comes_before_what_follows_it() {
        let text = |words: &str| json!([{"text": words}]).to_string();
        let result = json!([{"toolResult": {"toolUseId": "c1", "content": [{"text": "3C"}]}}]).to_string();
        let call = json!([{"toolUse": {"toolUseId": "c1", "name": "w", "input": {}}}]).to_string();
        let body = |earlier: &str| {
            json!({"input": {"messages": [{"role": "user", "content": {"content": text("And now?")}}, {"role": "tool", "content": {"content": result}}]},
                "output": {"messages": [{"role": "assistant", "content": {"content": earlier}}, {"role": "assistant", "content": {"message": text("Bye")}}]}})
        };
        let words = pairs(&[("tool", "3C"), ("assistant", "Hi"), ("user", "And now?")]);
        assert_eq!(said(Field::InputMessages, &body(&text("Hi")), &[]), words);
        let calls = pairs(&[("user", "And now?"), ("assistant", ""), ("tool", "3C")]);
        assert_eq!(said(Field::InputMessages, &body(&call), &[]), calls);
    }

    #[test]
    fn whole_inputs_and_outputs_as_json_text() {
        let parts = |role: &str, words: &str| json!([{"role": role, "parts": [{"type": "text", "content": words}]}]).to_string();
        let body = json!({"input": {"messages": [{"role": "user", "content": parts("user", "Hey")}]},
            "output": {"messages": [{"role": "assistant", "content": parts("assistant", "Hi")}]}});
        assert_eq!(said(Field::InputMessages, &body, &[]), pairs(&[("user", "Hey")]));
        assert_eq!(said(Field::OutputMessages, &body, &[]), pairs(&[("assistant", "Hi")]));
        let chain = json!({"inputs": {"messages": [{"role": "user", "content": "Hey"}]}, "tags": []}).to_string();
        let body = json!({"input": {"messages": [{"role": "user", "content": chain}]}});
        assert_eq!(said(Field::InputMessages, &body, &[]), pairs(&[("user", "Hey")]));
        let json_words = json!({"input": {"messages": [{"role": "user", "content": "{\"a\": 1}"}]}});
        assert_eq!(
            said(Field::InputMessages, &json_words, &[]),
            pairs(&[("user", "{\"a\": 1}")]),
            "one message's words"
        );
    }

    #[test]
    fn roles_and_calls_are_on_the_span() {
        let user = |words: &str| json!({"role": "user", "content": words});
        let body = json!({"input": {"messages": [user("[{\"role\": \"user\", \"content\": \"Hey\"}]"), user("Be brief."), user("Hey")]},
            "output": {"messages": [{"role": "assistant", "content": "assistant: Hi"}, {"role": "assistant", "content": "Hi"}]}});
        let own = [("0.message.role", "system"), ("1.message.role", "user")];
        assert_eq!(
            said(Field::InputMessages, &body, &own),
            pairs(&[("system", "Be brief."), ("user", "Hey")])
        );
        assert_eq!(
            said(Field::OutputMessages, &body, &[("0.message.role", "assistant")]),
            pairs(&[("assistant", "Hi")])
        );
        let own = [("0.role", "user"), ("0.content", "Hey there"), ("1.role", "assistant")];
        assert_eq!(
            said(Field::InputMessages, &body, &own),
            pairs(&[]),
            "what belongs where is not clear"
        );
    }
}
