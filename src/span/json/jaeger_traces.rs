//! Tells whether `data` is a list of traces from Jaeger's API or UI. Others use this name for many things.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// True for a list of traces, judging by its first element.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct JaegerTraces(pub(super) bool);

impl<'de> Deserialize<'de> for JaegerTraces {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Look { in_list: false }.deserialize(deserializer).map(Self)
    }
}

/// Looks at the value, or at an element of the list.
struct Look {
    in_list: bool,
}

impl<'de> DeserializeSeed<'de> for Look {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        let found = match self.in_list {
            true => None,
            false => list.next_element_seed(Self { in_list: true })?,
        };
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found.unwrap_or_default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut found = false;
        while let Some(key) = map.next_key::<String>()? {
            found |= self.in_list && matches!(key.as_str(), "traceID" | "traceId" | "spans");
            let IgnoredAny = map.next_value()?;
        }
        Ok(found)
    }

    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_str<E>(self, _: &str) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_have_an_id_or_spans() {
        for (json, wanted) in [
            (r#"[{"traceID": "1", "spans": []}, 2]"#, true),
            (r#"[{"spans": [{"a": [1]}]}]"#, true),
            (r#"[{"id": 1, "name": "x"}, {"spans": []}]"#, false),
            (r#"{"spans": []}"#, false),
            (r#"[[{"spans": []}], null]"#, false),
            ("[]", false),
            ("null", false),
            ("1.5", false),
            (r#""text""#, false),
        ] {
            let read: JaegerTraces = serde_json::from_str(json).expect("JSON");
            assert_eq!(read.0, wanted, "{json}");
        }
    }
}
