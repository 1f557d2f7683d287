//! Stage "causal order": takes the steps and sorts them by start in nanoseconds, then end, the call's index in the model's output and
//! the order of the spans' arrival. A parent precedes its children, and a tool precedes the model call that read its result, even if a
//! millisecond clock gives them one start.
//!
//! This runs after the last step is added and before anything refers to steps for good: from here on a [`StepId`] is final.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::id::{IdVec, StepId};
use super::model::Step;
use super::steps::DraftSteps;
use crate::hash::HashMap;
use crate::span::UnixNanos;

/// Sorts the steps and rewrites references to them.
pub(super) fn sort(mut steps: DraftSteps) -> DraftSteps {
    settle_ticks(&mut steps);
    let order = order(&steps);
    let mut new_ids: IdVec<StepId, Option<StepId>> = IdVec::filled(None, steps.list.len());
    let mut old = IdVec::<StepId, StepId>::with_capacity(order.len());
    for id in order {
        let new = old.push(id);
        new_ids.set(id, Some(new));
    }
    let moved = |id: Option<StepId>| id.and_then(|id| new_ids.known(id));
    let mut slots: IdVec<StepId, Option<Step>> = steps.list.into_iter().map(Some).collect();
    // Steps are large: reserving capacity avoids copies as the list grows.
    let mut list: IdVec<StepId, Step> = IdVec::with_capacity(old.len());
    for id in old.iter() {
        if let Some(step) = slots.get_mut(*id).and_then(Option::take) {
            let _ = list.push(step);
        }
    }
    for step in &mut list {
        step.parent = moved(step.parent);
        step.dispatched_by = moved(step.dispatched_by);
        step.inside_tool = moved(step.inside_tool);
        step.called_by = moved(step.called_by);
    }
    let of_call = steps.of_call.into_iter().filter_map(|(call, id)| Some((call, moved(Some(id))?)));
    DraftSteps {
        list,
        of_node: steps.of_node.into_iter().map(moved).collect(),
        of_call: of_call.collect(),
        called_by: steps.called_by.into_iter().map(moved).collect(),
        read_by: Vec::new(),
        findings: steps.findings,
    }
}

/// A millisecond clock may lag this many nanoseconds behind a nanosecond clock.
const TICK: u64 = 1_000_000;

/// Moves the start of a model call that read a tool's result behind the tool's, if their clocks differ by less than a tick.
fn settle_ticks(steps: &mut DraftSteps) {
    for (tool, reader) in &steps.read_by {
        let Some(began) = steps.list.get(*tool).map(|step| step.started_at) else {
            continue;
        };
        if let Some(step) = steps.list.get_mut(*reader)
            && began > step.started_at
            && began.0 - step.started_at.0 < TICK
        {
            step.started_at = began;
            step.ended_at = step.ended_at.map(|end| end.max(began));
        }
    }
}

