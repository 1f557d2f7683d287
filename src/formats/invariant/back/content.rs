//! Reads the content of an event as a message.

use serde_json::{Map, Value};

use crate::document::shape::kind_of;
use crate::formats::back::{At, NoteKind, Result, TraceBuilder};
use crate::operation::message::Media;
use crate::operation::{Message, Part, Role, ToolCall, ToolCallId};

/// The parts of a message's content.
pub(super) fn parts(content: &At<'_>) -> Result<Vec<Part>> {
    match content.value {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![Part::Text(text.clone())]),
        Value::Array(_) => content.items()?.iter().map(part).collect(),
        other => Err(content.refuse(format!("text, null or a list of parts is wanted, found {}", kind_of(other)))),
    }
}

fn part(at: &At<'_>) -> Result<Part> {
    let kind = at.need("type")?;
    match kind.text()? {
        "text" => Ok(Part::Text(at.need("text")?.text()?.to_owned())),
        "image_url" => {
            let url = at.need("image_url")?.need("url")?;
            Ok(Part::from(Media {
                modality: "image".to_owned(),
                uri: Some(url.text()?.to_owned()),
                raw: at.value.clone(),
                ..Media::default()
            }))
        }
        other => Err(kind.refuse(format!("a part is `text` or `image_url`, found `{other}`"))),
    }
}

/// The content of a tool's output as a value; JSON text is parsed.
pub(super) fn result(content: Option<&At<'_>>) -> Option<Value> {
    let value = content?.value;
    match value {
        Value::Null => None,
        Value::String(text) => {
            let opened = serde_json::from_str::<Value>(text).ok();
            Some(
                opened
                    .filter(|value| value.is_object() || value.is_array())
                    .unwrap_or_else(|| value.clone()),
            )
        }
        other => Some(other.clone()),
    }
}

/// A tool call.
pub(super) fn call(at: &At<'_>, builder: &mut TraceBuilder) -> Result<ToolCall> {
    at.object()?;
    let id = match at.get("id") {
        Some(id) => ToolCallId::Recorded(match id.value {
            Value::String(text) => text.clone(),
            Value::Number(number) => {
                let text = number.to_string();
                builder.note(&id.path, NoteKind::Coerced, "the analyzer expects text: read as text");
                builder.mend(&id.pointer, text.as_str().into());
                text
            }
            other => return Err(id.refuse(format!("text is wanted, found {}", kind_of(other)))),
        }),
        None => {
            let detail = "a call without `id`: outputs answer it by their order";
            builder.note(&at.path, NoteKind::IdDerived, detail);
            ToolCallId::Derived(at.own.clone())
        }
    };
    if let Some(kind) = at.get("type")
        && kind.text()? != "function"
    {
        return Err(kind.refuse("only `function` is a type of calls"));
    }
    let function = at.need("function")?;
    let name = function.need("name")?.text()?.to_owned();
    let (arguments, arguments_text) = arguments(&function.need("arguments")?, builder)?;
    Ok(ToolCall {
        id: Some(id),
        name,
        arguments,
        arguments_text,
        ..ToolCall::default()
    })
}

/// Arguments as a value, or their text; JSON text is parsed, as the analyzer does.
fn arguments(at: &At<'_>, builder: &mut TraceBuilder) -> Result<(Option<Value>, Option<String>)> {
    let text = match at.value {
        Value::Object(_) => return Ok((Some(at.value.clone()), None)),
        Value::String(text) => text,
        other => return Err(at.refuse(format!("an object is wanted, found {}", kind_of(other)))),
    };
    match serde_json::from_str::<Value>(text) {
        Ok(opened @ Value::Object(_)) => {
            builder.numbers.add_text(text);
            builder.note(&at.path, NoteKind::Coerced, "JSON text was parsed, as the analyzer does");
            builder.mend(&at.pointer, opened.clone());
            Ok((Some(opened), None))
        }
        // Explorer shows such arguments unchanged.
        opened => {
            let what = opened.map_or_else(
                |error| format!("text that is not JSON ({error})"),
                |opened| format!("JSON text of {}", kind_of(&opened)),
            );
            let detail = format!("{what}, where an object is wanted: kept as text");
            builder.note(&at.path, NoteKind::Coerced, detail);
            Ok((None, Some(text.clone())))
        }
    }
}

/// A message without calls.
pub(super) fn message(at: &At<'_>, role: &str, metadata: &Map<String, Value>) -> Result<Message> {
    let mut message = Message {
        role: if role.is_empty() { Role::Other(String::new()) } else { exact(role) },
        parts: match at.get("content") {
            Some(content) => parts(&content)?,
            None => Vec::new(),
        },
        ..Message::default()
    };
    if let Some(name) = at.get("name").and_then(|name| name.value.as_str()) {
        message.name = Some(name.to_owned());
    }
    let thought = metadata.get("reasoning").and_then(Value::as_str).map(str::to_owned);
    let opaque = metadata
        .get("reasoning_opaque")
        .and_then(|list| list.as_array()?.first()?.as_object())
        .cloned();
    if thought.is_some() || opaque.is_some() {
        let reasoning = Part::Reasoning {
            text: thought,
            opaque: opaque.unwrap_or_default(),
        };
        message.parts.insert(0, reasoning);
    }
    Ok(message)
}

/// The role with exactly this name: the analyzer distinguishes `human` from `user`.
fn exact(word: &str) -> Role {
    let role = Role::from_word(word);
    if role.name() == word { role } else { Role::Other(word.to_owned()) }
}
