//! Model calls inside model calls.

use super::estimates;
use super::merge::merge;
use crate::hash::HashMap;
use crate::operation::{Cost, Kind, Message, Recorded, Role, TokenCount};
use crate::run::call_record::CallRecord;
use crate::run::fill::fill;
use crate::run::id::ReadingId;
use crate::run::readings::Readings;
use crate::span::UnixNanos;
use crate::trace::{Finding, FindingKind};

/// The calls and tools directly inside each model call, by start.
struct InnerSpans {
    calls: HashMap<ReadingId, Vec<ReadingId>>,
    tools: HashMap<ReadingId, Vec<ReadingId>>,
}

impl InnerSpans {
    fn of(readings: &Readings) -> Self {
        // Without an agent or tool in between.
        let around = readings.nearest_above(|kind| matches!(kind, Kind::Agent | Kind::Tool | Kind::Handoff | Kind::Llm));
        let inside = |kind: Kind| {
            let mut list: HashMap<ReadingId, Vec<ReadingId>> = HashMap::default();
            for index in readings.of_kind(kind) {
                if let Some(outer) = around.known(index).filter(|up| readings.kind(*up) == Kind::Llm) {
                    list.entry(outer).or_default().push(index);
                }
            }
            list
        };
        Self {
            calls: inside(Kind::Llm),
            tools: inside(Kind::Tool),
        }
    }
}

/// A client function that calls itself after the tools puts the span of a call around its tools and the next call, and
/// records the last answer in both (RubyLLM, Spring AI's streams). The outer one is reduced to the call that asked for the
/// tools, which ends when the first of them begins; its answer is in the history of the inner one.
pub(super) fn leave_first_calls(readings: &mut Readings) {
    let InnerSpans { calls, tools } = InnerSpans::of(readings);
    let mut outers: Vec<ReadingId> = calls.keys().copied().filter(|outer| tools.contains_key(outer)).collect();
    // The outermost first, so that each is compared with inner calls as recorded.
    outers.sort_unstable();
    for outer in outers {
        let (Some(calls), Some(tools)) = (calls.get(&outer), tools.get(&outer)) else {
            continue;
        };
        let Some(first) = first_call(readings, outer, calls, tools) else {
            continue;
        };
        let parent = readings.parent(outer);
        for index in calls.iter().chain(tools) {
            if readings.parent(*index) == Some(outer) {
                readings.set_parent(*index, parent);
            }
        }
        let Some(last) = readings.get(first.last) else { continue };
        let (last, told) = (last.span_id, last.operation.clone());
        let Some(node) = readings.get_mut(outer) else { continue };
        node.end = Some(first.end);
        let operation = &mut node.operation;
        operation.input_messages = Some(first.given.into());
        operation.output_messages = Some(vec![first.said]);
        // Values that both have belong to the inner call.
        operation.usage = TokenCount::default();
        if operation.cost == told.cost {
            operation.cost = Cost::default();
        }
        if operation.output == told.output {
            operation.output = Recorded::default();
        }
        let _ = operation.response_id.take_if(|id| told.response_id.as_ref() == Some(id));
        let _ = operation
            .finish_reason
            .take_if(|reason| told.finish_reason.as_ref() == Some(reason));
        let _ = operation.raw_response.take_if(|body| told.raw_response.as_ref() == Some(body));
        let span_id = node.span_id;
        let detail = format!("encloses the tools that it asked for and the answer of {last}: what is left is the call that asked");
        readings
            .findings
            .push(Finding::new(Some(span_id), FindingKind::SameOperation, detail));
    }
}

/// The reconstructed first call of a span that records a later call's answer.
struct FirstCall {
    given: Vec<Message>,
    said: Message,
    end: UnixNanos,
    /// The call whose answer the outer one records.
    last: ReadingId,
}

