//! Input and output of an operation, as one JSON value each.

use serde_json::Value;

use crate::document::json::{Json, Object, Text};
use crate::document::json_read::recorded;
use crate::document::text::compact;
use crate::operation::message::Media;
use crate::operation::{Document, Kind, Message, Operation, Part};
use crate::run::{Run, Scope, Step};
use crate::transcript::calls;
use crate::withheld::is_withheld;

/// Text unchanged, any other value as compact JSON.
pub(crate) fn text(value: &Value) -> Text<'_> {
    match value {
        Value::String(text) => text.into(),
        other => compact(other).into(),
    }
}

/// Arguments by which tools pass a request to an agent, best first.
const ASKS: [&str; 9] = [
    "prompt",
    "task",
    "query",
    "question",
    "request",
    "instructions",
    "instruction",
    "message",
    "input",
];

/// The request to an agent that a tool started: its own input, else a text in the tool's arguments, else all of these; `None` if
/// nothing is recorded.
pub(crate) fn asked_of<'a>(run: &'a Run, scope: &'a Scope) -> Option<Text<'a>> {
    let is_said = |text: &&str| !text.trim().is_empty() && !is_withheld(text);
    let agent = scope.step.and_then(|step| run.steps.get(step));
    let own = agent.and_then(|agent| agent.operation.input.get()?.as_str()).filter(is_said);
    if let Some(own) = own {
        return Some(own.into());
    }
    let step = run.steps.get(scope.called_by?)?;
    let arguments = calls::arguments(run, step).filter(|arguments| match arguments {
        Value::Null => false,
        Value::String(text) => !matches!(text.trim(), "" | "{}" | "[]" | "null") && !is_withheld(text),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    });
    let arguments = arguments?;
    let asks = ASKS.iter().find_map(|key| arguments.get(key)?.as_str().filter(is_said));
    Some(asks.map_or_else(|| text(arguments), Into::into))
}

/// The text parts of a message, joined.
pub(crate) fn content(message: &Message) -> Text<'_> {
    let mut texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        _ => None,
    });
    match (texts.next(), texts.next()) {
        (None, _) => Text::default(),
        (Some(text), None) => text.into(),
        _ => message.content().into(),
    }
}

/// The model's reasoning text, joined by line breaks; `None` if there is none.
pub(crate) fn reasoning(message: &Message) -> Option<Text<'_>> {
    let mut texts = message.parts.iter().filter_map(|part| match part {
        Part::Reasoning { text: Some(text), .. } if !text.trim().is_empty() => Some(text),
        _ => None,
    });
    match (texts.next(), texts.next()) {
        (None, _) => None,
        (Some(text), None) => Some(text.into()),
        _ => message.reasoning().map(Text::from),
    }
}

/// A message in OpenAI's chat shape, like [`Message::to_chat`].
pub(crate) fn chat(message: &Message) -> Json<'_> {
    chat_with(message, reasoning(message)).into()
}

fn chat_with<'a>(message: &'a Message, reasoning: Option<Text<'a>>) -> Object<'a> {
    let mut out = Object::with_capacity(2 + usize::from(!message.tool_calls.is_empty()) + usize::from(reasoning.is_some()));
    out.add("role", message.role.name());
    if let Some(name) = &message.name {
        out.add("name", name);
    }
    if let Some(id) = &message.tool_call_id {
        out.add("tool_call_id", id);
    }
    out.add("content", chat_content(message));
    if let Some(reasoning) = reasoning {
        out.add("reasoning", reasoning);
    }
    if !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().map(|call| {
            let mut object = Object::with_capacity(3);
            if let Some(id) = &call.id {
                object.add("id", id.as_str());
            }
            object.add("type", "function");
            let arguments = calls::arguments_json(call).into();
            object.add("function", Object::from([("name", (&call.name).into()), ("arguments", arguments)]));
            object
        });
        out.add("tool_calls", calls.collect::<Json<'_>>());
    }
    out
}

/// Content in OpenAI's chat shape, like [`Message::chat_content`].
pub(crate) fn chat_content(message: &Message) -> Json<'_> {
    let is_text = |part: &Part| matches!(part, Part::Text(_));
    let of_tool = message.role == crate::operation::Role::Tool;
    match &message.result {
        _ if message.has_media() => message.chat_content().into(),
        Some(result) if of_tool => text(result).into(),
        _ if message.parts.iter().any(is_text) => content(message).into(),
        _ => Json::Null,
    }
}

/// A message in OpenAI's chat shape without its reasoning, and the reasoning.
pub(crate) fn chat_and_reasoning(message: &Message) -> (Json<'_>, Object<'_>) {
    (chat_with(message, None).into(), thoughts(message))
}

/// A message's reasoning: its text, and a provider's additional data.
pub(crate) fn thoughts(message: &Message) -> Object<'_> {
    let mut out = Object::new();
    if let Some(words) = reasoning(message) {
        out.add("reasoning", words);
    }
    for part in &message.parts {
        if let Part::Reasoning { opaque, .. } = part
            && !opaque.is_empty()
        {
            out.push("reasoning_opaque", opaque);
        }
    }
    out
}

/// Marked text for an image, a sound or a file: its type and location, never its bytes.
pub(crate) fn media_mark(media: &Media) -> String {
    let of_data = || media.uri.as_deref()?.strip_prefix("data:")?.split([';', ',']).next();
    let about = [
        media.mime_type.as_deref().or_else(of_data).filter(|mime| !mime.is_empty()),
        media.uri.as_deref().filter(|uri| !uri.starts_with("data:")),
    ];
    let mut mark = format!("[{}", if media.modality.is_empty() { "file" } else { &media.modality });
    for word in about.into_iter().flatten() {
        mark.push(' ');
        mark.push_str(word);
    }
    mark.push(']');
    mark
}

