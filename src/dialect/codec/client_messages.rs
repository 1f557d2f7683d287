//! Messages in the shapes of particular clients: one event per message, one attribute per part, or text and calls in one text.

use serde_json::{Map, Value};

use super::empty::is_empty;
use crate::dialect::flat;
use crate::dialect::mend;
use crate::dialect::messages::{self, Direction};
use crate::dialect::normalize;
use crate::dialect::raw::{EventView, Group};
use crate::dialect::rule::Codec;
use crate::hash::{HashMap, HashSet, Members as _};
use crate::operation::{Message, Part, Role, ToolCall};
use crate::span::{AnyValue, Attributes};

/// Moves each result after the message that requests it, as far as ids show that: Azure's clients list results first.
pub(super) fn results_after_calls(messages: Vec<Message>) -> Vec<Message> {
    let mut asked: HashMap<&str, usize> = HashMap::default();
    for (place, message) in messages.iter().enumerate() {
        for id in message.tool_calls.iter().filter_map(ToolCall::recorded_id) {
            let _ = asked.entry(id).or_insert(place);
        }
    }
    let place_of = |(place, message): (usize, &Message)| {
        let asker = message.tool_call_id.as_deref().and_then(|id| asked.get(id));
        asker.map_or(place, |asker| place.max(*asker))
    };
    let places: Vec<usize> = messages.iter().enumerate().map(place_of).collect();
    let mut placed: Vec<(usize, Message)> = places.into_iter().zip(messages).collect();
    // The sort is stable, and a request is not a result, so it precedes the results moved to its place.
    placed.sort_by_key(|(place, message)| (*place, message.tool_call_id.is_some()));
    placed.into_iter().map(|(_, message)| message).collect()
}

/// Reads `gen_ai.user.message` and similar events: the role is in the name, the message in the body or attributes.
pub(super) fn message_of_event(event: &EventView<'_>) -> Vec<Message> {
    let role = event
        .name
        .strip_prefix("gen_ai.")
        .and_then(|rest| rest.strip_suffix(".message"))
        .unwrap_or("assistant");
    let mut map: Map<String, Value> = match event.body.map(AnyValue::to_json) {
        Some(Value::Object(body)) => body,
        Some(Value::String(text)) => match mend::parse(&text) {
            Some(Value::Object(body)) => body,
            _ => Map::from_iter([("content".to_owned(), Value::String(text))]),
        },
        _ => members_of_event(event.attributes),
    };
    if let Some(of) = numbered(event.name) {
        map = map.into_iter().map(|(key, value)| (below(of, &key).to_owned(), value)).collect();
    }
    open_members(&mut map);
    // Azure's clients put into one attribute what others write as the event's body.
    if let Some(Value::Object(content)) = map.member("gen_ai.event.content") {
        map = content.clone();
    }
    message_as_content(&mut map);
    // One event with the results of several calls (Azure).
    if let Some(Value::Array(results)) = map.member("tool_call_outputs") {
        return results.iter().filter_map(Value::as_object).flat_map(message_of_result).collect();
    }
    let finish = map.member("finish_reason").cloned();
    let choice = map.member("index").and_then(Value::as_u64).unwrap_or(0);
    if let Some(Value::Object(inner)) = map.member("message").cloned() {
        map = inner;
        if let Some(finish) = finish {
            let _ = map.entry("finish_reason".to_owned()).or_insert(finish);
        }
    }
    let _ = map.entry("role".to_owned()).or_insert_with(|| role.into());
    // The names of the calls and nothing else (ax).
    for names in ["tool_names", "function_names"] {
        if let Some(Value::String(names)) = map.get(names)
            && !map.has("tool_calls")
        {
            let calls: Vec<Value> = names.split(',').map(|name| serde_json::json!({"name": name.trim()})).collect();
            let _ = map.insert("tool_calls".to_owned(), Value::Array(calls));
        }
    }
    let has_content = map
        .keys()
        .any(|key| matches!(key.as_str(), "content" | "tool_calls" | "parts" | "contents"));
    let mut messages = messages::of_object(&map);
    messages.retain_mut(|message| !messages::is_withheld_message(message));
    if !has_content && role != "tool" {
        messages.retain(|message| !message.is_blank());
    }
    for message in &mut messages {
        message.choice = choice;
    }
    messages
}

/// The prefix of events whose name ends in a number: `gen_ai.prompt` of `gen_ai.prompt.0`.
fn numbered(name: &str) -> Option<&str> {
    let (of, number) = name.rsplit_once('.')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(of)
}

/// The name of a member of such a message: `role` of `gen_ai.prompt.role`.
fn below<'k>(of: &str, key: &'k str) -> &'k str {
    key.strip_prefix(of).and_then(|rest| rest.strip_prefix('.')).unwrap_or(key)
}

