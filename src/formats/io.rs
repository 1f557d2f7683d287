//! What went into an operation and what came out, as one JSON value each.

use serde_json::{Map, Value, json};

use super::calls;
use crate::operation::message::Media;
use crate::operation::{Document, Kind, Message};
use crate::run::{Run, Step};

/// Text as it is, any other value as compact JSON.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A message in OpenAI's chat shape without its reasoning, and the reasoning.
pub(crate) fn chat_and_reasoning(message: &Message) -> (Value, Map<String, Value>) {
    let mut chat = message.to_chat();
    let mut reasoning = Map::new();
    if let Some(thought) = chat.as_object_mut().and_then(|chat| chat.shift_remove("reasoning")) {
        reasoning.insert("reasoning".into(), thought);
    }
    let opaque: Vec<Value> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            crate::operation::Part::Reasoning { opaque, .. } if !opaque.is_empty() => Some(Value::Object(opaque.clone())),
            _ => None,
        })
        .collect();
    if !opaque.is_empty() {
        reasoning.insert("reasoning_opaque".into(), opaque.into());
    }
    (chat, reasoning)
}

/// Marked text for a picture, a sound, a file: what it is and where, never its bytes.
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
pub(crate) fn chats(messages: &[Message]) -> Value {
    messages.iter().map(Message::to_chat).collect()
}

/// A document as an object; what is not known is left out.
pub(crate) fn document(document: &Document) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            out.insert(key.into(), value);
        }
    };
    put("content", document.content.clone().map(Value::from));
    put("score", document.score.filter(|score| score.is_finite()).map(Value::from));
    put("id", document.id.clone().map(Value::from));
    put(
        "metadata",
        (!document.metadata.is_empty()).then(|| document.metadata.clone().into()),
    );
    Value::Object(out)
}

/// Documents as a list of objects.
pub(crate) fn documents(list: &[Document]) -> Value {
    list.iter().map(document).collect()
}

/// What went in.
pub(crate) fn input(run: &Run, step: &Step) -> Option<Value> {
    let operation = &step.operation;
    let whole = || operation.input.clone();
    let messages = || operation.input_messages.as_deref().map(chats);
    let memory = operation.memory.as_ref();
    let query = || {
        memory
            .and_then(|memory| memory.query.clone())
            .or_else(|| operation.search.as_ref().and_then(|search| search.query.clone()))
    };
    match operation.kind {
        Kind::Llm => messages().or_else(whole),
        Kind::Tool => calls::arguments(run, step).cloned(),
        Kind::Retrieval | Kind::Rerank | Kind::MemoryRead => query().or_else(whole),
        Kind::MemoryWrite => memory.and_then(|memory| memory.data.clone()).or_else(whole),
        Kind::Embedding if !operation.embedded_texts.is_empty() => Some(json!(operation.embedded_texts)),
        Kind::Interrupt => operation
            .interrupt
            .as_ref()
            .and_then(|asked| asked.prompt.clone().map(Value::from))
            .or_else(whole),
        _ => whole().or_else(messages),
    }
}

/// What came out. Vectors stay out: their number says enough.
pub(crate) fn output(run: &Run, step: &Step) -> Option<Value> {
    let operation = &step.operation;
    let whole = || operation.output.clone();
    let messages = || operation.output_messages.as_deref().filter(|list| !list.is_empty()).map(chats);
    let found = || {
        let search = operation.search.as_ref()?;
        search.documents.as_deref().map(documents)
    };
    match operation.kind {
        Kind::Tool => calls::result(run, step).cloned(),
        Kind::Retrieval | Kind::Rerank => found().or_else(whole),
        Kind::MemoryRead => operation
            .memory
            .as_ref()
            .and_then(|memory| memory.results.clone())
            .or_else(found)
            .or_else(whole),
        Kind::Embedding => operation.vector_count.map(|count| json!({ "vector_count": count })),
        Kind::Interrupt => operation.interrupt.as_ref().and_then(|asked| asked.response.clone()).or_else(whole),
        Kind::StateChange | Kind::Handoff => whole().or_else(|| operation.state.as_ref().and_then(|state| state.new_value.clone())),
        _ => whole().or_else(messages),
    }
}
