//! The open spans of a layer, by their ids.
//!
//! The extensions of a span would hold them too, but behind a search for the span, a lock and a search by type, in memory that is
//! allocated for each span.

use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use opentelemetry::Context;
use tracing::span::Id;

use super::life::{Life, Stage};
use crate::hash::HashMap;

/// So many locks, so that threads seldom meet.
const SHARDS: usize = 256;

/// What the Layer keeps of its open spans.
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
    /// The lock of a span. The registry numbers places from 1, and has the number of the thread that opened the span above bit
    /// 38: a thread has few of the locks, and these are its own.
    fn shard(&self, id: u64) -> Option<MutexGuard<'_, HashMap<u64, Life>>> {
        let place = id.wrapping_add((id >> 38).wrapping_mul(31)) % SHARDS as u64;
        let shard = self.0.get(usize::try_from(place).ok()?)?;
        Some(shard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A span opens.
    pub(super) fn insert(&self, id: &Id, life: Life) {
        let id = id.into_u64();
        // What is dropped may end spans: the lock is free then.
        let _before = self.shard(id).and_then(|mut shard| shard.insert(id, life));
    }

    /// Uses what is kept of a span; `None` if the layer does not see it. A lock is held: no code of others may be called.
    pub(super) fn with<R>(&self, id: &Id, use_it: impl FnOnce(&mut Life) -> R) -> Option<R> {
        let id = id.into_u64();
        self.shard(id)?.get_mut(&id).map(use_it)
    }

    /// The spans that are open.
    pub(super) fn ids(&self) -> Vec<Id> {
        let shards = self.0.iter().map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner));
        shards
            .flat_map(|shard| shard.keys().copied().collect::<Vec<_>>())
            .map(Id::from_u64)
            .collect()
    }

    /// A span closes. If another thread makes it, which knows its id and has no handle of it, that comes first.
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

/// Puts a span that is [`Stage::Beginning`] into the next stage, however that ends: other threads wait for it.
pub(super) struct Beginning<'a> {
    lives: &'a Lives,
    id: &'a Id,
    next: Option<Stage>,
    shadow: Option<Id>,
}

impl<'a> Beginning<'a> {
    /// If the making of the span panics, there is none.
    pub(super) fn new(lives: &'a Lives, id: &'a Id) -> Self {
        let next = Some(Stage::Begun(Context::new()));
        Self {
            lives,
            id,
            next,
            shadow: None,
        }
    }

    /// The next stage, and the shadow that the span has got, if any.
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
