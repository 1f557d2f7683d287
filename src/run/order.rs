//! Stage "causal order": takes the steps in the order in which they were made, gives them by start in nanoseconds, then the call's
//! place in the model's output, then parent before child, then id.
//!
//! It comes when no step will be added, and before anything names steps for good: from here on a [`StepId`] is that of the run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::id::{IdVec, StepId};
use super::model::Step;
use super::steps::DraftSteps;

/// Puts the steps in order and rewrites what names them.
pub(super) fn sort(steps: DraftSteps) -> DraftSteps {
    let order = order(&steps.list);
    let mut new_ids: IdVec<StepId, Option<StepId>> = IdVec::filled(None, steps.list.len());
    let mut old = IdVec::<StepId, StepId>::with_capacity(order.len());
    for id in order {
        let new = old.push(id);
        new_ids.set(id, Some(new));
    }
    let moved = |id: Option<StepId>| id.and_then(|id| new_ids.known(id));
    let mut slots: IdVec<StepId, Option<Step>> = steps.list.into_iter().map(Some).collect();
    // A step is large: with its capacity known, the list is not copied as it grows.
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
        findings: steps.findings,
    }
}

/// All ids, first to last. A parent always stands before its children.
fn order(steps: &IdVec<StepId, Step>) -> Vec<StepId> {
    let mut children: IdVec<StepId, Vec<StepId>> = IdVec::filled(Vec::new(), steps.len());
    let mut heap = BinaryHeap::new();
    let key = |id: StepId| {
        steps
            .get(id)
            .map(|step| (step.started_at, step.call_index.unwrap_or(0), step.id.as_str()))
    };
    for (id, step) in steps.enumerate() {
        match step.parent.and_then(|parent| children.get_mut(parent)) {
            Some(list) => list.push(id),
            None => heap.push(Reverse((key(id), id))),
        }
    }
    let mut out = Vec::with_capacity(steps.len());
    while let Some(Reverse((_, id))) = heap.pop() {
        out.push(id);
        for child in children.get(id).into_iter().flatten() {
            heap.push(Reverse((key(*child), *child)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Kind;
    use crate::run::id::Id;
    use crate::run::testing::step;
    use crate::span::UnixNanos;

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
