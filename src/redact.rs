//! Redaction: removes sensitive content from a request before any of it is stored.
//!
//! A rule selects attributes by key, text by a regular expression, or text below certain keys by both. Each match is removed, masked or
//! hashed. Every other byte of the message stays unchanged.

pub mod secrets;
mod text;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hmac::{Hmac, KeyInit as _, Mac as _};
use regex::Regex;
use regex_syntax::hir::{Hir, HirKind};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::otlp::decode::{self, DecodeError};
pub use crate::otlp::rewrite::Owner;
use crate::otlp::rewrite::{Edit, Entry, rewrite};
use crate::otlp::{Fault, encode};
use crate::span::{LogRecord, Signal, Span, hex};
use text::Replace;

/// Replacement for masked text.
const MASK: &str = "[redacted]";

/// A configured rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleText {
    /// Its name in `/metrics`; defaults to the rule's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Glob for the keys of attributes and of maps inside them: `*` matches any text, `?` any character. `(?i)` at the start ignores case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// A regular expression for texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What to do with each match.
    pub action: Action,
    /// Where to look; empty means everywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<Owner>,
}

/// What to do with a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Removes the attribute; in text, only the part that the expression matches.
    Remove,
    /// Replaces it with `[redacted]`.
    Mask,
    /// Replaces it with `[hmac:`, 16 hexadecimal digits and `]`, so that equal texts stay equal.
    Hash,
}

/// An unusable rule. The expression may itself be a secret, so it is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("redaction rule {rule} {fault}")]
pub struct RuleError {
    /// Its name or number.
    pub rule: String,
    /// What is wrong with it.
    pub fault: RuleFault,
}

/// What is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleFault {
    /// It has neither key nor value.
    #[error("has neither key nor value; it needs at least one of them")]
    Empty,
    /// The expression is invalid.
    #[error("has a value that is not a regular expression: {what}")]
    Expression {
        /// The end of the library's message.
        what: String,
    },
    /// Searching would take as many steps per byte as the expression has repetitions.
    #[error(
        "has a value that matches {steps} consecutive characters, of which at most {most} are looked for: repetitions in \
         repetitions multiply; lower their counts, or write `+` or `*`"
    )]
    TooLong {
        /// The number of characters it matches.
        steps: usize,
        /// The limit.
        most: usize,
    },
    /// It would put a mask between any two characters.
    #[error("has a value that matches the empty text")]
    Everywhere,
    /// Another rule has the same name, and counters are named after rules.
    #[error("has the name of another rule")]
    Name,
    /// Without a secret key, anyone could hash every phone number and compare.
    #[error("has the action hash, which needs redact_hash_key: a long random secret")]
    NoKey,
}

/// Spans or log records that cannot be redacted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unredacted {
    /// They do not form a valid request.
    #[error(transparent)]
    Request(#[from] Fault),
    /// After redaction they no longer form a valid request.
    #[error(transparent)]
    Rest(#[from] DecodeError),
}

/// Whether a text was written by [`Action::Hash`].
fn is_hash(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"[hmac:").and_then(|text| text.strip_suffix(b"]"));
    digits.is_some_and(|digits| digits.len() == 16 && digits.iter().all(u8::is_ascii_hexdigit))
}

#[derive(Debug)]
struct Rule {
    key: Option<Regex>,
    value: Option<Regex>,
    action: Action,
    scope: Vec<Owner>,
    found: Arc<AtomicU64>,
}

/// The rules of a configuration.
#[derive(Debug, Default)]
pub struct Rules {
    rules: Vec<(String, Rule)>,
    hash_key: HashKey,
}

#[derive(Default)]
struct HashKey(Vec<u8>);

impl std::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashKey(..)")
    }
}

