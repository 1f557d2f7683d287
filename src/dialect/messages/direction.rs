//! The direction of messages: input or output.

use crate::operation::Role;

/// Which way the messages go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Into the model: bare text is the user's.
    Input,
    /// Out of the model: bare text is the model's.
    Output,
}

impl Direction {
    /// Whose a text without a role is.
    pub(super) fn role(self) -> Role {
        match self {
            Self::Input => Role::User,
            Self::Output => Role::Assistant,
        }
    }
}
