//! The nearest of some steps around a step, while more steps are added.

use crate::hash::HashMap;
use crate::run::Run;

/// Where each step and the steps in it stand when a step is counted before those in it: a step and all that is in it are one
/// range.
pub(super) struct Ranges {
    /// The first place and the one after the last, for each step.
    of: Vec<(usize, usize)>,
    /// The step at each place.
    steps: Vec<usize>,
}

impl Ranges {
    pub(super) fn of(run: &Run) -> Self {
        let parent = |index: usize| run.steps.get(index)?.parent.filter(|above| *above < index);
        let count = run.steps.len();
        // How many steps a step is, with those in it: a step stands after its parent.
        let mut sizes = vec![1; count];
        for index in (0..count).rev() {
            let size = sizes.get(index).copied().unwrap_or(1);
            if let Some(around) = parent(index).and_then(|above| sizes.get_mut(above)) {
                *around += size;
            }
        }
        // Where the next step in each step stands, and the next one in none.
        let mut next = vec![0; count];
        let mut next_root = 0;
        let (mut of, mut steps) = (Vec::with_capacity(count), vec![0; count]);
        for (index, size) in sizes.into_iter().enumerate() {
            let place = parent(index).and_then(|above| next.get_mut(above)).unwrap_or(&mut next_root);
            let first = std::mem::replace(place, *place + size);
            if let (Some(inner), Some(step)) = (next.get_mut(index), steps.get_mut(first)) {
                (*inner, *step) = (first + 1, index);
            }
            of.push((first, first + size));
        }
        Self { of, steps }
    }
}

/// The steps that were added: a segment tree over the ranges. Each node holds the innermost added step whose range has the
/// node in it, by its first place: of the ranges around one place, the innermost begins last.
#[derive(Default)]
pub(super) struct Added(HashMap<usize, usize>);

impl Added {
    /// Adds a step.
    pub(super) fn add(&mut self, ranges: &Ranges, step: usize) {
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
    pub(super) fn nearest(&self, ranges: &Ranges, step: usize) -> Option<usize> {
        let (first, _) = ranges.of.get(step)?;
        let leaf = first + ranges.of.len();
        let nodes = std::iter::successors(Some(leaf), |node| (*node > 1).then_some(node / 2));
        let first = nodes.filter_map(|node| self.0.get(&node)).max()?;
        ranges.steps.get(*first).copied()
    }
}
