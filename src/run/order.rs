//! Causal order: start in nanoseconds, then the call's place in the model's output, then parent before child, then id.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Step;

/// The new order: old indices, first to last. A parent always stands before its children.
pub(super) fn of(steps: &[Step]) -> Vec<usize> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    let mut heap = BinaryHeap::new();
    let key = |index: usize| {
        steps
            .get(index)
            .map(|step| (step.started_at, step.call_index.unwrap_or(0), step.id.as_str()))
    };
    for (index, step) in steps.iter().enumerate() {
        match step.parent.and_then(|parent| children.get_mut(parent)) {
            Some(list) => list.push(index),
            None => heap.push(Reverse((key(index), index))),
        }
    }
    let mut out = Vec::with_capacity(steps.len());
    while let Some(Reverse((_, index))) = heap.pop() {
        out.push(index);
        for child in children.get(index).into_iter().flatten() {
            heap.push(Reverse((key(*child), *child)));
        }
    }
    out
}

/// Puts steps into the new order and rewrites what names them.
pub(super) fn apply(steps: Vec<Step>, order: &[usize]) -> (Vec<Step>, Vec<usize>) {
    let mut place = vec![0; steps.len()];
    for (new, old) in order.iter().enumerate() {
        if let Some(slot) = place.get_mut(*old) {
            *slot = new;
        }
    }
    let moved = |index: &mut Option<usize>| {
        *index = index.and_then(|old| place.get(old).copied());
    };
    let mut slots: Vec<Option<Step>> = steps.into_iter().map(Some).collect();
    let mut out: Vec<Step> = order.iter().filter_map(|old| slots.get_mut(*old).and_then(Option::take)).collect();
    for step in &mut out {
        moved(&mut step.parent);
        moved(&mut step.dispatched_by);
        moved(&mut step.inside_tool);
        moved(&mut step.called_by);
    }
    (out, place)
}