/// The attributes of an event. A client may flatten nested values: `message.tool_calls.0.function.name` (Kibana).
fn members_of_event(attributes: &Attributes) -> Map<String, Value> {
    let heads = ["message", "tool_calls"].map(|head| (head, attributes.get(head).is_none()));
    let is_flat = |key: &str| {
        key.split_once('.')
            .is_some_and(|(of, _)| heads.iter().any(|(head, may_be)| *head == of && *may_be))
    };
    let (flat, whole): (Vec<_>, Vec<_>) = attributes.iter().enumerate().partition(|(_, (key, _))| is_flat(key));
    let flat::Tree { value, strays } = flat::tree(flat.iter().map(|(place, (key, value))| (*place, key.as_str(), value)));
    let mut map: Map<String, Value> = whole.into_iter().map(|(_, (key, value))| (key.clone(), value.to_json())).collect();
    // Attributes that fit in no tree keep their keys.
    let strays: HashSet<usize> = strays.into_iter().collect();
    let strays = flat.iter().filter(|(place, _)| strays.contains(place));
    map.extend(strays.map(|(_, (key, value))| (key.clone(), value.to_json())));
    if let Value::Object(members) = value {
        map.extend(members);
    }
    map
}

/// One of several results: `{type, id, output}`.
fn message_of_result(result: &Map<String, Value>) -> Vec<Message> {
    let member = |keys: &[&str]| keys.iter().find_map(|key| result.member(key)).cloned().unwrap_or_default();
    messages::of_object(&Map::from_iter([
        ("role".to_owned(), Value::from("tool")),
        ("tool_call_id".to_owned(), member(&["tool_call_id", "call_id", "id"])),
        ("content".to_owned(), member(&["output", "content", "result"])),
    ]))
}

fn open_members(map: &mut Map<String, Value>) {
    for value in map.values_mut() {
        if let Value::String(text) = value {
            *value = normalize::open_json(text);
        }
    }
}

/// Makes plain text or blocks the message of a choice (strands).
fn message_as_content(map: &mut Map<String, Value>) {
    if let Some(text @ (Value::String(_) | Value::Array(_))) = map.member("message").cloned() {
        let _ = map.remove("message");
        let _ = map.insert("content".to_owned(), text);
    }
}

/// The attributes of an event as members of its message.
pub(super) fn message_members_of_event(mut map: Map<String, Value>) -> Map<String, Value> {
    open_members(&mut map);
    message_as_content(&mut map);
    map
}

/// Of old-style events in one list, the input, or the output: the choices, or the assistant's last message if a client writes no choices
/// (Logfire, on the Responses API).
pub(super) fn listed_events(mut items: Vec<Value>, out: bool) -> Vec<Value> {
    // Logfire's placeholder for an item it cannot express.
    items.retain(|item| item.member("event.name").and_then(Value::as_str) != Some("gen_ai.unknown"));
    let name = |item: &Value| item.member("event.name").and_then(Value::as_str).map(str::to_owned);
    let is_choice = |item: &Value| match name(item) {
        Some(name) => name == "gen_ai.choice",
        None => item.member("message").is_some() && (item.member("index").is_some() || item.member("finish_reason").is_some()),
    };
    let role_in_name = |item: &Value| Some(name(item)?.strip_prefix("gen_ai.")?.strip_suffix(".message")?.to_owned());
    let with_role = |mut item: Value| {
        if let (Some(role), Value::Object(map)) = (role_in_name(&item), &mut item) {
            let _ = map.entry("role".to_owned()).or_insert_with(|| role.into());
        }
        item
    };
    if items.iter().any(is_choice) {
        return items.into_iter().filter(|item| is_choice(item) == out).map(with_role).collect();
    }
    let mut items: Vec<Value> = items.into_iter().map(with_role).collect();
    let is_said = |item: &Value| item.member("role").and_then(Value::as_str) == Some("assistant");
    let last = items.iter().rposition(|item| !is_said(item)).map_or(0, |at| at + 1);
    let said = items.split_off(last);
    if out { said } else { items }
}

/// Of old-style events in one list, the system prompts.
pub(super) fn listed_prompts(items: Vec<Value>) -> Option<Value> {
    let is_prompt = |item: &Value| {
        let name = item.member("event.name").and_then(Value::as_str);
        matches!(name, Some("gen_ai.system.message" | "gen_ai.developer.message"))
    };
    let prompts: Vec<Value> = items.into_iter().filter(is_prompt).collect();
    (!prompts.is_empty()).then_some(Value::Array(prompts))
}

