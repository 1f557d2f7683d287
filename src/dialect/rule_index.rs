//! The rules of all dialects, found by the key, the event or the log record that they read.

use super::providers;
use super::rule::{Field, Location, Rule};
use super::words;
use crate::hash::{HashMap, HashSet};
use crate::operation::Kind;
use crate::span::TIMES_UNKNOWN;

/// Rules by what they read.
#[derive(Debug, Clone, Default)]
pub(super) struct RuleIndex {
    rules: Vec<Rule>,
    exact: HashMap<String, Vec<usize>>,
    prefixes: HashMap<String, Vec<usize>>,
    /// By the last words of a key: of keys without an index, and of those with one behind these words.
    suffixes: [HashMap<String, Vec<usize>>; 2],
    /// First parts of the keys that dialects know.
    heads: HashSet<String>,
    name_rules: Vec<usize>,
    event_rules: Vec<usize>,
    log_rules: Vec<usize>,
    resource_rules: Vec<usize>,
}

/// Whether a rule's key makes its first part a dialect's own. A rule for one producer's spans takes no framework's keys from others:
/// the `crewai.*` that one instrumentation writes says nothing about that of another.
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
    /// key has an index, the words before it count. What a setting is called, or what somebody expects, is not what anybody says.
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

    /// Whether a dialect has keys with this one's first part.
    pub(super) fn knows_head(&self, key: &str) -> bool {
        self.heads.contains(head(key))
    }

    /// Whether a key is one that a rule should read: it is of a dialect, or what clients call an input or output.
    pub(super) fn expects(&self, key: &str, kind: Kind) -> bool {
        let head = head(key);
        if head.len() == key.len() {
            // Other spans have such a `result` or `query` for other reasons.
            return BARE.contains(&key) && (kind != Kind::Plain || matches!(key, "input" | "output" | "arguments"));
        }
        if is_own(key) {
            return false;
        }
        // Ordinary spans have keys such as `entity.type` that are nobody's dialect there.
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

/// What is known of a key by its last words.
pub(super) struct Suffixed<R> {
    /// The rules, with their numbers.
    pub(super) rules: R,
    /// The length of the key before its index.
    pub(super) before: Option<usize>,
    /// Whether the word before those of the rule is missing or one for an operation: `tokens_in` and `acme.llm.tokens_in`, but
    /// not `quota.tokens_in`.
    pub(super) is_of_operation: bool,
}

/// Words for operations, and what they are made of.
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

/// Heads of keys that only clients of agents write, whatever their span is.
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

/// What we ourselves write beside an operation, for which no operation has a field: nothing of it went unread.
const OWN: [&str; 2] = ["spanbridge.session.", TIMES_UNKNOWN];

fn is_own(key: &str) -> bool {
    OWN.iter().any(|own| key.starts_with(own))
}

/// Words of a key whose value is about an input or output, but is none: `ai.settings.output`, `task.expected_output`.
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

/// Words of keys that a span has from those around it: they do not tell what the span itself is. LangChain's `ls_model_type`
/// gets to every span below through OpenLLMetry's association properties.
const INHERITED: [&str; 2] = ["baggage", "ls"];

/// Keys of one word for input or output.
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

/// First parts of keys that programs of all kinds have.
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

/// The part of a key before the first dot or colon: every rule for a prefix is filed under it.
pub(super) fn head(key: &str) -> &str {
    key.split(['.', ':']).next().unwrap_or(key)
}
