//! Facts that few operations have, stored so that others need no space for them.

use std::ops::{Deref, DerefMut};

/// Facts that read as empty until something is written, and are only then allocated.
#[derive(Debug, Clone)]
pub struct Rare<T>(Option<Box<T>>);

/// Facts that most spans lack.
pub trait Sparse: Default + 'static {
    /// No facts.
    const EMPTY: &'static Self;
}

impl<T> Default for Rare<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Sparse> Deref for Rare<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T: Sparse> DerefMut for Rare<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

/// Compares the facts.
impl<T: Sparse + PartialEq> PartialEq for Rare<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T> From<T> for Rare<T> {
    fn from(facts: T) -> Self {
        Self(Some(Box::new(facts)))
    }
}

impl<T> Rare<T> {
    /// The facts, if any were written.
    #[must_use]
    pub fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    /// The facts, if any were written, taken out.
    #[must_use]
    pub fn into_inner(self) -> Option<T> {
        self.0.map(|facts| *facts)
    }
}
