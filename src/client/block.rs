//! Blocks as the server stored them.

use std::ops::Deref;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The system prompt.
    System,
    /// The user, or whoever acts as one.
    User,
    /// The model.
    Assistant,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A block as the server stored it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// `tb_...`
    pub id: String,
    /// The trace.
    pub trace_id: String,
    /// `MESSAGE`, `ACT` or `OBSERVE`.
    pub block_type: String,
    /// `MESSAGE`, `TOOL_CALL`, `TOOL_RESULT` or `THINK`.
    pub sub_type: String,
    /// Its content.
    pub payload: Value,
    /// The parent block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_block_id: Option<String>,
    /// The server's notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// The provider's data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
    /// The client's own data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Value>,
    /// When it was stored, in ISO 8601.
    pub created_at: String,
    /// The same time, because blocks never change.
    pub updated_at: String,
}

macro_rules! stored {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name(Block);

        impl From<Block> for $name {
            fn from(block: Block) -> Self {
                Self(block)
            }
        }

        impl Deref for $name {
            type Target = Block;

            fn deref(&self) -> &Block {
                &self.0
            }
        }
    )*};
}

stored!(
    /// A stored message.
    MessageBlock,
    /// A stored tool call.
    ToolCallBlock,
    /// A stored result of a tool call.
    ToolResultBlock,
    /// A stored thought.
    ThinkBlock,
);

impl ToolCallBlock {
    /// The call's id, to which its results refer.
    #[must_use]
    pub fn call_id(&self) -> &str {
        self.payload.get("call_id").and_then(Value::as_str).unwrap_or_default()
    }
}
