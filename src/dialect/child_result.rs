//! Results of tools that stand on the span above the tool's.

use serde_json::Value;

use crate::span::UnixNanos;

/// A tool's result that stands on another span than the tool's.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildResult {
    /// The tool's name.
    pub tool: String,
    /// The result, if the tool did not fail.
    pub result: Option<Value>,
    /// The error's text, if it did.
    pub error: Option<String>,
    /// When it was recorded.
    pub at: UnixNanos,
}