fn first_call(readings: &Readings, outer: ReadingId, calls: &[ReadingId], tools: &[ReadingId]) -> Option<FirstCall> {
    let last_call = *calls.last()?;
    let (node, next, last) = (readings.get(outer)?, readings.get(*calls.first()?)?, readings.get(last_call)?);
    let tool = readings.get(*tools.first()?)?;
    let is_before = tool.end.is_some_and(|end| end <= next.start) && node.start <= tool.start && next.within(node);
    if !is_before || !CallRecord::from(last).repeats(&CallRecord::from(node)) {
        return None;
    }
    let asked = tool.operation.tool.as_ref()?.call_id.as_deref()?;
    // A shared list is not copied for each call.
    let history = next
        .operation
        .input_messages
        .as_ref()
        .filter(|list| list.shared_number().is_none())?;
    let asks =
        |message: &Message| message.role == Role::Assistant && message.tool_calls.iter().any(|call| call.recorded_id() == Some(asked));
    let at = history.iter().rposition(asks)?;
    Some(FirstCall {
        given: history.get(..at)?.to_vec(),
        said: history.get(at)?.clone(),
        end: tool.start,
        last: last_call,
    })
}

/// Merges a model call inside a model call unless something contradicts that they are one; an outer one with several calls inside is a
/// wrapper.
pub(super) fn merge_all(readings: &mut Readings) {
    let mut inner = InnerSpans::of(readings).calls;
    let mut outers: Vec<ReadingId> = inner.keys().copied().collect();
    // Inner wrappers first, so that a chain of three becomes one.
    outers.sort_unstable_by(|a, b| b.cmp(a));
    for outer in outers {
        let mut inside = inner.remove(&outer).unwrap_or_default();
        // A context may be left open: the call began after the one around it ended.
        let end = readings.get(outer).and_then(|node| node.end);
        let within = |index: &&ReadingId| readings.get(**index).is_some_and(|node| end.is_none_or(|end| node.start < end));
        let answered: Vec<ReadingId> = inside
            .iter()
            .filter(within)
            .copied()
            .filter(|index| readings.get(*index).is_some_and(|node| node.operation.failure.is_none()))
            .collect();
        if answered.len() > 1 && hold_several_calls(readings, &answered) {
            if let Some(node) = readings.get_mut(outer) {
                node.operation.kind = Kind::Chain;
            }
            continue;
        }
        if let [good] = answered.as_slice()
            && wraps_attempts(readings, outer, *good, &inside)
        {
            give_words(readings, outer, *good);
            continue;
        }
        inside.sort_by_key(|index| readings.get(*index).is_some_and(|node| node.operation.failure.is_some()));
        for index in inside {
            let is_other = matches!(
                (readings.get(index), readings.get(outer)),
                (Some(inner), Some(outer)) if CallRecord::from(inner).is_other_than(&CallRecord::from(outer))
            );
            if !is_other {
                estimates::leave_to_response(readings, index, outer);
                merge(readings, index, outer);
            }
        }
    }
}

/// Whether a successful call is around one successful call and others that failed before or after it: these are separate attempts
/// (Bifrost).
fn wraps_attempts(readings: &Readings, outer: ReadingId, good: ReadingId, inside: &[ReadingId]) -> bool {
    let (Some(outer), Some(good)) = (readings.get(outer), readings.get(good)) else {
        return false;
    };
    let is_attempt = |index: &ReadingId| {
        let node = readings.get(*index).filter(|node| node.operation.failure.is_some());
        node.is_some_and(|node| CallRecord::from(node).is_separate_from(&CallRecord::from(good)))
    };
    let is_one = !CallRecord::from(good).is_other_than(&CallRecord::from(outer));
    is_one && outer.operation.failure.is_none() && inside.iter().any(is_attempt)
}

/// Turns a call around several attempts into a wrapper. Its messages go to the one that answered, if that has none.
fn give_words(readings: &mut Readings, outer: ReadingId, good: ReadingId) {
    let Some(node) = readings.get_mut(outer) else { return };
    node.operation.kind = Kind::Chain;
    let told = (*node.operation).clone();
    if let Some(good) = readings.get_mut(good).filter(|good| !good.has_messages()) {
        fill(&mut good.operation, told);
    }
}

/// Whether these, by start, are more than one call.
fn hold_several_calls(readings: &Readings, list: &[ReadingId]) -> bool {
    list.windows(2).any(|pair| match pair {
        [a, b] => {
            matches!((readings.get(*a), readings.get(*b)), (Some(a), Some(b)) if CallRecord::from(a).is_separate_from(&CallRecord::from(b)))
        }
        _ => false,
    })
}
