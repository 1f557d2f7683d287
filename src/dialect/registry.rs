//! The rules of all dialects, ready to read spans.

use std::sync::Arc;

use super::plan::{Plan, Plans};
use super::rare_marks::RareMarks;
use super::rule::{Codec, Field, Location, Rule, fits};
use super::rule_index::RuleIndex;
use crate::span::Span;

/// The rules of all dialects, indexed for lookup. Create one and share it.
#[derive(Debug, Clone)]
pub struct Registry {
    index: RuleIndex,
    plans: Plans,
    rare_marks: RareMarks,
    session_keys: Arc<[String]>,
}

impl Registry {
    /// A registry of these rules.
    #[must_use]
    pub fn of(rules: Vec<Rule>) -> Self {
        Self {
            session_keys: session_keys(&rules).into(),
            index: RuleIndex::new(rules),
            plans: Plans::default(),
            rare_marks: RareMarks::default(),
        }
    }

    /// Puts these rules before the existing ones, so that a user's own keys win.
    #[must_use]
    pub fn with_rules(&self, own: Vec<Rule>) -> Self {
        let mut rules = own;
        rules.extend(self.rules().iter().cloned());
        Self::of(rules)
    }

    /// All rules.
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

    /// The plan for reading a span.
    pub(super) fn plan(&self, span: &Span) -> Arc<Plan> {
        self.plans.of(&self.index, span)
    }

    /// Fields set by log records with this event name.
    #[must_use]
    pub fn fields_of_log(&self, name: &str) -> Vec<Field> {
        self.index
            .log_rules()
            .filter(|(_, rule)| matches!(rule.location, Location::Log(pattern) | Location::LogNear(pattern) if fits(pattern, name)))
            .map(|(_, rule)| rule.field)
            .collect()
    }

    /// Whether records with this event name belong to spans other than the one they name.
    #[must_use]
    pub fn belongs_to_others(&self, name: &str) -> bool {
        self.index
            .log_rules()
            .any(|(_, rule)| matches!(rule.location, Location::LogNear(pattern) if fits(pattern, name)))
    }

    /// The attributes that may name a span's session, best first: keys, or for part of a JSON text the key with a JSON pointer after `#`.
    #[must_use]
    pub fn session_keys(&self) -> &[String] {
        &self.session_keys
    }

    /// Exact keys of span attributes whose whole value sets a field, by rank. Excludes keys of which only a part is read.
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
    // Callers do not see the other attributes, so keys with this meaning for only one producer come last.
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
