//! Looks up keys in the `semconv/` tables once per callsite instead of once per span.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use crate::dialect::rule::InverseRule;
use crate::dialect::write::{self, AttributeWriter};
use crate::dialect::{Codec, Field, Location, Registry, Rule};
use crate::operation::{Content, Kind};

/// Dialects that are written unchanged.
const UNCHANGED: [&str; 4] = ["openinference", "short", "spanbridge", "otel"];

/// One meaning of a short name: the field it sets on spans of these kinds.
#[derive(Debug)]
pub(super) struct Meaning {
    kinds: &'static [Kind],
    pub(super) field: Field,
    pub(super) codec: Codec,
    /// The key for the field, by kind.
    keys: [Option<&'static str>; Kind::ALL.len()],
}

impl Meaning {
    /// Whether both may be written under the same key on a span of some kind.
    pub(super) fn shares_key(&self, other: &Self) -> bool {
        Kind::ALL.into_iter().any(|kind| {
            let key = |meaning: &Self| meaning.key(kind).filter(|_| meaning.matches(kind));
            key(self).is_some() && key(self) == key(other)
        })
    }

    /// The key for the value on a span of this kind.
    pub(super) fn key(&self, kind: Kind) -> Option<&'static str> {
        self.keys.get(kind as usize).copied().flatten()
    }

    /// Whether it applies to spans of this kind.
    pub(super) fn matches(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }
}

/// The tables, indexed for the Layer.
#[derive(Debug)]
pub(super) struct Words {
    registry: &'static Registry,
    /// Writes operations of other dialects.
    pub(super) writer: AttributeWriter,
    short: HashMap<&'static str, Vec<Meaning>>,
    own: HashSet<&'static str>,
    foreign: HashSet<&'static str>,
    foreign_prefixes: Vec<&'static str>,
    content: HashMap<&'static str, Content>,
    content_prefixes: Vec<(&'static str, Content)>,
    targets: Vec<&'static str>,
}

/// The tables of `semconv/`, read once per process.
pub(super) fn words() -> &'static Words {
    static WORDS: OnceLock<Words> = OnceLock::new();
    WORDS.get_or_init(|| Words::of(Registry::built_in()))
}

impl Words {
    pub(super) fn registry(&self) -> &Registry {
        self.registry
    }

    fn of(registry: &'static Registry) -> Self {
        let mut words = Self {
            short: HashMap::new(),
            own: HashSet::new(),
            foreign: HashSet::new(),
            foreign_prefixes: Vec::new(),
            content: HashMap::new(),
            content_prefixes: Vec::new(),
            targets: Vec::new(),
            registry,
            writer: AttributeWriter::new(write::Vocabulary::OpenInference),
        };
        for rule in registry.rules() {
            words.take(rule, registry);
        }
        for meanings in words.short.values_mut() {
            // Meanings for certain kinds precede those for all kinds.
            meanings.sort_by_key(|meaning| meaning.kinds.is_empty());
        }
        words
    }

    fn take(&mut self, rule: &Rule, registry: &Registry) {
        let targets = rule.when.attribute.iter().filter(|(key, _)| *key == "target");
        self.targets.extend(targets.map(|(_, pattern)| *pattern));
        if let Some(content) = rule.field.content() {
            let free = rule.paths.is_empty() && !rule.key.is_empty();
            if free && rule.prefix {
                self.content_prefixes.push((rule.key, content));
            } else if free {
                self.content.entry(rule.key).or_insert(content);
            }
        }
        if rule.location != Location::Span {
            return;
        }
        if rule.dialect == "short" && is_plain(rule) && rule.field != Field::Kind {
            self.short.entry(rule.key).or_default().push(Meaning {
                kinds: rule.when.kinds,
                field: rule.field,
                codec: rule.codec,
                keys: keys_of(registry, rule.field),
            });
        }
        if matches!(rule.dialect, "openinference" | "spanbridge") && !rule.prefix {
            self.own.insert(rule.key);
        }
        if !UNCHANGED.contains(&rule.dialect) {
            if rule.prefix {
                self.foreign_prefixes.push(rule.key);
            } else {
                self.foreign.insert(rule.key);
            }
        }
    }

