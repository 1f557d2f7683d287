//! The recorded facts of a model call, for its request.

use std::cell::RefCell;

use crate::operation::{Message, Operation, Part, Role};
use crate::transcript::content;

/// A call, and what its request cannot express.
pub(super) struct Call<'a> {
    pub(super) operation: &'a Operation,
    pub(super) messages: &'a [Message],
    left_out: RefCell<Vec<String>>,
}

impl<'a> Call<'a> {
    pub(super) fn of(operation: &'a Operation) -> Self {
        Self {
            operation,
            messages: operation.input_messages.as_deref().unwrap_or_default(),
            left_out: RefCell::default(),
        }
    }

    pub(super) fn into_left_out(self) -> Vec<String> {
        self.left_out.into_inner()
    }

    pub(super) fn leave_out(&self, what: impl Into<String>) {
        let what = what.into();
        let mut left_out = self.left_out.borrow_mut();
        if !left_out.contains(&what) {
            left_out.push(what);
        }
    }

    /// The text of a message.
    pub(super) fn text(&self, message: &Message) -> String {
        for part in &message.parts {
            match part {
                Part::Text(_) => {}
                Part::Reasoning { .. } => self.leave_out("reasoning"),
                Part::Media(media) => self.leave_out(content::media_mark(media)),
                Part::Other(other) => self.leave_out(content::part_mark(other)),
            }
        }
        match &message.result {
            Some(result) => content::text(result).into_owned(),
            None => message.joined_text().into_owned(),
        }
    }

    pub(super) fn system(&self) -> String {
        let system = self
            .messages
            .iter()
            .filter(|message| is_system(message))
            .map(|message| self.text(message));
        system.collect::<Vec<_>>().join("\n\n")
    }

    pub(super) fn others(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(|message| !is_system(message))
    }
}

fn is_system(message: &Message) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}
