//! Messages written as objects of the client's framework, whose class determines the role (Pydantic AI, AutoGen).

use serde_json::{Map, Value};

use super::arguments;
use super::builder::Builder;
use super::member::text;
use crate::hash::Members as _;
use crate::operation::{Message, Part, Role, ToolCall};

/// The messages of such an object; one of Pydantic AI has the parts of several.
pub(super) fn read(map: &Map<String, Value>) -> Option<Vec<Message>> {
    if let (Some("request" | "response"), Some(Value::Array(parts))) = (map.member("kind").and_then(Value::as_str), map.member("parts")) {
        let parts: Option<Vec<(&str, &Map<String, Value>)>> = parts.iter().map(part).collect();
        let said = of_parts(&parts.filter(|parts| !parts.is_empty())?);
        // Instructions are not a part but a member of the request.
        let prompt = instructions(map).map(|text| Message::text(Role::System, text));
        return Some(prompt.into_iter().chain(said).collect());
    }
    if map.member("type").and_then(Value::as_str) == Some("FunctionExecutionResultMessage") {
        let results = map.member("content")?.as_array()?.iter();
        // If an element is not an object, the message is not of that class.
        return results.map(|given| Some(result(given.as_object()?, "call_id"))).collect();
    }
    None
}

/// Drops the instructions from a request's messages if they equal those of the previous request, as every request repeats them.
pub(super) fn tell_instructions_once(map: &Map<String, Value>, messages: &mut Vec<Message>, before: &mut Option<String>) {
    // A single message has no instructions, so keys are only looked up for several.
    let [Message { role: Role::System, .. }, _, ..] = &messages[..] else {
        return;
    };
    let Some(text) = instructions(map) else { return };
    if before.as_deref() == Some(text) && messages.first().is_some_and(|first| first.joined_text() == text) {
        let _ = messages.remove(0);
    }
    *before = Some(text.to_owned());
}

/// The instructions of a Pydantic AI request.
fn instructions(map: &Map<String, Value>) -> Option<&str> {
    let is_request = map.member("kind").is_some_and(|kind| kind == "request");
    let text = map.member("instructions").filter(|_| is_request)?.as_str()?;
    (!text.trim().is_empty()).then_some(text)
}

fn part(part: &Value) -> Option<(&str, &Map<String, Value>)> {
    let map = part.as_object()?;
    Some((map.member("part_kind")?.as_str()?, map))
}

/// Joins consecutive parts of the same side to one message.
fn of_parts(parts: &[(&str, &Map<String, Value>)]) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::new();
    let mut answer: Option<Builder> = None;
    for (kind, map) in parts {
        // The provider ran this tool while the model answered.
        if *kind == "builtin-tool-return"
            && let Some(builder) = &mut answer
        {
            let given = result(map, "tool_call_id");
            let of_call = |call: &&mut ToolCall| call.id.as_deref() == given.tool_call_id.as_deref();
            if let Some(call) = builder.message.tool_calls.iter_mut().find(of_call) {
                call.answered = Some(Box::new(given));
                continue;
            }
        }
        let role = match *kind {
            "system-prompt" => Role::System,
            "tool-return" | "builtin-tool-return" => Role::Tool,
            "retry-prompt" if map.member("tool_name").is_some_and(Value::is_string) => Role::Tool,
            "user-prompt" | "retry-prompt" => Role::User,
            _ => Role::Assistant,
        };
        if role == Role::Tool {
            out.push(result(map, "tool_call_id"));
            continue;
        }
        let content = map.member("content").unwrap_or(&Value::Null);
        if role != Role::Assistant {
            let mut builder = Builder::new(role);
            builder.content(content);
            out.push(builder.message);
            continue;
        }
        let builder = answer.get_or_insert_with(|| Builder::new(Role::Assistant));
        match *kind {
            "tool-call" | "builtin-tool-call" => {
                let name = text(map, &["tool_name"]).unwrap_or_default();
                builder.call(arguments::call(text(map, &["tool_call_id"]), name, map.member("args")));
            }
            "thinking" => builder.message.parts.push(Part::Reasoning {
                text: text(map, &["content"]),
                opaque: map
                    .member("signature")
                    .filter(|signature| !signature.is_null())
                    .map(|signature| ("signature".to_owned(), signature.clone()))
                    .into_iter()
                    .collect(),
            }),
            _ => builder.content(content),
        }
    }
    out.extend(answer.map(|builder| builder.message));
    out
}

