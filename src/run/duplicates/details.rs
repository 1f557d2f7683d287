//! Spans that are part of the model call or tool around them.

use super::merge::merge;
use crate::hash::HashMap;
use crate::operation::{Kind, Operation};
use crate::run::id::ReadingId;
use crate::run::node::Node;
use crate::run::readings::Readings;
use crate::trace::{Finding, FindingKind};

/// Merges each into that operation. A detail without an operation around it is dropped, with a finding.
pub(super) fn merge_into_operations(readings: &mut Readings) {
    let details = readings.of_kind(Kind::Detail);
    if details.is_empty() {
        return;
    }
    let around = readings.nearest_above(|kind| kind != Kind::Detail);
    let mut asked: Option<HashMap<String, ReadingId>> = None;
    for index in details {
        let around = around.known(index).map(|up| readings.standing(up));
        match around.filter(|up| matches!(readings.kind(*up), Kind::Llm | Kind::Tool)) {
            Some(around) => {
                let failure = readings.get(index).and_then(|node| node.operation.failure.clone());
                let is_its_run = is_run_of(readings.get(index), readings.get(around));
                merge(readings, index, around);
                if is_its_run && let Some(node) = readings.get_mut(around) {
                    node.operation.failure = node.operation.failure.take().or(failure);
                }
            }
            None => {
                let fetched = readings.get(index).and_then(fetched).map(str::to_owned);
                if let Some(response) = fetched {
                    let asked = asked.get_or_insert_with(|| unanswered_by_response(readings));
                    match asked.get(&response) {
                        Some(call) => merge(readings, index, *call),
                        None => readings.get_mut(index).into_iter().for_each(|node| node.operation.kind = Kind::Llm),
                    }
                    continue;
                }
                let Some(node) = readings.get_mut(index) else { continue };
                let (span, is_of_use) = (node.span_id, has_facts(&node.operation));
                node.operation.kind = Kind::Plain;
                if is_of_use {
                    readings.findings.push(Finding::new(
                        Some(span),
                        FindingKind::StrayDetail,
                        "is a part of a model call or a tool, but none is around it: its facts are left out",
                    ));
                }
            }
        }
    }
}

/// The id of a response whose answer is on a span outside its call: it was generated in the background and fetched later.
fn fetched(node: &Node) -> Option<&str> {
    let operation = &node.operation;
    operation.response_id.as_deref().filter(|_| operation.output_messages.is_some())
}

/// Calls without an answer, by the response's id.
fn unanswered_by_response(readings: &Readings) -> HashMap<String, ReadingId> {
    let calls = readings.of_kind(Kind::Llm).into_iter().rev();
    let unanswered = calls.filter_map(|call| {
        let operation = &readings.get(call)?.operation;
        let id = operation.response_id.clone()?;
        operation.output_messages.is_none().then_some((id, call))
    });
    unanswered.collect()
}

/// Whether a detail of a tool is its run, with the same call id: the tool then fails with it.
fn is_run_of(detail: Option<&Node>, tool: Option<&Node>) -> bool {
    let id = |node: Option<&Node>| node?.operation.tool.as_deref()?.call_id.clone();
    id(detail).is_some_and(|detail| id(tool) == Some(detail))
}

/// Whether a detail without an operation has more facts than its agent, session, person and workflow.
fn has_facts(operation: &Operation) -> bool {
    let said = Operation {
        kind: operation.kind,
        name: operation.name.clone(),
        agent: operation.agent.clone(),
        session_id: operation.session_id.clone(),
        user_id: operation.user_id.clone(),
        workflow: operation.workflow.clone(),
        failure: operation.failure.clone(),
        unmapped: operation.unmapped.clone(),
        has_unread_words: operation.has_unread_words,
        ..Operation::default()
    };
    said != *operation
}
