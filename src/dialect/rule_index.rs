//! Finds the rules of all dialects by the key, event or log record that they read.

use super::providers;
use super::rule::{Field, Location, Rule};
use super::words;
use crate::hash::{HashMap, HashSet};
use crate::operation::Kind;
use crate::span::TIMES_UNKNOWN;

/// Rules, indexed by what they read.
#[derive(Debug, Clone, Default)]
pub(super) struct RuleIndex {
    rules: Vec<Rule>,
    exact: HashMap<String, Vec<usize>>,
    prefixes: HashMap<String, Vec<usize>>,
    /// By the last words of a key: first for keys without an index, then for keys with an index after these words.
    suffixes: [HashMap<String, Vec<usize>>; 2],
    /// First parts of the keys that dialects know.
    heads: HashSet<String>,
    name_rules: Vec<usize>,
    event_rules: Vec<usize>,
    log_rules: Vec<usize>,
    resource_rules: Vec<usize>,
}

/// Whether a rule's key claims its first part for the dialect. A rule for one producer's spans does not claim a framework's keys:
/// `crewai.*` as written by one instrumentation says nothing about another's.
fn claims_head(rule: &Rule) -> bool {
    let of = head(rule.key);
    let is_of_one_producer = !rule.when.scope.is_empty() || rule.when.attribute.iter().any(|(key, _)| head(key) != of);
    let is_framework = providers::name(of).is_none();
    !(is_of_one_producer && is_framework && of != rule.dialect && of.len() < rule.key.len())
}

impl RuleIndex {
    pub(super) fn new(rules: Vec<Rule>) -> Self {
        let mut made = Self::default();
        for (index, rule) in rules.iter().enumerate() {
            if rule.location == Location::Span && claims_head(rule) {
                let _ = made.heads.insert(head(rule.key).to_owned());
            }
            match rule.location {
                Location::Suffix => {
                    let [plain, indexed] = &mut made.suffixes;
                    let suffixes = if rule.prefix { indexed } else { plain };
                    suffixes.entry(words::of(rule.key)).or_default().push(index);
                }
                Location::Span if rule.prefix => made.prefixes.entry(head(rule.key).to_owned()).or_default().push(index),
                Location::Span => made.exact.entry(rule.key.to_owned()).or_default().push(index),
                Location::Resource => made.resource_rules.push(index),
                Location::Event(_) => made.event_rules.push(index),
                Location::Log(_) | Location::LogNear(_) | Location::LogScope(_) => made.log_rules.push(index),
                Location::Name => made.name_rules.push(index),
            }
        }
        made.rules = rules;
        made
    }

    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    pub(super) fn rule(&self, index: usize) -> Option<&Rule> {
        self.rules.get(index)
    }

    /// Numbered rules for a span attribute with exactly this key.
    pub(super) fn exact(&self, key: &str) -> impl Iterator<Item = (usize, &Rule)> {
        self.numbered(self.exact.get(key).map_or(&[], Vec::as_slice))
    }

    /// Numbered rules for a prefix of this key.
    pub(super) fn prefixed<'a>(&'a self, key: &'a str) -> impl Iterator<Item = (usize, &'a Rule)> {
        let list = self.prefixes.get(head(key)).map_or(&[][..], Vec::as_slice);
        self.numbered(list).filter(move |(_, rule)| key.starts_with(rule.key))
    }

    /// Numbered rules for the longest known ending of this key's words. If the key has an index, the words before it count. Names of
    /// settings or expected values do not count as content.
    pub(super) fn suffixed(&self, key: &str) -> Suffixed<impl Iterator<Item = (usize, &Rule)>> {
        let before = words::before_index(key);
        let all = words::of(before.and_then(|end| key.get(..end)).unwrap_or(key));
        let [plain, indexed] = &self.suffixes;
        let suffixes = if before.is_some() { indexed } else { plain };
        let found = words::endings(&all)
            .filter(|_| !is_own(key))
            .find_map(|ending| Some((ending, suffixes.get(ending)?)));
        let (ending, list) = found.map_or(("", &[][..]), |(ending, list)| (ending, list.as_slice()));
        let words = all.strip_suffix(ending).unwrap_or_default().trim_end_matches('.');
        let is_aside = !list.is_empty() && words.split('.').any(|word| ASIDE.contains(&word));
        let is_inherited = words.split('.').any(|word| INHERITED.contains(&word));
        let is_of_operation = words
            .rsplit('.')
            .next()
            .is_none_or(|word| word.is_empty() || OF_OPERATIONS.contains(&word));
        Suffixed {
            rules: self
                .numbered(list)
                .filter(move |(_, rule)| !(is_aside && rule.field.is_content() || is_inherited && rule.field == Field::Kind)),
            before,
            is_of_operation,
        }
    }

    /// Whether a dialect has keys with this first part.
    pub(super) fn knows_head(&self, key: &str) -> bool {
        self.heads.contains(head(key))
    }

    /// Whether a rule should read this key: it belongs to a dialect, or clients use it for input or output.
    pub(super) fn expects(&self, key: &str, kind: Kind) -> bool {
        let head = head(key);
        if head.len() == key.len() {
            // Other spans have a `result` or `query` for other reasons.
            return BARE.contains(&key) && (kind != Kind::Plain || matches!(key, "input" | "output" | "arguments"));
        }
        if is_own(key) {
            return false;
        }
        // On ordinary spans, keys such as `entity.type` belong to no dialect.
        !GENERAL.contains(&head) && self.heads.contains(head) && (kind != Kind::Plain || OF_AGENTS.contains(&head))
    }

    pub(super) fn name_rules(&self) -> impl Iterator<Item = (usize, &Rule)> {
        self.numbered(&self.name_rules)
    }

    pub(super) fn event_rules(&self) -> impl Iterator<Item = (usize, &Rule)> {
        self.numbered(&self.event_rules)
    }

    pub(super) fn log_rules(&self) -> impl Iterator<Item = (usize, &Rule)> {
        self.numbered(&self.log_rules)
    }

    pub(super) fn resource_rules(&self) -> impl Iterator<Item = (usize, &Rule)> {
        self.numbered(&self.resource_rules)
    }

    fn numbered<'a>(&'a self, list: &'a [usize]) -> impl Iterator<Item = (usize, &'a Rule)> {
        list.iter().filter_map(|index| Some((*index, self.rule(*index)?)))
    }
}

