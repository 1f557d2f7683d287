//! The tables generated from `semconv/`, as the types that use them.

use std::sync::LazyLock;

use super::framework::Framework;
use super::generated;
use super::registry::Registry;
use crate::span::Span;

impl Registry {
    /// The dialects of `semconv/`, built once. A clone does not share its caches.
    #[must_use]
    pub fn built_in() -> &'static Self {
        static REGISTRY: LazyLock<Registry> =
            LazyLock::new(|| Registry::of(generated::TABLES.iter().flat_map(|table| table.iter().cloned()).collect()));
        &REGISTRY
    }
}

impl Framework {
    /// Whether an attribute with this key may identify a framework.
    pub(super) fn is_shown_by(key: &str) -> bool {
        generated::frameworks::FRAMEWORKS.iter().any(|line| line.asks(key))
    }

    /// The framework that recorded a span or whose calls it records; `None` if no line of the table matches.
    #[must_use]
    pub fn of(span: &Span) -> Option<&'static Self> {
        generated::frameworks::FRAMEWORKS.iter().find(|line| line.matches(span))
    }
}
