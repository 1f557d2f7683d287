//! Which rules a span's scope and keys allow.

use std::cell::{OnceCell, RefCell};

use super::rule::{Rule, fits};
use super::rule_index::RuleIndex;
use crate::hash::{HashMap, HashSet};
use crate::span::Span;

/// The conditions of rules on one span. A condition may ask every key, and many keys ask for the same rule, so each rule is decided
/// once.
pub(super) struct Conditions<'a> {
    rules: &'a RuleIndex,
    span: &'a Span,
    decided: RefCell<HashMap<usize, bool>>,
    /// The keys, once a rule asks for some.
    keys: OnceCell<HashSet<&'a str>>,
}

impl<'a> Conditions<'a> {
    pub(super) fn of(rules: &'a RuleIndex, span: &'a Span) -> Self {
        Self {
            rules,
            span,
            decided: RefCell::default(),
            keys: OnceCell::new(),
        }
    }

    /// Whether the rule with this number holds for all spans with this one's scope and keys, as far as those decide it.
    pub(super) fn hold(&self, index: usize) -> bool {
        let known = self.decided.borrow().get(&index).copied();
        known.unwrap_or_else(|| {
            let holds = self.rules.rule(index).is_some_and(|rule| self.decide(rule));
            let _ = self.decided.borrow_mut().insert(index, holds);
            holds
        })
    }

    /// Whether a dialect has a rule for this key, on spans with this one's scope and keys.
    pub(super) fn claim(&self, key: &str) -> bool {
        let holds = |(index, rule): (usize, &Rule)| !rule.is_of_unknown() && self.have_asked_key(rule) && self.hold(index);
        self.rules.exact(key).any(holds) || self.rules.prefixed(key).any(holds)
    }

    /// Whether the span has one of the keys whose values the rule asks for, or the rule asks for none.
    fn have_asked_key(&self, rule: &Rule) -> bool {
        rule.when.attribute.is_empty() || rule.when.attribute.iter().any(|(key, _)| self.keys().contains(key))
    }

    fn keys(&self) -> &HashSet<&'a str> {
        self.keys
            .get_or_init(|| self.span.attributes.iter().map(|(key, _)| key.as_str()).collect())
    }

    fn decide(&self, rule: &Rule) -> bool {
        let has = |pattern: &&str| match pattern.contains('*') {
            true => self.keys().iter().any(|key| fits(pattern, key)),
            false => self.keys().contains(*pattern),
        };
        let when = &rule.when;
        (when.scope.is_empty() || when.scope.iter().any(|pattern| fits(pattern, &self.span.scope.name)))
            && (when.has.is_empty() || when.has.iter().any(has))
            && !when.lacks.iter().any(has)
    }
}
