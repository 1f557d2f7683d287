//! Aligns the steps of two runs by a longest common subsequence, as long as that is affordable.

use std::hash::Hash;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::hash::HashMap;

/// Maximum number of steps for an exact longest common subsequence; with more, its cost may be too high.
const EXACT: usize = 4_000;

/// Positions in two lists, in order: pairs of equal items, and items that only one list has.
pub(super) fn align<T: Hash + Eq + Ord>(left: &[T], right: &[T]) -> Vec<(Option<usize>, Option<usize>)> {
    let pairs = if left.len() + right.len() <= EXACT {
        exact(left, right)
    } else {
        in_turn(left, right)
    };
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let (mut one, mut other) = (0, 0);
    for (at_left, at_right) in pairs {
        out.extend((one..at_left).map(|at| (Some(at), None)));
        out.extend((other..at_right).map(|at| (None, Some(at))));
        out.push((Some(at_left), Some(at_right)));
        (one, other) = (at_left + 1, at_right + 1);
    }
    out.extend((one..left.len()).map(|at| (Some(at), None)));
    out.extend((other..right.len()).map(|at| (None, Some(at))));
    out
}

fn exact<T: Hash + Eq + Ord>(left: &[T], right: &[T]) -> Vec<(usize, usize)> {
    let equal = capture_diff_slices(Algorithm::Myers, left, right)
        .into_iter()
        .flat_map(|op| match op {
            DiffOp::Equal { old_index, new_index, len } => (old_index..old_index + len).zip(new_index..new_index + len),
            _ => (0..0).zip(0..0),
        });
    equal.collect()
}

/// Pairs each item of the first list with the next equal one of the second, if it is near the previous pair.
fn in_turn<T: Hash + Eq>(left: &[T], right: &[T]) -> Vec<(usize, usize)> {
    let mut places: HashMap<&T, std::collections::VecDeque<usize>> = HashMap::default();
    for (at, item) in right.iter().enumerate() {
        places.entry(item).or_default().push_back(at);
    }
    let (mut pairs, mut next) = (Vec::new(), 0);
    for (at, item) in left.iter().enumerate() {
        let Some(waiting) = places.get_mut(item) else { continue };
        while waiting.front().is_some_and(|place| *place < next) {
            waiting.pop_front();
        }
        // A pair further away would make everything in between appear as new.
        if let Some(place) = waiting.front().copied().filter(|place| *place <= next + EXACT) {
            waiting.pop_front();
            pairs.push((at, place));
            next = place + 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_told_once_and_in_order() {
        let many: Vec<char> = "abc".chars().cycle().take(3 * EXACT).collect();
        let fewer: Vec<char> = many.iter().copied().skip(1).collect();
        for (left, right) in [("abcd", "axcd"), ("", "ab"), ("ab", ""), ("aab", "ab"), ("abcabc", "cab")] {
            check(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>());
        }
        check(&many, &fewer);
        check(&many, &many);
        let same = align(&many, &many);
        assert!(same.iter().all(|(one, other)| one == other));
    }

    fn check(left: &[char], right: &[char]) {
        let aligned = align(left, right);
        let ones: Vec<usize> = aligned.iter().filter_map(|(one, _)| *one).collect();
        let others: Vec<usize> = aligned.iter().filter_map(|(_, other)| *other).collect();
        assert_eq!(ones, (0..left.len()).collect::<Vec<_>>());
        assert_eq!(others, (0..right.len()).collect::<Vec<_>>());
        for (one, other) in aligned {
            if let (Some(one), Some(other)) = (one, other) {
                assert_eq!(left.get(one), right.get(other));
            }
        }
    }
}
