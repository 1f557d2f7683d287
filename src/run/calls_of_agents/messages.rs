//! The messages, input and output text and counts by which agents and workflows describe model calls.

use serde_json::Value;

use super::prompts::is_prompt;
use crate::dialect::messages::{self, Direction};
use crate::operation::{Kind, Message, Model, Operation, Recorded, Role, TokenCount};

pub(super) fn may_describe_calls(kind: Kind) -> bool {
    matches!(kind, Kind::Agent | Kind::Chain)
}

/// Whether an agent's span has data that only a model call has: messages, tokens, or input and output text with a model. Text alone may
/// be of any function that returns some (TruLens records each). `asks`: tools below have call ids, which only a model assigns.
pub(super) fn describes_calls(operation: &Operation, asks: bool) -> bool {
    if operation.output_messages.is_some() || operation.usage != TokenCount::default() {
        return true;
    }
    let has_words = |recorded: &Recorded| recorded.get().and_then(Value::as_str).is_some_and(is_words);
    let speaks = |list: &[Message], role: &Role| list.iter().any(|message| message.role == *role);
    let said = messages_of(None, &operation.output, Direction::Output, false);
    let heard = || messages_of(operation.input_messages.as_deref(), &operation.input, Direction::Input, false);
    let has_words_alone = || has_words(&operation.output) && has_words(&operation.input);
    let is_answered = || has_words(&operation.output) || speaks(&said, &Role::Assistant);
    // The whole exchange may be the output (CrewAI).
    if is_exchange(&said) {
        return true;
    }
    if has_words_alone() {
        return asks || operation.model != Model::default() || !operation.tool_definitions.is_empty();
    }
    is_answered() && (has_words(&operation.input) || speaks(&heard(), &Role::User))
}

pub(super) fn has_described_messages(operation: &Operation) -> bool {
    let said = messages_of(operation.output_messages.as_deref(), &operation.output, Direction::Output, false);
    let heard = || messages_of(operation.input_messages.as_deref(), &operation.input, Direction::Input, false);
    let speaks = |list: &[Message], role: &Role| list.iter().any(|message| message.role == *role);
    speaks(&said, &Role::Assistant) && speaks(&heard(), &Role::User) || operation.output_messages.is_some()
}

/// Whether a list begins with the model's input (a question, possibly with the prompt before it), followed by the answer.
pub(super) fn is_exchange(list: &[Message]) -> bool {
    let given = opening(list);
    given > 0 && given < list.len() && list.iter().take(given).any(|message| message.role == Role::User)
}

/// The number of messages before the first answer.
pub(super) fn opening(list: &[Message]) -> usize {
    list.iter().take_while(|message| message.role != Role::Assistant).count()
}

/// Whether a text is natural language, not a program's printed values.
fn is_words(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && !text.starts_with(['{', '[', '<'])
}

/// The messages of one side: as read, else those in the recorded value; `with_words`: else a bare text.
pub(super) fn messages_of(list: Option<&[Message]>, recorded: &Recorded, direction: Direction, with_words: bool) -> Vec<Message> {
    let only_prompts = |list: &[Message]| list.iter().all(is_prompt);
    let prompts = list.filter(|list| only_prompts(list)).unwrap_or_default();
    if let Some(list) = list.filter(|list| !only_prompts(list)) {
        return list.to_vec();
    }
    let role = match direction {
        Direction::Input => Role::User,
        Direction::Output => Role::Assistant,
    };
    let rest = match recorded.get() {
        Some(Value::String(text)) if with_words && is_words(text) => vec![Message::text(role, text.as_str())],
        Some(value @ (Value::Array(_) | Value::Object(_))) => messages::read(value, direction).unwrap_or_default(),
        _ => Vec::new(),
    };
    let has_prompt = rest.iter().any(is_prompt);
    let prompts = prompts.iter().filter(|_| !has_prompt && !rest.is_empty()).cloned();
    prompts.collect::<Vec<_>>().into_iter().chain(rest).collect()
}
