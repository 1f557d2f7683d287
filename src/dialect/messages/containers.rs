//! Reads containers of messages: lists, request bodies, response bodies, generations.

use serde_json::{Map, Value};

use super::answers::{answers, append_turn, numbered};
use super::direction::Direction;
use super::member::text;
use super::object::{from_object, is_written_call};
use super::printed::{contains_objects, is_repr, is_tuple_of_texts, opened};
use super::system::system;
use super::{block, calls, classes, envelope, parts, responses, server_tools};
use crate::dialect::mend;
use crate::dialect::python;
use crate::hash::Members as _;
use crate::operation::message::joined;
use crate::operation::{Message, Part, Role};
use crate::withheld::is_printed_object;

/// Maximum nesting of lists, objects and JSON texts; a dozen occurs in practice. JSON text inside JSON text may nest as deep as the parser
/// allows once more, and all of it must fit on the stack.
const DEEPEST: u8 = 128;

/// Position of a value while reading.
#[derive(Clone, Copy)]
struct Context {
    direction: Direction,
    depth: u8,
}

impl Context {
    /// One level deeper; `None` beyond the maximum.
    fn inside(self) -> Option<Self> {
        let depth = self.depth.checked_add(1).filter(|depth| *depth <= DEEPEST)?;
        Some(Self { depth, ..self })
    }

    fn output(self) -> Self {
        Self {
            direction: Direction::Output,
            ..self
        }
    }
}

/// The messages in a value; `None` if nothing in it looks like a message.
pub(super) fn read(value: &Value, direction: Direction) -> Option<Vec<Message>> {
    any(value, Context { direction, depth: 0 })
}

fn any(value: &Value, context: Context) -> Option<Vec<Message>> {
    let direction = context.direction;
    match value {
        Value::Array(items) => list(items, context),
        Value::Object(map) => object(map, context),
        Value::String(text) if is_printed_object(text) => None,
        Value::String(text) => {
            if let Some(inside) = context.inside() {
                if let Some(inner @ (Value::Array(_) | Value::Object(_) | Value::String(_))) = opened(text)
                    && let Some(messages) = any(&inner, inside)
                {
                    return Some(messages);
                }
                if let Some(printed) = is_repr(text).then(|| python::read(text)).flatten() {
                    return any(&printed, inside);
                }
                if let Some(printed) = python::literal(text).filter(|printed| contains_objects(printed) || is_tuple_of_texts(text, printed))
                    && let Some(messages) = any(&printed, inside)
                {
                    return Some(messages);
                }
            }
            let is_broken = match direction {
                Direction::Input => mend::is_broken_request(text),
                Direction::Output => mend::is_broken_answer(text),
            };
            (!text.trim().is_empty() && !is_repr(text) && !is_broken).then(|| of_text(text, direction))
        }
        _ => None,
    }
}

/// A bare text as one message.
#[must_use]
pub(crate) fn of_text(text: &str, direction: Direction) -> Vec<Message> {
    vec![Message::text(direction.role(), text)]
}

/// Merges a streamed Gemini answer, in which each chunk is a message with some of the parts.
fn chunks(items: &[Value], direction: Direction) -> Option<Map<String, Value>> {
    if direction == Direction::Input || items.len() < 2 {
        return None;
    }
    let mut parts = Vec::new();
    for item in items {
        let map = item.as_object()?;
        if map.member("role").and_then(Value::as_str) != Some("model") || map.has("finish_reason") {
            return None;
        }
        parts.extend(map.member("parts")?.as_array()?.iter().cloned());
    }
    Some(Map::from_iter([
        ("role".to_owned(), Value::from("model")),
        ("parts".to_owned(), Value::Array(parts)),
    ]))
}

/// Reads a list of messages, of Responses API items, of blocks of one message, or of JSON texts of these.
fn list(items: &[Value], context: Context) -> Option<Vec<Message>> {
    let context = context.inside()?;
    let direction = context.direction;
    if let Some(whole) = chunks(items, direction) {
        return from_object(&whole, direction);
    }
    let mut out: Vec<Message> = Vec::new();
    let mut open_turn = false;
    let mut instructions: Option<String> = None;
    for item in items {
        let opened = open_alone(item);
        let item = opened.as_ref().unwrap_or(item);
        match item {
            Value::Object(map) => {
                if let Some(messages) = response_item(map) {
                    for message in messages {
                        if message.role == Role::Assistant {
                            append_turn(&mut out, message, open_turn);
                            open_turn = true;
                        } else {
                            open_turn = false;
                            out.push(message);
                        }
                    }
                    continue;
                }
                if let Some(mut messages) = from_object(map, direction) {
                    classes::tell_instructions_once(map, &mut messages, &mut instructions);
                    let goes_on =
                        (is_written_call(map) || calls::is_bare(map)) && out.last().is_some_and(|last| last.role == Role::Assistant);
                    open_turn |= goes_on;
                    let merge = open_turn || map.has("status") && direction == Direction::Input;
                    for message in messages {
                        if message.role == Role::Assistant && merge && open_turn {
                            append_turn(&mut out, message, true);
                        } else {
                            open_turn = message.role == Role::Assistant && is_response_message(map);
                            out.push(message);
                        }
                    }
                } else if block::is_block(item) {
                    let message = from_object(
                        &Map::from_iter([("content".to_owned(), Value::Array(vec![item.clone()]))]),
                        direction,
                    )?;
                    for message in message {
                        if message.role == Role::Tool {
                            out.push(message);
                        } else {
                            let open = !out.is_empty();
                            append_turn(&mut out, message, open);
                        }
                    }
                } else if let Some(messages) = object(map, context) {
                    out.extend(messages);
                }
            }
            Value::Array(inner) => match pair_of_role(inner) {
                Some(message) => out.push(message),
                None => out.extend(list(inner, context).unwrap_or_default()),
            },
            Value::String(_) => out.extend(any(item, context).unwrap_or_default()),
            _ => {}
        }
    }
    if direction == Direction::Output && items.len() > 1 && items.iter().all(Value::is_string) {
        out = one_of_texts(out);
    }
    (!out.is_empty()).then_some(out)
}

