//! The open spans of a layer, by id.
//!
//! They could also be kept in the spans' extensions, but at the cost of a span lookup, a lock, a lookup by type, and an allocation per
//! span.

use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use opentelemetry::Context;
use tracing::span::Id;

use super::life::{Life, Stage};
use crate::hash::HashMap;

/// Number of locks, large enough that threads rarely contend.
const SHARDS: usize = 256;

/// The state of a layer's open spans.
pub(super) struct Lives(Box<[Mutex<HashMap<u64, Life>>]>);

impl fmt::Debug for Lives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lives").finish_non_exhaustive()
    }
}

impl Default for Lives {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }
}

impl Lives {
    /// The shard of a span. The registry numbers slots from 1 and stores the number of the opening thread above bit 38, so each thread gets
    /// a few shards of its own.
    fn shard(&self, id: u64) -> Option<MutexGuard<'_, HashMap<u64, Life>>> {
        let place = id.wrapping_add((id >> 38).wrapping_mul(31)) % SHARDS as u64;
        let shard = self.0.get(usize::try_from(place).ok()?)?;
        Some(shard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a span that opens.
    pub(super) fn insert(&self, id: &Id, life: Life) {
        let id = id.into_u64();
        // Dropping the previous value may close spans, so it happens after the lock is released.
        let _before = self.shard(id).and_then(|mut shard| shard.insert(id, life));
    }

    /// Runs `use_it` on a span; `None` if the layer does not see it. A lock is held meanwhile, so it must not call foreign code.
    pub(super) fn with<R>(&self, id: &Id, use_it: impl FnOnce(&mut Life) -> R) -> Option<R> {
        let id = id.into_u64();
        self.shard(id)?.get_mut(&id).map(use_it)
    }

    /// The ids of all open spans.
    pub(super) fn ids(&self) -> Vec<Id> {
        let shards = self.0.iter().map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner));
        shards
            .flat_map(|shard| shard.keys().copied().collect::<Vec<_>>())
            .map(Id::from_u64)
            .collect()
    }

    /// Removes a span that closes, after waiting for another thread that may be creating it: that thread knows the id but holds no handle.
    pub(super) fn remove(&self, id: &Id) -> Option<Life> {
        let id = id.into_u64();
        loop {
            match self.shard(id)?.entry(id) {
                Entry::Vacant(_) => return None,
                Entry::Occupied(life) if !life.get().stage.is_made_elsewhere() => return Some(life.remove()),
                Entry::Occupied(_) => {}
            }
            std::thread::yield_now();
        }
    }
}

/// Moves a span from [`Stage::Beginning`] to its next stage even on a panic, since other threads wait for it.
pub(super) struct Beginning<'a> {
    lives: &'a Lives,
    id: &'a Id,
    next: Option<Stage>,
    shadow: Option<Id>,
}

impl<'a> Beginning<'a> {
    /// If creating the span panics, it gets an empty context.
    pub(super) fn new(lives: &'a Lives, id: &'a Id) -> Self {
        let next = Some(Stage::Begun(Context::new()));
        Self {
            lives,
            id,
            next,
            shadow: None,
        }
    }

    /// Sets the next stage and, if the span has one, its shadow.
    pub(super) fn becomes(mut self, stage: Stage, shadow: Option<Id>) -> Option<Id> {
        self.next = Some(stage);
        self.shadow.clone_from(&shadow);
        shadow
    }
}

impl Drop for Beginning<'_> {
    fn drop(&mut self) {
        if let Some(next) = self.next.take() {
            self.lives.with(self.id, |life| {
                life.stage = next;
                if self.shadow.is_some() {
                    life.shadow = self.shadow.take();
                }
            });
        }
    }
}
