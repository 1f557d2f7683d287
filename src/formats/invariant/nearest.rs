//! Finds the nearest step, among those added so far, that encloses a given step.

use crate::hash::HashMap;
use crate::run::{IdVec, Run, StepId};

/// Numbers steps in depth-first order, parents before children, so that a step and its descendants form one
/// range.
pub(super) struct Ranges {
    /// First index and end of each step's range.
    of: IdVec<StepId, (usize, usize)>,
    /// The step at each index.
    steps: Vec<Option<StepId>>,
}

impl Ranges {
    pub(super) fn of(run: &Run) -> Self {
        let parent = |id: StepId| run.steps.get(id)?.parent.filter(|above| *above < id);
        let count = run.steps.len();
        // The size of each subtree. A step comes after its parent.
        let mut sizes: IdVec<StepId, usize> = IdVec::filled(1, count);
        for id in run.steps.ids().rev() {
            let size = sizes.get(id).copied().unwrap_or(1);
            if let Some(around) = parent(id).and_then(|above| sizes.get_mut(above)) {
                *around += size;
            }
        }
        // The next free index below each step, and at the top level.
        let mut next: IdVec<StepId, usize> = IdVec::filled(0, count);
        let mut next_root = 0;
        let (mut of, mut steps) = (IdVec::with_capacity(count), vec![None; count]);
        for (id, size) in run.steps.ids().zip(sizes) {
            let place = parent(id).and_then(|above| next.get_mut(above)).unwrap_or(&mut next_root);
            let first = std::mem::replace(place, *place + size);
            next.set(id, first + 1);
            if let Some(step) = steps.get_mut(first) {
                *step = Some(id);
            }
            of.push((first, first + size));
        }
        Self { of, steps }
    }
}

/// The steps added so far: a segment tree over the ranges. Each node holds the innermost added step whose range covers the node,
/// as its first index: of the ranges around an index, the innermost begins last.
#[derive(Default)]
pub(super) struct AddedSteps(HashMap<usize, usize>);

impl AddedSteps {
    pub(super) fn add(&mut self, ranges: &Ranges, step: StepId) {
        let Some(&(first, end)) = ranges.of.get(step) else { return };
        let mut hold = |node: usize| {
            let held = self.0.entry(node).or_insert(first);
            *held = first.max(*held);
        };
        let count = ranges.of.len();
        let (mut low, mut high) = (first + count, end + count);
        while low < high {
            if low % 2 == 1 {
                hold(low);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                hold(high);
            }
            (low, high) = (low / 2, high / 2);
        }
    }

    /// The nearest added step around a step, starting with the step itself.
    pub(super) fn nearest(&self, ranges: &Ranges, step: StepId) -> Option<StepId> {
        let (first, _) = ranges.of.get(step)?;
        let leaf = first + ranges.of.len();
        let nodes = std::iter::successors(Some(leaf), |node| (*node > 1).then_some(node / 2));
        let first = nodes.filter_map(|node| self.0.get(&node)).max()?;
        ranges.steps.get(*first).copied().flatten()
    }
}
