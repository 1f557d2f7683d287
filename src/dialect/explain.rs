//! Explains a span's attributes: which rule reads each one, and which are unread.

use std::cell::RefCell;

use super::conditions::Conditions;
use super::registry::Registry;
use super::rule::{Location, Rule, fits};
use crate::hash::HashMap;
use crate::operation::Operation;
use crate::span::Span;

/// What happened to an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Explained {
    /// Index of the attribute.
    pub index: usize,
    /// What happened to it.
    pub fate: Fate,
}

/// What happens to an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// A rule of a dialect reads it.
    Mapped {
        /// The field it sets, as spelled in `semconv/`.
        field: &'static str,
        /// The dialect of the rule.
        dialect: String,
    },
    /// A rule reads it only by its name or shape.
    Guessed {
        /// The field it sets.
        field: &'static str,
    },
    /// No rule reads it, so it stays among the operation's own attributes.
    Left,
}

/// Explains each attribute of a span that was read as this operation. If several rules read a key, names the first; another attribute may
/// have a better value for the same field.
#[must_use]
pub(crate) fn explain(registry: &Registry, span: &Span, operation: &Operation) -> Vec<Explained> {
    let conditions = Conditions::of(registry.index(), span);
    let decide = |number: usize, rule: &Rule| {
        let has = |(key, value): &(&str, &str)| span.attributes.text(key).is_some_and(|text| fits(value, text));
        rule.when.applies_to_kind(operation.kind)
            && conditions.hold(number)
            && (rule.when.name.is_empty() || rule.when.name.iter().any(|pattern| fits(pattern, &span.name)))
            && (rule.when.attribute.is_empty() || rule.when.attribute.iter().any(has))
    };
    // Many keys share a rule, and it may look at other keys, so decisions are cached.
    let decided: RefCell<HashMap<usize, bool>> = RefCell::default();
    let fate = |key: &str| {
        let matches = |(number, rule): &(usize, &Rule)| *decided.borrow_mut().entry(*number).or_insert_with(|| decide(*number, rule));
        let index = registry.index();
        let exact = index.exact(key).filter(matches).map(|(_, rule)| rule).min_by_key(|rule| rule.rank);
        let prefixed = || {
            index
                .prefixed(key)
                .filter(matches)
                .map(|(_, rule)| rule)
                .min_by_key(|rule| rule.rank)
        };
        let suffixed = || {
            index
                .suffixed(key)
                .rules
                .filter(matches)
                .map(|(_, rule)| rule)
                .min_by_key(|rule| rule.rank)
        };
        if operation.unmapped.contains_key(key) {
            return Fate::Left;
        }
        match exact.or_else(prefixed).or_else(suffixed) {
            None => Fate::Left,
            Some(rule) if rule.is_of_unknown() || rule.location == Location::Suffix => Fate::Guessed { field: rule.field.word() },
            Some(rule) => Fate::Mapped {
                field: rule.field.word(),
                dialect: rule.dialect.to_owned(),
            },
        }
    };
    let keys = span.attributes.iter().enumerate();
    keys.map(|(index, (key, _))| Explained { index, fate: fate(key) }).collect()
}
