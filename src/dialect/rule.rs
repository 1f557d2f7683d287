//! One line of a dialect's table: where a fact stands, how it is written, which field of an operation it feeds.

use crate::operation::Kind;
use crate::span::Span;

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
    /// Where the key stands.
    pub place: Place,
    /// The field that it feeds.
    pub field: Field,
    /// How the value is written.
    pub codec: Codec,
    /// Among rules for one field the lowest rank that has a value wins.
    pub rank: u16,
    /// When the rule holds.
    pub when: Condition,
    /// Paths into the parsed value, tried in order; empty: the value itself.
    pub paths: List<Text>,
    /// The dialect's words and ours. A `*` at the end of a word stands for anything.
    pub values: List<(Text, Text)>,
}

/// The dialect of the rules that read what no other dialect knows, by the shapes that all share.
const UNKNOWN: &str = "unknown";

impl Rule {
    /// Whether it reads what no dialect knows.
    pub(super) fn is_of_unknown(&self) -> bool {
        self.dialect == UNKNOWN
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
        // Most words of most rules are told apart by their first byte.
        let first = text.bytes().next().map(|byte| byte.to_ascii_lowercase());
        let may_fit = |word: &str| {
            let begin = word.bytes().next().map(|byte| byte.to_ascii_lowercase());
            begin == first || begin == Some(b'*')
        };
        let same = |word: &str| may_fit(word) && (word.eq_ignore_ascii_case(text) || (word.contains('*') && fits(word, text)));
        self.values.iter().find(|(word, _)| same(word)).map(|(_, ours)| *ours)
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
    /// Kinds of operations on whose spans the key stands; empty: all.
    pub kinds: List<Kind>,
    /// Our words and the dialect's; of several for one of ours the first is written.
    pub words: List<(Text, Text)>,
}

/// Where a key stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Among the span's attributes.
    Span,
    /// Among the span's attributes, whatever stands before these words of the key.
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

/// When a rule holds. Each list that is not empty must have an element that holds.
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
    /// The condition that always holds.
    pub const ALWAYS: Self = Self {
        scope: &[],
        name: &[],
        has: &[],
        lacks: &[],
        kinds: &[],
        attribute: &[],
    };

    pub(super) fn holds_for_kind(&self, kind: Kind) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&kind)
    }

    /// Whether it holds for all spans with this one's scope and keys, as far as those say.
    pub(super) fn holds_for_keys(&self, span: &Span) -> bool {
        let has = |pattern: &&str| span.attributes.iter().any(|(key, _)| fits(pattern, key));
        (self.scope.is_empty() || self.scope.iter().any(|pattern| fits(pattern, &span.scope.name)))
            && (self.has.is_empty() || self.has.iter().any(has))
            && !self.lacks.iter().any(has)
    }
}

/// Whether `text` fits `pattern`: equal, or with one `*` at the start or the end standing for anything.
#[must_use]
pub fn fits(pattern: &str, text: &str) -> bool {
    match pattern.as_bytes() {
        [b'*'] => true,
        [.., b'*'] => pattern.strip_suffix('*').is_some_and(|start| text.starts_with(start)),
        [b'*', ..] => pattern.strip_prefix('*').is_some_and(|end| text.ends_with(end)),
        _ => pattern == text,
    }
}

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$item_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$item_doc])* $variant,)* }

        impl $name {
            /// The word in `semconv/`.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The one with this word.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }

            /// Every one, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name of the variant, for generated code.
            #[must_use]
            pub fn variant(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)* }
            }
        }
    };
}

