//! One response spread over spans with one block each: its text, then each of its calls (Claude Agent SDK, whose stream has one message
//! per block, each with the usage of the whole response).

use super::merge::merge;
use crate::hash::HashMap;
use crate::operation::Kind;
use crate::run::id::ReadingId;
use crate::run::node::Node;
use crate::run::readings::Readings;

/// Joins calls that follow one another under one parent and share response id, input and usage, but not their content.
pub(super) fn join(readings: &mut Readings) {
    let mut by_response: HashMap<(Option<ReadingId>, String), Vec<ReadingId>> = HashMap::default();
    for index in readings.of_kind(Kind::Llm) {
        let response = readings.get(index).and_then(|node| node.operation.response_id.clone());
        if let Some(response) = response.filter(|_| readings.is_independent(index)) {
            by_response.entry((readings.parent(index), response)).or_default().push(index);
        }
    }
    let mut groups: Vec<Vec<ReadingId>> = by_response.into_values().filter(|group| group.len() > 1).collect();
    groups.sort();
    for group in groups {
        let mut rest = group.into_iter();
        let Some(mut first) = rest.next() else { continue };
        for next in rest {
            let pair = (readings.get(first), readings.get(next));
            if !matches!(pair, (Some(one), Some(block)) if is_next_block(one, block)) {
                first = next;
                continue;
            }
            let said = readings.get_mut(next).and_then(|node| {
                let end = node.end;
                Some((node.operation.output_messages.clone()?, node.operation.finish_reason.clone(), end))
            });
            if let (Some((said, finish, end)), Some(node)) = (said, readings.get_mut(first)) {
                node.end = end.or(node.end);
                node.operation.finish_reason = finish.or(node.operation.finish_reason.take());
                let open = node.operation.output_messages.as_mut().and_then(|list| list.last_mut());
                if let Some(open) = open {
                    for block in said {
                        open.parts.extend(block.parts);
                        open.tool_calls.extend(block.tool_calls);
                        open.finish_reason = block.finish_reason.or(open.finish_reason.take());
                    }
                }
            }
            merge(readings, next, first);
        }
    }
}

/// Whether a call has the next block of another one's response. A server that merely repeats ids counts tokens for each call anew.
fn is_next_block(one: &Node, next: &Node) -> bool {
    let (a, b) = (&one.operation, &next.operation);
    let counts_output = a.usage.output.is_some_and(|count| count > 0);
    one.end.is_some_and(|end| end <= next.start)
        && counts_output
        && a.usage == b.usage
        && a.input_messages == b.input_messages
        && one.instrumentation() == next.instrumentation()
        && a.failure.is_none()
        && b.failure.is_none()
        && matches!((&a.output_messages, &b.output_messages), (Some(said), Some(more)) if said != more)
}
