//! Reads the `Debug` form of a value: `#[instrument]` records parameters and returned values in it.

use serde_json::Value as Json;

/// A value in its `Debug` form as JSON: numbers, texts and lists of them are JSON already, `Some(..)` is its content, `None` is
/// null, and anything else stays text.
pub(super) fn of_debug(text: &str) -> Json {
    let text = text.trim();
    match text {
        "None" | "()" => Json::Null,
        _ => match inside(text, "Some") {
            Some(inner) => of_debug(inner),
            None => serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.to_owned())),
        },
    }
}

/// What a function returned.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Returned {
    /// The value, without the quotes of a text.
    Value(String),
    /// The error of a `Result`.
    Error(String),
    /// `()`: nothing.
    Nothing,
}

impl Returned {
    /// Reads what `ret` recorded, in `Debug` or `Display` form.
    pub(super) fn of(text: &str) -> Self {
        match text {
            "()" | "Ok(())" => Self::Nothing,
            _ => match (inside(text, "Err"), inside(text, "Ok")) {
                (Some(error), _) => Self::Error(unquoted(error)),
                (_, Some(value)) => Self::Value(unquoted(value)),
                _ => Self::Value(unquoted(text)),
            },
        }
    }
}

/// A text without the quotes of its `Debug` form; anything else as it is.
fn unquoted(text: &str) -> String {
    match text.starts_with('"').then(|| serde_json::from_str(text)) {
        Some(Ok(text)) => text,
        _ => text.to_owned(),
    }
}

/// The content of a variant with one field.
fn inside<'a>(text: &'a str, variant: &str) -> Option<&'a str> {
    text.strip_prefix(variant)?.strip_prefix('(')?.strip_suffix(')')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn debug_forms_become_json() {
        let forms = [
            ("\"Oslo\"", json!("Oslo")),
            ("3", json!(3)),
            ("[\"a\", \"b\"]", json!(["a", "b"])),
            ("Some(\"x\")", json!("x")),
            ("Some([1, 2])", json!([1, 2])),
            ("None", Json::Null),
            ("Place { city: \"Oslo\" }", json!("Place { city: \"Oslo\" }")),
            ("Oslo", json!("Oslo")),
        ];
        for (form, value) in forms {
            assert_eq!(of_debug(form), value, "{form}");
        }
    }

    #[test]
    fn returned_values_lose_what_debug_adds() {
        assert_eq!(Returned::of("\"Oslo: \\\"cold\\\"\""), Returned::Value("Oslo: \"cold\"".to_owned()));
        assert_eq!(Returned::of("-3 °C"), Returned::Value("-3 °C".to_owned()));
        assert_eq!(Returned::of("Ok(\"fine\")"), Returned::Value("fine".to_owned()));
        assert_eq!(Returned::of("Err(NoSensor)"), Returned::Error("NoSensor".to_owned()));
        assert_eq!(Returned::of("Ok(())"), Returned::Nothing);
        assert_eq!(Returned::of("[1, 2]"), Returned::Value("[1, 2]".to_owned()));
    }
}