    /// The meanings of a short name; those for certain kinds come first.
    pub(super) fn short(&'static self, key: &str) -> &'static [Meaning] {
        self.short.get(key).map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_short(&self, key: &str) -> bool {
        self.short.contains_key(key)
    }

    /// Whether the key belongs to OpenInference or us, excluding the key that only names the kind.
    pub(super) fn is_own(&self, key: &str) -> bool {
        self.own.contains(key) && key != "openinference.span.kind"
    }

    /// Whether the key's value is a name, id or other short text that is not content.
    pub(super) fn is_name(&self, key: &str) -> bool {
        (self.own.contains(key) || self.is_short(key)) && self.content(key).is_none()
    }

    /// Whether the key belongs to a dialect that we translate rather than write unchanged.
    pub(super) fn is_foreign(&self, key: &str) -> bool {
        !self.is_short(key)
            && !self.own.contains(key)
            && (self.foreign.contains(key) || self.foreign_prefixes.iter().any(|prefix| key.starts_with(prefix)))
    }

    /// Whether a dialect recognizes its spans by this target (a crate that instruments itself).
    pub(super) fn knows_target(&self, target: &str) -> bool {
        self.targets.iter().any(|pattern| crate::dialect::rule::fits(pattern, target))
    }

    /// Whether the key's value is content, and in which direction it goes.
    pub(super) fn content(&self, key: &str) -> Option<Content> {
        self.content.get(key).copied().or_else(|| {
            let prefixes = self.content_prefixes.iter();
            prefixes
                .filter(|(prefix, _)| key.starts_with(prefix))
                .map(|(_, content)| *content)
                .next()
        })
    }
}

/// The kind named by a value of `step_type` or `openinference.span.kind`, in any case.
pub(super) fn kind_of_word(word: &str) -> Option<Kind> {
    // The words of OpenInference, our internal ones and ContextForge's, which cover nearly every span.
    match word {
        "LLM" | "llm" | "llm_call" => return Some(Kind::Llm),
        "TOOL" | "tool" | "tool_call" => return Some(Kind::Tool),
        "AGENT" | "agent" => return Some(Kind::Agent),
        "CHAIN" | "chain" => return Some(Kind::Chain),
        _ => {}
    }
    let mut lower = [0_u8; 16];
    let lower = lower.get_mut(..word.len())?;
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    Some(match &*lower {
        b"llm" | b"llm_call" => Kind::Llm,
        b"tool" | b"tool_call" => Kind::Tool,
        b"agent" => Kind::Agent,
        b"chain" => Kind::Chain,
        b"retriever" | b"retrieval" => Kind::Retrieval,
        b"embedding" => Kind::Embedding,
        b"reranker" | b"rerank" => Kind::Rerank,
        b"guardrail" => Kind::Guardrail,
        b"evaluator" => Kind::Evaluator,
        b"prompt" => Kind::Prompt,
        b"decision" => Kind::Decision,
        b"user_input" => Kind::UserInput,
        b"final_output" => Kind::FinalOutput,
        b"memory_read" => Kind::MemoryRead,
        b"memory_write" => Kind::MemoryWrite,
        b"state_change" => Kind::StateChange,
        b"interrupt" => Kind::Interrupt,
        b"handoff" => Kind::Handoff,
        b"unknown" => Kind::Unknown,
        _ => return None,
    })
}

/// OpenInference's word for a kind, or for the nearest one along with our own word.
pub(super) fn words_of_kind(kind: Kind) -> Option<(&'static str, Option<&'static str>)> {
    Some(match kind {
        Kind::Llm => ("LLM", None),
        Kind::Tool => ("TOOL", None),
        Kind::Agent => ("AGENT", None),
        Kind::Chain => ("CHAIN", None),
        Kind::Retrieval => ("RETRIEVER", None),
        Kind::Rerank => ("RERANKER", None),
        Kind::Embedding => ("EMBEDDING", None),
        Kind::Guardrail => ("GUARDRAIL", None),
        Kind::Evaluator => ("EVALUATOR", None),
        Kind::Prompt => ("PROMPT", None),
        Kind::Decision => ("DECISION", None),
        Kind::MemoryRead => ("RETRIEVER", Some("memory_read")),
        Kind::MemoryWrite => ("CHAIN", Some("memory_write")),
        Kind::UserInput => ("CHAIN", Some("user_input")),
        Kind::FinalOutput => ("CHAIN", Some("final_output")),
        Kind::StateChange => ("CHAIN", Some("state_change")),
        Kind::Interrupt => ("CHAIN", Some("interrupt")),
        Kind::Handoff => ("TOOL", Some("handoff")),
        Kind::Unknown => ("UNKNOWN", None),
        Kind::AgentCreate | Kind::Detail | Kind::Plain => return None,
    })
}

/// The key for a field on spans of each kind: OpenInference's, else our own, else that of OTel's conventions.
fn keys_of(registry: &Registry, field: Field) -> [Option<&'static str>; Kind::ALL.len()] {
    let field = match field {
        // The short name does not tell the requested model from the one that answered.
        Field::ModelRequested => Field::ModelResponse,
        Field::HandoffFrom => Field::StateOldValue,
        Field::HandoffTo => Field::StateNewValue,
        Field::EvaluationScore => return [Some("evaluations.0.evaluation.score"); Kind::ALL.len()],
        Field::EvaluationLabel => return [Some("evaluations.0.evaluation.label"); Kind::ALL.len()],
        Field::EvaluationExplanation => return [Some("evaluations.0.evaluation.explanation"); Kind::ALL.len()],
        Field::Beside => return [None; Kind::ALL.len()],
        field => field,
    };
    let written: Vec<&InverseRule> = write::rules_for(field).filter(|rule| !rule.prefix).collect();
    let is_own = |rule: &&Rule| rule.dialect == "spanbridge" && rule.field == field && is_plain(rule);
    let read = registry.rules().iter().find(is_own).map(|rule| rule.key);
    Kind::ALL.map(|kind| {
        let of = |dialect: &str| {
            let rules = written
                .iter()
                .filter(|rule| rule.dialect == dialect && (rule.kinds.is_empty() || rule.kinds.contains(&kind)));
            // The fewer kinds a rule has, the more specific it is.
            let nearest = rules.min_by_key(|rule| rule.kinds.len().wrapping_sub(1));
            nearest.map(|rule| rule.key)
        };
        of("openinference").or_else(|| of("spanbridge")).or(read).or_else(|| of("gen_ai"))
    })
}

/// Whether a rule reads the whole value of one span attribute.
fn is_plain(rule: &Rule) -> bool {
    rule.location == Location::Span && !rule.prefix && rule.paths.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_is_written_is_read_as_the_same_field() {
        for rule in words().registry().rules().iter().filter(|rule| rule.dialect == "short") {
            let kinds = if rule.when.kinds.is_empty() {
                &Kind::ALL[..1]
            } else {
                rule.when.kinds
            };
            for kind in kinds {
                let meanings = words().short(rule.key).iter();
                let Some(key) = meanings
                    .filter(|meaning| meaning.field == rule.field)
                    .find_map(|meaning| meaning.key(*kind))
                else {
                    continue;
                };
                let mut fields = words()
                    .registry()
                    .rules()
                    .iter()
                    .filter(|other| other.key == key || other.prefix && key.starts_with(other.key))
                    .map(|other| other.field);
                let wanted = |field| match rule.field {
                    // The short word does not show whether the name was asked for or answered with.
                    Field::ModelRequested => field == Field::ModelResponse,
                    Field::HandoffFrom => field == Field::StateOldValue,
                    Field::HandoffTo => field == Field::StateNewValue,
                    Field::EvaluationScore | Field::EvaluationLabel | Field::EvaluationExplanation => field == Field::Evaluations,
                    wanted => field == wanted,
                };
                assert!(fields.any(wanted), "{} is written as {key}", rule.key);
            }
        }
    }

    #[test]
    fn words_of_the_table_and_ours_agree() {
        let step_type = words()
            .registry()
            .rules()
            .iter()
            .find(|rule| rule.key == "step_type")
            .map(|rule| rule.values);
        for (word, name) in step_type.unwrap_or_default() {
            assert_eq!(kind_of_word(word).map(Kind::name), Some(*name), "{word}");
        }
    }

    #[test]
    fn content_is_told_by_the_tables() {
        assert_eq!(words().content("gen_ai.input.messages"), Some(Content::Input));
        assert_eq!(words().content("llm.output_messages.0.message.content"), Some(Content::Output));
        assert_eq!(words().content("gen_ai.usage.input_tokens"), None);
        assert!(words().is_foreign("gen_ai.request.model"));
        assert!(!words().is_foreign("llm.model_name") && !words().is_foreign("model") && !words().is_foreign("http.url"));
        assert!(words().knows_target("adk_runner::x"));
    }
}
