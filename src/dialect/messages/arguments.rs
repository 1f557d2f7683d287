//! Arguments of a tool call, as an object or as the text that the model wrote.

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

/// A call with arguments as the model wrote them. That is JSON, also where it is a bare number.
pub(super) fn call_as_written(id: Option<String>, name: String, text: &str) -> ToolCall {
    // Several objects, one behind the other, stay text: they are those of parallel calls of which a client lost the names (BeeAI,
    // OpenLIT), and nothing here says which is this one's. The next request may.
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

/// An object in Base64: Go writes bytes so.
fn encoded(text: &str) -> Option<Value> {
    let may_be = ["eyJ", "eyA", "ewo", "e30"].iter().any(|begin| text.starts_with(begin));
    let bytes = may_be.then(|| BASE64_STANDARD.decode(text).ok()).flatten()?;
    serde_json::from_slice(&bytes).ok().filter(Value::is_object)
}

/// JSON text opened, also where it was quoted several times; other values as they are.
pub(crate) fn parse_deep(value: Value) -> Value {
    let mut current = value;
    // Seen: twice. The bound keeps hostile input cheap.
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
