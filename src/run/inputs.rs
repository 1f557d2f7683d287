//! Merges the inputs of a model call with two spans, keeping messages that only one of them has.

use crate::operation::{Message, Role};

/// Adds messages from another record of the same input: those between shared messages, or the system prompt.
pub(super) fn complete(have: &mut Vec<Message>, more: Vec<Message>) {
    if let Some(places) = places_in(have, &more) {
        if have.len() < more.len() {
            let mut known = places.into_iter().zip(std::mem::take(have)).peekable();
            have.extend(more.into_iter().enumerate().map(|(place, message)| {
                let own = known.next_if(|(known, _)| *known == place);
                own.map_or(message, |(_, own)| own)
            }));
        }
        return;
    }
    if have.iter().any(is_prompt) {
        return;
    }
    let prompts = more.into_iter().take_while(is_prompt);
    let is_known = |prompt: &Message| {
        let words = prompt.joined_text();
        have.iter().any(|message| message.joined_text().contains(words.trim()))
    };
    let new: Vec<Message> = prompts.filter(|prompt| !is_known(prompt)).collect();
    let _ = have.splice(0..0, new);
}

fn is_prompt(message: &Message) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}

/// The positions of a list's messages in a longer one, if it contains all of them in order.
fn places_in(list: &[Message], longer: &[Message]) -> Option<Vec<usize>> {
    let mut rest = longer.iter().enumerate();
    list.iter()
        .map(|message| rest.find(|(_, other)| is_same(message, other)).map(|(place, _)| place))
        .collect()
}

fn is_same(one: &Message, other: &Message) -> bool {
    let names = |message: &Message| message.tool_calls.iter().map(|call| call.name.clone()).collect::<Vec<_>>();
    let (words, other_words) = (one.joined_text(), other.joined_text());
    (one.role == other.role || is_prompt(one) && is_prompt(other))
        && words.split_whitespace().eq(other_words.split_whitespace())
        && names(one) == names(other)
        && (one.tool_call_id.is_none() || other.tool_call_id.is_none() || one.tool_call_id == other.tool_call_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(list: &[Message]) -> Vec<String> {
        list.iter().map(Message::content).collect()
    }

    #[test]
    fn what_only_one_telling_has_is_kept() {
        let said = |role, text: &str| Message::text(role, text);
        let question = || said(Role::User, "How many?");
        let mut have = vec![question()];
        complete(&mut have, vec![said(Role::System, "Count."), question()]);
        assert_eq!(texts(&have), ["Count.", "How many?"]);
        complete(&mut have, vec![question()]);
        assert_eq!(texts(&have), ["Count.", "How many?"]);
        let mut rendered = vec![said(Role::User, "Question: How many?")];
        complete(&mut rendered, vec![said(Role::System, "Count."), question()]);
        assert_eq!(texts(&rendered), ["Count.", "Question: How many?"]);
        let mut whole = vec![said(Role::User, "Count. How many?")];
        complete(&mut whole, vec![said(Role::System, "Count."), question()]);
        assert_eq!(texts(&whole), ["Count. How many?"], "the prompt is in it");
    }
}
