//! What of a JSON text rules look at: the rest is read past.

use std::fmt;

use memchr::memmem::Finder;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::rule::Rule;
use crate::skip::Skipped;

/// Members, by the paths of rules.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    /// All of it.
    Whole,
    /// These members (of a list: the items with these numbers), and what of them.
    Members(Vec<(&'static str, Wanted)>),
}

impl Wanted {
    pub(super) const NOTHING: Self = Self::Members(Vec::new());

    /// Also what this rule looks at.
    pub(super) fn add(&mut self, rule: &Rule) {
        if rule.paths.is_empty() {
            *self = Self::Whole;
        }
        for path in rule.paths {
            self.add_path(path);
        }
    }

    fn add_path(&mut self, path: &'static str) {
        let Self::Members(members) = self else { return };
        if path == "." {
            *self = Self::Whole;
            return;
        }
        let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
        let at = members.iter().position(|(name, _)| *name == head).unwrap_or_else(|| {
            members.push((head, Self::NOTHING));
            members.len() - 1
        });
        match (members.get_mut(at), rest) {
            (Some((_, member)), Some(rest)) => member.add_path(rest),
            (Some((_, member)), None) => *member = Self::Whole,
            (None, _) => {}
        }
    }

    /// The value of a JSON text as far as it is wanted. Whether the text is JSON does not depend on what is wanted.
    pub(super) fn of(&self, text: &str) -> serde_json::Result<Value> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let value = self.deserialize(&mut reader)?;
        reader.end()?;
        Ok(value)
    }
}

/// The names of what is wanted, to look for them in a text before it is opened.
#[derive(Debug, Clone)]
pub(super) struct Names(Option<Vec<Finder<'static>>>);

impl Names {
    pub(super) const ANY: Self = Self(None);

    pub(super) fn of(wanted: &Wanted) -> Self {
        let Wanted::Members(members) = wanted else { return Self::ANY };
        let quoted = members.iter().map(|(name, _)| Finder::new(&format!("\"{name}\"")).into_owned());
        // A name may be written in escapes.
        Self(Some(quoted.chain([Finder::new("\\u")]).collect()))
    }

    /// Whether any of what is wanted can stand in this JSON text. Items of lists have no names.
    pub(super) fn may_be_in(&self, text: &str) -> bool {
        self.0
            .as_ref()
            .is_none_or(|names| text.trim_start().starts_with('[') || names.iter().any(|name| name.find(text.as_bytes()).is_some()))
    }
}

impl<'de> DeserializeSeed<'de> for &Wanted {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self {
            Wanted::Whole => Value::deserialize(deserializer),
            Wanted::Members(members) => deserializer.deserialize_any(Parts(members)),
        }
    }
}

/// Reads these parts of a list or an object; anything else as it is.
struct Parts<'w>(&'w [(&'static str, Wanted)]);

impl<'de> Visitor<'de> for Parts<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Value, E> {
        Ok(bool.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let wanted = |number: usize| self.0.iter().find(|(name, _)| name.parse() == Ok(number));
        let last = self.0.iter().filter_map(|(name, _)| name.parse::<usize>().ok()).max();
        let mut list = Vec::new();
        for number in 0..=last.unwrap_or_default() {
            let item = match wanted(number) {
                Some((_, wanted)) => items.next_element_seed(wanted)?,
                None => items.next_element::<Skipped>()?.map(|Skipped| Value::Null),
            };
            let Some(item) = item else { return Ok(Value::Array(list)) };
            list.push(item);
        }
        while let Some(Skipped) = items.next_element()? {}
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(member) = fields.next_key_seed(Name(self.0))? {
            match member {
                Some((name, wanted)) => {
                    let value = fields.next_value_seed(wanted)?;
                    let _ = map.insert((*name).to_owned(), value);
                }
                None => {
                    let Skipped = fields.next_value()?;
                }
            }
        }
        Ok(Value::Object(map))
    }
}

/// Reads a key: the wanted member with this name.
struct Name<'w>(&'w [(&'static str, Wanted)]);

impl<'de, 'w> DeserializeSeed<'de> for Name<'w> {
    type Value = Option<&'w (&'static str, Wanted)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'w> Visitor<'_> for Name<'w> {
    type Value = Option<&'w (&'static str, Wanted)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|(name, _)| *name == key))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::dialect::codec::at;

    const PATHS: [&str; 6] = ["a", "a.b", "b.1", "b.0.c", "c.a.b", "1"];

    fn wanted(paths: &[&'static str]) -> Wanted {
        let mut wanted = Wanted::NOTHING;
        paths.iter().for_each(|path| wanted.add_path(path));
        wanted
    }

    fn may_be_in(paths: &[&'static str], text: &str) -> bool {
        Names::of(&wanted(paths)).may_be_in(text)
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            Just(json!("x\n")),
            any::<i64>().prop_map(Value::from),
            Just(json!(0.5))
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                proptest::collection::vec(("[a-d]", inner), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// At the paths of rules stands what stands there in the whole value.
        #[test]
        fn parts_are_those_of_the_whole(value in values(), paths in proptest::sample::subsequence(PATHS.to_vec(), 1..=6)) {
            let parts = wanted(&paths).of(&value.to_string()).expect("it is JSON");
            prop_assert_eq!((parts.is_object(), parts.is_array()), (value.is_object(), value.is_array()));
            for path in paths {
                prop_assert_eq!(at(&parts, path), at(&value, path), "{}", path);
                prop_assert!(at(&value, path).is_none() || may_be_in(&[path], &format!(" {value}")), "{}", path);
            }
        }

        /// A text is JSON or not whatever is wanted of it.
        #[test]
        fn the_verdict_is_that_of_the_whole(text in "[\\[\\{\\}\\],:0-9eE.\\-a-c\"\\\\un ]{0,24}") {
            let parts = wanted(&["a.b", "b"]).of(&text);
            prop_assert_eq!(parts.is_ok(), serde_json::from_str::<Value>(&text).is_ok());
        }
    }

    #[test]
    fn the_rest_is_read_past() {
        let text = r#"{"id": "r1", "choices": [{"message": {"content": "long"}}, 2], "usage": {"in": 1, "out": 2}, "id": "r2"}"#;
        let parts = wanted(&["id", "usage.in", "choices.1"]).of(text).expect("it is JSON");
        assert_eq!(parts, json!({"id": "r2", "choices": [null, 2], "usage": {"in": 1}}));
        assert!(may_be_in(&["no", "id"], text) && !may_be_in(&["no"], text));
        assert!(may_be_in(&["id"], "{\"\\u0069d\": 1}"), "in escapes");
        assert!(!may_be_in(&["id"], "{\"said\": \"I did.\", \"ids\": 1}"), "a part of words");
        assert!(may_be_in(&["no", "."], text), "all of it");
        assert_eq!(wanted(&["id", "."]).of("[1, 2]").expect("it is JSON"), json!([1, 2]));
    }
}
