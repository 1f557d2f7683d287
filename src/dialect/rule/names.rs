//! The fields of an operation that rules feed, and how values are written, by their names in `semconv/`.

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
        /// The span whose conversation goes on.
        ContinuedSpan = "continues.span_id",
        /// How many messages of that conversation went in.
        ContinuedMessages = "continues.messages",
        /// Messages out of the model.
        OutputMessages = "output.messages",
        /// The calls that the model asked for, where they stand apart from its words.
        OutputCalls = "output.calls",
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
        /// What spans have in common that tell of one operation, each of one event of it.
        ToldWith = "told_with",
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
        /// The model call that asked for the tool: its response id, or the id of its span.
        ToolAskedBy = "tool.asked_by",
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
        /// As `json`, but an empty object or list is none: clients write it where they leave a value out.
        FilledJson = "filled_json",
        /// As `json`, but only an object.
        JsonObject = "json_object",
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
        /// The members of one message, a key each: text, tool calls, reasoning, object (Vercel AI SDK).
        MessageMembers = "message_members",
        /// The members of one answer, a key each: its text or a list of its texts, its tool calls (Sentry).
        ResponseMembers = "response_members",
        /// Messages in one text, each behind its role and a colon at the begin of a line (OpenLIT).
        RoleLines = "role_lines",
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
        /// The name of a span that tells of one event of an operation, `tool.lookup.start-2`, without the event; as the name of a tool
        /// without its number, too.
        EventSpan = "event_span",
        /// The class in the dotted name of a method: `Travel` in `com.acme.Travel.answer`.
        ClassOfMethod = "class_of_method",
        /// A list of old GenAI events as JSON text: inputs, or the choices; without one, what the assistant said last.
        EventList = "event_list",
        /// The number of flattened entries below a prefix.
        Count = "count",
        /// A name in any case: `ToolCall`, `TOOL-CALL` and `SpanKind.TOOL_CALL` are `tool_call`.
        SnakeCase = "snake_case",
        /// JSON text behind a mark of its type, `@ag.type=json:` (Agenta); other text stays text.
        MarkedJson = "marked_json",
        /// Words, and behind `Tool calls:` a list of calls as Python prints it (NeMo Agent Toolkit).
        WordsThenCalls = "words_then_calls",
        /// Text, where it is no word for something that is not known: `unknown`, `None`.
        KnownText = "known_text",
        /// A model's id with the provider before it and the interface behind it: `openai/gpt-4o:completions` is `gpt-4o`.
        ModelOfId = "model_of_id",
        /// A span's name without the words around the tool's: `execute_tool search`, `tool: search`, `search.tool`.
        NameOfTool = "name_of_tool",
    }
}