/// Keeps the texts of an answer that is a list of texts separate.
fn one_of_texts(list: Vec<Message>) -> Vec<Message> {
    let is_text = |message: &Message| {
        let texts = message.parts.iter().all(|part| matches!(part, Part::Text(_)));
        message.role == Role::Assistant && message.tool_calls.is_empty() && texts
    };
    if !list.iter().all(is_text) {
        return list;
    }
    let texts: Vec<String> = list.iter().map(Message::content).collect();
    vec![Message::text(Role::Assistant, joined(texts.iter().map(String::as_str), "\n"))]
}

/// LangChain's short form of a message: `["user", "Hello"]`.
fn pair_of_role(items: &[Value]) -> Option<Message> {
    let [Value::String(role), Value::String(words)] = items else {
        return None;
    };
    let role = match role.as_str() {
        "user" | "human" => Role::User,
        "assistant" | "ai" => Role::Assistant,
        "system" | "developer" => Role::System,
        _ => return None,
    };
    Some(Message::text(role, words.as_str()))
}

/// Parses a message that is its role's only member, or a lone call, from its own JSON text (Monocle), or the JSON body of an event with
/// further members (Semantic Kernel through Langfuse).
fn open_alone(item: &Value) -> Option<Value> {
    if let Some(body) = item.member("gen_ai.event.content").and_then(Value::as_str) {
        let mut body: Map<String, Value> = serde_json::from_str(body).ok()?;
        if !body.has("role") && !body.has("message") {
            let _ = body.insert("role".to_owned(), item.member("role")?.clone());
        }
        return Some(Value::Object(body));
    }
    let text = item.as_str().filter(|text| text.starts_with('{'))?;
    let opened: Value = serde_json::from_str(text).ok()?;
    let is_alone = opened
        .as_object()
        .is_some_and(|map| map.len() == 1 || calls::is_bare(map) || calls::is_bare_result(map));
    is_alone.then_some(opened)
}

fn is_response_message(map: &Map<String, Value>) -> bool {
    map.member("type").and_then(Value::as_str) == Some("message")
}

/// Reads items of the Responses API other than messages: thoughts, calls and their outputs.
fn response_item(map: &Map<String, Value>) -> Option<Vec<Message>> {
    if map.has("role") {
        return None;
    }
    let kind = map.member("type").and_then(Value::as_str)?;
    let assistant = |message: Message| {
        vec![Message {
            role: Role::Assistant,
            ..message
        }]
    };
    match kind {
        "item_reference" => Some(Vec::new()),
        kind if matches!(kind, "reasoning" | "function_call" | "custom_tool_call")
            || server_tools::is_call_item(kind)
            || kind.ends_with("_call_output") =>
        {
            match parts::of_object(map) {
                parts::Piece::Part(part) => Some(assistant(Message {
                    parts: vec![part],
                    ..Message::default()
                })),
                parts::Piece::Call(call) => Some(assistant(Message {
                    tool_calls: vec![call],
                    ..Message::default()
                })),
                parts::Piece::Result(result) => Some(vec![*result]),
                parts::Piece::Nothing => Some(Vec::new()),
            }
        }
        _ => None,
    }
}

