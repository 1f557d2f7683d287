//! Reads contents: words, calls and responses.

use serde_json::{Map, Value};

use crate::formats::back::{At, Result};
use crate::operation::message::Media;
use crate::operation::{Part, ToolCall, ToolCallId};

/// The parts of a content.
#[derive(Debug, Default)]
pub(super) struct Content<'a> {
    pub(super) is_users: bool,
    pub(super) parts: Vec<Part>,
    pub(super) calls: Vec<ToolCall>,
    pub(super) responses: Vec<At<'a>>,
}

impl Content<'_> {
    /// Whether there are words or calls.
    pub(super) fn has_content(&self) -> bool {
        let is_blank = |part: &Part| matches!(part, Part::Text(words) if words.is_empty());
        !self.calls.is_empty() || !self.parts.iter().all(is_blank)
    }
}

/// Reads a content.
pub(super) fn content<'a>(at: &At<'a>) -> Result<Content<'a>> {
    at.object()?;
    let mut out = Content {
        is_users: at.text_of("role")? == Some("user"),
        ..Content::default()
    };
    if let Some(parts) = at.some("parts") {
        of_parts(&parts, &mut out)?;
    }
    Ok(out)
}

/// Reads a list of parts.
pub(super) fn of_parts<'a>(at: &At<'a>, out: &mut Content<'a>) -> Result<()> {
    for part in at.items()? {
        let map = part.object()?;
        let mut is_read = false;
        if let Some(call) = part.some("function_call") {
            out.calls.push(self::call(&call)?);
            is_read = true;
        }
        if let Some(response) = part.some("function_response") {
            out.responses.push(response);
            is_read = true;
        }
        if let Some(text) = part.text_of("text")? {
            let is_thought = map.get("thought") == Some(&Value::Bool(true));
            out.parts.push(if is_thought {
                Part::Reasoning {
                    text: Some(text.to_owned()),
                    opaque: signature(map),
                }
            } else {
                Part::Text(text.to_owned())
            });
            is_read = true;
        }
        for (key, uri) in [("inline_data", None), ("file_data", Some("file_uri"))] {
            if let Some(data) = part.some(key).filter(|data| data.value.is_object()) {
                out.parts.push(media(data.value, uri, map));
                is_read = true;
            }
        }
        if !is_read && map.values().any(|value| !value.is_null()) {
            out.parts.push(Part::Other(part.value.clone()));
        }
    }
    Ok(())
}

fn signature(map: &Map<String, Value>) -> Map<String, Value> {
    let signed = map.get_key_value("thought_signature").filter(|(_, value)| !value.is_null());
    signed.map(|(key, value)| (key.clone(), value.clone())).into_iter().collect()
}

fn media(data: &Value, uri: Option<&str>, raw: &Map<String, Value>) -> Part {
    let text = |key: &str| data.get(key).and_then(Value::as_str).map(str::to_owned);
    let mime_type = text("mime_type");
    let kind = mime_type.as_deref().and_then(|mime| mime.split('/').next());
    let modality = kind.filter(|kind| ["image", "audio", "video"].contains(kind)).unwrap_or("file");
    Media {
        modality: modality.to_owned(),
        uri: uri.and_then(text),
        base64: if uri.is_none() { text("data") } else { None },
        mime_type,
        raw: raw.clone().into(),
    }
    .into()
}

/// A function call.
pub(super) fn call(at: &At<'_>) -> Result<ToolCall> {
    at.object()?;
    let arguments = at.some("args").map(|args| args.object().cloned()).transpose()?;
    Ok(ToolCall {
        id: at.text_of("id")?.map(|id| ToolCallId::Recorded(id.to_owned())),
        name: at.text_of("name")?.unwrap_or_default().to_owned(),
        arguments: arguments.map(Value::from),
        ..ToolCall::default()
    })
}
