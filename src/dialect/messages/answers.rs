//! A model's answers: pieces of one turn, separately recorded thoughts, and the choices of a response.

use serde_json::{Map, Value};

use crate::hash::{HashMap, Members as _};
use crate::operation::{Message, Part, Role};

/// Adds an assistant's piece to the previous turn, if that is open.
pub(super) fn append_turn(out: &mut Vec<Message>, piece: Message, open: bool) {
    if open
        && let Some(last) = out.last_mut()
        && last.role == piece.role
    {
        last.parts.extend(piece.parts);
        last.tool_calls.extend(piece.tool_calls);
        if last.finish_reason.is_none() {
            last.finish_reason = piece.finish_reason;
        }
        return;
    }
    out.push(piece);
}

/// The messages of each choice with its number: the provider's `index`, or else its place.
pub(super) fn numbered(choices: &[Value], read: impl Fn(&Value) -> Option<Vec<Message>>) -> Option<Vec<Message>> {
    let mut out = Vec::new();
    for (place, choice) in choices.iter().enumerate() {
        let index = choice.member("index").and_then(Value::as_u64);
        for message in read(choice).unwrap_or_default() {
            out.push(Message {
                choice: index.unwrap_or_else(|| u64::try_from(place).unwrap_or(u64::MAX)),
                ..message
            });
        }
    }
    (!out.is_empty()).then_some(out)
}

/// Numbers answers that each have a finish reason, since they are choices. Of the pieces of one answer, only the last has it.
pub(in crate::dialect) fn number_choices(messages: &mut [Message]) {
    let is_whole = |message: &Message| {
        message.role == Role::Assistant && message.finish_reason.is_some() && (message.has_words() || !message.tool_calls.is_empty())
    };
    if messages.iter().all(is_whole) {
        for (message, number) in messages.iter_mut().zip(0..) {
            message.choice = number;
        }
    }
}

/// Joins a model's messages to answers. A model gives one answer, in any number of messages, unless the choices are numbered or the caller
/// requested several.
pub(in crate::dialect) fn answers(messages: Vec<Message>, asked_for_several: bool) -> Vec<Message> {
    if messages.len() < 2 {
        return messages;
    }
    // An exchange, not choices: messages after a result were written later.
    let is_exchange = messages.iter().any(|message| message.role == Role::Tool);
    if is_exchange && messages.first().is_some_and(|first| first.role == Role::Assistant) {
        return messages;
    }
    let first = messages.first().map(|message| message.choice);
    let are_numbered = messages.iter().any(|message| Some(message.choice) != first);
    let one_a_choice = are_numbered || !asked_for_several;
    let mut out: Vec<Message> = Vec::new();
    // The last answer of each choice, and the answers that have neither text nor calls yet.
    let (mut last_of, mut unfilled) = (HashMap::default(), Vec::new());
    for message in messages {
        let is_unfilled = |message: &Message| !message.has_words() && message.tool_calls.is_empty();
        let known = if message.role != Role::Assistant {
            None
        } else if one_a_choice || continues(&message) {
            last_of.get(&message.choice).copied()
        } else {
            unfilled.last().copied()
        };
        match known.and_then(|place: usize| Some((place, out.get_mut(place)?))) {
            Some((place, answer)) => {
                answer.parts.extend(message.parts);
                answer.tool_calls.extend(message.tool_calls);
                answer.finish_reason = message.finish_reason.or(answer.finish_reason.take());
                if !is_unfilled(answer) {
                    let _ = unfilled.pop_if(|last| *last == place);
                }
            }
            None => {
                if message.role == Role::Assistant {
                    let _ = last_of.insert(message.choice, out.len());
                    if is_unfilled(&message) {
                        unfilled.push(out.len());
                    }
                }
                out.push(message);
            }
        }
    }
    out
}

/// Whether a message continues the previous answer, whatever that contains: items arrive as thought, text, calls.
fn continues(message: &Message) -> bool {
    !message.has_words() && !message.tool_calls.is_empty() || message.is_blank()
}

/// Joins thoughts that are separate messages (role `thinking`) to the next message, or else to the previous one.
pub(in crate::dialect) fn merge_thinking(messages: Vec<Message>) -> Vec<Message> {
    let is_thought = |message: &Message| matches!(&message.role, Role::Other(word) if word == "thinking" || word == "reasoning");
    if !messages.iter().any(is_thought) {
        return messages;
    }
    let mut out: Vec<Message> = Vec::new();
    let mut waiting: Vec<Part> = Vec::new();
    for mut message in messages {
        if is_thought(&message) {
            let text = message.content();
            waiting.push(Part::Reasoning {
                text: Some(text),
                opaque: Map::new(),
            });
            continue;
        }
        if !waiting.is_empty() && message.role == Role::Assistant {
            let mut parts = std::mem::take(&mut waiting);
            parts.append(&mut message.parts);
            message.parts = parts;
        }
        out.push(message);
    }
    if !waiting.is_empty() {
        match out.last_mut().filter(|message| message.role == Role::Assistant) {
            Some(last) => {
                let _ = last.parts.splice(0..0, waiting);
            }
            None => out.push(Message {
                role: Role::Assistant,
                parts: waiting,
                ..Message::default()
            }),
        }
    }
    out
}
