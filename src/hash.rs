//! Hash maps for ids and short texts. `foldhash` is seeded at random in every process; std's `SipHash` was a sixth of the time
//! that reading a run takes.

/// A map.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
/// A set.
pub(crate) type HashSet<T> = std::collections::HashSet<T, foldhash::fast::RandomState>;
