//! The shapes of content blocks.

use serde_json::Value;

use super::member::has_any;
use crate::hash::Members as _;

/// Members that hold the content of a block with a `type`.
const CONTENT: [&str; 14] = [
    "text",
    "uri",
    "file_id",
    "content",
    "thinking",
    "data",
    "base64",
    "resource",
    "id",
    "image_url",
    "source",
    "name",
    "signature",
    "input_text",
];
/// Members one of which a block without a `type` has alone.
const ALONE: [&str; 21] = [
    "citationsContent",
    "text",
    "toolUse",
    "toolResult",
    "reasoningContent",
    "functionCall",
    "functionResponse",
    "function_call",
    "function_response",
    "toolRequest",
    "toolResponse",
    "image",
    "video",
    "document",
    "tool_call",
    "tool_call_result",
    "reasoning",
    "executableCode",
    "executable_code",
    "codeExecutionResult",
    "code_execution_result",
];

/// Whether a value has the shape of a content block.
pub(super) fn is_block(value: &Value) -> bool {
    let Value::Object(map) = value else { return false };
    if map.has("block_type") {
        return true;
    }
    if map.member("type").is_some_and(Value::is_string) {
        return has_any(map, &CONTENT);
    }
    map.len() == 1 && has_any(map, &ALONE)
}
