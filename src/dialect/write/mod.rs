//! Writes operations as attributes, the reverse of [`read`](crate::dialect::read()).
//!
//! The keys come from the same tables: a rule in `semconv/` marked with `write` is an [`InverseRule`]. Facts without a key in the chosen
//! vocabulary are written under a key of `semconv/spanbridge`, or else of the other vocabulary, so no fact is lost. Reading back what was
//! written gives the same operation (`tests/write.rs` names the few facts that come back in another form).
//!
//! An operation's name and failure are not attributes: a span has a name, a status and exception events for them
//! ([`status_and_exception`]).

mod encode;
mod fact;
mod failure;
mod gen_ai;
pub(crate) mod openinference;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

pub use failure::status_and_exception;

use super::codec;
use super::generated::{INVERSE_TABLES, TABLES};
use super::rule::{Codec, Field, InverseRule, Location, Rule};
use crate::operation::{FieldValue, Kind, Operation};
use crate::span::{AnyValue, Attributes};
use encode::Encoded;
use fact::Fact;

/// The attribute keys used to write an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vocabulary {
    /// OpenInference: flattened message keys, `input.value`, `output.value`. Read by Phoenix.
    OpenInference,
    /// OTel's GenAI semantic conventions in their current attribute form: messages as JSON in `gen_ai.input.messages`.
    GenAi,
    /// Both on the same span.
    Both,
}

impl Vocabulary {
    /// The dialects whose keys are used, preferred ones first.
    fn passes(self) -> &'static [&'static [&'static str]] {
        const OPENINFERENCE: &[&str] = &["openinference", "spanbridge", "gen_ai", "mcp"];
        const GEN_AI: &[&str] = &["gen_ai", "spanbridge", "openinference", "mcp"];
        match self {
            Self::OpenInference => &[OPENINFERENCE],
            Self::GenAi => &[GEN_AI],
            // Facts the second vocabulary lacks have been written by the first pass.
            Self::Both => &[OPENINFERENCE, &["gen_ai"]],
        }
    }
}

/// Writes operations in one vocabulary. Holds the tables, so create it once.
#[derive(Debug, Clone)]
pub struct AttributeWriter {
    vocabulary: Vocabulary,
    rules: HashMap<Field, Vec<&'static InverseRule>>,
    /// By key, rules that read a part of its value or another meaning of its word.
    further: HashMap<&'static str, Vec<&'static Rule>>,
}

impl AttributeWriter {
    /// Creates a writer with the tables of `semconv/`.
    #[must_use]
    pub fn new(vocabulary: Vocabulary) -> Self {
        let mut rules: HashMap<Field, Vec<&'static InverseRule>> = HashMap::new();
        for rule in inverse_rules() {
            rules.entry(rule.field).or_default().push(rule);
        }
        let mut further: HashMap<&'static str, Vec<&'static Rule>> = HashMap::new();
        let reads_more = |rule: &&Rule| {
            rule.location == Location::Span && rule.field != Field::Kind && !(rule.paths.is_empty() && rule.values.is_empty())
        };
        for rule in TABLES.iter().flat_map(|table| table.iter()).filter(reads_more) {
            further.entry(rule.key).or_default().push(rule);
        }
        Self {
            vocabulary,
            rules,
            further,
        }
    }

    /// Writes an operation as attributes, including those that no dialect knows.
    #[must_use]
    pub fn write(&self, operation: &Operation) -> Attributes {
        let mut out = Attributes::default();
        for dialects in self.vocabulary.passes() {
            let mut pass = Pass {
                writer: self,
                dialects,
                operation,
                out: &mut out,
            };
            pass.kind();
            for field in fields() {
                pass.field(field);
            }
        }
        let written: HashSet<&str> = out.iter().map(|(key, _)| key.as_str()).collect();
        let unmapped = operation.unmapped.iter().filter(|(key, _)| !written.contains(key.as_str()));
        let unmapped: Vec<_> = unmapped.map(|(key, value)| (key.clone(), AnyValue::from_json(value))).collect();
        out.0.extend(unmapped);
        out
    }
}

/// The rules for writing operations.
fn inverse_rules() -> impl Iterator<Item = &'static InverseRule> {
    INVERSE_TABLES.iter().flat_map(|table| table.iter())
}

