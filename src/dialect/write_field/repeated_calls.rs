//! Calls of an answer that its own input already contains, with their results: a client records all turns of a run as one call and gives it
//! their combined text and calls (Respan on Agno).

use crate::hash::HashMap;
use crate::operation::{Kind, Message, Operation, Part, Role, is_counter};

/// Removes from an answer the calls already answered in its input, and the text that came with them.
pub(super) fn take_out(operation: &mut Operation) {
    let Operation {
        kind: Kind::Llm,
        input_messages: Some(given),
        output_messages: Some(list),
        ..
    } = operation
    else {
        return;
    };
    let Some(answer) = list.iter_mut().rfind(|message| message.asks_for_tools()) else {
        return;
    };
    let Some(asking) = asking(given, answer) else { return };
    answer.tool_calls.clear();
    if let Some(Part::Text(words)) = answer.parts.iter_mut().find(|part| matches!(part, Part::Text(_))) {
        let mut rest = words.as_str();
        for message in asking {
            rest = rest.trim_start().strip_prefix(message.content().trim()).unwrap_or(rest);
        }
        *words = rest.trim_start().to_owned();
    }
    answer.parts.retain(|part| !matches!(part, Part::Text(words) if words.is_empty()));
    list.retain(|message| !message.is_blank());
}

/// The input messages that request all calls of an answer and have their results. Ids that restart in every answer prove nothing.
fn asking<'m>(given: &'m [Message], answer: &Message) -> Option<Vec<&'m Message>> {
    let first = Some(answer.tool_calls.first()?.recorded_id().filter(|id| !is_counter(id))?);
    // In almost all answers the calls are new.
    if !given.iter().rev().any(|message| message.tool_call_id.as_deref() == first) {
        return None;
    }
    let is_result = |message: &&Message| message.role == Role::Tool;
    let answered = given.iter().filter(is_result).filter_map(|message| message.tool_call_id.as_deref());
    let mut asked: HashMap<&str, Option<usize>> = answered.map(|id| (id, None)).collect();
    for (place, message) in given.iter().enumerate() {
        for id in message.tool_calls.iter().filter_map(|call| call.recorded_id()) {
            if let Some(by) = asked.get_mut(id) {
                *by = Some(place);
            }
        }
    }
    let by = |id: &str| asked.get(id).copied().flatten().filter(|_| !is_counter(id));
    let mut places: Vec<usize> = answer
        .tool_calls
        .iter()
        .map(|call| by(call.recorded_id()?))
        .collect::<Option<_>>()?;
    places.sort_unstable();
    places.dedup();
    Some(places.into_iter().filter_map(|place| given.get(place)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{ToolCall, ToolCallId};

    fn call(given_result: bool, id: &str, words: &str) -> Operation {
        let asks = |words: &str| Message {
            tool_calls: vec![ToolCall {
                id: Some(ToolCallId::Recorded(id.to_owned())),
                name: "look".to_owned(),
                ..ToolCall::default()
            }],
            ..Message::text(Role::Assistant, words)
        };
        let mut given = vec![Message::text(Role::User, "Oslo?"), asks("Let me see.")];
        given.extend(given_result.then(|| Message {
            tool_call_id: Some(id.to_owned()),
            ..Message::text(Role::Tool, "3 C")
        }));
        Operation {
            kind: Kind::Llm,
            input_messages: Some(given.into()),
            output_messages: Some(vec![asks(words)]),
            ..Operation::default()
        }
    }

    fn said(mut operation: Operation) -> Vec<(String, usize)> {
        take_out(&mut operation);
        let list = operation.output_messages.unwrap_or_default();
        list.iter().map(|message| (message.content(), message.tool_calls.len())).collect()
    }

    #[test]
    fn calls_that_are_answered_are_asked_for_once() {
        let unique = "call_6c80309895694fd8a9863c4d";
        assert_eq!(said(call(true, unique, "Let me see.It is 3 C.")), [("It is 3 C.".to_owned(), 0)]);
        assert_eq!(said(call(true, unique, "It is 3 C.")), [("It is 3 C.".to_owned(), 0)]);
        assert!(said(call(true, unique, "Let me see.")).is_empty());
        assert_eq!(
            said(call(false, unique, "Let me see.")),
            [("Let me see.".to_owned(), 1)],
            "not answered"
        );
        assert_eq!(
            said(call(true, "call_1", "Once more.")),
            [("Once more.".to_owned(), 1)],
            "another call"
        );
    }
}