/// Marked text for a part that is neither text, reasoning nor media.
pub(crate) fn part_mark(part: &Value) -> String {
    format!("[part] {}", text(part))
}

/// Messages in OpenAI's chat shape.
pub(crate) fn chats(messages: &[Message]) -> Json<'_> {
    messages.iter().map(chat).collect()
}

/// A document as an object without unknown fields.
fn document(document: &Document) -> Object<'_> {
    let mut out = Object::with_capacity(4);
    if let Some(content) = &document.content {
        out.add("content", content);
    }
    if let Some(score) = document.score.filter(|score| score.is_finite()) {
        out.add("score", score);
    }
    if let Some(id) = &document.id {
        out.add("id", id);
    }
    out.add_filled("metadata", &document.metadata);
    out
}

/// Documents as a list of objects.
pub(crate) fn documents(list: &[Document]) -> Json<'_> {
    list.iter().map(document).collect()
}

/// Whether operations of this kind are searches, with a query as input and results as output.
pub(crate) fn is_search(kind: Kind) -> bool {
    matches!(kind, Kind::Retrieval | Kind::Rerank | Kind::MemoryRead)
}

/// Whether operations of this kind may have messages as input.
pub(crate) fn has_messages_for_input(kind: Kind) -> bool {
    let has_other = is_search(kind) || matches!(kind, Kind::Tool | Kind::MemoryWrite | Kind::Interrupt);
    !has_other
}

/// Whether operations of this kind may have messages as output.
pub(crate) fn has_messages_for_output(kind: Kind) -> bool {
    let has_other = is_search(kind)
        || matches!(
            kind,
            Kind::Tool | Kind::MemoryWrite | Kind::Embedding | Kind::Interrupt | Kind::StateChange | Kind::Handoff
        );
    !has_other
}

/// The whole input: a value, else messages.
pub(crate) fn whole_input(operation: &Operation) -> Option<Json<'_>> {
    let messages = operation.input_messages.as_deref();
    let messages = messages.filter(|_| has_messages_for_input(operation.kind));
    recorded(&operation.input).or_else(|| messages.map(chats))
}

/// The whole output: a value, else messages.
pub(crate) fn whole_output(operation: &Operation) -> Option<Json<'_>> {
    let messages = operation.output_messages.as_deref();
    let messages = messages.filter(|_| has_messages_for_output(operation.kind));
    recorded(&operation.output).or_else(|| messages.map(chats))
}

/// The input.
pub(crate) fn input<'a>(run: &'a Run, step: &'a Step) -> Option<Json<'a>> {
    let operation = &step.operation;
    let whole = || recorded(&operation.input);
    let messages = || operation.input_messages.as_deref().map(chats);
    let memory = operation.memory.as_ref();
    let query = || {
        let of_memory = memory.and_then(|memory| memory.query.as_ref());
        of_memory
            .or_else(|| operation.search.as_ref().and_then(|search| search.query.as_ref()))
            .map(Json::from)
    };
    match operation.kind {
        Kind::Llm => messages().or_else(whole),
        Kind::Tool => calls::arguments(run, step).map(Json::from),
        kind if is_search(kind) => query().or_else(whole),
        Kind::MemoryWrite => memory.and_then(|memory| memory.data.as_ref()).map(Json::from).or_else(whole),
        Kind::Embedding if !operation.embedded_texts.is_empty() => Some(operation.embedded_texts.iter().collect()),
        Kind::Interrupt => operation
            .interrupt
            .as_ref()
            .and_then(|asked| asked.prompt.as_ref().map(Json::from))
            .or_else(whole),
        _ => whole().or_else(messages),
    }
}

/// The output, with only the number of vectors.
pub(crate) fn output<'a>(results: &calls::Results<'a>, step: &'a Step) -> Option<Json<'a>> {
    let operation = &step.operation;
    let whole = || recorded(&operation.output);
    let messages = || operation.output_messages.as_deref().filter(|list| !list.is_empty()).map(chats);
    let found = || {
        let search = operation.search.as_ref()?;
        search.documents.as_deref().map(documents)
    };
    match operation.kind {
        Kind::Tool => results.get(step).map(Json::from),
        Kind::Retrieval | Kind::Rerank => found().or_else(whole),
        Kind::MemoryRead => operation
            .memory
            .as_ref()
            .and_then(|memory| memory.results.as_ref())
            .map(Json::from)
            .or_else(found)
            .or_else(whole),
        Kind::Embedding => operation
            .vector_count
            .map(|count| Object::from([("vector_count", count.into())]).into())
            .or_else(whole),
        Kind::Interrupt => operation
            .interrupt
            .as_ref()
            .and_then(|asked| asked.response.as_ref())
            .map(Json::from)
            .or_else(whole),
        Kind::MemoryWrite => whole(),
        Kind::StateChange | Kind::Handoff => whole().or_else(|| operation.state.as_ref()?.new_value.as_ref().map(Json::from)),
        _ => whole().or_else(messages),
    }
}

/// The text of a person or the agent in the operation itself.
pub(crate) fn operation_words<'a>(run: &'a Run, results: &calls::Results<'a>, step: &'a Step, is_user: bool) -> Option<Text<'a>> {
    let (input, output) = (input(run, step), output(results, step));
    let words = match (step.operation.kind, is_user) {
        // The question of an interrupt is not an answer.
        (Kind::Interrupt, _) => output,
        (_, true) => input.or(output),
        (_, false) => output.or(input),
    };
    let text = words.filter(|words| !words.is_null()).map(Json::into_text)?;
    (!text.trim().is_empty()).then_some(text)
}
