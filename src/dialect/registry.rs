//! The tables of all dialects, ready to read spans.

use std::sync::Arc;

use super::plan::{Plan, Plans};
use super::rare_marks::RareMarks;
use super::rule::{Codec, Field, Location, Rule, fits};
use super::rule_index::RuleIndex;
use crate::span::Span;

/// Rules of all dialects, ready for lookups. Make one and share it.
#[derive(Debug, Clone)]
pub struct Registry {
    index: RuleIndex,
    plans: Plans,
    rare_marks: RareMarks,
    session_keys: Arc<[String]>,
}

impl Registry {
    /// These rules.
    #[must_use]
    pub fn of(rules: Vec<Rule>) -> Self {
        Self {
            session_keys: session_keys(&rules).into(),
            index: RuleIndex::new(rules),
            plans: Plans::default(),
            rare_marks: RareMarks::default(),
        }
    }

    /// These rules before the built-in ones: a user's own keys win.
    #[must_use]
    pub fn with_rules(&self, own: Vec<Rule>) -> Self {
        let mut rules = own;
        rules.extend(self.rules().iter().cloned());
        Self::of(rules)
    }

    /// Every rule.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        self.index.rules()
    }

    pub(super) fn index(&self) -> &RuleIndex {
        &self.index
    }

    pub(super) fn rare_marks(&self) -> &RareMarks {
        &self.rare_marks
    }

    /// Where the rules look in a span.
    pub(super) fn plan(&self, span: &Span) -> Arc<Plan> {
        self.plans.of(&self.index, span)
    }

    /// Fields that log records with this event name feed.
    #[must_use]
    pub fn fields_of_log(&self, name: &str) -> Vec<Field> {
        self.index
            .log_rules()
            .filter(|(_, rule)| matches!(rule.location, Location::Log(pattern) | Location::LogNear(pattern) if fits(pattern, name)))
            .map(|(_, rule)| rule.field)
            .collect()
    }

    /// Whether records with this event name belong to other spans than the one they name.
    #[must_use]
    pub fn belongs_to_others(&self, name: &str) -> bool {
        self.index
            .log_rules()
            .any(|(_, rule)| matches!(rule.location, Location::LogNear(pattern) if fits(pattern, name)))
    }

    /// Where a span's attributes name its session, best first: keys, and for a part of a JSON text the key with a JSON pointer
    /// behind `#`.
    #[must_use]
    pub fn session_keys(&self) -> &[String] {
        &self.session_keys
    }

    /// Keys of span attributes whose whole values feed a field, exact ones only, in order of rank. A key of which a part is read
    /// is none of them.
    #[must_use]
    pub fn keys_of(&self, field: Field) -> Vec<&str> {
        let mut rules: Vec<&Rule> = self
            .rules()
            .iter()
            .filter(|rule| rule.field == field && !rule.prefix && rule.location == Location::Span && rule.paths.is_empty())
            .collect();
        rules.sort_by_key(|rule| rule.rank);
        rules.into_iter().map(|rule| rule.key).collect()
    }
}

fn session_keys(rules: &[Rule]) -> Vec<String> {
    let mut rules: Vec<&Rule> = rules
        .iter()
        .filter(|rule| rule.field == Field::SessionId && !rule.prefix && rule.location == Location::Span)
        .collect();
    // Nothing here sees the other attributes: a key that only one producer means so comes last.
    rules.sort_by_key(|rule| (!rule.when.has.is_empty(), rule.rank));
    let places = rules.into_iter().flat_map(|rule| match (rule.paths, rule.codec) {
        ([], Codec::JsonText) => vec![format!("{}#", rule.key)],
        ([], _) => vec![rule.key.to_owned()],
        (paths, _) => paths
            .iter()
            .map(|path| format!("{}#/{}", rule.key, path.replace('.', "/")))
            .collect(),
    });
    places.collect()
}