/// The result of looking up a key by its last words.
pub(super) struct Suffixed<R> {
    /// The rules, with their numbers.
    pub(super) rules: R,
    /// Length of the key before its index.
    pub(super) before: Option<usize>,
    /// Whether the rule's words come first or follow a word for operations: `tokens_in` and `acme.llm.tokens_in`, but not
    /// `quota.tokens_in`.
    pub(super) is_of_operation: bool,
}

/// Words for operations and their parts.
const OF_OPERATIONS: [&str; 30] = [
    "agent",
    "ai",
    "call",
    "chain",
    "chat",
    "completion",
    "function",
    "gen",
    "generation",
    "inference",
    "input",
    "llm",
    "ls",
    "message",
    "model",
    "operation",
    "output",
    "prompt",
    "request",
    "response",
    "run",
    "session",
    "span",
    "step",
    "task",
    "token",
    "tokens",
    "tool",
    "usage",
    "workflow",
];

/// First parts of keys that only agent clients write, on any span.
const OF_AGENTS: [&str; 12] = [
    "ai",
    "braintrust",
    "gen_ai",
    "langfuse",
    "langsmith",
    "llm",
    "lmnr",
    "logfire",
    "mastra",
    "mlflow",
    "openinference",
    "traceloop",
];

/// Keys we write next to an operation that have no field; they do not count as unread.
const OWN_KEYS: [&str; 2] = ["spanbridge.session.", TIMES_UNKNOWN];

fn is_own(key: &str) -> bool {
    OWN_KEYS.iter().any(|own| key.starts_with(own))
}

/// Words that mark a key as related to input or output without being it: `ai.settings.output`, `task.expected_output`.
const ASIDE: [&str; 14] = [
    "cache",
    "cached",
    "config",
    "configuration",
    "expected",
    "human",
    "max",
    "metadata",
    "min",
    "options",
    "scope",
    "setting",
    "settings",
    "tag",
];

/// Words of keys inherited from enclosing spans, which do not tell what a span itself is. OpenLLMetry's association properties copy
/// LangChain's `ls_model_type` to every span below.
const INHERITED: [&str; 2] = ["baggage", "ls"];

/// Single-word keys for input or output.
const BARE: [&str; 14] = [
    "input",
    "output",
    "inputs",
    "outputs",
    "arguments",
    "args",
    "result",
    "results",
    "prompt",
    "completion",
    "messages",
    "response",
    "query",
    "question",
];

/// First parts of keys that all kinds of programs use.
const GENERAL: [&str; 24] = [
    "error",
    "exception",
    "user",
    "session",
    "enduser",
    "code",
    "thread",
    "http",
    "url",
    "server",
    "client",
    "network",
    "service",
    "telemetry",
    "deployment",
    "process",
    "host",
    "os",
    "db",
    "rpc",
    "metadata",
    "tag",
    "otel",
    "event",
];

/// The part of a key before the first dot or colon, under which prefix rules are filed.
pub(super) fn head(key: &str) -> &str {
    key.split(['.', ':']).next().unwrap_or(key)
}
