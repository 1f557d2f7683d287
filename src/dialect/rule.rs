//! One line of a dialect's table: where a fact is, how it is encoded, and which field of an operation it sets.

mod names;

use crate::operation::Kind;

pub use crate::operation::Field;
pub use names::Codec;

/// Text of a rule; rules live as long as the program.
pub type Text = &'static str;
/// A list in a rule.
pub type List<T> = &'static [T];

/// One rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The dialect's name: its folder in `semconv/`.
    pub dialect: Text,
    /// The exact key, or if `prefix` the part before the open suffix. Empty for a whole event or record.
    pub key: Text,
    /// Whether `key` is the beginning of many keys.
    pub prefix: bool,
    /// Where to look for the key.
    pub location: Location,
    /// The field that it sets.
    pub field: Field,
    /// How the value is encoded.
    pub codec: Codec,
    /// Among the rules for a field, the lowest rank that has a value wins.
    pub rank: u16,
    /// When the rule applies.
    pub when: Condition,
    /// Paths into the parsed value, tried in order; empty means the value itself.
    pub paths: List<Text>,
    /// Pairs of the dialect's word and ours. A `*` at the end of a word matches anything.
    pub values: List<(Text, Text)>,
}

/// The dialect of the rules that read unknown keys by shapes common to all dialects.
const UNKNOWN: &str = "unknown";

impl Rule {
    /// Whether it reads keys that no dialect knows.
    pub(super) fn is_of_unknown(&self) -> bool {
        self.dialect == UNKNOWN
    }

    /// Whether it applies wherever its own key is present.
    pub(super) fn needs_only_itself(&self) -> bool {
        let others = Condition {
            has: &[],
            ..self.when.clone()
        };
        others == Condition::ALWAYS && matches!(self.when.has, [key] if *key == self.key)
    }

    /// Whether it expects a dialect's words rather than just any value.
    pub(super) fn has_words(&self) -> bool {
        !matches!(self.values, [("*", _)])
    }

    /// Whether it parses JSON immediately.
    pub(super) fn opens_json(&self) -> bool {
        matches!(self.codec, Codec::Json | Codec::ByMime) && !self.keeps_json()
    }

    /// Whether its JSON stays text until its value is needed ([`crate::operation::Recorded`]).
    pub(super) fn keeps_json(&self) -> bool {
        matches!(self.codec, Codec::Json | Codec::ByMime)
            && matches!(self.field, Field::Input | Field::Output)
            && self.paths.is_empty()
            && self.values.is_empty()
    }

    /// Translates a dialect's word to ours.
    pub(super) fn word(&self, text: &str) -> Option<&'static str> {
        // A cheap check first: most words of most rules differ in their first byte.
        let first = text.bytes().next().unwrap_or_default();
        let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
        let may_fit = |word: &str| matches!(word.as_bytes().first(), Some(begin) if [lower, upper, b'*'].contains(begin));
        let is_pattern = |word: &str| word.starts_with('*') || word.ends_with('*');
        let same = |word: &str| may_fit(word) && (word.eq_ignore_ascii_case(text) || (is_pattern(word) && fits(word, text)));
        self.values.iter().find(|(word, _)| same(word)).map(|(_, ours)| *ours)
    }
}

impl Field {
    /// Whether every rule for the field contributes, not only the first that has a value.
    pub(super) fn is_merged(self) -> bool {
        matches!(
            self,
            Self::Parameters
                | Self::Parameter
                | Self::Metadata
                | Self::FormatExtras
                | Self::FailureFlag
                | Self::Evaluations
                | Self::ToolResultOfChild
                | Self::UsageInputOfTurn
                | Self::UsageOutputOfTurn
        )
    }

    /// Whether the field is an operation's input or output.
    pub(super) fn is_content(self) -> bool {
        matches!(
            self,
            Self::InputMessages | Self::OutputMessages | Self::System | Self::Input | Self::Output | Self::ToolArguments | Self::ToolResult
        )
    }

