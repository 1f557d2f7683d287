//! Keys that occur several times in one object, of which JSON readers keep only one value.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::document::violations::JsonPath;

/// Keys that occur twice in one object of a value, by their JSON path.
#[derive(Default)]
pub(crate) struct RepeatedKeys {
    /// The first of them.
    pub(crate) paths: Vec<String>,
    /// The number of further ones.
    pub(crate) more: usize,
}

/// Maximum number of keys listed.
const MAX_LISTED: usize = 1_000;

impl<'de> serde::Deserialize<'de> for RepeatedKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut found = Self::default();
        let place = JsonPath::of_document(None);
        Walk { place, found: &mut found }.deserialize(deserializer)?;
        Ok(found)
    }
}

/// Walks a value to find them.
struct Walk<'p, 'f> {
    place: JsonPath<'p>,
    found: &'f mut RepeatedKeys,
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut index = 0;
        loop {
            let item = Walk {
                place: self.place.item(index),
                found: self.found,
            };
            if list.next_element_seed(item)?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut known: HashSet<String> = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let place = self.place.key(&key);
            if known.contains(&key) {
                if self.found.paths.len() < MAX_LISTED {
                    self.found.paths.push(place.to_string());
                } else {
                    self.found.more += 1;
                }
            }
            map.next_value_seed(Walk { place, found: self.found })?;
            known.insert(key);
        }
        Ok(())
    }
}
