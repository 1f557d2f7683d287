//! Restores tool results found only in the whole request: OpenInference flattens a message to one result.

use crate::dialect::messages::{self, Direction};
use crate::hash::HashSet;
use crate::operation::{Kind, Message, Operation, Role};

/// Replaces a model call's input messages by those of its whole request, if only that has all results.
pub(super) fn complete(operation: &mut Operation) {
    let Some(list) = operation
        .input_messages
        .as_ref()
        .filter(|list| operation.kind == Kind::Llm && lacks_results(list))
    else {
        return;
    };
    let Some(whole) = operation.input.get().and_then(|input| messages::read(input, Direction::Input)) else {
        return;
    };
    let results = |list: &[Message]| list.iter().filter(|message| is_result(message)).count();
    let words = |list: &[Message]| -> HashSet<String> {
        let spoken = list
            .iter()
            .filter(|message| matches!(message.role, Role::User | Role::Assistant) && message.has_words());
        spoken.map(Message::content).collect()
    };
    if results(&whole) <= results(list) || !words(list).is_subset(&words(&whole)) {
        return;
    }
    let is_prompt = |message: &Message| matches!(message.role, Role::System | Role::Developer);
    let prompts = list.iter().filter(|message| is_prompt(message) && !whole.iter().any(is_prompt));
    operation.input_messages = Some(prompts.cloned().chain(whole.iter().cloned()).collect());
}

fn is_result(message: &Message) -> bool {
    message.role == Role::Tool && !message.is_without_result()
}

/// Whether a result lacks its content, or calls lack some of their results.
fn lacks_results(list: &[Message]) -> bool {
    let mut open = 0_usize;
    let mut answered = 0_usize;
    for message in list {
        match message.role {
            Role::Tool if !is_result(message) && message.tool_call_id.is_some() => return true,
            Role::Tool => answered += 1,
            _ if answered > 0 && answered < open => return true,
            Role::Assistant => {
                open = message.tool_calls.iter().filter(|call| call.answered.is_none()).count() + if answered == 0 { open } else { 0 };
                answered = 0;
            }
            _ => {}
        }
    }
    answered > 0 && answered < open
}
