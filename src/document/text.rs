//! JSON values as text.

use std::io::{self, Write};

use serde::Serialize;
#[cfg(not(feature = "server"))]
use serde_json::to_writer;
// sonic-rs writes the same bytes as serde_json, but checks many at once for escapes; exports spend most of their time here.
#[cfg(feature = "server")]
use sonic_rs::to_writer;

use crate::document::layout::OneLine;
use crate::json_tokens::Tokens;

/// Appends a value's compact text.
pub(crate) fn write(value: &impl Serialize, text: &mut Vec<u8>) -> Result<(), String> {
    to_writer(text, value).map_err(|error| error.to_string())
}

/// Writes a value's compact text piece by piece, on one line for every reader of lines.
pub(crate) fn stream(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut line = OneLine::new(out);
    #[cfg(feature = "server")]
    let written = to_writer(sonic_rs::writer::BufferedWriter::new(&mut line), value);
    #[cfg(not(feature = "server"))]
    let written = to_writer(&mut line, value);
    written.map_err(io::Error::other)?;
    line.flush()
}

/// JSON without whitespace between its values.
pub(crate) fn without_blanks(json: &str) -> String {
    Tokens::of(json.as_bytes()).filter_map(|token| json.get(token.range)).collect()
}

/// A value's text. Writing cannot fail: keys are texts, and the target is memory.
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

    #[test]
    fn a_long_text_is_written_in_pieces() {
        let value: Vec<String> = (0..9_000).map(|number| format!("{number} é\u{2028}")).collect();
        let mut written = Vec::new();
        stream(&value, &mut written).expect("written");
        let text = crate::document::layout::on_one_line(compact(&value));
        assert_eq!(String::from_utf8(written).expect("text"), text);
    }

    proptest! {
        /// The bytes do not depend on which of the two libraries writes.
        #[test]
        fn texts_are_those_of_serde_json(value in values()) {
            let text = serde_json::to_string(&value).expect("written");
            prop_assert_eq!(&compact(&value), &text);
            prop_assert_eq!(compact(&Json::from(&value)), &*text);
            let indented = serde_json::to_string_pretty(&value).expect("written");
            prop_assert_eq!(without_blanks(&indented), text);
        }
    }
}