named! {
    /// A field of an operation.
    Field {
        /// The operation's kind.
        Kind = "kind",
        /// Model asked for.
        ModelRequested = "model.requested",
        /// Model that answered.
        ModelResponse = "model.response",
        /// The model's provider.
        Provider = "provider",
        /// Messages into the model.
        InputMessages = "input.messages",
        /// Messages out of the model.
        OutputMessages = "output.messages",
        /// The system prompt.
        System = "system",
        /// The input as a whole.
        Input = "input",
        /// The output as a whole.
        Output = "output",
        /// All input tokens.
        UsageInput = "usage.input",
        /// Input tokens without those of the cache.
        UsageInputExcludingCache = "usage.input_excluding_cache",
        /// Says that the client sums tokens up over the calls of an agent.
        UsageRunningSum = "usage.running_sum",
        /// Output tokens.
        UsageOutput = "usage.output",
        /// Total tokens.
        UsageTotal = "usage.total",
        /// Tokens read from a cache.
        UsageCacheRead = "usage.cache_read",
        /// Tokens written to a cache.
        UsageCacheWrite = "usage.cache_write",
        /// Reasoning tokens.
        UsageReasoning = "usage.reasoning",
        /// Cost in US dollars.
        CostTotal = "cost.total",
        /// Cost of the input.
        CostInput = "cost.input",
        /// Cost of the output.
        CostOutput = "cost.output",
        /// A map of model parameters; maps are merged.
        Parameters = "parameters",
        /// One model parameter, named by the rest of the key.
        Parameter = "parameter",
        /// Why the model stopped.
        FinishReason = "finish_reason",
        /// Seconds to the first token.
        FirstTokenSeconds = "first_token.seconds",
        /// Milliseconds to the first token.
        FirstTokenMillis = "first_token.millis",
        /// The time of the first token: an event's time or ISO text.
        FirstTokenTime = "first_token.time",
        /// The provider's id of the answer.
        ResponseId = "response_id",
        /// The tool's name.
        ToolName = "tool.name",
        /// What the tool is for.
        ToolDescription = "tool.description",
        /// JSON Schema of the tool's arguments.
        ToolParameters = "tool.parameters",
        /// Id of the call.
        ToolCallId = "tool.call_id",
        /// Arguments of the call.
        ToolArguments = "tool.arguments",
        /// Result of the call.
        ToolResult = "tool.result",
        /// Results of tools that stand on the agent's span.
        ToolResultOfChild = "tool.result_of_child",
        /// The MCP server of the tool.
        McpServer = "mcp.server",
        /// Tools offered to the model.
        ToolDefinitions = "tool.definitions",
        /// What was looked for.
        SearchQuery = "search.query",
        /// What was found.
        SearchDocuments = "search.documents",
        /// How many to find at most.
        SearchTopK = "search.top_k",
        /// How many documents match, found or not.
        SearchMatchCount = "search.match_count",
        /// Texts that were embedded.
        EmbeddedTexts = "embedding.texts",
        /// How many vectors came out.
        VectorCount = "embedding.count",
        /// The agent's name.
        AgentName = "agent.name",
        /// The agent's id.
        AgentId = "agent.id",
        /// What the agent is for.
        AgentDescription = "agent.description",
        /// The agent's version.
        AgentVersion = "agent.version",
        /// The framework that the agent is built with.
        AgentFramework = "agent.framework",
        /// The agent that hands over.
        HandoffFrom = "handoff.from",
        /// The agent that takes over.
        HandoffTo = "handoff.to",
        /// The session.
        SessionId = "session.id",
        /// The person.
        UserId = "user.id",
        /// Tags.
        Tags = "tags",
        /// The error's message.
        FailureMessage = "failure.message",
        /// The error's type.
        FailureType = "failure.type",
        /// The stack trace.
        FailureStacktrace = "failure.stacktrace",
        /// A value that means failure.
        FailureFlag = "failure.flag",
        /// Id of the prompt.
        PromptId = "prompt.id",
        /// Version of the prompt.
        PromptVersion = "prompt.version",
        /// Template of the prompt.
        PromptTemplate = "prompt.template",
        /// Variables of the prompt.
        PromptVariables = "prompt.variables",
        /// The workflow's name.
        Workflow = "workflow",
        /// The node of a graph.
        GraphNode = "graph.node",
        /// Index in a plan-act loop.
        Step = "step",
        /// Judgements.
        Evaluations = "evaluations",
        /// Name of a judgement.
        EvaluationName = "evaluation.name",
        /// Score of a judgement.
        EvaluationScore = "evaluation.score",
        /// Label of a judgement.
        EvaluationLabel = "evaluation.label",
        /// Explanation of a judgement.
        EvaluationExplanation = "evaluation.explanation",
        /// What the agent was to do.
        TaskDescription = "task.description",
        /// What counts as success.
        TaskGoal = "task.goal",
        /// The task's structured input.
        TaskInput = "task.input",
        /// Which state changed.
        StateKey = "state.key",
        /// The state before.
        StateOldValue = "state.old_value",
        /// The state after.
        StateNewValue = "state.new_value",
        /// Why the state changed.
        StateReason = "state.reason",
        /// What a person was asked.
        InterruptPrompt = "interrupt.prompt",
        /// What the person said.
        InterruptResponse = "interrupt.response",
        /// How long that took, in milliseconds.
        InterruptWait = "interrupt.wait_ms",
        /// Type of the remembered entity.
        MemoryEntityType = "memory.entity_type",
        /// Id of the remembered entity.
        MemoryEntityId = "memory.entity_id",
        /// Name space of the memory.
        MemoryNamespace = "memory.namespace",
        /// Key in the memory.
        MemoryKey = "memory.key",
        /// What was done to the memory.
        MemoryOperation = "memory.operation",
        /// What was written.
        MemoryData = "memory.data",
        /// Old and new values.
        MemoryChanges = "memory.changes",
        /// What was looked for in the memory.
        MemoryQuery = "memory.query",
        /// What the memory gave.
        MemoryResults = "memory.results",
        /// How relevant each result is.
        MemoryScores = "memory.scores",
        /// How many records there are.
        MemoryTotalAvailable = "memory.total_available",
        /// How much a tool used up.
        ResourceAmount = "resource_impact.amount",
        /// Of what.
        ResourceUnit = "resource_impact.unit",
        /// By part.
        ResourceBreakdown = "resource_impact.breakdown",
        /// Reward.
        Reward = "reward",
        /// Whether the episode ended.
        Terminated = "terminated",
        /// Whether the episode was cut.
        Truncated = "truncated",
        /// Token ids of the prompt.
        PromptTokenIds = "token_ids.prompt",
        /// Token ids of the completion.
        CompletionTokenIds = "token_ids.completion",
        /// Log probabilities.
        Logprobs = "logprobs",
        /// Whether the prompt is to be optimised.
        Optimize = "optimize",
        /// What kind of content goes in: `text`, `file`.
        InputType = "input.type",
        /// How the output is written: `text`, `json`, `markdown`.
        OutputFormat = "output.format",
        /// The reference output.
        Ideal = "ideal",
        /// What a source document had and nothing else fits, by format.
        FormatExtras = "format_extras",
        // Those that take all of a JSON text come after those that look for a part of it.
        /// The provider's response body.
        RawResponse = "raw_response",
        /// A map of metadata; maps are merged.
        Metadata = "metadata",
        /// Says how another value is written, or repeats what another key says.
        Beside = "beside",
    }
}

