//! Restores input calls that a client's messages leave out but its whole input has.

use serde_json::Value;

use super::OperationBuilder;
use crate::dialect::messages::{self, Direction};
use crate::operation::{Message, Role};

impl OperationBuilder<'_> {
    /// Uses the messages of the whole input if they have the same texts, and also the calls that results without ids answer. With some
    /// releases of LangChain, OpenInference's flattened messages have neither calls nor ids.
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
        if texts_by_role(list).eq(texts_by_role(&whole)) {
            self.operation.input_messages = Some(whole.into());
        }
    }
}

/// The texts of a list, with their roles.
fn texts_by_role(list: &[Message]) -> impl Iterator<Item = (&Role, String)> {
    let text = |message: &Message| match message.result.as_deref() {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => message.content(),
    };
    let words = list.iter().map(move |message| (&message.role, text(message)));
    words.filter(|(_, text)| !text.trim().is_empty())
}
