//! Logs: files that are one conversation, with values as items.

use serde_json::Value;

use super::form::Form;
use super::read::{Read, Reader, Unread};
use super::recognise::{nested, weight};

/// Reads a log value by value.
#[derive(Debug)]
pub(crate) struct Log<'f> {
    form: &'f Form,
    reader: Reader<'f>,
}

impl<'f> Log<'f> {
    pub(crate) fn new(form: &'f Form) -> Self {
        let reader = Reader::new(form, nested);
        Self { form, reader }
    }

    /// Reads the next value, or each value of a list.
    pub(crate) fn add(&mut self, value: &Value) {
        match value {
            Value::Array(list) => list.iter().for_each(|value| self.item(value)),
            one => self.item(one),
        }
    }

    fn item(&mut self, value: &Value) {
        let opened = self.form.opened(value);
        let value = opened.as_ref().unwrap_or(value);
        self.reader.may_read(weight(value));
        self.reader.item(&[value]);
    }

    /// The conversation.
    pub(crate) fn finish(self) -> Result<Read, Unread> {
        self.reader.finish()
    }
}
