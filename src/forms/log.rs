//! A file that is one conversation: its values are items.

use serde_json::Value;

use super::read::{Read, Reader, Unread};
use super::recognise::{nested, weight};
use super::table::Form;

/// A log while it is read, value by value.
#[derive(Debug)]
pub(crate) struct Log<'f>(Reader<'f>);

impl<'f> Log<'f> {
    /// Of this form.
    pub(crate) fn new(form: &'f Form) -> Self {
        Self(Reader::new(form, nested))
    }

    /// Reads the next value. A list has several.
    pub(crate) fn add(&mut self, value: &Value) {
        self.0.may_read(weight(value));
        match value {
            Value::Array(list) => list.iter().for_each(|value| self.0.item(&[value])),
            one => self.0.item(&[one]),
        }
    }

    /// What was read.
    pub(crate) fn finish(self) -> Result<Read, Unread> {
        self.0.finish()
    }
}