    /// Whether an unread key of a known client may set the field by its shape alone: input, output and usage. Words for sessions or agents
    /// mean different things in different clients.
    pub(super) fn is_known_by_shape(self) -> bool {
        matches!(
            self,
            Self::InputMessages
                | Self::OutputMessages
                | Self::System
                | Self::Input
                | Self::Output
                | Self::ToolDefinitions
                | Self::ToolArguments
                | Self::ToolResult
                | Self::SearchQuery
                | Self::SearchDocuments
                | Self::FinishReason
                | Self::UsageInput
                | Self::UsageOutput
                | Self::UsageTotal
                | Self::UsageCacheRead
                | Self::UsageCacheWrite
                | Self::UsageReasoning
                | Self::CostTotal
        )
    }

    /// Whether an empty text is a valid value.
    pub(super) fn keeps_empty(self) -> bool {
        matches!(self, Self::StateOldValue | Self::StateNewValue | Self::InterruptResponse)
    }
}

/// A line of a dialect's table in the other direction: the key and codec for writing a field of an operation. In `semconv/` it is a rule
/// with `write`.
#[derive(Debug, Clone, PartialEq)]
pub struct InverseRule {
    /// The dialect's name.
    pub dialect: Text,
    /// The key, or if `prefix` the part before the open suffix.
    pub key: Text,
    /// Whether `key` is the beginning of many keys.
    pub prefix: bool,
    /// The field to write.
    pub field: Field,
    /// How to encode the value.
    pub codec: Codec,
    /// Kinds of operations that have the key; empty means all.
    pub kinds: List<Kind>,
    /// Pairs of our word and the dialect's; if one of ours has several, the first is written.
    pub words: List<(Text, Text)>,
}

/// Where a key is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Among the span's attributes.
    Span,
    /// Among the span's attributes, whatever precedes these words in the key.
    Suffix,
    /// Among the resource's attributes.
    Resource,
    /// Among the attributes of span events with this name (a pattern).
    Event(Text),
    /// Among the attributes of log records with this event name (a pattern); the key `body` is the record's body.
    Log(Text),
    /// Like `Log`, and also in records that name another span of the trace: they are matched by call id, counts and time.
    LogNear(Text),
    /// In the body or the attributes of log records whose scope has this name (a pattern).
    LogScope(Text),
    /// The span's name.
    Name,
}

/// When a rule applies. Each non-empty list needs at least one matching element.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Condition {
    /// Patterns of the instrumentation scope's name.
    pub scope: List<Text>,
    /// Patterns of the span's name.
    pub name: List<Text>,
    /// Patterns of keys, at least one of which the span must have.
    pub has: List<Text>,
    /// Patterns of keys, none of which the span may have.
    pub lacks: List<Text>,
    /// Kinds of the operation.
    pub kinds: List<Kind>,
    /// Keys, each with a pattern for its value.
    pub attribute: List<(Text, Text)>,
}

impl Condition {
    /// The condition that is always true.
    pub const ALWAYS: Self = Self {
        scope: &[],
        name: &[],
        has: &[],
        lacks: &[],
        kinds: &[],
        attribute: &[],
    };

    pub(super) fn applies_to_kind(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }
}

/// Whether `text` matches `pattern`: it is equal, or a `*` at the start, the end or both stands for anything.
#[must_use]
pub fn fits(pattern: &str, text: &str) -> bool {
    match pattern.as_bytes() {
        [b'*'] => true,
        [b'*', .., b'*'] => text.contains(pattern.trim_matches('*')),
        [.., b'*'] => pattern.strip_suffix('*').is_some_and(|start| text.starts_with(start)),
        [b'*', ..] => pattern.strip_prefix('*').is_some_and(|end| text.ends_with(end)),
        _ => pattern == text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(fits("completion *", "completion gpt-4o"));
        assert!(fits("*Handler", "a.b.PromptHandler"));
        assert!(fits("*embed*", "amazon.titan-embed-text-v2:0"));
        assert!(fits("*", ""));
        assert!(fits("x", "x"));
        assert!(!fits("x", "xy"));
    }

    #[test]
    fn words_are_their_own_inverse() {
        assert_eq!(Field::from_word(Field::UsageCacheRead.word()), Some(Field::UsageCacheRead));
        assert_eq!(Codec::from_word("no such codec"), None);
    }
}
