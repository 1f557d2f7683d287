//! One line of a dialect's table: where a fact is, how it is written, which field of an operation it feeds.

mod names;

use crate::operation::Kind;

pub use crate::operation::Field;
pub use names::Codec;

/// Text of a rule: rules live as long as the program.
pub type Text = &'static str;
/// A list, likewise.
pub type List<T> = &'static [T];

/// One rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The dialect's name: its folder in `semconv/`.
    pub dialect: Text,
    /// The exact key, or the part before the open suffix if `prefix`. Empty: the whole event or record.
    pub key: Text,
    /// Whether `key` is the beginning of many keys.
    pub prefix: bool,
    /// Where the key is.
    pub location: Location,
    /// The field that it feeds.
    pub field: Field,
    /// How the value is written.
    pub codec: Codec,
    /// Among rules for one field the lowest rank that has a value wins.
    pub rank: u16,
    /// When the rule applies.
    pub when: Condition,
    /// Paths into the parsed value, tried in order; empty: the value itself.
    pub paths: List<Text>,
    /// The dialect's words and ours. A `*` at the end of a word matches anything.
    pub values: List<(Text, Text)>,
}

/// The dialect of the rules that read what no other dialect knows, by the shapes that all share.
const UNKNOWN: &str = "unknown";

impl Rule {
    /// Whether it reads what no dialect knows.
    pub(super) fn is_of_unknown(&self) -> bool {
        self.dialect == UNKNOWN
    }

    /// Whether it applies wherever its own key is.
    pub(super) fn needs_only_itself(&self) -> bool {
        let others = Condition {
            has: &[],
            ..self.when.clone()
        };
        others == Condition::ALWAYS && matches!(self.when.has, [key] if *key == self.key)
    }

    /// Whether it looks for words of a dialect, and not only for any value.
    pub(super) fn has_words(&self) -> bool {
        !matches!(self.values, [("*", _)])
    }

    /// Whether it looks into JSON at once.
    pub(super) fn opens_json(&self) -> bool {
        matches!(self.codec, Codec::Json | Codec::ByMime) && !self.keeps_json()
    }

    /// Whether its JSON stays text until someone asks for it ([`crate::operation::Recorded`]).
    pub(super) fn keeps_json(&self) -> bool {
        matches!(self.codec, Codec::Json | Codec::ByMime)
            && matches!(self.field, Field::Input | Field::Output)
            && self.paths.is_empty()
            && self.values.is_empty()
    }

    /// Our word for a dialect's.
    pub(super) fn word(&self, text: &str) -> Option<&'static str> {
        // Most words of most rules differ in their first byte.
        let first = text.bytes().next().unwrap_or_default();
        let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
        let may_fit = |word: &str| matches!(word.as_bytes().first(), Some(begin) if [lower, upper, b'*'].contains(begin));
        let is_pattern = |word: &str| word.starts_with('*') || word.ends_with('*');
        let same = |word: &str| may_fit(word) && (word.eq_ignore_ascii_case(text) || (is_pattern(word) && fits(word, text)));
        self.values.iter().find(|(word, _)| same(word)).map(|(_, ours)| *ours)
    }
}

impl Field {
    /// Whether every rule for the field counts, and not only the first one that has a value.
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

    /// Whether the field is what went into an operation or came out of it.
    pub(super) fn is_content(self) -> bool {
        matches!(
            self,
            Self::InputMessages | Self::OutputMessages | Self::System | Self::Input | Self::Output | Self::ToolArguments | Self::ToolResult
        )
    }

    /// Whether a key of a known client that no rule reads may be a field by its shape alone: input, output, and what
    /// it cost. Whose session or which agent that is, other clients mean in their own ways.
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

    /// Whether an empty text is a value like any other.
    pub(super) fn keeps_empty(self) -> bool {
        matches!(self, Self::StateOldValue | Self::StateNewValue | Self::InterruptResponse)
    }
}

/// One line of a dialect's table read the other way: the key and the codec that a field of an operation is written with. In
/// `semconv/` it is a rule with `write`.
#[derive(Debug, Clone, PartialEq)]
pub struct InverseRule {
    /// The dialect's name.
    pub dialect: Text,
    /// The key, or the part before the open suffix if `prefix`.
    pub key: Text,
    /// Whether `key` is the beginning of many keys.
    pub prefix: bool,
    /// The field that is written.
    pub field: Field,
    /// How the value is written.
    pub codec: Codec,
    /// Kinds of operations on whose spans the key is; empty: all.
    pub kinds: List<Kind>,
    /// Our words and the dialect's; of several for one of ours the first is written.
    pub words: List<(Text, Text)>,
}

/// Where a key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Among the span's attributes.
    Span,
    /// Among the span's attributes, whatever precedes these words of the key.
    Suffix,
    /// Among the resource's attributes.
    Resource,
    /// Among the attributes of span events with this name (a pattern).
    Event(Text),
    /// Among the attributes of log records with this event name (a pattern); the key `body` is the record's body.
    Log(Text),
    /// Like `Log`, and in records that name another span of the trace: they find theirs by call id, counts and time.
    LogNear(Text),
    /// In the body or the attributes of log records whose scope has this name (a pattern).
    LogScope(Text),
    /// The span's name.
    Name,
}

/// When a rule applies. Each list that is not empty must have an element that matches.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Condition {
    /// Patterns of the instrumentation scope's name.
    pub scope: List<Text>,
    /// Patterns of the span's name.
    pub name: List<Text>,
    /// Patterns of keys of which the span has one.
    pub has: List<Text>,
    /// Patterns of keys of which the span has none (every element must hold).
    pub lacks: List<Text>,
    /// Kinds of the operation.
    pub kinds: List<Kind>,
    /// A key and a pattern of its value.
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

/// Whether `text` fits `pattern`: equal, or with a `*` at the start, at the end or at both, which matches anything.
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
