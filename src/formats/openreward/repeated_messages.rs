//! How much of a conversation its model calls repeat: each has everything before it as its input, so written blocks become
//! spans that grow with their square. This is known from the blocks, before that is done.

use serde_json::Value;

use super::document::SubType;
use crate::operation::{Kind, Role};
use crate::transcript::NESTING_LIMIT;

/// How many messages, and how much they hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageTotals {
    /// How many.
    pub count: usize,
    /// Bytes of their texts and keys.
    pub bytes: usize,
    /// JSON values in them.
    pub values: usize,
}

impl MessageTotals {
    fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.values = self.values.saturating_add(other.values);
    }

    fn weigh(&mut self, value: &Value) {
        self.values += 1;
        match value {
            Value::String(text) => self.bytes += text.len(),
            Value::Array(list) => list.iter().for_each(|value| self.weigh(value)),
            Value::Object(map) => {
                for (key, value) in map {
                    self.bytes += key.len();
                    self.weigh(value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The blocks of one agent up to now, in the order in which they were inserted.
#[derive(Debug, Default)]
pub struct RepeatedMessages {
    before: MessageTotals,
    turn: Option<Turn>,
}

/// A model call whose blocks may go on.
#[derive(Debug, Default)]
struct Turn {
    span_id: Option<String>,
    has_words: bool,
    own: MessageTotals,
}

impl RepeatedMessages {
    /// Takes the JSON text of the next block, and tells what the model calls that begin with it or in it repeat.
    pub fn add(&mut self, text: &str) -> MessageTotals {
        let block: Option<Value> = serde_json::from_str(text).ok();
        block.map_or_else(MessageTotals::default, |block| self.add_block(&block, 0))
    }

    fn add_block(&mut self, block: &Value, depth: usize) -> MessageTotals {
        let at = |pointer: &str| block.pointer(pointer);
        let mut own = MessageTotals::default();
        if let Some(payload) = block.get("payload") {
            own.weigh(payload);
        }
        let is_assistant = || at("/payload/role").and_then(Value::as_str).map(Role::from_word) == Some(Role::Assistant);
        let is_first_part = || at("/metadata/part/index").and_then(Value::as_u64).unwrap_or(0) == 0;
        // Of another kind, or on its own: no model's call.
        let is_own = || {
            let kind = at("/metadata/kind").and_then(Value::as_str).and_then(Kind::from_name);
            kind.is_some() || at("/metadata/parent_reason").and_then(Value::as_str) == Some("an operation on its own")
        };
        match block.get("sub_type").and_then(Value::as_str).and_then(SubType::from_name) {
            Some(SubType::Message) if is_assistant() => self.turn(block, own, is_first_part(), true),
            Some(SubType::Think) => self.turn(block, own, false, false),
            Some(SubType::ToolCall) if !is_own() => self.turn(block, own, false, false),
            Some(SubType::ToolCall) => {
                self.end_turn();
                MessageTotals::default()
            }
            Some(SubType::Message) => {
                self.end_turn();
                own.count = 1;
                self.before.add(own);
                MessageTotals::default()
            }
            Some(SubType::ToolResult) => {
                self.end_turn();
                own.count = 1;
                self.before.add(own);
                sub_agents(block, depth)
            }
            None => MessageTotals::default(),
        }
    }

    /// A block of a model call; one that begins repeats what was before.
    fn turn(&mut self, block: &Value, own: MessageTotals, begins: bool, has_words: bool) -> MessageTotals {
        let span_id = block.pointer("/metadata/span_id").and_then(Value::as_str);
        let goes_on = self.turn.as_ref().is_some_and(|turn| match (turn.span_id.as_deref(), span_id) {
            (Some(open), Some(here)) => open == here,
            _ => !(begins && turn.has_words),
        });
        let mut repeated = MessageTotals::default();
        if !goes_on {
            self.end_turn();
            repeated = self.before;
        }
        let turn = self.turn.get_or_insert_default();
        turn.span_id = turn.span_id.take().or_else(|| span_id.map(str::to_owned));
        turn.has_words |= has_words;
        turn.own.add(own);
        repeated
    }

    fn end_turn(&mut self) {
        if let Some(mut turn) = self.turn.take() {
            turn.own.count = 1;
            self.before.add(turn.own);
        }
    }
}

/// The conversations of agents inside of a tool.
fn sub_agents(block: &Value, depth: usize) -> MessageTotals {
    let mut repeated = MessageTotals::default();
    let called = block.pointer("/metadata/subagent").filter(|_| depth < NESTING_LIMIT);
    let called: Vec<&Value> = called.map_or_else(Vec::new, |called| {
        called.as_array().map_or_else(|| vec![called], |list| list.iter().collect())
    });
    for blocks in called.into_iter().filter_map(|agent| agent.get("blocks")?.as_array()) {
        let mut histories = RepeatedMessages::default();
        for block in blocks {
            repeated.add(histories.add_block(block, depth + 1));
        }
    }
    repeated
}
