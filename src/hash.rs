//! Hash maps for ids and short texts. `foldhash` is seeded at random in every process; std's `SipHash` took a sixth of the
//! time of reading a run.

use std::borrow::Borrow;
use std::hash::{BuildHasher as _, Hash};

use serde_json::{Map, Value};

/// A hash map with `foldhash`.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
/// A hash set with `foldhash`.
pub(crate) type HashSet<T> = std::collections::HashSet<T, foldhash::fast::RandomState>;

/// A hash that is the same for equal texts throughout the process. Other texts may collide.
pub(crate) fn of_text(text: &str) -> u64 {
    foldhash::fast::FixedState::default().hash_one(text)
}

/// Items by key, in order of first use. A few keys are compared linearly, which is faster than hashing; more are hashed.
pub(crate) struct Keyed<K, T> {
    list: Vec<(K, T)>,
    /// Positions of the keys, once there are more than [`LINEAR_SEARCH_MAX`].
    places: HashMap<K, usize>,
}

const LINEAR_SEARCH_MAX: usize = 16;

impl<K, T> Default for Keyed<K, T> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            places: HashMap::default(),
        }
    }
}

impl<K: Clone + Eq + Hash, T> Keyed<K, T> {
    /// The item with this key, or a new one.
    pub(crate) fn get_or_insert_with<Q>(&mut self, key: &Q, begun: impl FnOnce() -> T) -> &mut T
    where
        K: Borrow<Q>,
        Q: ?Sized + Eq + Hash + ToOwned<Owned = K>,
    {
        let known = if self.list.len() <= LINEAR_SEARCH_MAX {
            // Equal keys mostly come in a row.
            self.list.iter().rposition(|(have, _)| have.borrow() == key)
        } else {
            self.places.get(key).copied()
        };
        let at = known.unwrap_or_else(|| {
            let at = self.list.len();
            self.list.push((key.to_owned(), begun()));
            if at == LINEAR_SEARCH_MAX {
                self.places = self.list.iter().enumerate().map(|(at, (key, _))| (key.clone(), at)).collect();
            } else if at > LINEAR_SEARCH_MAX {
                let _ = self.places.insert(key.to_owned(), at);
            }
            at
        });
        #[expect(clippy::indexing_slicing, reason = "the place was just found or made")]
        &mut self.list[at].1
    }

    pub(crate) fn into_list(self) -> Vec<(K, T)> {
        self.list
    }
}

/// Looks up members of JSON objects by name. Most objects have few members, so comparing names is faster than hashing the
/// name, as `serde_json` does.
pub(crate) trait Members {
    /// The value of the member with this name.
    fn member(&self, name: &str) -> Option<&Value>;

    /// Whether there is a member with this name.
    fn has(&self, name: &str) -> bool {
        self.member(name).is_some()
    }
}

impl Members for Map<String, Value> {
    #[inline]
    fn member(&self, name: &str) -> Option<&Value> {
        if self.len() > LINEAR_SEARCH_MAX {
            return self.get(name);
        }
        self.iter().find_map(|(have, value)| (have == name).then_some(value))
    }
}

impl Members for Value {
    #[inline]
    fn member(&self, name: &str) -> Option<&Value> {
        self.as_object()?.member(name)
    }
}

/// Distinct values in order of first occurrence.
pub(crate) struct Distinct<T>(Keyed<T, ()>);

impl<T> Default for Distinct<T> {
    fn default() -> Self {
        Self(Keyed::default())
    }
}

impl<T: Clone + Eq + Hash> Distinct<T> {
    pub(crate) fn insert(&mut self, value: &T) {
        self.0.get_or_insert_with(value, || ());
    }

    #[cfg(feature = "server")]
    pub(crate) fn len(&self) -> usize {
        self.0.list.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.list.is_empty()
    }

    pub(crate) fn into_list(self) -> impl ExactSizeIterator<Item = T> {
        self.0.list.into_iter().map(|(value, ())| value)
    }
}

impl<T: Clone + Eq + Hash> FromIterator<T> for Distinct<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut distinct = Self::default();
        values.into_iter().for_each(|value| distinct.insert(&value));
        distinct
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_small_and_large_objects_are_found() {
        for count in [0, 1, LINEAR_SEARCH_MAX, LINEAR_SEARCH_MAX + 1] {
            let object: Map<String, Value> = (0..count).map(|number| (number.to_string(), number.into())).collect();
            let found = (0..=count).map(|number| object.member(&number.to_string()).and_then(Value::as_u64));
            let wanted = (0..count).map(|number| Some(number as u64)).chain([None]);
            assert!(found.eq(wanted));
            assert_eq!(Value::Object(object).has("0"), count > 0);
        }
        assert!(!Value::from("0").has("0"));
    }

    #[test]
    fn few_and_many_keys_are_found_again_in_their_order() {
        for count in [3, LINEAR_SEARCH_MAX, LINEAR_SEARCH_MAX + 1, LINEAR_SEARCH_MAX + 2, 100] {
            let mut items: Keyed<String, usize> = Keyed::default();
            for round in 0..3 {
                for number in (0..count).rev() {
                    *items.get_or_insert_with(&*number.to_string(), || 0) += round;
                }
            }
            let list = items.into_list();
            let wanted: Vec<(String, usize)> = (0..count).rev().map(|number| (number.to_string(), 3)).collect();
            assert_eq!(list, wanted);
        }
    }
}
