//! How a step is written, and the words of its type.

use serde::{Serialize, Serializer};

use super::document::{Body, Step};
use crate::document::json::Object;

impl Serialize for Step<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            step_id: &'a str,
            step_type: &'a str,
            timestamp: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            parent_step_id: Option<&'a str>,
            #[serde(flatten)]
            body: &'a Body<'a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            metadata: Option<&'a Object<'a>>,
        }
        Written {
            step_id: &self.step_id,
            step_type: self.body.step_type(),
            timestamp: &self.timestamp,
            parent_step_id: self.parent_step_id.as_deref(),
            body: &self.body,
            metadata: self.metadata.as_ref(),
        }
        .serialize(serializer)
    }
}

/// The page's word for a `step_type` in any case, or for an OpenInference kind; any other word gives "".
pub(super) fn known_type(word: &str) -> &'static str {
    match word.to_ascii_lowercase().as_str() {
        "user_input" => "user_input",
        "llm_call" | "llm" => "llm_call",
        "tool_call" | "tool" => "tool_call",
        "retrieval" | "retriever" | "reranker" => "retrieval",
        "memory_read" => "memory_read",
        "memory_write" => "memory_write",
        "state_change" => "state_change",
        "interrupt" => "interrupt",
        "final_output" => "final_output",
        _ => "",
    }
}
