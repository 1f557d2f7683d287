//! Calls that a model was given, where a client's messages leave them out and its whole input has them.

use serde_json::Value;

use super::OperationBuilder;
use crate::dialect::messages::{self, Direction};
use crate::operation::{Message, Role};

impl OperationBuilder<'_> {
    /// The messages of the whole input, if they have the same words, and calls that results without an id answer: OpenInference's
    /// flattened messages of some releases of LangChain have neither calls nor ids.
    pub(super) fn finish_input_calls(&mut self) {
        let Some(list) = &self.operation.input_messages else { return };
        let is_unasked = |message: &Message| message.role == Role::Tool && message.tool_call_id.is_none();
        if !list.iter().any(is_unasked) || list.iter().any(Message::asks_for_tools) {
            return;
        }
        let whole = self.operation.input.get().and_then(|input| messages::read(input, Direction::Input));
        let Some(whole) = whole.filter(|whole| whole.iter().any(Message::asks_for_tools)) else {
            return;
        };
        if said(list).eq(said(&whole)) {
            self.operation.input_messages = Some(whole.into());
        }
    }
}

/// The words of a list, with whose they are.
fn said(list: &[Message]) -> impl Iterator<Item = (&Role, String)> {
    let text = |message: &Message| match message.result.as_deref() {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => message.content(),
    };
    let words = list.iter().map(move |message| (&message.role, text(message)));
    words.filter(|(_, text)| !text.trim().is_empty())
}
