//! The id of a tool call, and its origin.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// The id of a tool call. It reads as its text; whoever needs to know whether the client gave it asks [`ToolCallId::is_derived`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolCallId {
    /// The client recorded it, in a message or on the tool's span.
    Recorded(String),
    /// The client recorded none: derived from the span and the place of the call.
    Derived(String),
}

impl ToolCallId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Recorded(id) | Self::Derived(id) => id,
        }
    }

    /// Whether the client recorded no id.
    #[must_use]
    pub fn is_derived(&self) -> bool {
        matches!(self, Self::Derived(_))
    }
}

impl Deref for ToolCallId {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl<'a> From<&'a ToolCallId> for Cow<'a, str> {
    fn from(id: &'a ToolCallId) -> Self {
        Cow::Borrowed(id)
    }
}

impl fmt::Display for ToolCallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
