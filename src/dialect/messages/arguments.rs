//! Arguments of a tool call, as an object or as the text written by the model.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::Value;

use crate::dialect::mend;
use crate::operation::{ToolCall, ToolCallId};

/// A call with arguments as recorded: an object, or text of one, quoted once or more.
pub(super) fn call(id: Option<String>, name: String, arguments: Option<&Value>) -> ToolCall {
    match arguments {
        Some(Value::String(text)) => call_as_written(id, name, text),
        other => ToolCall {
            id: id.map(ToolCallId::Recorded),
            name,
            arguments: other.filter(|value| !value.is_null()).cloned(),
            arguments_text: None,
            answered: None,
        },
    }
}

/// A call with arguments as written by the model: JSON, even if it is a bare number.
pub(super) fn call_as_written(id: Option<String>, name: String, text: &str) -> ToolCall {
    // Several concatenated objects stay text: they belong to parallel calls whose names the client lost (BeeAI, OpenLIT), and it is unknown
    // which one is this call's. The next request may show it.
    let written = mend::parse(text)
        .or_else(|| encoded(text))
        .unwrap_or_else(|| Value::String(text.to_owned()));
    ToolCall {
        id: id.map(ToolCallId::Recorded),
        name,
        arguments: Some(parse_deep(written)).filter(|value| !value.is_null() && value.as_str() != Some("")),
        arguments_text: Some(text.to_owned()),
        answered: None,
    }
}

/// Decodes an object in Base64, Go's form of bytes.
fn encoded(text: &str) -> Option<Value> {
    let may_be = ["eyJ", "eyA", "ewo", "e30"].iter().any(|begin| text.starts_with(begin));
    let bytes = may_be.then(|| BASE64_STANDARD.decode(text).ok()).flatten()?;
    serde_json::from_slice(&bytes).ok().filter(Value::is_object)
}

/// Parses JSON text, even if quoted several times; other values stay as they are.
pub(crate) fn parse_deep(value: Value) -> Value {
    let mut current = value;
    // In practice text is quoted twice. The bound keeps hostile input cheap.
    for _ in 0..4 {
        let Value::String(text) = &current else { break };
        match text.trim_start().as_bytes().first() {
            Some(b'{' | b'[' | b'"') => {}
            _ => break,
        }
        match mend::parse(text) {
            Some(inner) => current = inner,
            None => break,
        }
    }
    current
}