fn object(map: &Map<String, Value>, context: Context) -> Option<Vec<Message>> {
    let context = context.inside()?;
    let direction = context.direction;
    if let Some(inner) = envelope::inside(map, direction) {
        return any(inner, context);
    }
    if let Some(messages) = map.member("messages").filter(|value| value.is_array() || value.is_string()) {
        return with_system(map, any(messages, context));
    }
    if let Some(contents) = map.member("contents")
        && !map.has("role")
    {
        return with_system(map, any(contents, context));
    }
    if direction == Direction::Input
        && !map.has("role")
        && !map.has("type")
        && let Some(input) = map.member("input").filter(|value| value.is_array() || value.is_string())
    {
        return with_system(map, any(input, context));
    }
    if responses::is_empty(map) {
        return Some(Vec::new());
    }
    if let Some(Value::Array(choices)) = map.member("choices") {
        let messages = numbered(choices, |choice| list(std::slice::from_ref(choice), context.output()));
        // All tokens may have gone into thoughts that are withheld.
        return messages.or_else(|| responses::is_whole(map).then(Vec::new));
    }
    if let Some(Value::Array(candidates)) = map.member("candidates") {
        return numbered(candidates, |candidate| {
            let candidate = candidate.as_object()?;
            let mut messages = any(candidate.member("content")?, context.output())?;
            if let (Some(last), Some(reason)) = (messages.last_mut(), text(candidate, &["finishReason", "finish_reason"])) {
                last.finish_reason.get_or_insert(reason);
            }
            Some(messages)
        });
    }
    if let Some(generations) = map.member("generations") {
        // One list of choices per prompt; a model call has one prompt.
        return match generations {
            Value::Array(prompts) if prompts.iter().all(Value::is_array) => {
                let of_prompt =
                    |prompt: &Value| numbered(prompt.as_array()?, |choice| list(std::slice::from_ref(choice), context.output()));
                let messages: Vec<Message> = prompts.iter().filter_map(of_prompt).flatten().collect();
                // A failed call has no choices.
                let has_none = || prompts.iter().all(|prompt| prompt.as_array().is_some_and(Vec::is_empty));
                (!messages.is_empty() || has_none()).then_some(messages)
            }
            Value::Array(choices) => numbered(choices, |choice| list(std::slice::from_ref(choice), context.output())),
            other => any(other, context.output()),
        };
    }
    if direction == Direction::Output
        && let Some(output @ Value::Array(_)) = map.member("output")
        && !map.has("role")
    {
        let messages = any(output, context.output()).map(|messages| answers(messages, false));
        return messages.or_else(|| responses::is_whole(map).then(Vec::new));
    }
    if direction == Direction::Output
        && let Some(messages) = responses::texts(map).or_else(|| responses::pictures(map))
    {
        return Some(messages);
    }
    // Bedrock's Converse.
    if direction == Direction::Output
        && let Some(message @ Value::Object(_)) = map.member("output").and_then(|output| output.member("message"))
    {
        return any(message, context);
    }
    if let Some(messages) = from_object(map, direction) {
        return Some(messages);
    }
    // A typed value: {type: chat_messages, value: [..]} (LangWatch).
    if map.len() == 2
        && map.has("type")
        && let Some(value) = map.member("value")
    {
        return any(value, context);
    }
    if map.member("type").and_then(Value::as_str) == Some("message")
        && let Some(content) = map.member("content")
    {
        return any(content, context);
    }
    if direction == Direction::Input
        && let Some(Value::String(text)) = ["prompt", "question", "query"].iter().find_map(|key| map.member(key))
    {
        let said = (!text.trim().is_empty()).then(|| of_text(text, direction));
        return with_system(map, said);
    }
    if direction == Direction::Input
        && let Some(messages) = of_arguments(map, context)
    {
        return Some(messages);
    }
    for key in ["kwargs", "message", "response", "content"] {
        if let Some(inner @ (Value::Object(_) | Value::Array(_))) = map.member(key)
            && let Some(messages) = any(inner, context)
        {
            return Some(messages);
        }
    }
    if let Some(Value::String(text)) = map
        .member("text")
        .or_else(|| map.member("completion"))
        .or_else(|| map.member("output_text"))
    {
        return (!text.trim().is_empty()).then(|| of_text(text, direction));
    }
    if block::is_block(&Value::Object(map.clone()))
        || (map.has("functionCall") || map.member("function_call").is_some_and(Value::is_object))
    {
        return from_object(
            &Map::from_iter([("content".to_owned(), Value::Array(vec![Value::Object(map.clone())]))]),
            direction,
        );
    }
    None
}

/// The messages among the arguments of a decorated function, `{"args": [messages], "kwargs": {..}}`, or else its only text.
fn of_arguments(map: &Map<String, Value>, context: Context) -> Option<Vec<Message>> {
    let args = map.member("args")?.as_array()?;
    if !map.keys().all(|key| matches!(key.as_str(), "args" | "kwargs" | "self")) {
        return None;
    }
    let is_whole = |arg: &&Value| arg.is_array() || arg.is_object();
    let among = args.iter().filter(is_whole).find_map(|arg| any(arg, context));
    let named = || any(map.member("kwargs").filter(|kwargs| kwargs.is_object())?, context);
    let mut texts = args.iter().filter(|arg| arg.is_string());
    let only = || match (texts.next(), texts.next()) {
        (Some(text), None) => any(text, context),
        _ => None,
    };
    among.or_else(named).or_else(only)
}

fn with_system(map: &Map<String, Value>, messages: Option<Vec<Message>>) -> Option<Vec<Message>> {
    let mut messages = messages?;
    let config = map.member("config").and_then(Value::as_object);
    let prompt = ["system", "instructions", "system_instruction", "systemInstruction"]
        .into_iter()
        .find_map(|key| map.member(key).or_else(|| config.and_then(|config| config.member(key))))
        .and_then(system);
    if let Some(prompt) = prompt
        && !messages
            .iter()
            .any(|message| matches!(message.role, Role::System | Role::Developer))
    {
        messages.insert(0, prompt);
    }
    Some(messages)
}
