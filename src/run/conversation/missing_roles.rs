//! Texts recorded without roles: Spring AI's log bodies, quarkus-langchain4j's prompts.
//!
//! Their roles follow from the previous call in the same scope: its input, its answer, the tools that ran.

use crate::operation::{Message, Role};

fn is_bare(message: &Message) -> bool {
    matches!(&message.role, Role::Other(word) if word.is_empty())
}

/// The messages of a call with a role for each bare text; `None` if it has no bare text. `before`: input and answer of the previous
/// call.
pub(super) fn resolve(input: &[Message], before: Option<(&[Message], Option<&Message>)>) -> Option<Vec<Message>> {
    if !input.iter().any(is_bare) {
        return None;
    }
    let texts: Vec<String> = input.iter().map(Message::content).collect();
    if let Some((past, answer)) = before
        && let Some(messages) = follow(&texts, past, answer)
    {
        return Some(messages);
    }
    // A first call: a single text is the user's; of several, the first is the system prompt and the others alternate,
    // ending with the user.
    let last = texts.len().saturating_sub(1);
    let with_roles = texts
        .into_iter()
        .enumerate()
        .map(|(at, text)| {
            let role = match at {
                0 if last > 0 => Role::System,
                _ if (last - at).is_multiple_of(2) => Role::User,
                _ => Role::Assistant,
            };
            Message::text(role, text)
        })
        .filter(|message| !message.is_blank());
    Some(with_roles.collect())
}

/// The messages of a call that continues `past` and `answer`.
fn follow(texts: &[String], past: &[Message], answer: Option<&Message>) -> Option<Vec<Message>> {
    let mut out: Vec<Message> = past.to_vec();
    if let ([whole], [one]) = (texts, past)
        && one.role != Role::Tool
    {
        // One text for all messages: the part it adds repeats the answer and the tool results.
        whole.strip_prefix(&one.content())?;
        out.extend(answer.cloned());
        return Some(out);
    }
    if let [whole] = texts {
        let first = past.first()?.content();
        whole.strip_prefix(&first)?;
        out.extend(answer.cloned());
        return Some(out);
    }
    let spoken: Vec<&Message> = past.iter().filter(|message| message.role != Role::Tool).collect();
    let mut rest = texts;
    for message in &spoken {
        let (first, tail) = rest.split_first()?;
        if *first != message.content() {
            return None;
        }
        rest = tail;
        while let Some((blank, tail)) = rest.split_first()
            && blank.is_empty()
            && !message.tool_calls.is_empty()
        {
            rest = tail;
        }
    }
    if let Some((first, tail)) = rest.split_first()
        && let Some(answer) = answer
        && (*first == answer.content() || first.is_empty())
    {
        out.push(answer.clone());
        rest = tail;
    }
    let new: Vec<&String> = rest.iter().filter(|text| !text.trim().is_empty()).collect();
    out.extend(new.into_iter().map(|text| Message::text(Role::User, text.as_str())));
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(text: &str) -> Message {
        Message::text(Role::Other(String::new()), text)
    }

    fn roles(messages: Option<Vec<Message>>) -> Vec<Role> {
        messages.unwrap_or_default().into_iter().map(|message| message.role).collect()
    }

    #[test]
    fn a_first_call_begins_with_the_system_prompt() {
        assert_eq!(
            roles(resolve(&[bare("You help."), bare("Where?")], None)),
            [Role::System, Role::User]
        );
        assert_eq!(
            resolve(&[Message::text(Role::User, "Where?")], None),
            None,
            "the client records the roles"
        );
    }

    #[test]
    fn a_later_call_goes_on_with_the_one_before() {
        let past = [Message::text(Role::System, "You help."), Message::text(Role::User, "Where?")];
        let answer = Message::text(Role::Assistant, "Here.");
        let texts = [bare("You help."), bare("Where?"), bare("Here."), bare("And then?")];
        let found = roles(resolve(&texts, Some((&past, Some(&answer)))));
        assert_eq!(found, [Role::System, Role::User, Role::Assistant, Role::User]);
    }
}
