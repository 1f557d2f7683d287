//! Stage "echoed errors". Removes from the nodes answers of model calls that repeat the call's error text: no model wrote them
//! (Monocle). Removes from steps with an answer an error whose status only repeats another step's failure.
//!
//! The first part runs before the conversations, which contain the answers; the second before the entries, which copy the failure of a
//! tool next to its result.

use super::model::Step;
use super::node::Nodes;
use crate::hash::HashMap;
use crate::operation::{Failure, Kind, Message, Operation};
use crate::span::UnixNanos;

pub(super) fn take_from_answers(nodes: &mut Nodes) {
    for call in nodes.of_kind(Kind::Llm) {
        let Some(node) = nodes.get_mut(call) else { continue };
        if echoes_error(&node.operation) {
            node.operation.output_messages = None;
        }
    }
}

fn echoes_error(operation: &Operation) -> bool {
    let error = operation.failure.as_ref().and_then(|failure| failure.message.as_deref());
    let Some(error) = error.map(str::trim).filter(|error| !error.is_empty()) else {
        return false;
    };
    let is_error = |message: &Message| message.tool_calls.is_empty() && message.joined_text().trim() == error;
    matches!(operation.output_messages.as_deref(), Some([only]) if is_error(only))
}

pub(super) fn clear(steps: &mut [Step]) {
    let bare = |failure: &Failure| failure.error_type.is_none() && failure.stacktrace.is_none();
    // The latest step that failed with each text.
    let mut origins: HashMap<String, UnixNanos> = HashMap::default();
    for step in steps.iter() {
        let failure = step.operation.failure.as_ref().filter(|failure| !bare(failure));
        if let Some(message) = failure.and_then(|failure| failure.message.clone()) {
            let latest = origins.entry(message).or_insert(step.started_at);
            *latest = step.started_at.max(*latest);
        }
    }
    for step in steps {
        let Some(failure) = step.operation.failure.as_ref().filter(|failure| bare(failure)) else {
            continue;
        };
        let Some(message) = failure.message.as_deref().filter(|message| !message.is_empty()) else {
            continue;
        };
        let operation = &step.operation;
        let answered = match operation.kind {
            Kind::Tool => operation
                .tool
                .as_ref()
                .and_then(|tool| tool.result.as_ref())
                .is_some_and(|result| !result.to_string().contains(message)),
            Kind::Llm => operation.output_messages.is_some(),
            Kind::Agent | Kind::Chain => operation.output.is_some() || operation.output_messages.is_some(),
            _ => false,
        };
        let inside = |at: &UnixNanos| *at >= step.started_at || matches!(operation.kind, Kind::Tool | Kind::Llm);
        if answered && origins.get(message).is_some_and(inside) {
            step.operation.failure = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::testing::step;

    #[test]
    fn an_answer_that_is_the_error_is_none() {
        let mut operation = Operation {
            output_messages: Some(vec![Message::text(crate::operation::Role::Assistant, "Error code: 400")]),
            ..Operation::default()
        };
        assert!(!echoes_error(&operation), "it did not fail");
        operation.failure = Some(Failure {
            message: Some("Error code: 400".to_owned()),
            ..Failure::default()
        });
        assert!(echoes_error(&operation));
        operation.output_messages = Some(vec![Message::text(crate::operation::Role::Assistant, "I tried.")]);
        assert!(!echoes_error(&operation));
    }

    #[test]
    fn an_answered_step_repeats_no_error_of_another() {
        let failed = |kind, start, error_type: Option<&str>| {
            let mut step = step(String::new(), kind, "", UnixNanos(start), UnixNanos(90));
            step.operation.failure = Some(Failure {
                message: Some("no such city".to_owned()),
                error_type: error_type.map(str::to_owned),
                ..Failure::default()
            });
            step
        };
        let mut answered = failed(Kind::Llm, 10, None);
        answered.operation.output_messages = Some(Vec::new());
        let mut steps = [answered, failed(Kind::Tool, 20, Some("LookupError")), failed(Kind::Llm, 30, None)];
        clear(&mut steps);
        assert_eq!(steps.map(|step| step.operation.failure.is_some()), [false, true, true]);
    }
}