/// The rules of all dialects for writing a field.
#[cfg(feature = "layer")]
pub(crate) fn rules_for(field: Field) -> impl Iterator<Item = &'static InverseRule> {
    inverse_rules().filter(move |rule| rule.field == field)
}

/// Fields in writing order: whole inputs and outputs come after fields with names of their own, since both may use `input.value`.
fn fields() -> impl Iterator<Item = Field> {
    const LAST: [Field; 3] = [Field::Input, Field::Output, Field::RawResponse];
    let named = Field::ALL.iter().copied().filter(|field| !LAST.contains(field));
    named.chain(LAST)
}

struct Pass<'a> {
    writer: &'a AttributeWriter,
    dialects: &'static [&'static str],
    operation: &'a Operation,
    out: &'a mut Attributes,
}

impl<'a> Pass<'a> {
    /// The rules for a field of this operation, preferred ones first; rules for certain kinds precede those for all.
    fn rules(&self, field: Field) -> Vec<&'static InverseRule> {
        let kind = self.operation.kind;
        let all = self.writer.rules.get(&field).map_or(&[][..], Vec::as_slice);
        let matches = |rule: &&&InverseRule| rule.kinds.is_empty() || rule.kinds.contains(&kind);
        let mut list: Vec<(usize, bool, &'static InverseRule)> = all
            .iter()
            .filter(matches)
            .filter_map(|rule| {
                let place = self.dialects.iter().position(|dialect| *dialect == rule.dialect)?;
                Some((place, rule.kinds.is_empty(), *rule))
            })
            .collect();
        list.sort_by_key(|(place, general, _)| (*place, *general));
        list.into_iter().map(|(_, _, rule)| rule).collect()
    }

    /// Writes the kind in the dialect's nearest word, and in ours if that word means another kind.
    fn kind(&mut self) {
        let kind = self.operation.kind;
        if kind == Kind::Plain {
            return;
        }
        for rule in self.rules(Field::Kind) {
            let mut words = rule.words.iter().filter(|(ours, _)| *ours == kind.name());
            let Some((_, word)) = words.find(|(_, word)| self.agrees(rule.key, word)) else {
                continue;
            };
            self.push(rule.key, AnyValue::from(*word));
            let read_back = rule.words.iter().find(|(_, theirs)| theirs == word).map(|(ours, _)| *ours);
            if read_back == Some(kind.name()) {
                return;
            }
        }
    }

    /// Whether the word's other meanings agree with the operation: `create_memory` also means that something was added.
    fn agrees(&self, key: &str, word: &str) -> bool {
        self.further(key).all(|rule| match rule.word(word) {
            Some(meaning) => matches!(fact::of(self.operation, rule.field), Some(Fact::Value(FieldValue::Text(said))) if said == meaning),
            None => true,
        })
    }

