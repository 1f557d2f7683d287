//! The direction of messages: input or output.

use crate::operation::Role;

/// Which way the messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Into the model: bare text is from the user.
    Input,
    /// Out of the model: bare text is from the model.
    Output,
}

impl Direction {
    /// The role of text without one.
    pub(super) fn role(self) -> Role {
        match self {
            Self::Input => Role::User,
            Self::Output => Role::Assistant,
        }
    }
}
