//! Whether documents keep the rules of their format, and which they break.
//!
//! A rule is one of the format's page or of the software that loads its documents; where the two differ, the stricter one holds,
//! since a document is to be read by both. What a violation says is meant for who writes the document: the place, and what has
//! to stand there.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::any::AnyFormat;
use super::back::DisassembleError;
use super::choice::Options;
use super::recognise::{documents, format_of};

pub use super::violations::{JsonPath, Violation, Violations};

/// What was checked.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// How many documents there are.
    pub documents: usize,
    /// The rules that they break.
    pub violations: Vec<Violation>,
}

/// Checks a text's documents: one document, several one after another (JSON lines), or a list of documents. Without a format
/// the first document tells it by its content.
///
/// # Errors
///
/// The text is no JSON, or its format is not clear.
pub fn check(format: Option<&AnyFormat>, text: &str, options: &Options) -> Result<Checked, DisassembleError> {
    let values: Vec<Value> = serde_json::Deserializer::from_str(text)
        .into_iter()
        .collect::<Result<_, _>>()
        .map_err(|source| DisassembleError::Json { source })?;
    let Some(first) = values.first() else {
        let source = serde_json::Error::custom("there is no document");
        return Err(DisassembleError::Json { source });
    };
    let format = match format {
        Some(format) => format,
        None => format_of(documents(first, String::new()).first().map_or(first, |(_, value)| value))?,
    };
    let mut found = Violations::default();
    let root = |line: usize| JsonPath::of_document((values.len() > 1).then_some(line + 1));
    for (line, keys) in serde_json::Deserializer::from_str(text).into_iter::<Twice>().enumerate() {
        for path in keys.map(|keys| keys.0).unwrap_or_default() {
            found.add(
                root(line),
                format!("the key {path} stands twice in one object: readers keep one of the two; remove the other"),
            );
        }
    }
    let roots: Vec<JsonPath<'_>> = (0..values.len()).map(root).collect();
    let mut all: Vec<(JsonPath<'_>, &Value)> = Vec::new();
    for (value, root) in values.iter().zip(&roots) {
        let parts = documents(value, String::new());
        match parts.as_slice() {
            [(path, _)] if path.is_empty() => all.push((*root, value)),
            parts => all.extend(parts.iter().enumerate().map(|(index, (_, part))| (root.item(index), *part))),
        }
    }
    (format.check)(&all, options, &mut found);
    Ok(Checked {
        documents: all.len(),
        violations: found.into_list(),
    })
}

/// Keys that stand twice in one object of a value, by their JSON path.
struct Twice(Vec<String>);

impl<'de> serde::Deserialize<'de> for Twice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut found = Vec::new();
        let place = JsonPath::of_document(None);
        Walk { place, found: &mut found }.deserialize(deserializer)?;
        Ok(Self(found))
    }
}

/// Looks through a value for them.
struct Walk<'p, 'f> {
    place: JsonPath<'p>,
    found: &'f mut Vec<String>,
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
                self.found.push(place.to_string());
            }
            map.next_value_seed(Walk { place, found: self.found })?;
            known.insert(key);
        }
        Ok(())
    }
}
