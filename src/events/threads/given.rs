//! The input of a model call, as the client sent it.

use std::collections::{HashMap, HashSet};

use super::facts::PREFIX;
use crate::events::event::Call;
use crate::operation::{Message, Operation, Part, Role};

/// Maximum number of texts of one call, not found as a whole, that are searched for inside others.
const MAX_CONTAINED_TEXTS: usize = 8;

/// The new messages of a call: those that the client sent, if the file has them, else those since the previous call.
pub(super) fn of(call: &mut Call, heard: Vec<Message>, begins: bool, operation: &mut Operation) -> Vec<Message> {
    let given = match call.exact.take() {
        Some(sent) => as_sent(sent, heard, begins),
        None if call.is_approximate => Err(heard),
        None => return heard,
    };
    given.unwrap_or_else(|heard| {
        operation.unmapped.insert(format!("{PREFIX}input"), "approximate".into());
        heard
    })
}

/// The messages that the client sent, each with the role that the session records for its text: the client sends its own
/// messages in the user's name. `Err`: a person's message is missing, so the messages do not belong to this call.
fn as_sent(mut sent: Vec<Message>, heard: Vec<Message>, begins: bool) -> Result<Vec<Message>, Vec<Message>> {
    let texts = |message: &Message| -> Vec<String> {
        let texts = message.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.trim().to_owned()),
            _ => None,
        });
        texts.filter(|text| !text.is_empty()).collect()
    };
    let is_said = |role: &Role| matches!(role, Role::User | Role::System);
    let roles: HashMap<String, Role> = heard
        .iter()
        .filter(|message| is_said(&message.role))
        .flat_map(|message| texts(message).into_iter().map(|text| (text, message.role.clone())))
        .collect();
    let mut wanted: HashSet<&str> = roles
        .iter()
        .filter(|(_, role)| **role == Role::User)
        .map(|(text, _)| &**text)
        .collect();
    let mut out: Vec<Message> = Vec::with_capacity(sent.len());
    for message in sent.drain(..) {
        if !is_said(&message.role) {
            out.push(message);
            continue;
        }
        // Split the message where the roles of its parts differ.
        let mut is_new = true;
        for part in message.parts {
            let text = match &part {
                Part::Text(text) => text.trim(),
                _ => "",
            };
            wanted.remove(text);
            let role = roles.get(text).unwrap_or(&message.role).clone();
            match out.last_mut() {
                Some(last) if !is_new && last.role == role => last.parts.push(part),
                _ => out.push(Message {
                    role,
                    parts: vec![part],
                    ..Message::default()
                }),
            }
            is_new = false;
        }
    }
    // The client may add text around a person's.
    if wanted.len() > MAX_CONTAINED_TEXTS {
        return Err(heard);
    }
    for text in wanted {
        let around = out
            .iter_mut()
            .filter(|message| is_said(&message.role))
            .find(|message| message.content().contains(text));
        let Some(message) = around else { return Err(heard) };
        message.role = Role::User;
    }
    if begins {
        // Results of the previous turn are in its trace.
        let asked: HashSet<String> = out
            .iter()
            .flat_map(|message| &message.tool_calls)
            .filter_map(|call| call.recorded_id().map(str::to_owned))
            .collect();
        out.retain(|message| message.role != Role::Tool || message.tool_call_id.as_ref().is_none_or(|id| asked.contains(id)));
    }
    Ok(out)
}
