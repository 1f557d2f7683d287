//! Documents found by a retrieval.

use serde_json::{Map, Value};

/// One document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// Its id.
    pub id: Option<String>,
    /// Its text; `None` if content is not captured.
    pub content: Option<String>,
    /// How relevant it is, on the producer's scale.
    pub score: Option<f64>,
    /// Other facts about it.
    pub metadata: Map<String, Value>,
}
