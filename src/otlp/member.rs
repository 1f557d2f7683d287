//! Extracts one text from JSON without parsing the rest into memory.

use std::fmt;

use memchr::memmem;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The text or number at a JSON pointer (RFC 6901), as text; the empty pointer is the value itself. `None` if it does not exist or the text
/// is not JSON.
pub(super) fn text_at(json: &[u8], pointer: &str) -> Option<String> {
    let path: Vec<&str> = pointer.split('/').skip(1).collect();
    if path.iter().any(|name| cannot_have(json, name)) {
        return None;
    }
    let mut reader = serde_json::Deserializer::from_slice(json);
    let found = Member(&path).deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    found.filter(|text| !text.is_empty())
}

/// Whether JSON certainly lacks a member of this name, without parsing. It is not certain if the JSON has escapes such as `\u0061`, or if
/// the name could be an array index.
fn cannot_have(json: &[u8], name: &str) -> bool {
    let is_word = name.starts_with(|first: char| first.is_ascii_alphabetic()) && !name.contains(['\\', '"', '/']);
    is_word && memmem::find(json, name.as_bytes()).is_none() && memmem::find(json, b"\\u").is_none()
}

struct Member<'p>(&'p [&'p str]);

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(self.0.is_empty().then(|| number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(self.0.is_empty().then(|| number.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(self.0.is_empty().then(|| text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let next = self
            .0
            .split_first()
            .and_then(|(name, rest)| Some((name.parse::<usize>().ok()?, rest)));
        let mut found = None;
        for number in 0_usize.. {
            match next {
                Some((at, rest)) if at == number => match items.next_element_seed(Member(rest))? {
                    Some(member) => found = member,
                    None => break,
                },
                _ => {
                    if items.next_element::<IgnoredAny>()?.is_none() {
                        break;
                    }
                }
            }
        }
        Ok(found)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let next = self.0.split_first();
        let mut found = None;
        while let Some(name) = members.next_key::<std::borrow::Cow<'_, str>>()? {
            match next {
                Some((first, rest)) if *first == name => found = members.next_value_seed(Member(rest))?,
                _ => {
                    let IgnoredAny = members.next_value()?;
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::text_at;

    #[test]
    fn members_are_found() {
        let json = br#"{"a": [1, {"b": "two", "n": 7}], "session_id": "s", "c": {"session_id": "no"}}"#;
        for (pointer, found) in [
            ("/session_id", Some("s")),
            ("/a/1/b", Some("two")),
            ("/a/1/n", Some("7")),
            ("/a/0", Some("1")),
            ("/a", None),
            ("/a/x", None),
            ("/d", None),
            ("", None),
        ] {
            assert_eq!(text_at(json, pointer).as_deref(), found, "{pointer}");
        }
        // A name may be escaped, and its letters may be elsewhere.
        for json in [r#"{"s\u0065ssion_id": "s"}"#, r#"{"a": "session_id", "session_id": "s"}"#] {
            assert_eq!(text_at(json.as_bytes(), "/session_id").as_deref(), Some("s"), "{json}");
        }
        assert_eq!(text_at(br#"{"a": "session_id"}"#, "/session_id"), None);
        assert_eq!(text_at(br#""quoted""#, "").as_deref(), Some("quoted"));
        for none in ["plain", "{\"session_id\": \"s\"", "\"\"", ""] {
            assert_eq!(text_at(none.as_bytes(), ""), None, "{none}");
        }
    }
}
