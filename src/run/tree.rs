//! Walks up a tree whose links may form a cycle: merging sibling spans can make one its own ancestor.

use super::id::{Id, IdVec};

/// The ancestors of an item, nearest first. `count`: the number of items; a longer walk is a loop.
pub(super) fn ancestors<I: Id>(from: I, count: usize, parent: impl Fn(I) -> Option<I>) -> impl Iterator<Item = I> {
    let mut walked = 0;
    std::iter::successors(parent(from), move |at| {
        walked += 1;
        if walked > count { None } else { parent(*at) }
    })
}

/// For each of `count` items, the nearest ancestor for which this is true. Results for ancestors are reused, so this is linear.
pub(super) fn nearest_above<I: Id>(count: usize, parent: impl Fn(I) -> Option<I>, is: impl Fn(I) -> bool) -> IdVec<I, Option<I>> {
    let mut known: IdVec<I, Option<Option<I>>> = IdVec::filled(None, count);
    // Most trees contain few kinds.
    if !known.ids().any(&is) {
        return IdVec::filled(None, count);
    }
    let mut path = Vec::new();
    for id in known.ids() {
        let mut at = id;
        let found = loop {
            match known.get_mut(at) {
                Some(Some(found)) => break *found,
                // A path that loops has none.
                Some(slot) => *slot = Some(None),
                None => break None,
            }
            path.push(at);
            match parent(at) {
                Some(up) if is(up) => break Some(up),
                Some(up) => at = up,
                None => break None,
            }
        };
        while let Some(at) = path.pop() {
            known.set(at, Some(found));
        }
    }
    known.into_iter().map(Option::flatten).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::id::NodeId;

    fn id(index: usize) -> NodeId {
        NodeId::new(index)
    }

    /// 0 is the root of 1, 1 of 2; 3 and 4 are each other's parents.
    fn parent(of: NodeId) -> Option<NodeId> {
        match of.index() {
            1 => Some(id(0)),
            2 => Some(id(1)),
            3 => Some(id(4)),
            4 => Some(id(3)),
            _ => None,
        }
    }

    #[test]
    fn ancestors_are_the_nearest_first() {
        assert_eq!(ancestors(id(2), 5, parent).collect::<Vec<_>>(), [id(1), id(0)]);
        assert!(ancestors(id(3), 5, parent).count() <= 6, "a loop ends");
    }

    #[test]
    fn the_nearest_above_is_found_for_all() {
        let roots = nearest_above(5, parent, |up| up == id(0));
        assert_eq!(Vec::from(roots), [None, Some(id(0)), Some(id(0)), None, None]);
    }
}
