//! Decides which rules a span's scope and keys allow.

use std::cell::{OnceCell, RefCell};

use super::rule::{Rule, fits};
use super::rule_index::RuleIndex;
use crate::span::Span;

/// The conditions of rules on one span. A condition may look at all keys, and many keys share a rule, so each decision is cached.
pub(super) struct Conditions<'a> {
    rules: &'a RuleIndex,
    span: &'a Span,
    /// Decisions by rule number.
    decided: RefCell<Vec<Option<bool>>>,
    /// The sorted keys, computed when a rule needs them.
    keys: OnceCell<Vec<&'a str>>,
}

impl<'a> Conditions<'a> {
    pub(super) fn of(rules: &'a RuleIndex, span: &'a Span) -> Self {
        Self {
            rules,
            span,
            decided: RefCell::new(vec![None; rules.rules().len()]),
            keys: OnceCell::new(),
        }
    }

    /// Whether the rule with this number can apply to spans with this scope and these keys.
    pub(super) fn hold(&self, index: usize) -> bool {
        let known = self.decided.borrow().get(index).copied().flatten();
        known.unwrap_or_else(|| {
            let matches = self.rules.rule(index).is_some_and(|rule| self.decide(rule));
            if let Some(decided) = self.decided.borrow_mut().get_mut(index) {
                *decided = Some(matches);
            }
            matches
        })
    }

    /// Whether a dialect has a rule for this key on spans with this scope and these keys.
    pub(super) fn claim(&self, key: &str) -> bool {
        let matches = |(index, rule): (usize, &Rule)| !rule.is_of_unknown() && self.have_asked_key(rule) && self.hold(index);
        self.rules.exact(key).any(matches) || self.rules.prefixed(key).any(matches)
    }

    /// Whether the span has one of the keys whose values the rule checks, or the rule checks none.
    fn have_asked_key(&self, rule: &Rule) -> bool {
        rule.when.attribute.is_empty() || rule.when.attribute.iter().any(|(key, _)| self.has_key(key))
    }

    fn keys(&self) -> &[&'a str] {
        self.keys.get_or_init(|| {
            let mut keys: Vec<&str> = self.span.attributes.iter().map(|(key, _)| key.as_str()).collect();
            keys.sort_unstable();
            keys
        })
    }

    /// Whether any key matches this pattern.
    fn has_key(&self, pattern: &str) -> bool {
        let keys = self.keys();
        let first_from = |start: &str| keys.get(keys.partition_point(|key| *key < start));
        match pattern.strip_suffix('*') {
            Some(start) if !start.contains('*') => first_from(start).is_some_and(|key| key.starts_with(start)),
            None if !pattern.contains('*') => first_from(pattern).is_some_and(|key| *key == pattern),
            _ => keys.iter().any(|key| fits(pattern, key)),
        }
    }

    fn decide(&self, rule: &Rule) -> bool {
        let has = |pattern: &&str| self.has_key(pattern);
        let when = &rule.when;
        (when.scope.is_empty() || when.scope.iter().any(|pattern| fits(pattern, &self.span.scope.name)))
            && (when.has.is_empty() || when.has.iter().any(has))
            && !when.lacks.iter().any(has)
    }
}