/// The member names that a codec reads; `None` if it reads all of them or is not a codec of members.
pub(in crate::dialect) fn members_read(codec: Codec) -> Option<&'static [&'static str]> {
    match codec {
        Codec::MessageMembers => Some(&["reasoning", "reasoningText", "text", "object", "toolCalls"]),
        Codec::ResponseMembers => Some(&["text", "tool_calls"]),
        _ => None,
    }
}

/// Builds one message from `ai.response.text`, `.toolCalls`, `.reasoning` and `.object`.
pub(super) fn message_members(group: Group<'_>) -> Option<Message> {
    let get = |name: &str| group.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| value.to_json());
    let mut message = Message {
        role: Role::Assistant,
        ..Message::default()
    };
    for name in ["reasoning", "reasoningText"] {
        if let Some(Value::String(text)) = get(name)
            && !text.is_empty()
        {
            message.parts.push(Part::Reasoning {
                text: Some(text),
                opaque: Map::new(),
            });
            break;
        }
    }
    if let Some(Value::String(text)) = get("text").filter(|value| !is_empty(value)).or_else(|| get("object")) {
        message.parts.push(Part::Text(text));
    }
    message.tool_calls = get("toolCalls").map(|list| messages::calls(&list)).unwrap_or_default();
    (!message.is_blank()).then_some(message)
}

/// Builds messages from `gen_ai.response.text` and `.tool_calls`. The text is a JSON list if the answer has several texts, and JSON of
/// whole messages, one per choice, if it comes from `LiteLLM` (Sentry).
pub(super) fn response_members(group: Group<'_>) -> Option<Vec<Message>> {
    let get = |name: &str| group.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| value.to_json());
    let mut message = Message {
        role: Role::Assistant,
        ..Message::default()
    };
    let calls = get("tool_calls").map(|list| messages::calls(&list)).unwrap_or_default();
    if let Some(Value::String(text)) = get("text").filter(|value| !is_empty(value)) {
        if let Some(mut whole) = whole_messages(&text) {
            // The separate calls belong to the message, unless it has its own.
            if let Some(first) = whole.first_mut().filter(|first| first.tool_calls.is_empty()) {
                first.tool_calls = calls;
            }
            return Some(whole);
        }
        message.parts.push(Part::Text(joined(&text).unwrap_or(text)));
    }
    message.tool_calls = calls;
    (!message.is_blank()).then(|| vec![message])
}

/// The messages in a JSON text: a single one, or a list with one per choice.
fn whole_messages(text: &str) -> Option<Vec<Message>> {
    let begins = text.starts_with('{') || text.starts_with("[{");
    let value: Value = begins.then(|| serde_json::from_str(text).ok()).flatten()?;
    let items = value.as_array().map_or(std::slice::from_ref(&value), Vec::as_slice);
    let members: Option<Vec<_>> = items.iter().map(Value::as_object).collect();
    let of_assistant =
        |item: &&serde_json::Map<String, Value>| item.member("role").is_some_and(|role| role == "assistant") && item.has("content");
    let members = members.filter(|list| list.iter().all(of_assistant))?;
    let messages: Vec<Message> = members.into_iter().flat_map(messages::of_object).collect();
    (!messages.is_empty()).then_some(messages)
}

/// Joins the texts of a JSON list that contains only texts.
fn joined(text: &str) -> Option<String> {
    let is_list = text.starts_with("[\"") && text.ends_with("\"]");
    let texts: Vec<String> = is_list.then(|| serde_json::from_str(text).ok()).flatten()?;
    Some(texts.concat())
}

/// Splits a text into messages that each begin on a line with their role: `system: ..`, `user: ..`. Lines without a role continue the
/// previous message.
pub(super) fn role_lines(text: &str) -> Option<Vec<Message>> {
    const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];
    let mut said: Vec<(Role, String)> = Vec::new();
    for line in text.split('\n') {
        let role = line.split_once(": ").filter(|(role, _)| ROLES.contains(role));
        match (role, said.last_mut()) {
            (Some((role, words)), _) => said.push((Role::from_recorded(role), words.to_owned())),
            (None, Some((_, words))) => {
                words.push('\n');
                words.push_str(line);
            }
            (None, None) => return None,
        }
    }
    Some(said.into_iter().map(|(role, words)| Message::text(role, words)).collect())
}

/// Parses a title line followed by `["..", ".."]` with unescaped inner quotes: texts without roles.
pub(super) fn bracketed_texts(body: &str, role: &Role) -> Option<Vec<Message>> {
    let (_, list) = body.split_once('\n')?;
    let inside = list.trim().strip_prefix('[')?.strip_suffix(']')?;
    let inside = inside.strip_prefix('"').unwrap_or(inside);
    let inside = inside.strip_suffix('"').unwrap_or(inside);
    Some(inside.split("\", \"").map(|text| Message::text(role.clone(), text)).collect())
}

