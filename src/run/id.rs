//! Typed ids: an index into one list cannot be mistaken for one into another, and no number stands for "none".

use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// An index into the [`IdVec`] that returned it.
pub trait Id: Copy + Eq + Ord + Hash + fmt::Debug {
    /// The first id.
    const FIRST: Self;

    /// The id with this index.
    fn new(index: usize) -> Self;

    /// The index.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$about:meta])* $visible:vis $name:ident;)*) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visible struct $name(usize);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl Id for $name {
            const FIRST: Self = Self(0);

            fn new(index: usize) -> Self {
                Self(index)
            }

            fn index(self) -> usize {
                self.0
            }
        }
    )*};
}

ids! {
    /// A span as its dialect reads it, before duplicates are merged.
    pub(super) ReadingId;
    /// An operation of the span tree, after duplicates are merged.
    pub(super) NodeId;
    /// A conversation of a run.
    pub(super) ConversationId;
    /// A message of one conversation.
    pub(super) MessageId;
    /// A tool call of one conversation.
    pub(super) CallId;
    /// A step of a run.
    pub StepId;
    /// A scope of a run.
    pub ScopeId;
}

/// A list indexed by ids. Also used for facts about each item of another list, under that list's ids.
pub struct IdVec<I, T> {
    list: Vec<T>,
    ids: PhantomData<fn() -> I>,
}

impl<I: Id, T> IdVec<I, T> {
    /// An empty list with room for `count` items.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        Vec::with_capacity(count).into()
    }

    /// A list with the same value for the first `count` ids.
    #[must_use]
    pub fn filled(value: T, count: usize) -> Self
    where
        T: Clone,
    {
        vec![value; count].into()
    }

    /// Frees unused capacity.
    pub fn shrink_to_fit(&mut self) {
        self.list.shrink_to_fit();
    }

    /// Adds an item and returns its id.
    pub fn push(&mut self, item: T) -> I {
        self.list.push(item);
        I::new(self.list.len() - 1)
    }

    /// The item with this id.
    #[must_use]
    pub fn get(&self, id: I) -> Option<&T> {
        self.list.get(id.index())
    }

    /// The item with this id, mutably.
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.list.get_mut(id.index())
    }

    /// Replaces the item with this id.
    pub fn set(&mut self, id: I, item: T) {
        if let Some(slot) = self.get_mut(id) {
            *slot = item;
        }
    }

    /// All ids in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.list.len()).map(I::new)
    }

    /// All items in order, each with its id.
    pub fn enumerate(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.list.iter().enumerate().map(|(index, item)| (I::new(index), item))
    }
}

impl<I: Id, T: Copy> IdVec<I, Option<T>> {
    /// The value under this id, if any.
    #[must_use]
    pub fn known(&self, id: I) -> Option<T> {
        self.get(id).copied().flatten()
    }
}

impl<I: Id> IdVec<I, bool> {
    /// Whether this id is marked.
    #[must_use]
    pub fn is_set(&self, id: I) -> bool {
        self.get(id).copied().unwrap_or_default()
    }
}

impl<I, T> From<Vec<T>> for IdVec<I, T> {
    fn from(list: Vec<T>) -> Self {
        Self { list, ids: PhantomData }
    }
}

impl<I, T> From<IdVec<I, T>> for Vec<T> {
    fn from(vec: IdVec<I, T>) -> Self {
        vec.list
    }
}

impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<S: IntoIterator<Item = T>>(items: S) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<I, T> Extend<T> for IdVec<I, T> {
    fn extend<S: IntoIterator<Item = T>>(&mut self, items: S) {
        self.list.extend(items);
    }
}

impl<I, T> IntoIterator for IdVec<I, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'a, I, T> IntoIterator for &'a IdVec<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl<'a, I, T> IntoIterator for &'a mut IdVec<I, T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter_mut()
    }
}

impl<I, T> Deref for IdVec<I, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.list
    }
}

impl<I, T> DerefMut for IdVec<I, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.list
    }
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<I, T: Clone> Clone for IdVec<I, T> {
    fn clone(&self) -> Self {
        self.list.clone().into()
    }
}

impl<I, T: fmt::Debug> fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_what_it_was_given_for() {
        let mut calls: IdVec<CallId, &str> = IdVec::default();
        let (first, second) = (calls.push("a"), calls.push("b"));
        calls.set(second, "c");
        assert_eq!((calls.get(first), calls.get(second)), (Some(&"a"), Some(&"c")));
        assert_eq!(calls.ids().collect::<Vec<_>>(), [first, second]);
        assert_eq!(calls.enumerate().next_back(), Some((second, &"c")));
    }

    #[test]
    fn an_id_of_a_longer_list_names_nothing() {
        let mut longer: IdVec<CallId, u8> = [1, 2].into_iter().collect();
        let last = longer.push(3);
        let mut known: IdVec<CallId, Option<u8>> = IdVec::filled(Some(7), 2);
        known.set(last, Some(9));
        assert_eq!(known.known(last), None);
        assert_eq!(known.iter().flatten().sum::<u8>(), 14);
    }
}