/// All ids in order. A parent always precedes its children.
fn order(steps: &DraftSteps) -> Vec<StepId> {
    let list = &steps.list;
    let ends = ends_of_turns(list);
    let key = |id: StepId| {
        let step = list.get(id)?;
        let end = step.dispatched_by.and_then(|by| ends.get(&(by, step.started_at)).copied());
        let end = end.unwrap_or_else(|| step.end_or_start());
        Some((step.started_at, end, step.call_index.unwrap_or(0)))
    };
    let proofs = proofs(steps);
    let mut behind: IdVec<StepId, Vec<StepId>> = IdVec::filled(Vec::new(), list.len());
    let mut awaits: IdVec<StepId, usize> = IdVec::filled(0, list.len());
    let parents = list.enumerate().filter_map(|(id, step)| Some((step.parent?, id)));
    for (first, second) in parents.chain(proofs) {
        if let (Some(next), Some(count)) = (behind.get_mut(first), awaits.get_mut(second)) {
            next.push(second);
            *count += 1;
        }
    }
    let mut heap: BinaryHeap<_> = list
        .ids()
        .filter(|id| awaits.get(*id) == Some(&0))
        .map(|id| Reverse((key(id), id)))
        .collect();
    let mut out = Vec::with_capacity(list.len());
    // Proofs may contradict one another: steps in a cycle are ordered by key.
    let mut rest: Option<std::vec::IntoIter<StepId>> = None;
    let mut taken: IdVec<StepId, bool> = IdVec::filled(false, list.len());
    while out.len() < list.len() {
        let next = heap.pop().map(|Reverse((_, id))| id).or_else(|| {
            let rest = rest.get_or_insert_with(|| {
                let mut all: Vec<StepId> = list.ids().collect();
                all.sort_by_key(|id| (key(*id), *id));
                all.into_iter()
            });
            rest.find(|id| !taken.is_set(*id))
        });
        let Some(id) = next else { break };
        if taken.is_set(id) {
            continue;
        }
        taken.set(id, true);
        out.push(id);
        for next in behind.get(id).into_iter().flatten() {
            if let Some(count) = awaits.get_mut(*next) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    heap.push(Reverse((key(*next), *next)));
                }
            }
        }
    }
    out
}

/// The first end among tools that one model call asked for and that began at the same time, to keep these together.
fn ends_of_turns(list: &IdVec<StepId, Step>) -> HashMap<(StepId, UnixNanos), UnixNanos> {
    let mut ends: HashMap<(StepId, UnixNanos), UnixNanos> = HashMap::default();
    for step in list.iter().filter(|step| step.call_index.is_some()) {
        if let Some(by) = step.dispatched_by {
            let end = ends.entry((by, step.started_at)).or_insert_with(|| step.end_or_start());
            *end = step.end_or_start().min(*end);
        }
    }
    ends
}

/// Pairs of steps whose order is not determined by their starts: a tool follows the call that asked for it and precedes the one that
/// read its result.
fn proofs(steps: &DraftSteps) -> impl Iterator<Item = (StepId, StepId)> {
    let times = |id: StepId| steps.list.get(id).map(|step| (step.started_at, step.ended_at));
    let read = steps.read_by.iter().copied().filter(move |(tool, reader)| {
        let (Some((began, _)), Some((read, over))) = (times(*tool), times(*reader)) else {
            return false;
        };
        tool != reader && began >= read && over.is_none_or(|over| began < over || began == read)
    });
    let asked = steps.list.enumerate().filter_map(move |(id, step)| {
        let by = step.dispatched_by.filter(|by| step.call_index.is_some() && *by != id)?;
        let (asked, _) = times(by)?;
        (step.started_at <= asked && asked.0 - step.started_at.0 <= TICK).then_some((by, id))
    });
    read.chain(asked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Kind;
    use crate::run::id::Id;
    use crate::run::testing::step;

    #[test]
    fn a_parent_stands_before_a_child_that_began_earlier() {
        let new = |id: &str, start, parent: Option<usize>| Step {
            parent: parent.map(StepId::new),
            ..step(id.to_owned(), Kind::Chain, "", UnixNanos(start), UnixNanos(99))
        };
        let steps = DraftSteps {
            list: [new("child", 5, Some(2)), new("other", 7, None), new("parent", 10, None)]
                .into_iter()
                .collect(),
            called_by: [Some(StepId::new(2))].into_iter().collect(),
            ..DraftSteps::default()
        };
        let sorted = sort(steps);
        let ids: Vec<&str> = sorted.list.iter().map(|step| step.id.as_str()).collect();
        assert_eq!(ids, ["other", "parent", "child"]);
        let parents: Vec<Option<StepId>> = sorted.list.iter().map(|step| step.parent).collect();
        assert_eq!(parents, [None, None, Some(StepId::new(1))]);
        assert_eq!(Vec::from(sorted.called_by), [Some(StepId::new(1))]);
    }
}
