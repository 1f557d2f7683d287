//! Messages and results: text, or a list of parts.

use serde_json::Value;

use crate::document::shape::kind_of;
use crate::formats::back::{At, Result};
use crate::operation::message::Media;
use crate::operation::{Part, ToolCall, ToolCallId};

/// The parts of a content; null is empty.
pub(super) fn parts(at: &At<'_>) -> Result<Vec<Part>> {
    match at.value {
        Value::Null => Ok(Vec::new()),
        Value::String(text) if text.is_empty() => Ok(Vec::new()),
        Value::String(text) => Ok(vec![Part::Text(text.clone())]),
        Value::Array(_) => at.items()?.iter().map(part).collect(),
        other => Err(at.refuse(format!("text or a list of parts is wanted, found {}", kind_of(other)))),
    }
}

fn part(at: &At<'_>) -> Result<Part> {
    let kind = at.need("type")?;
    match kind.text()? {
        "text" => Ok(Part::Text(at.need("text")?.text()?.to_owned())),
        modality @ ("image" | "audio") => {
            let source = at.need("source")?;
            Ok(Part::from(Media {
                modality: modality.to_owned(),
                mime_type: source.text_of("media_type")?.map(str::to_owned),
                uri: Some(source.need("path")?.text()?.to_owned()),
                raw: at.value.clone(),
                ..Media::default()
            }))
        }
        other => Err(kind.refuse(format!("a part is `text`, `image` or `audio`, found `{other}`"))),
    }
}

/// A result as a value. Text is parsed as JSON only if this program would write the value in the same way.
pub(super) fn value(at: &At<'_>) -> Result<Option<Value>> {
    match at.value {
        Value::Null => Ok(None),
        Value::String(text) => {
            let opened = serde_json::from_str::<Value>(text).ok();
            let opened = opened.filter(|value| {
                (value.is_object() || value.is_array()) && serde_json::to_string(value).is_ok_and(|written| written == *text)
            });
            Ok(Some(opened.unwrap_or_else(|| at.value.clone())))
        }
        _ => {
            parts(at)?;
            Ok(Some(at.value.clone()))
        }
    }
}

/// A tool call.
pub(super) fn call(at: &At<'_>) -> Result<ToolCall> {
    at.object()?;
    Ok(ToolCall {
        id: Some(ToolCallId::Recorded(at.need("tool_call_id")?.text()?.to_owned())),
        name: at.need("function_name")?.text()?.to_owned(),
        arguments: Some(at.need("arguments")?.object()?.clone().into()),
        ..ToolCall::default()
    })
}