named! {
    /// How a value is written.
    Codec {
        /// Text; other scalars as text.
        Text = "text",
        /// An integer, or decimal text.
        Int = "int",
        /// A number, or decimal text.
        Float = "float",
        /// A truth value, or `true` / `false` as text.
        Bool = "bool",
        /// A list of texts: native, JSON text, or one bare word.
        Texts = "texts",
        /// A list or map, native or as JSON text; other text stays text.
        Json = "json",
        /// JSON text in which every value is quoted, once or twice.
        JsonText = "json_text",
        /// Flattened indexed keys below a prefix, made into a list or map.
        Flat = "flat",
        /// Keys below a prefix, made into a map.
        Map = "map",
        /// Keys below a prefix whose values are JSON text.
        MapOfJson = "map_of_json",
        /// What Python prints of a value: a dict, a list, or the call of a class.
        Python = "python",
        /// A list of JSON texts.
        ListOfJson = "list_of_json",
        /// Several values in fixed places: text, tool calls, reasoning, object (Vercel AI SDK).
        VercelOutput = "vercel_output",
        /// One message an event; the role is in the event's name.
        MessageEvent = "message_event",
        /// Messages whose calls and results stand in their texts as `[tool: name]` and `[tool-result: name]` (Mastra).
        ToolMarks = "tool_marks",
        /// A title line, then texts in brackets (Spring AI's log bodies).
        BracketedTexts = "bracketed_texts",
        /// One text that holds all messages.
        PlainText = "plain_text",
        /// Text before the first slash.
        BeforeSlash = "before_slash",
        /// A decimal number and a currency.
        Money = "money",
        /// Comma-separated text.
        CommaSeparated = "comma_separated",
        /// ISO 8601 text or the event's own time.
        Time = "time",
        /// As `json`, and any JSON text where the sibling key `<..>.mime_type` says `application/json`.
        ByMime = "by_mime",
        /// As `json`, but never a JSON Schema: several clients write arguments under the schema's key.
        NotSchema = "not_schema",
        /// The last word of a text.
        LastWord = "last_word",
        /// A list of old GenAI events as JSON text: inputs, or the choice at the end.
        EventList = "event_list",
        /// The number of flattened entries below a prefix.
        Count = "count",
        /// A name in any case: `ToolCall`, `TOOL-CALL` and `SpanKind.TOOL_CALL` are `tool_call`.
        SnakeCase = "snake_case",
        /// A span's name without the words around the tool's: `execute_tool search`, `tool: search`, `search.tool`.
        NameOfTool = "name_of_tool",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(fits("completion *", "completion gpt-4o"));
        assert!(fits("*Handler", "a.b.PromptHandler"));
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
