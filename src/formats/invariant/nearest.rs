//! The nearest of some steps around a step, while more steps are added.

use crate::hash::HashMap;
use crate::run::{IdVec, Run, StepId};

/// The index of each step and the steps in it, when a step is counted before those in it: a step and all that is in it are one
/// range.
pub(super) struct Ranges {
    /// The first place and the one after the last, for each step.
    of: IdVec<StepId, (usize, usize)>,
    /// The step at each place.
    steps: Vec<Option<StepId>>,
}

impl Ranges {
    pub(super) fn of(run: &Run) -> Self {
        let parent = |id: StepId| run.steps.get(id)?.parent.filter(|above| *above < id);
        let count = run.steps.len();
        // How many steps a step is, with those in it: a step comes after its parent.
        let mut sizes: IdVec<StepId, usize> = IdVec::filled(1, count);
        for id in run.steps.ids().rev() {
            let size = sizes.get(id).copied().unwrap_or(1);
            if let Some(around) = parent(id).and_then(|above| sizes.get_mut(above)) {
                *around += size;
            }
        }
        // The index of the next step in each step, and of the next one in none.
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

/// The steps that were added: a segment tree over the ranges. Each node has the innermost added step whose range has the
/// node in it, by its first place: of the ranges around one place, the innermost begins last.
#[derive(Default)]
pub(super) struct Added(HashMap<usize, usize>);

impl Added {
    /// Adds a step.
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

    /// The nearest added step around a step, the step itself first.
    pub(super) fn nearest(&self, ranges: &Ranges, step: StepId) -> Option<StepId> {
        let (first, _) = ranges.of.get(step)?;
        let leaf = first + ranges.of.len();
        let nodes = std::iter::successors(Some(leaf), |node| (*node > 1).then_some(node / 2));
        let first = nodes.filter_map(|node| self.0.get(&node)).max()?;
        ranges.steps.get(*first).copied().flatten()
    }
}
