//! Spans that an SDK or a logger printed as JSON between other output of a program.

use super::Batch;
use super::recognise::{begins_as_json, has_printed_json};
use super::requests::in_other_form;
use crate::span::json::{Message, console, mend};

impl Batch<'_> {
    /// Adds spans printed as JSON between other lines; returns whether there are any. A text that is JSON as a whole has none.
    pub(super) fn add_printed(&mut self, file: &str, text: &[u8]) -> bool {
        if !has_printed_json(text) {
            return false;
        }
        let Ok(text) = std::str::from_utf8(text) else { return false };
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
        if begins_as_json(text.as_bytes()) && values.all(|value| value.is_ok()) {
            return false;
        }
        let (mut taken, mut broken) = (false, 0);
        let others = console::objects(text, &mut |object| {
            let Some((message, otlp)) = printed_span(object.as_bytes()) else {
                broken += usize::from(has_printed_json(object.as_bytes()));
                return false;
            };
            taken = true;
            self.add_text(file, 0, message, otlp.as_bytes());
            true
        });
        if taken && broken > 0 {
            self.broken_objects(file, broken);
        }
        if taken {
            self.other_lines(file, others);
        }
        taken
    }
}

/// A span printed as JSON.
fn printed_span(object: &[u8]) -> Option<(Message, String)> {
    if let Some(read) = in_other_form(object) {
        return Some(read);
    }
    let mended = mend(object)?;
    in_other_form(&mended.text)
}
