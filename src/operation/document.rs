//! Documents that a retrieval found.

use serde_json::{Map, Value};

/// One document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// Its id.
    pub id: Option<String>,
    /// Its text; `None` where content is not captured.
    pub content: Option<String>,
    /// How relevant it is, on the producer's scale.
    pub score: Option<f64>,
    /// What else is known of it.
    pub metadata: Map<String, Value>,
}
