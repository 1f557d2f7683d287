//! JSON values as text.

use serde::Serialize;
#[cfg(not(feature = "server"))]
use serde_json::to_writer;
// The same bytes; an export writes little else, and sonic-rs looks at many bytes at once for what must be escaped.
#[cfg(feature = "server")]
use sonic_rs::to_writer;

/// Appends a value's compact text.
pub(crate) fn write(value: &impl Serialize, text: &mut Vec<u8>) -> Result<(), String> {
    to_writer(text, value).map_err(|error| error.to_string())
}

/// A value's text. Its keys are texts, and memory takes what is written.
pub(crate) fn compact(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    let written = write(value, &mut text);
    String::from_utf8(text).ok().filter(|_| written.is_ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use crate::document::json::Json;
    use crate::document::text::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (-1_000_000..1_000_000i32).prop_map(|number| Value::from(f64::from(number) / 64.0)),
            ".{0,80}".prop_map(Value::from),
            "[\u{0}-\u{7f}]{0,80}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec(("[\u{0}-\u{7f}é]{0,40}", inner), 0..4)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// The bytes do not depend on which of the two libraries writes.
        #[test]
        fn texts_are_those_of_serde_json(value in values()) {
            let text = serde_json::to_string(&value).expect("written");
            prop_assert_eq!(&compact(&value), &text);
            prop_assert_eq!(compact(&Json::from(&value)), text);
        }
    }
}
