//! Deletion on request, across bridges.
//!
//! The name of an object below `deletions/` is the whole deletion: trace, time, and the digest of its session; or the digest of a session,
//! whose log records without a trace are deleted. A bridge that sees it hides the data and removes it from its own database; only a
//! database's owner can. The database of a bridge that is gone keeps the data, hidden, until a bridge opens it again.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use prost::Message as _;
use slatedb::bytes::Bytes;
use slatedb::config::{PutOptions, Ttl};
use slatedb::{Db, WriteBatch};

use super::entry::Entry;
use super::keys::{self, BY_SESSION, BY_START, CHUNKS, HEADS, Owner};
use super::records::Head;
use crate::span::TraceId;
use crate::store::clock::now;
use crate::store::deletion::{DeletedBefore, Unwanted, digest_of};

/// The folder of deletions.
pub(super) const FOLDER: &str = "deletions";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Deletion {
    Trace {
        trace_id: TraceId,
        time: u64,
        /// Digest of the trace's session.
        session: Option<String>,
    },
    /// Log records that name only a session and arrived up to `time`.
    Session { digest: String, time: u64 },
}

impl Deletion {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Trace { trace_id, time, session } => format!("t-{trace_id}-{time}-{}", session.as_deref().unwrap_or("none")),
            Self::Session { digest, time } => format!("s-{digest}-{time}"),
        }
    }

    /// Parses what [`Deletion::name`] wrote.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split('-');
        let (kind, id, time) = (parts.next()?, parts.next()?, parts.next()?.parse().ok()?);
        match kind {
            "t" => Some(Self::Trace {
                trace_id: TraceId::from_hex(id)?,
                time,
                session: parts.next().filter(|session| *session != "none").map(str::to_owned),
            }),
            "s" => Some(Self::Session {
                digest: id.to_owned(),
                time,
            }),
            _ => None,
        }
    }
}

/// The deletions known to this bridge.
#[derive(Debug, Default)]
pub(super) struct Deletions {
    known: RwLock<Known>,
    is_any: AtomicBool,
    /// Held while chunks are written or deleted.
    pub(super) writing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    names: HashSet<String>,
    traces: HashMap<TraceId, (u64, Option<String>)>,
    sessions: HashMap<String, u64>,
}

impl Known {
    fn has_loose(&self, session: &str, arrival: u64) -> bool {
        !self.sessions.is_empty() && self.sessions.get(&digest_of(session)).is_some_and(|until| arrival <= *until)
    }
}

impl Deletions {
    fn known(&self) -> Option<std::sync::RwLockReadGuard<'_, Known>> {
        let read = || self.known.read().unwrap_or_else(PoisonError::into_inner);
        self.is_any.load(Ordering::Acquire).then(read)
    }

    /// Adds a deletion; returns whether it is new.
    pub(super) fn add(&self, deletion: &Deletion) -> bool {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let is_new = known.names.insert(deletion.name());
        match deletion {
            Deletion::Trace { trace_id, time, session } => {
                known.traces.insert(*trace_id, (*time, session.clone()));
            }
            Deletion::Session { digest, time } => {
                let last = known.sessions.entry(digest.clone()).or_default();
                *last = (*last).max(*time);
            }
        }
        self.is_any.store(true, Ordering::Release);
        is_new
    }

    pub(super) fn knows(&self, deletion: &Deletion) -> bool {
        self.known().is_some_and(|known| known.names.contains(&deletion.name()))
    }

    pub(super) fn has(&self, trace_id: TraceId) -> bool {
        self.known().is_some_and(|known| known.traces.contains_key(&trace_id))
    }

    /// Whether a log record that names only a session was deleted with it.
    pub(super) fn has_loose(&self, session: &str, arrival: u64) -> bool {
        self.known().is_some_and(|known| known.has_loose(session, arrival))
    }

    pub(super) fn traces(&self) -> Vec<TraceId> {
        self.known().map_or_else(Vec::new, |known| known.traces.keys().copied().collect())
    }

    /// An earlier deletion of this, if any.
    pub(super) fn before(&self, what: &Unwanted) -> Option<DeletedBefore> {
        let known = self.known()?;
        let times: Vec<u64> = match what {
            Unwanted::Trace(trace_id) => known.traces.get(trace_id).map(|(time, _)| *time).into_iter().collect(),
            Unwanted::Session(session) => {
                let digest = digest_of(session);
                let of_it = known.traces.values().filter(|(_, of)| of.as_ref() == Some(&digest));
                of_it.map(|(time, _)| *time).collect()
            }
        };
        Some(DeletedBefore {
            traces: times.len() as u64,
            time: times.into_iter().max()?,
        })
    }

    /// Whether an entry of a database belongs to something that was deleted.
    pub(super) fn hides(&self, entry: &Entry) -> bool {
        let Some(known) = self.known() else { return false };
        match &entry.key[..] {
            [HEADS | CHUNKS, b't', id @ ..] => {
                let id = id.get(..16).and_then(TraceId::from_bytes);
                id.is_some_and(|id| known.traces.contains_key(&id))
            }
            [HEADS, b's', ..] => {
                let name = keys::session_of(&entry.key);
                name.is_some_and(|name| Head::decode(entry.value.clone()).is_ok_and(|head| known.has_loose(&name, head.arrival)))
            }
            [BY_START | BY_SESSION, ..] => keys::placed(&entry.key).is_some_and(|place| known.traces.contains_key(&place.trace_id)),
            _ => false,
        }
    }

    /// Removes from this bridge's database what a deletion names, and returns once that is durable; whether anything was removed.
    pub(super) async fn apply(&self, db: &Db, deletion: &Deletion) -> Result<bool, slatedb::Error> {
        let _writing = self.writing.lock().await;
        let prefix = match deletion {
            Deletion::Trace { trace_id, .. } => Owner::trace(*trace_id).prefix(HEADS),
            Deletion::Session { .. } => vec![HEADS, b's'],
        };
        let mut batch = WriteBatch::new();
        let mut heads = db.scan_prefix(&prefix, ..).await?;
        while let Some(entry) = heads.next().await? {
            let Ok(head) = Head::decode(entry.value.clone()) else { continue };
            let owner = match deletion {
                Deletion::Trace { trace_id, .. } => {
                    let place = keys::place(head.start, *trace_id);
                    if let Some(session) = &head.session {
                        batch.delete([Owner::session(session).prefix(BY_SESSION), place.clone()].concat());
                    }
                    batch.delete([vec![BY_START], place].concat());
                    Owner::trace(*trace_id)
                }
                Deletion::Session { digest, time } => match keys::session_of(&entry.key) {
                    Some(name) if digest_of(&name) == *digest && head.arrival <= *time => Owner::session(&name),
                    _ => continue,
                },
            };
            batch.delete(owner.chunk(head.number));
            batch.delete(keys::arrival(head.number));
            batch.delete(Bytes::copy_from_slice(&entry.key));
        }
        if batch.is_empty() {
            return Ok(false);
        }
        // The bytes stay in the tables until those are merged.
        batch.put_with_options(keys::UNPURGED, now().to_be_bytes(), &PutOptions { ttl: Ttl::NoExpiry });
        db.write(batch).await?.await_durable().await?;
        Ok(true)
    }
}
