//! An entry of a database, and parts of scans.

use std::ops::Bound;

use slatedb::KeyValue;
use slatedb::bytes::Bytes;

use crate::store::clock::now;

/// A range of keys after a prefix.
pub(super) type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// All keys with a prefix.
pub(super) const ALL: Range = (Bound::Unbounded, Bound::Unbounded);

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: Bytes,
    pub(super) value: Bytes,
    /// When retention removes it, in milliseconds since 1970.
    pub(super) expires: Option<i64>,
}

impl Entry {
    /// An entry without an expiry.
    pub(super) fn new(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self {
            key: key.into(),
            value: value.into(),
            expires: None,
        }
    }

    /// Whether retention has removed it at this time.
    pub(super) fn is_over(&self, millis: i64) -> bool {
        self.expires.is_some_and(|expires| expires <= millis)
    }
}

impl From<KeyValue> for Entry {
    fn from(entry: KeyValue) -> Self {
        Self {
            key: entry.key,
            value: entry.value,
            expires: entry.expire_ts,
        }
    }
}

/// The current time in the engine's unit, milliseconds.
pub(super) fn now_millis() -> i64 {
    i64::try_from(now() / 1_000_000).unwrap_or(i64::MAX)
}