impl Rules {
    /// Builds the rules of a configuration. `hash_key` makes the hashes unguessable.
    ///
    /// # Errors
    ///
    /// A rule is empty or invalid.
    pub fn new(rules: &[RuleText], hash_key: Option<&str>) -> Result<Self, RuleError> {
        let mut read: Vec<(String, Rule)> = Vec::new();
        for (number, text) in rules.iter().enumerate() {
            let name = text.name.clone().unwrap_or_else(|| (number + 1).to_string());
            let taken = read.iter().any(|(other, _)| *other == name);
            let rule = match rule(text) {
                Ok(_) if taken => Err(RuleFault::Name),
                Ok(rule) if rule.action == Action::Hash && hash_key.is_none_or(str::is_empty) => Err(RuleFault::NoKey),
                rule => rule,
            };
            match rule {
                Ok(rule) => read.push((name, rule)),
                Err(fault) => return Err(RuleError { rule: name, fault }),
            }
        }
        Ok(Self {
            rules: read,
            hash_key: HashKey(hash_key.unwrap_or_default().as_bytes().to_vec()),
        })
    }

    /// The redacted request; `None` if the rules found nothing.
    ///
    /// # Errors
    ///
    /// The bytes are not a request of this signal.
    pub fn apply(&self, bytes: &[u8], signal: Signal) -> Result<Option<Vec<u8>>, Fault> {
        rewrite(bytes, signal, &mut Applied(self))
    }

    /// Redacts spans and log records.
    ///
    /// # Errors
    ///
    /// They cannot be encoded as requests or decoded again.
    pub fn redacted(&self, spans: Vec<Span>, logs: Vec<LogRecord>) -> Result<(Vec<Span>, Vec<LogRecord>), Unredacted> {
        let spans = match self.apply(&encode::traces(&spans), Signal::Traces)? {
            Some(redacted) => decode::traces(&redacted)?.items,
            None => spans,
        };
        let logs = match self.apply(&encode::logs(&logs), Signal::Logs)? {
            Some(redacted) => decode::logs(&redacted)?.items,
            None => logs,
        };
        Ok((spans, logs))
    }

    /// How often each rule found something, by name.
    #[must_use]
    pub fn found(&self) -> Vec<(String, u64)> {
        let counts = self.rules.iter();
        counts
            .map(|(name, rule)| (name.clone(), rule.found.load(Ordering::Relaxed)))
            .collect()
    }

    fn replacement(&self, action: Action, text: &[u8]) -> String {
        match action {
            Action::Remove => String::new(),
            Action::Mask => MASK.to_owned(),
            // Already hashed: the match was found again in data rewritten for a destination.
            Action::Hash if is_hash(text) => String::from_utf8_lossy(text).into_owned(),
            Action::Hash => {
                let mut hash = String::from("[hmac:");
                // HMAC accepts keys of any length.
                if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.hash_key.0) {
                    mac.update(text);
                    let digest = mac.finalize().into_bytes();
                    hash.push_str(&hex(digest.split_at(8).0));
                }
                hash.push(']');
                hash
            }
        }
    }
}

struct Applied<'a>(&'a Rules);

impl Edit for Applied<'_> {
    fn entry(&mut self, owner: Owner, keys: &[&str], value: &[u8]) -> Entry {
        let key = keys.last().copied().unwrap_or_default();
        for (_, rule) in &self.0.rules {
            if let (Some(wanted), None) = (&rule.key, &rule.value)
                && rule.looks_at(owner)
                && wanted.is_match(key)
            {
                rule.found.fetch_add(1, Ordering::Relaxed);
                return match rule.action {
                    Action::Remove => Entry::Remove,
                    action => Entry::Replace(self.0.replacement(action, value)),
                };
            }
        }
        Entry::Keep
    }

    fn text(&mut self, owner: Owner, keys: &[&str], text: &str) -> Option<String> {
        let mut changed: Option<String> = None;
        for (_, rule) in &self.0.rules {
            let Some(expression) = &rule.value else { continue };
            let below = |wanted: &Regex| keys.iter().any(|key| wanted.is_match(key));
            if rule.looks_at(owner) && rule.key.as_ref().is_none_or(below) {
                let now = changed.as_deref().unwrap_or(text);
                let with = |matched: &str| self.0.replacement(rule.action, matched.as_bytes());
                if let Some((text, found)) = Replace::new(expression, &with).in_text(now) {
                    rule.found.fetch_add(found, Ordering::Relaxed);
                    changed = Some(text);
                }
            }
        }
        changed
    }
}

