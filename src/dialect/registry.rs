//! The tables of all dialects, indexed by key.

use std::sync::Arc;

use super::generated;
use super::plan::{Plan, Plans};
use super::rule::{Codec, Field, Place, Rule};
use super::words;
use crate::hash::{HashMap, HashSet};
use crate::span::Span;

/// Rules of all dialects, ready for lookups. Make one and share it.
#[derive(Debug, Clone)]
pub struct Registry {
    rules: Vec<Rule>,
    exact: HashMap<String, Vec<usize>>,
    prefixes: HashMap<String, Vec<usize>>,
    /// By the last words of a key; `true`: of keys with an index behind these words.
    suffixes: HashMap<(String, bool), Vec<usize>>,
    /// First parts of the keys that dialects know.
    heads: HashSet<String>,
    name_rules: Vec<usize>,
    event_rules: Vec<usize>,
    log_rules: Vec<usize>,
    resource_rules: Vec<usize>,
    plans: Plans,
}

impl Registry {
    /// The dialects of `semconv/`.
    #[must_use]
    pub fn built_in() -> Self {
        Self::of(generated::TABLES.iter().flat_map(|table| table.iter().cloned()).collect())
    }

    /// These rules.
    #[must_use]
    pub fn of(rules: Vec<Rule>) -> Self {
        let mut registry = Self {
            rules,
            exact: HashMap::default(),
            prefixes: HashMap::default(),
            suffixes: HashMap::default(),
            heads: HashSet::default(),
            name_rules: Vec::new(),
            event_rules: Vec::new(),
            log_rules: Vec::new(),
            resource_rules: Vec::new(),
            plans: Plans::default(),
        };
        for (index, rule) in registry.rules.iter().enumerate() {
            if rule.place == Place::Span {
                let _ = registry.heads.insert(head(rule.key).to_owned());
            }
            match rule.place {
                Place::Suffix => registry.suffixes.entry((words::of(rule.key), rule.prefix)).or_default().push(index),
                Place::Span if rule.prefix => registry.prefixes.entry(head(rule.key).to_owned()).or_default().push(index),
                Place::Span => registry.exact.entry(rule.key.to_owned()).or_default().push(index),
                Place::Resource => registry.resource_rules.push(index),
                Place::Event(_) => registry.event_rules.push(index),
                Place::Log(_) | Place::LogNear(_) | Place::LogScope(_) => registry.log_rules.push(index),
                Place::Name => registry.name_rules.push(index),
            }
        }
        registry
    }

    /// These rules before the built-in ones: a user's own keys win.
    #[must_use]
    pub fn with_rules(&self, own: Vec<Rule>) -> Self {
        let mut rules = own;
        rules.extend(self.rules.iter().cloned());
        Self::of(rules)
    }

    /// Every rule.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    pub(super) fn rule(&self, index: usize) -> Option<&Rule> {
        self.rules.get(index)
    }

    /// Where the rules look in a span.
    pub(super) fn plan(&self, span: &Span) -> Arc<Plan> {
        self.plans.of(self, span)
    }

    /// Rules for a span attribute with exactly this key, with their numbers.
    pub(super) fn exact(&self, key: &str) -> impl Iterator<Item = (usize, &Rule)> {
        self.numbered(self.exact.get(key).map_or(&[], Vec::as_slice))
    }

    /// Rules whose prefix this key has.
    pub(super) fn prefixed<'a>(&'a self, key: &'a str) -> impl Iterator<Item = (usize, &'a Rule)> {
        let list = self.prefixes.get(head(key)).map_or(&[][..], Vec::as_slice);
        self.numbered(list).filter(move |(_, rule)| key.starts_with(rule.key))
    }

    /// Rules for the last words of this key, with their numbers: of all the endings that rules name, the longest. Where the
    /// key has an index, the words before it count, and with them comes how much of the key stands before the index.
    pub(super) fn suffixed(&self, key: &str) -> (impl Iterator<Item = (usize, &Rule)>, Option<usize>) {
        let before = words::before_index(key);
        let all = words::of(before.and_then(|end| key.get(..end)).unwrap_or(key));
        let list = words::endings(&all).find_map(|ending| self.suffixes.get(&(ending.to_owned(), before.is_some())));
        (self.numbered(list.map_or(&[], Vec::as_slice)), before)
    }

    /// Whether a dialect has keys with this one's first part.
    pub(super) fn knows_head(&self, key: &str) -> bool {
        self.heads.contains(head(key))
    }

    pub(super) fn name_rules(&self) -> impl Iterator<Item = (usize, &Rule)> {
        self.numbered(&self.name_rules)
    }

    pub(super) fn event_rules(&self) -> impl Iterator<Item = &Rule> {
        self.numbered(&self.event_rules).map(|(_, rule)| rule)
    }

    pub(super) fn log_rules(&self) -> impl Iterator<Item = &Rule> {
        self.numbered(&self.log_rules).map(|(_, rule)| rule)
    }

    pub(super) fn resource_rules(&self) -> impl Iterator<Item = (usize, &Rule)> {
        self.numbered(&self.resource_rules)
    }

    fn numbered<'a>(&'a self, list: &'a [usize]) -> impl Iterator<Item = (usize, &'a Rule)> {
        list.iter().filter_map(|index| Some((*index, self.rule(*index)?)))
    }

    /// Fields that log records with this event name feed.
    #[must_use]
    pub fn fields_of_log(&self, name: &str) -> Vec<Field> {
        self.log_rules()
            .filter(|rule| matches!(rule.place, Place::Log(pattern) | Place::LogNear(pattern) if super::rule::fits(pattern, name)))
            .map(|rule| rule.field)
            .collect()
    }

    /// Whether records with this event name tell of other spans than the one they name.
    #[must_use]
    pub fn tells_of_others(&self, name: &str) -> bool {
        self.log_rules()
            .any(|rule| matches!(rule.place, Place::LogNear(pattern) if super::rule::fits(pattern, name)))
    }

    /// Where a span's attributes name its session, best first: keys, and for a part of a JSON text the key with a JSON pointer
    /// behind `#`.
    #[must_use]
    pub fn session_keys(&self) -> Vec<String> {
        let mut rules: Vec<&Rule> = self
            .rules
            .iter()
            .filter(|rule| rule.field == Field::SessionId && !rule.prefix && rule.place == Place::Span)
            .collect();
        rules.sort_by_key(|rule| rule.rank);
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

    /// Keys of span attributes whose whole values feed a field, exact ones only, in order of rank. A key of which a part is read
    /// is none of them.
    #[must_use]
    pub fn keys_of(&self, field: Field) -> Vec<&str> {
        let mut rules: Vec<&Rule> = self
            .rules
            .iter()
            .filter(|rule| rule.field == field && !rule.prefix && rule.place == Place::Span && rule.paths.is_empty())
            .collect();
        rules.sort_by_key(|rule| rule.rank);
        rules.into_iter().map(|rule| rule.key).collect()
    }
}

/// The part of a key before the first dot or colon: every rule for a prefix is filed under it.
fn head(key: &str) -> &str {
    key.split(['.', ':']).next().unwrap_or(key)
}
