//! Parses JSON text into a value that borrows from it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

use crate::document::json::{Json, Object, Text};
use crate::hash::HashMap;
use crate::operation::{Form, Recorded};

/// Maximum number of keys of an object that are searched linearly for repetitions.
const LINEAR_SEARCH_MAX: usize = 8;

/// A recorded value as JSON; text that only looks like JSON stays text.
pub(crate) fn recorded(recorded: &Recorded) -> Option<Json<'_>> {
    Some(match recorded.form()? {
        Form::Value(value) => value.into(),
        Form::Text(text) => read(text).unwrap_or_else(|_| text.into()),
    })
}

/// The value of a JSON text, as [`serde_json::Value`] reads it.
pub(crate) fn read(text: &str) -> serde_json::Result<Json<'_>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Reading.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Reads a value, borrowing texts without escapes.
struct Reading;

impl<'de> DeserializeSeed<'de> for Reading {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(bool))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json<'de>, E> {
        Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Json<'de>, A::Error> {
        let mut list: Vec<(Text<'de>, Json<'de>)> = Vec::new();
        let mut places: HashMap<Text<'de>, usize> = HashMap::default();
        while let Some(key) = fields.next_key_seed(Self)? {
            let Json::Text(key) = key else {
                return Err(A::Error::custom("a key that is not text"));
            };
            let value = fields.next_value_seed(Self)?;
            if list.len() == LINEAR_SEARCH_MAX {
                places = list.iter().zip(0..).map(|((key, _), place)| (key.clone(), place)).collect();
            }
            let known = if list.len() < LINEAR_SEARCH_MAX {
                list.iter().position(|(have, _)| *have == key)
            } else {
                places.get(&key).copied()
            };
            match known.and_then(|place| list.get_mut(place)) {
                Some((_, slot)) => *slot = value,
                None => {
                    if list.len() >= LINEAR_SEARCH_MAX {
                        let _ = places.insert(key.clone(), list.len());
                    }
                    list.push((key, value));
                }
            }
        }
        Ok(Json::Object(Object::of_fields(list)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use crate::document::json_read::*;

    proptest! {
        /// The same verdict, the same value and the same order of keys as serde_json's own value has.
        #[test]
        fn texts_are_read_as_values_are(text in "[\\[\\{\\}\\],:0-9eE.\\-a-d\"\\\\un ]{0,24}") {
            let own = read(&text).map(|json| json.to_string());
            let value = serde_json::from_str::<Value>(&text).map(|value| value.to_string());
            prop_assert_eq!(own.ok(), value.ok());
        }

        #[test]
        fn keys_that_come_again_are_one(keys in proptest::collection::vec("[a-p]", 0..40)) {
            let fields: Vec<String> = keys.iter().zip(0..).map(|(key, number)| format!("\"{key}\":{number}")).collect();
            let text = format!("{{{}}}", fields.join(","));
            let value: Value = serde_json::from_str(&text).expect("it is JSON");
            let own = read(&text).expect("it is JSON");
            prop_assert_eq!(own.to_string(), value.to_string());
        }
    }

    #[test]
    fn texts_stay_where_they_are() {
        let text = String::from(r#"{"a": ["words", "line\nend", 1, -1, 0.5, 1e400, true, null], "b": {}}"#);
        assert!(read(&text).is_err(), "a number without end");
        let text = text.replace("1e400, ", "");
        let Ok(Json::Object(mut object)) = read(&text) else {
            panic!("an object")
        };
        let Some(Json::List(list)) = object.remove("a") else {
            panic!("a list")
        };
        assert!(matches!(list.first(), Some(Json::Text(Cow::Borrowed("words")))));
        assert!(matches!(list.get(1), Some(Json::Text(Cow::Owned(text))) if text == "line\nend"));
    }

    #[test]
    fn what_is_no_json_stays_text() {
        let it = Recorded::text("{'a': 1}".to_owned());
        assert_eq!(recorded(&it), Some("{'a': 1}".into()));
        assert_eq!(recorded(&Recorded::default()), None);
    }
}
