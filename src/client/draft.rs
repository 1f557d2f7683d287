//! Blocks before they are sent.

use std::marker::PhantomData;

use serde_json::{Map, Value, json};

use super::block::Block;
use super::endpoint::Endpoint;
use super::error::ClientError;

/// An unsent block.
#[derive(Debug)]
#[must_use = "`send` stores the block"]
pub struct Draft<'t, B> {
    endpoint: &'t Endpoint,
    block: Map<String, Value>,
    stored: PhantomData<fn() -> B>,
}

impl<'t, B: From<Block>> Draft<'t, B> {
    pub(super) fn new(endpoint: &'t Endpoint, [block_type, sub_type]: [&str; 2], payload: Value, parent: Option<&Block>) -> Self {
        let mut block = Map::new();
        block.insert("block_type".to_owned(), block_type.into());
        block.insert("sub_type".to_owned(), sub_type.into());
        block.insert("payload".to_owned(), payload);
        if let Some(parent) = parent {
            block.insert("parent_block_id".to_owned(), parent.id.as_str().into());
        }
        Self {
            endpoint,
            block,
            stored: PhantomData,
        }
    }

    /// Sets your own id, `tb_...`, so that the block can be sent again safely. Otherwise the server generates one.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.block.insert("id".to_owned(), id.into().into());
        self
    }

    /// Sets the provider's data.
    pub fn raw(mut self, raw: impl Into<Value>) -> Self {
        self.block.insert("raw".to_owned(), raw.into());
        self
    }

    /// Adds a value to the client's own data.
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let extra = self.block.entry("extra").or_insert_with(|| json!({}));
        if let Some(extra) = extra.as_object_mut() {
            extra.insert(key.into(), value.into());
        }
        self
    }

    /// Sets the reward: `extra.reward`.
    pub fn reward(self, reward: f64) -> Self {
        self.extra("reward", reward)
    }

    /// Stores the block.
    ///
    /// # Errors
    ///
    /// The block breaks a rule, the server cannot store it now, or the server cannot be reached.
    pub fn send(self) -> Result<B, ClientError> {
        self.endpoint.store(&self.block).map(B::from)
    }
}