impl Rule {
    fn looks_at(&self, owner: Owner) -> bool {
        self.scope.is_empty() || self.scope.contains(&owner)
    }
}

/// Longest allowed expression: an automaton with many states per byte of text takes minutes for a megabyte.
const MAX_STEPS: usize = 2_000;

/// Number of consecutive characters an expression matches, with its counted repetitions expanded.
fn steps(hir: &Hir) -> usize {
    let sum = |list: &[Hir]| list.iter().map(steps).fold(0, usize::saturating_add);
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(_) => 1,
        HirKind::Repetition(repetition) => {
            let count = repetition.max.unwrap_or(repetition.min).max(1);
            steps(&repetition.sub).saturating_mul(count as usize)
        }
        HirKind::Capture(capture) => steps(&capture.sub),
        HirKind::Concat(list) | HirKind::Alternation(list) => sum(list),
    }
}

fn rule(text: &RuleText) -> Result<Rule, RuleFault> {
    let expression = |text: &str| {
        if let Ok(hir) = regex_syntax::parse(text)
            && steps(&hir) > MAX_STEPS
        {
            return Err(RuleFault::TooLong {
                steps: steps(&hir),
                most: MAX_STEPS,
            });
        }
        Regex::new(text).map_err(|error| {
            let words = error.to_string();
            let what = words.lines().last().unwrap_or_default();
            let what = what.strip_prefix("error: ").unwrap_or("it is too large or cannot be read");
            RuleFault::Expression { what: what.to_owned() }
        })
    };
    if text.key.is_none() && text.value.is_none() {
        return Err(RuleFault::Empty);
    }
    let value = text.value.as_deref().map(expression).transpose()?;
    if value.as_ref().is_some_and(|value| value.is_match("")) {
        return Err(RuleFault::Everywhere);
    }
    Ok(Rule {
        key: text.key.as_deref().map(|glob| expression(&of_glob(glob))).transpose()?,
        value,
        action: text.action,
        scope: text.scope.clone(),
        found: Arc::default(),
    })
}

/// A glob over whole texts: `*` matches any text, `?` any character. `(?i)` at the start ignores case.
///
/// # Errors
///
/// The pattern is too large.
pub fn glob(pattern: &str) -> Result<Regex, regex::Error> {
    Regex::new(&of_glob(pattern))
}

fn of_glob(glob: &str) -> String {
    let (flags, glob) = glob.strip_prefix("(?i)").map_or(("(?s)", glob), |glob| ("(?si)", glob));
    format!("{flags}^{}$", regex::escape(glob).replace(r"\*", ".*").replace(r"\?", "."))
}

/// The rules in force, and each rule's matches since the start.
#[derive(Debug, Default)]
pub struct Redaction(Mutex<InForce>);

#[derive(Debug, Default)]
struct InForce {
    rules: Option<Arc<Rules>>,
    found: HashMap<String, Arc<AtomicU64>>,
}

impl Redaction {
    /// Puts these rules in force. A rule continues the count of an earlier rule with the same name.
    pub fn set(&self, mut rules: Rules) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, rule) in &mut rules.rules {
            rule.found = Arc::clone(now.found.entry(name.clone()).or_default());
        }
        now.rules = (!rules.rules.is_empty()).then(|| Arc::new(rules));
    }

    /// The rules in force, if any.
    #[must_use]
    pub fn rules(&self) -> Option<Arc<Rules>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).rules.clone()
    }

    /// The number of matches of each rule, by name.
    #[must_use]
    pub fn found(&self) -> Vec<(String, u64)> {
        let now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<_> = now
            .found
            .iter()
            .map(|(name, count)| (name.clone(), count.load(Ordering::Relaxed)))
            .collect();
        found.sort();
        found
    }
}