/// Reads messages of a client that writes calls as `[tool: name]` after the assistant's text, and results as `[tool-result: name]`. The
/// names become calls, and empty results are dropped.
pub(super) fn tool_marks(list: &Value) -> Option<Vec<Message>> {
    let mut out = messages::read(list, Direction::Input)?;
    for message in &mut out {
        let (words, names) = without_marks(&message.content(), "[tool: ");
        if message.role == Role::Assistant && message.tool_calls.is_empty() && !names.is_empty() {
            message.parts = if words.is_empty() { Vec::new() } else { vec![Part::Text(words)] };
            message.tool_calls = names
                .into_iter()
                .map(|name| ToolCall {
                    name,
                    ..ToolCall::default()
                })
                .collect();
        }
    }
    out.retain(|message| message.role != Role::Tool || !without_marks(&message.content(), "[tool-result: ").0.is_empty());
    Some(out)
}

/// Strips the marks at the end of a text; returns the text and the names in the marks.
fn without_marks(text: &str, mark: &str) -> (String, Vec<String>) {
    let (mut rest, mut names) = (text.trim_end(), Vec::new());
    while let Some(inside) = rest.strip_suffix(']')
        && let Some(at) = inside.rfind(mark)
        && let Some(name) = inside.get(at + mark.len()..).filter(|name| !name.contains(']'))
    {
        names.push(name.to_owned());
        rest = rest.get(..at).unwrap_or("").trim_end();
    }
    names.reverse();
    (rest.to_owned(), names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flattened_members_that_fit_nowhere_keep_their_keys() {
        let members = |pairs: &[(&str, &str)]| {
            let mut attributes = Attributes::default();
            for (key, value) in pairs {
                attributes.push(*key, *value);
            }
            Value::Object(members_of_event(&attributes)).to_string()
        };
        let flat = [("tool_calls.0.id", "a"), ("tool_calls.name", "b"), ("role", "assistant")];
        assert_eq!(
            members(&flat),
            r#"{"role":"assistant","tool_calls.name":"b","tool_calls":[{"id":"a"}]}"#
        );
        let whole = [("message", "hi"), ("message.role", "user")];
        assert_eq!(members(&whole), r#"{"message":"hi","message.role":"user"}"#);
    }

    #[test]
    fn results_come_after_the_messages_that_ask_for_them() {
        let asks = |ids: &[&str]| {
            let call = |id: &&str| ToolCall {
                id: Some(crate::operation::ToolCallId::Recorded((*id).to_owned())),
                ..ToolCall::default()
            };
            let mut message = Message::text(Role::Assistant, ids.join("+"));
            message.tool_calls = ids.iter().map(call).collect();
            message
        };
        let gives = |id: &str| Message {
            tool_call_id: Some(id.to_owned()),
            ..Message::text(Role::Tool, id)
        };
        let words = |list: Vec<Message>| results_after_calls(list).iter().map(Message::content).collect::<Vec<_>>().join(" ");
        assert_eq!(
            words(vec![gives("a"), gives("b"), asks(&["a", "b"]), gives("c"), asks(&["c"])]),
            "a+b a b c c"
        );
        assert_eq!(words(vec![asks(&["a"]), gives("a"), gives("x"), asks(&["b"])]), "a a x b");
    }

    #[test]
    fn a_json_text_of_messages_has_one_a_choice() {
        let words = |text: &str| whole_messages(text).map(|list| list.iter().map(Message::content).collect::<Vec<_>>());
        let one = r#"{"role": "assistant", "content": "one", "tool_calls": null}"#;
        assert_eq!(words(one), Some(vec!["one".to_owned()]));
        let two = format!(r#"[{one}, {{"role": "assistant", "content": "two"}}]"#);
        assert_eq!(words(&two), Some(vec!["one".to_owned(), "two".to_owned()]));
        let other = format!(r#"[{one}, {{"answer": 2}}]"#);
        assert_eq!(words(&other), None, "an answer in a model's own JSON");
        assert_eq!(words(r#"{"role": "user", "content": "one"}"#), None);
    }

    #[test]
    fn marks_of_tools() {
        let list = serde_json::json!([
            {"role": "user", "content": "Say [tool: x] twice"},
            {"role": "assistant", "content": "Let me see.[tool: f][tool: g]"},
            {"role": "tool", "content": "[tool-result: f][tool-result: g]"},
        ]);
        let recorded = tool_marks(&list).expect("messages");
        let calls: Vec<&str> = recorded
            .iter()
            .flat_map(|message| &message.tool_calls)
            .map(|call| call.name.as_str())
            .collect();
        assert_eq!((recorded.len(), calls), (2, vec!["f", "g"]));
        assert_eq!(recorded.last().map(Message::content).as_deref(), Some("Let me see."));
    }
}
