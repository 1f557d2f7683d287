//! Sets and maps whose hash is quick for long texts. Nothing is ever written in their order.

use foldhash::fast::RandomState;

/// A map.
pub(super) type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;

/// A set.
pub(super) type HashSet<T> = std::collections::HashSet<T, RandomState>;