    /// The rules that read more from this key on an operation of this kind.
    fn further(&self, key: &str) -> impl Iterator<Item = &'static Rule> {
        let rules = self.writer.further.get(key).map_or(&[][..], Vec::as_slice);
        let kind = self.operation.kind;
        rules.iter().copied().filter(move |rule| rule.when.applies_to_kind(kind))
    }

    fn field(&mut self, field: Field) {
        if field == Field::Parameter {
            return;
        }
        let operation: &'a Operation = self.operation;
        let Some(fact) = fact::of(operation, field) else { return };
        match (field, fact) {
            // Only the GenAI conventions have an evaluation outside a list.
            (Field::EvaluationName | Field::EvaluationScore | Field::EvaluationLabel | Field::EvaluationExplanation, _)
                if self.dialects.first() != Some(&"gen_ai") => {}
            (Field::Parameters, Fact::Value(FieldValue::Map(parameters))) => self.parameters(parameters),
            (Field::FormatExtras, Fact::Value(FieldValue::Map(extras))) => {
                for (name, value) in extras {
                    self.named(field, name, value);
                }
            }
            (Field::ModelRequested, fact) => {
                self.put(field, &fact);
                // OpenInference's single model name (`llm.model_name`) is the requested model until another one answers.
                if self.dialects.first() == Some(&"openinference") && operation.model.response.is_none() {
                    self.put(Field::ModelResponse, &fact);
                }
            }
            (Field::MemoryResults | Field::MemoryData, Fact::Value(FieldValue::Value(recorded))) => {
                // If the convention uses another form, ours is written too, so that nothing is lost when reading back.
                if let (Some(&"gen_ai"), Some(records)) = (self.dialects.first(), gen_ai::records(recorded)) {
                    self.put(field, &Fact::Value(FieldValue::Value(&records)));
                    self.put_own(field, &fact);
                } else {
                    self.put(field, &fact);
                }
            }
            (_, fact) => self.put(field, &fact),
        }
    }

    /// Writes a fact under the first key that can hold it.
    fn put(&mut self, field: Field, fact: &Fact<'_>) {
        for rule in self.rules(field) {
            if self.write(rule, fact) {
                break;
            }
        }
    }

    /// Writes a fact under our own key.
    fn put_own(&mut self, field: Field, fact: &Fact<'_>) {
        for rule in self.rules(field).into_iter().filter(|rule| rule.dialect == "spanbridge") {
            let _ = self.write(rule, fact);
        }
    }

    /// Whether reading this map back from this key would find more than the operation has.
    fn has_more(&self, key: &str, map: &serde_json::Map<String, Value>) -> bool {
        let mut rules = self.further(key).filter(|rule| !rule.paths.is_empty()).peekable();
        if rules.peek().is_none() {
            return false;
        }
        let value = Value::Object(map.clone());
        rules.any(|rule| {
            let found = rule.paths.iter().any(|path| codec::at(&value, path).is_some());
            found && fact::of(self.operation, rule.field).is_none()
        })
    }

    /// Writes parameters under their own keys if the dialect has them, and the rest as one map.
    fn parameters(&mut self, parameters: &serde_json::Map<String, Value>) {
        let own_keys = self.dialects.first() == Some(&"gen_ai");
        let mut rest = serde_json::Map::new();
        for (name, value) in parameters {
            // Attributes without a value have no meaning.
            let is_blank = value.is_null() || value.as_str() == Some("");
            if !own_keys || is_blank || !self.named(Field::Parameter, name, value) {
                let _ = rest.insert(name.clone(), value.clone());
            }
        }
        if !rest.is_empty() {
            self.put(Field::Parameters, &Fact::Value(FieldValue::Map(&rest)));
        }
    }

    /// Writes a member of a map under its own key; returns whether it has one.
    fn named(&mut self, field: Field, name: &str, value: &Value) -> bool {
        let has_name = |rule: &&'static InverseRule| rule.words.iter().any(|(ours, _)| *ours == name);
        match self.rules(field).into_iter().find(has_name) {
            Some(rule) => self.write(rule, &Fact::Value(FieldValue::Value(value))),
            None => false,
        }
    }

    /// Writes a fact under a rule's key; `false` if the key cannot hold it or has another value.
    fn write(&mut self, rule: &InverseRule, fact: &Fact<'_>) -> bool {
        if let Fact::Value(FieldValue::Map(map)) = fact
            && self.has_more(rule.key, map)
        {
            return false;
        }
        let mime = rule.key.strip_suffix(".value").filter(|_| rule.codec == Codec::ByMime);
        let mime = mime.map(|stem| format!("{stem}.mime_type"));
        let marked_json = |out: &Attributes| mime.as_ref().is_some_and(|mime| out.get(mime).is_some());
        match encode::encode(rule, fact) {
            None => false,
            // The same text would mean another value if it was written as JSON.
            Some(Encoded::One(_)) if marked_json(self.out) => false,
            Some(Encoded::One(value)) => self.push(rule.key, value),
            Some(Encoded::JsonText(_)) if mime.is_some() && !marked_json(self.out) && self.out.get(rule.key).is_some() => false,
            Some(Encoded::JsonText(text)) => {
                let written = self.push(rule.key, AnyValue::from(text));
                if let (true, Some(mime)) = (written, mime) {
                    self.push(&mime, AnyValue::from("application/json"));
                }
                written
            }
            Some(Encoded::Many(list)) => {
                let free = !self.out.iter().any(|(key, _)| key.starts_with(rule.key));
                if free {
                    self.out
                        .0
                        .extend(list.into_iter().map(|(suffix, value)| (format!("{}{suffix}", rule.key), value)));
                }
                free
            }
        }
    }

    /// Adds an attribute; `false` if the key already has another value.
    fn push(&mut self, key: &str, value: AnyValue) -> bool {
        match self.out.get(key) {
            Some(have) => *have == value,
            None => {
                self.out.push(key, value);
                true
            }
        }
    }
}
