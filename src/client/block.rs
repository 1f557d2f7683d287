//! Blocks: as they are made, and as the server stored them.

use std::marker::PhantomData;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Trace;
use super::error::ClientError;

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The system prompt.
    System,
    /// The person, or whoever stands in for one.
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
    /// What it says.
    pub payload: Value,
    /// The block above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_block_id: Option<String>,
    /// The server's notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// What the provider sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Value>,
    /// The client's own space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Value>,
    /// When it was stored, in ISO 8601.
    pub created_at: String,
    /// The same: blocks never change.
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
    /// The call's id, which its results name.
    #[must_use]
    pub fn call_id(&self) -> &str {
        self.payload.get("call_id").and_then(Value::as_str).unwrap_or_default()
    }
}

/// A block that is not sent yet.
#[derive(Debug)]
#[must_use = "`send` stores the block"]
pub struct Draft<'t, B> {
    trace: &'t Trace,
    block: Map<String, Value>,
    stored: PhantomData<fn() -> B>,
}

impl<'t, B: From<Block>> Draft<'t, B> {
    pub(super) fn new(trace: &'t Trace, [block_type, sub_type]: [&str; 2], payload: Value, parent: Option<&Block>) -> Self {
        let mut block = Map::new();
        block.insert("block_type".to_owned(), block_type.into());
        block.insert("sub_type".to_owned(), sub_type.into());
        block.insert("payload".to_owned(), payload);
        if let Some(parent) = parent {
            block.insert("parent_block_id".to_owned(), parent.id.as_str().into());
        }
        Self {
            trace,
            block,
            stored: PhantomData,
        }
    }

    /// An id of your own, `tb_...`, with which the block can be sent again. Without one the server gives it one.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.block.insert("id".to_owned(), id.into().into());
        self
    }

    /// What the provider sent.
    pub fn raw(mut self, raw: impl Into<Value>) -> Self {
        self.block.insert("raw".to_owned(), raw.into());
        self
    }

    /// A value in the client's own space.
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let extra = self.block.entry("extra").or_insert_with(|| json!({}));
        if let Some(extra) = extra.as_object_mut() {
            extra.insert(key.into(), value.into());
        }
        self
    }

    /// The reward: `extra.reward`.
    pub fn reward(self, reward: f64) -> Self {
        self.extra("reward", reward)
    }

    /// Stores the block.
    ///
    /// # Errors
    ///
    /// The block breaks a rule, the server does not store it now, or it cannot be reached.
    pub fn send(self) -> Result<B, ClientError> {
        self.trace.store(&self.block).map(B::from)
    }
}
