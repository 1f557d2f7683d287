//! The id of a tool call, and its origin.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// The id of a tool call. It dereferences to its text; [`ToolCallId::is_derived`] says whether the client recorded it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolCallId {
    /// The client recorded it, in a message or on the tool's span.
    Recorded(String),
    /// The client recorded none: derived from the span and the index of the call.
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

/// Whether an id looks like a counter that restarts in every answer: `call_1`, `search:0`.
pub(crate) fn is_counter(id: &str) -> bool {
    let end = id.rsplit(['_', ':', '-', '.', '/', '|']).next().unwrap_or(id);
    let digits = end.trim_start_matches(|char: char| char.is_ascii_alphabetic());
    (1..=5).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()) && end.len() - digits.len() <= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_ids() {
        let counted = ["call_0", "call_12", "search:0", "functions.search:3", "0", "c1", "tool-7"].map(is_counter);
        assert_eq!(counted, [true; 7]);
        let unique = [
            "call_6c80309895694fd8a9863c4d",
            "toolu_e2512e1f58a84352a8f14b3d",
            "chatcmpl-tool-5ad6f3a1b2",
            "5198f36626044c4b",
            "9TaBcd3Xy",
            "call_a",
        ]
        .map(is_counter);
        assert_eq!(unique, [false; 6]);
    }
}