fn result(map: &Map<String, Value>, id: &str) -> Message {
    let mut builder = Builder::new(Role::Tool);
    builder.message.tool_call_id = text(map, &[id]);
    builder.message.name = text(map, &["tool_name", "name"]);
    builder.message.is_error =
        map.member("is_error") == Some(&Value::Bool(true)) || map.member("part_kind").and_then(Value::as_str) == Some("retry-prompt");
    if let Some(content) = map.member("content") {
        builder.content(content);
    }
    builder.message
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Direction, read};
    use crate::operation::{Message, Part, Role};

    /// Role, words and calls of each message.
    fn recorded(value: &serde_json::Value) -> Vec<(Role, String, Vec<String>)> {
        let calls = |message: &Message| message.tool_calls.iter().map(|call| call.name.clone()).collect();
        let messages = read(value, Direction::Input).unwrap_or_default();
        messages
            .iter()
            .map(|message| (message.role.clone(), message.joined_text().into_owned(), calls(message)))
            .collect()
    }

    #[test]
    fn classes_say_who_speaks() {
        let pydantic = json!([
            {"kind": "request", "parts": [{"part_kind": "system-prompt", "content": "Be brief."}, {"part_kind": "user-prompt", "content": "How deep?"}]},
            {"kind": "response", "parts": [
                {"part_kind": "text", "content": "I sound."},
                {"part_kind": "tool-call", "tool_name": "sound", "args": "{\"pier\":1}", "tool_call_id": "c1"}]},
            {"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "sound", "content": "6 m", "tool_call_id": "c1"}]},
        ]);
        let autogen = json!([
            {"type": "SystemMessage", "content": "Be brief."},
            {"type": "UserMessage", "content": "How deep?", "source": "user"},
            {"type": "AssistantMessage", "content": [{"id": "c1", "name": "sound", "arguments": "{\"pier\":1}"}], "thought": "I sound.", "source": "pilot"},
            {"type": "FunctionExecutionResultMessage", "content": [{"content": "6 m", "name": "sound", "call_id": "c1", "is_error": false}]},
        ]);
        let wanted = [
            (Role::System, "Be brief.".to_owned(), vec![]),
            (Role::User, "How deep?".to_owned(), vec![]),
            (Role::Assistant, "I sound.".to_owned(), vec!["sound".to_owned()]),
            (Role::Tool, "6 m".to_owned(), vec![]),
        ];
        let instructed = json!([
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "How deep?"}], "instructions": "Be brief."},
            {"kind": "response", "parts": [
                {"part_kind": "text", "content": "I sound."},
                {"part_kind": "builtin-tool-call", "tool_name": "sound", "args": {"pier": 1}, "tool_call_id": "c1"},
                {"part_kind": "builtin-tool-return", "tool_name": "sound", "content": "6 m", "tool_call_id": "c1"}]},
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "And here?"}], "instructions": "Be brief."},
        ]);
        let again = (Role::User, "And here?".to_owned(), vec![]);
        assert_eq!(
            recorded(&instructed),
            [&wanted[..3], &[again]].concat(),
            "Pydantic AI's instructions and the provider's tools"
        );
        let said = read(&instructed, Direction::Input).unwrap_or_default();
        let answered = said
            .iter()
            .flat_map(|message| &message.tool_calls)
            .find_map(|call| call.answered.as_ref());
        assert_eq!(answered.map(|answer| answer.content()).as_deref(), Some("6 m"));
        let odd = json!({"type": "FunctionExecutionResultMessage", "content": ["6 m"]});
        let kept = read(&json!([odd]), Direction::Input).unwrap_or_default();
        assert_eq!(
            kept.iter().flat_map(|message| &message.parts).collect::<Vec<_>>(),
            [&Part::Other(odd)],
            "it is kept whole"
        );
        assert_eq!(recorded(&pydantic), wanted, "Pydantic AI");
        assert_eq!(recorded(&autogen), wanted, "AutoGen");
    }
}
