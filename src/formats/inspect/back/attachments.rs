//! Texts that a log stores once and refers to by name.

use std::borrow::Cow;

use serde_json::{Map, Value};

const PROTOCOL: &str = "attachment://";

/// The texts of a sample, and how many bytes of them may still be inserted: a short name can refer to a long text.
pub(super) struct Attachments<'a> {
    texts: Option<&'a Map<String, Value>>,
    left: usize,
    /// Number of references that were not resolved.
    pub(super) unread: usize,
}

impl<'a> Attachments<'a> {
    /// `room`: maximum number of bytes to insert.
    pub(super) fn of(sample: &'a Value, room: usize) -> Self {
        Self {
            texts: sample
                .get("attachments")
                .and_then(Value::as_object)
                .filter(|texts| !texts.is_empty()),
            left: room,
            unread: 0,
        }
    }

    /// The value with the texts that it refers to inserted.
    pub(super) fn whole<'v>(&mut self, value: &'v Value) -> Cow<'v, Value> {
        match self.texts {
            Some(_) if names_one(value) => Cow::Owned(self.put_in(value)),
            _ => Cow::Borrowed(value),
        }
    }

    fn put_in(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).map_or_else(|| value.clone(), Value::from),
            Value::Array(list) => list.iter().map(|item| self.put_in(item)).collect(),
            Value::Object(map) => {
                let members = map.iter().map(|(key, value)| (key.clone(), self.put_in(value)));
                members.collect::<Map<_, _>>().into()
            }
            other => other.clone(),
        }
    }

    /// The text that this name refers to.
    pub(super) fn text(&mut self, text: &str) -> Option<&'a str> {
        let found = self.texts?.get(text.strip_prefix(PROTOCOL)?)?.as_str()?;
        match self.left.checked_sub(found.len()) {
            Some(left) => {
                self.left = left;
                Some(found)
            }
            None => {
                self.unread += 1;
                None
            }
        }
    }
}

fn names_one(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with(PROTOCOL),
        Value::Array(list) => list.iter().any(names_one),
        Value::Object(map) => map.values().any(names_one),
        _ => false,
    }
}
