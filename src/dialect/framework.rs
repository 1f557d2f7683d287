//! Determines the framework an agent is built with, by the table in `semconv/frameworks.yaml`.

use super::rule::{List, Text, fits};
use crate::span::Span;

/// One line of the table.
#[derive(Debug)]
pub struct Framework {
    /// The framework's name, or `custom` if a provider's package was called directly.
    pub name: Text,
    /// Patterns of instrumentation scopes.
    pub scopes: List<Text>,
    /// Patterns of keys.
    pub keys: List<Text>,
    /// Keys with patterns of their values.
    pub attributes: List<(Text, Text)>,
    /// Whether the scope's version is the framework's.
    pub has_version: bool,
}

impl Framework {
    /// Whether only a provider's package is known.
    #[must_use]
    pub fn is_custom(&self) -> bool {
        self.name == "custom"
    }

    /// The framework's version, taken from one of its spans.
    #[must_use]
    pub fn version<'a>(&self, span: &'a Span) -> Option<&'a str> {
        Some(span.scope.version.as_str()).filter(|version| self.has_version && !version.is_empty())
    }

    /// Whether an attribute with this key can identify it.
    pub(super) fn asks(&self, key: &str) -> bool {
        self.keys.iter().any(|pattern| fits(pattern, key)) || self.attributes.iter().any(|(asked, _)| *asked == key)
    }

    pub(super) fn matches(&self, span: &Span) -> bool {
        let has_key = |pattern: &Text| span.attributes.iter().any(|(key, _)| fits(pattern, key));
        let has_value = |(key, pattern): &(Text, Text)| span.attributes.text(key).is_some_and(|value| fits(pattern, value));
        self.scopes.iter().any(|pattern| fits(pattern, &span.scope.name))
            || self.keys.iter().any(has_key)
            || self.attributes.iter().any(has_value)
    }
}
