//! Values that are kept as recorded and parsed on first use.

use std::sync::OnceLock;

use serde_json::Value;

/// The whole input or output of an operation as a client recorded it, if it did. JSON text is parsed on first use, since most of it
/// only repeats the messages.
#[derive(Debug, Clone, Default)]
pub struct Recorded(Option<Box<Held>>);

#[derive(Debug, Clone)]
enum Held {
    Value(Value),
    Text { text: String, opened: OnceLock<Value> },
}

/// A recorded value in its current form.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Form<'a> {
    /// A value that was recorded as one, or parsed.
    Value(&'a Value),
    /// Text that looks like a JSON object or list.
    Text(&'a str),
}

impl Recorded {
    /// Text that looks like a JSON object or list. If it is not JSON, its value is the text itself.
    #[must_use]
    pub fn text(text: String) -> Self {
        let opened = OnceLock::new();
        Self(Some(Box::new(Held::Text { text, opened })))
    }

    /// The value; `None` if nothing was recorded.
    #[must_use]
    pub fn get(&self) -> Option<&Value> {
        Some(match self.0.as_deref()? {
            Held::Value(value) => value,
            Held::Text { text, opened } => opened.get_or_init(|| open(text)),
        })
    }

    /// The value without parsing it; `None` if nothing was recorded.
    #[must_use]
    pub fn form(&self) -> Option<Form<'_>> {
        Some(match self.0.as_deref()? {
            Held::Value(value) => Form::Value(value),
            Held::Text { text, opened } => opened.get().map_or(Form::Text(text), Form::Value),
        })
    }

    /// Takes the value out.
    #[must_use]
    pub fn into_value(self) -> Option<Value> {
        Some(match *self.0? {
            Held::Value(value) => value,
            Held::Text { text, opened } => opened.into_inner().unwrap_or_else(|| open(&text)),
        })
    }

    /// Whether something was recorded.
    #[must_use]
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

fn open(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

impl PartialEq for Recorded {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<V: Into<Value>> From<V> for Recorded {
    fn from(value: V) -> Self {
        Self(Some(Box::new(Held::Value(value.into()))))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_opened_when_asked_for() {
        let recorded = Recorded::text("{\"a\": [1]}".to_owned());
        assert_eq!(recorded.get(), Some(&json!({"a": [1]})));
        assert_eq!(recorded, Recorded::from(json!({"a": [1]})));
        assert_eq!(recorded.clone().into_value(), Some(json!({"a": [1]})));
        assert_eq!(Recorded::text("[1]".to_owned()).into_value(), Some(json!([1])));
    }

    #[test]
    fn what_is_no_json_stays_text() {
        assert_eq!(Recorded::text("{'a': 1}".to_owned()).get(), Some(&json!("{'a': 1}")));
        assert_eq!(Recorded::default().get(), None);
        assert!(Recorded::default().is_none() && Recorded::from("x").is_some());
    }
}
