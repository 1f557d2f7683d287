//! The fields of an operation: one line for each. The line gives the field its
//! name in `semconv/`, its place and its type; reading, writing, filling, documents' facts and the tests of every field follow.
//!
//! Fields are read and written in this order: those that take all of a JSON text come after those that take a part of it.

use serde_json::{Map, Value};

use super::document::Document;
use super::evaluation::Evaluation;
use super::failure::Failure;
use super::kind::Kind;
use super::message::Message;
use super::messages::Messages;
use super::named::named;
use super::rare::{Rare, Sparse};
use super::recorded::Recorded;
use super::table::{facts_of, group, operation};
use super::tool_definition::ToolDefinition;
use super::value::{Content, FieldType as _, FieldValue, Group, Held, Slot};

operation! {
    {
        /// The operation's kind.
        Kind "kind",
    }

    /// Which model an operation calls.
    struct Model,
    /// The model it calls.
    model: Model {
        /// The name that the caller asked for.
        ModelRequested "model.requested" => model.requested: Option<String> as "requested_model",
        /// The name that the provider answered with.
        ModelResponse "model.response" => model.response: Option<String> as "model",
        /// For example `openai`, lower case.
        Provider "provider" => model.provider: Option<String> as "provider",
    }

    {
        /// What went into the model, the system prompt first where it is known; `None` if not recorded.
        InputMessages "input.messages" = input_messages: Option<Messages> [Input],
        /// The span whose conversation goes on.
        ContinuedSpan "continues.span_id",
        /// How many messages of that conversation went in.
        ContinuedMessages "continues.messages",
        /// How many messages at the end of what went into that span did not go in again, and none of its answer.
        ContinuedWithout "continues.without",
        /// What the model said, one message a choice; `None` if not recorded.
        OutputMessages "output.messages" = output_messages: Option<Vec<Message>> [Output],
        /// The calls that the model asked for, if they are apart from its words.
        OutputCalls "output.calls",
        /// The system prompt.
        System "system" [Input],
        /// What went in, as a whole.
        Input "input" = input: Recorded [Input],
        /// What came out, as a whole.
        Output "output" = output: Recorded [Output],
    }

    /// Tokens of one model call. Input includes cache reads and writes, output includes reasoning.
    #[derive(Copy, Eq)]
    struct TokenCount,
    /// Tokens used.
    usage: TokenCount {
        /// Tokens that went in.
        UsageInput "usage.input" => usage.input: Option<u64>,
        /// Input tokens without those of the cache.
        UsageInputExcludingCache "usage.input_excluding_cache",
        /// The value that spans of one operation have in common, each recording one event of it.
        EventGroup "event_group",
        /// Says that the client sums tokens up over the calls of an agent.
        UsageRunningSum "usage.running_sum",
        /// Input tokens of one turn, on the message of the turn that is on the agent's span.
        UsageInputOfTurn "usage.input_of_turn",
        /// The same of output tokens.
        UsageOutputOfTurn "usage.output_of_turn",
        /// Tokens that came out.
        UsageOutput "usage.output" => usage.output: Option<u64>,
        /// The recorded total.
        UsageTotal "usage.total" => usage.total: Option<u64>,
        /// Input tokens read from a cache.
        UsageCacheRead "usage.cache_read" => usage.cache_read: Option<u64>,
        /// Input tokens written to a cache.
        UsageCacheWrite "usage.cache_write" => usage.cache_write: Option<u64>,
        /// Output tokens spent on reasoning.
        UsageReasoning "usage.reasoning" => usage.reasoning: Option<u64>,
    }

    /// Money of one operation, in US dollars.
    #[derive(Copy)]
    struct Cost,
    /// Money spent.
    cost: Cost {
        /// In all.
        CostTotal "cost.total" => cost.total: Option<f64>,
        /// For the prompt.
        CostInput "cost.input" => cost.input: Option<f64>,
        /// For the completion.
        CostOutput "cost.output" => cost.output: Option<f64>,
    }

    {
        /// `temperature`, `max_tokens`, ... by the caller's names.
        Parameters "parameters" = parameters: Map<String, Value> as "parameters",
        /// One model parameter, named by the rest of the key.
        Parameter "parameter",
        /// `stop`, `tool_call`, `length`, `content_filter`, or the provider's own word.
        FinishReason "finish_reason" = finish_reason: Option<String> as "finish_reason",
        /// Seconds until the first token of a stream.
        FirstTokenSeconds "first_token.seconds" = time_to_first_token: Option<f64> as "time_to_first_token",
        /// Milliseconds to the first token.
        FirstTokenMillis "first_token.millis",
        /// The time of the first token: an event's time or ISO text.
        FirstTokenTime "first_token.time",
        /// The provider's id of the answer.
        ResponseId "response_id" = response_id: Option<String> as "response_id",
    }

    /// One execution of a tool.
    struct ToolUse,
    /// The tool execution.
    tool: Option<Box<ToolUse>> {
        /// The tool's name.
        ToolName "tool.name" => tool.name: Option<String>,
        /// What the tool is for.
        ToolDescription "tool.description" => tool.description: Option<String> as "tool_description",
        /// JSON Schema of the arguments.
        ToolParameters "tool.parameters" => tool.parameters: Option<Value> as "tool_parameters",
        /// The id that the model gave the call.
        ToolCallId "tool.call_id" => tool.call_id: Option<String>,
        /// The model call that asked for the tool: its response id, or the id of its span.
        ToolAskedBy "tool.asked_by",
        /// What the tool was called with: an object, or a bare value where the client recorded only that.
        ToolArguments "tool.arguments" => tool.arguments: Option<Value> [Input],
        /// What the tool gave back.
        ToolResult "tool.result" => tool.result: Option<Value> [Output],
        /// Results of tools that are on the agent's span.
        ToolResultOfChild "tool.result_of_child" [Output],
        /// The MCP server that offers the tool.
        McpServer "mcp.server" => tool.mcp_server: Option<String> as "mcp_server",
    }

    {
        /// Tools offered to the model.
        ToolDefinitions "tool.definitions" = tool_definitions: Vec<ToolDefinition>,
    }

    /// A retrieval, a reranking or a memory read.
    struct Search,
    /// The search.
    search: Option<Box<Search>> {
        /// What was looked for.
        SearchQuery "search.query" => search.query: Option<Value> [Input],
        /// What was found; `None` if not recorded.
        SearchDocuments "search.documents" => search.documents: Option<Vec<Document>> [Output],
        /// How many documents were to be found at most.
        SearchTopK "search.top_k" => search.top_k: Option<u64> as "top_k",
        /// How many documents match, found or not.
        SearchMatchCount "search.match_count" => search.match_count: Option<u64> as "match_count",
    }

    {
        /// Texts that were embedded.
        EmbeddedTexts "embedding.texts" = embedded_texts: Vec<String> as "embedded_texts" [Input],
        /// How many vectors came out.
        VectorCount "embedding.count" = vector_count: Option<u64> as "vector_count",
    }

    /// Which agent an operation belongs to, or is.
    struct Agent,
    /// The agent it belongs to or is.
    agent: Agent {
        /// Its name.
        AgentName "agent.name" => agent.name: Option<String> as "agent",
        /// Its id, where that is not its name.
        AgentId "agent.id" => agent.id: Option<String> as "agent_id",
        /// What it is for.
        AgentDescription "agent.description" => agent.description: Option<String> as "agent_description",
        /// Its version.
        AgentVersion "agent.version" => agent.version: Option<String> as "agent_version",
        /// The framework that it is built with, if recorded.
        AgentFramework "agent.framework" => agent.framework: Option<String> as "framework",
    }

    {
        /// The agent that hands over.
        HandoffFrom "handoff.from",
        /// The agent that takes over.
        HandoffTo "handoff.to",
        /// The conversation or session.
        SessionId "session.id" = session_id: Option<String> as "session_id",
        /// The person.
        UserId "user.id" = user_id: Option<String> as "user_id",
        /// Tags.
        Tags "tags" = tags: Vec<String> as "tags",
        /// The error's message.
        FailureMessage "failure.message",
        /// The error's type.
        FailureType "failure.type",
        /// The stack trace.
        FailureStacktrace "failure.stacktrace",
        /// A value that means failure.
        FailureFlag "failure.flag",
    }

    /// The prompt that an operation used or fetched.
    struct Prompt,
    /// The prompt.
    prompt: Rare<Prompt> {
        /// Its name or id.
        PromptId "prompt.id" => prompt.id: Option<String>,
        /// Its version.
        PromptVersion "prompt.version" => prompt.version: Option<String>,
        /// Its text before variables were put in.
        PromptTemplate "prompt.template" => prompt.template: Option<String> [Input],
        /// The variables.
        PromptVariables "prompt.variables" => prompt.variables: Option<Value> [Input],
    }

    {
        /// The workflow's name.
        Workflow "workflow" = workflow: Option<String> as "workflow",
        /// The node of a graph.
        GraphNode "graph.node" = graph_node: Option<String> as "graph_node",
    }

    /// What training and replay tools ask for (`spanbridge.*`).
    struct Training,
    /// What training tools ask for.
    training: Rare<Training> {
        /// Reward of this operation.
        Reward "reward" => training.reward: Option<f64>,
        /// Whether the episode ended here.
        Terminated "terminated" => training.terminated: Option<bool>,
        /// Whether the episode was cut here.
        Truncated "truncated" => training.truncated: Option<bool>,
        /// Token ids of the prompt.
        PromptTokenIds "token_ids.prompt" => training.prompt_token_ids: Option<Value>,
        /// Token ids of the completion.
        CompletionTokenIds "token_ids.completion" => training.completion_token_ids: Option<Value>,
        /// Log probabilities of the completion's tokens.
        Logprobs "logprobs" => training.logprobs: Option<Value>,
        /// Whether the prompt is a target of optimisation.
        Optimize "optimize" => training.optimize: Option<bool>,
        /// The reference output.
        Ideal "ideal" => training.ideal: Option<Value>,
        /// Index in a plan-act loop.
        Step "step" => training.step: Option<i64>,
    }

    {
        /// Judgements.
        Evaluations "evaluations" = evaluations: Vec<Evaluation>,
        /// Name of a judgement.
        EvaluationName "evaluation.name",
        /// Score of a judgement.
        EvaluationScore "evaluation.score",
        /// Label of a judgement.
        EvaluationLabel "evaluation.label",
        /// Explanation of a judgement.
        EvaluationExplanation "evaluation.explanation",
    }

    /// What the agent was to do (`spanbridge.task.*`).
    struct Task,
    /// Task description, goal and input (`spanbridge.task.*`).
    task: Rare<Task> {
        /// In words.
        TaskDescription "task.description" => task.description: Option<String> [Input],
        /// What counts as success.
        TaskGoal "task.goal" => task.goal: Option<String> [Input],
        /// Structured input.
        TaskInput "task.input" => task.input: Option<Value> [Input],
    }

    /// A change of an agent's state (`spanbridge.state.*`); also what a handoff does to the active agent.
    struct StateChange,
    /// A change of state.
    state: Option<Box<StateChange>> {
        /// Which value.
        StateKey "state.key" => state.key: Option<String>,
        /// Before.
        StateOldValue "state.old_value" => state.old_value: Option<Value> [Input],
        /// After.
        StateNewValue "state.new_value" => state.new_value: Option<Value> [Output],
        /// Why.
        StateReason "state.reason" => state.reason: Option<String>,
    }

    /// A question to a person (`spanbridge.interrupt.*`).
    struct Interrupt,
    /// A question to a person.
    interrupt: Option<Box<Interrupt>> {
        /// What was asked.
        InterruptPrompt "interrupt.prompt" => interrupt.prompt: Option<String> [Input],
        /// What the person said.
        InterruptResponse "interrupt.response" => interrupt.response: Option<Value> [Output],
        /// How long that took, in milliseconds.
        InterruptWait "interrupt.wait_ms" => interrupt.wait_ms: Option<u64>,
    }

    /// A memory operation's own facts (`spanbridge.memory.*`, `gen_ai.memory.*`).
    struct Memory,
    /// Facts of a memory operation.
    memory: Option<Box<Memory>> {
        /// For example `user`.
        MemoryEntityType "memory.entity_type" => memory.entity_type: Option<String>,
        /// Which entity.
        MemoryEntityId "memory.entity_id" => memory.entity_id: Option<String>,
        /// The store's name space.
        MemoryNamespace "memory.namespace" => memory.namespace: Option<Value>,
        /// The key in it.
        MemoryKey "memory.key" => memory.key: Option<String>,
        /// `add`, `update`, `delete` or `put`.
        MemoryOperation "memory.operation" => memory.operation: Option<String>,
        /// What was written.
        MemoryData "memory.data" => memory.data: Option<Value> [Input],
        /// Old and new values by path.
        MemoryChanges "memory.changes" => memory.changes: Option<Value> [Input],
        /// What was looked for.
        MemoryQuery "memory.query" => memory.query: Option<Value> [Input],
        /// What was found.
        MemoryResults "memory.results" => memory.results: Option<Value> [Output],
        /// How relevant each result is.
        MemoryScores "memory.scores" => memory.scores: Option<Value>,
        /// How many records there are in all.
        MemoryTotalAvailable "memory.total_available" => memory.total_available: Option<i64>,
    }

    /// What a tool cost or used up (`spanbridge.resource_impact.*`).
    struct ResourceImpact,
    /// What a tool used up.
    resource_impact: Option<Box<ResourceImpact>> {
        /// How much.
        ResourceAmount "resource_impact.amount" => resource_impact.amount: Option<f64>,
        /// Of what: `credits`, `USD`.
        ResourceUnit "resource_impact.unit" => resource_impact.unit: Option<String>,
        /// By part.
        ResourceBreakdown "resource_impact.breakdown" => resource_impact.breakdown: Option<Value>,
    }

    /// What kind of content goes in and comes out (`spanbridge.input_type`, `spanbridge.format`).
    struct ContentType,
    /// What kind of content goes in and comes out.
    content_type: Rare<ContentType> {
        /// `text`, `file` and the like.
        InputType "input.type" => content_type.input: Option<String> as "input_type",
        /// `text`, `json`, `markdown` and the like.
        OutputFormat "output.format" => content_type.output: Option<String> as "format",
    }

    {
        /// `spanbridge.<format>` attributes: what a source document had and nothing else fits.
        FormatExtras "format_extras" = format_extras: Map<String, Value> as "spanbridge",
        /// The provider's response as the spans hold it: an object, or a list of messages.
        RawResponse "raw_response" = raw_response: Option<Value> [Output],
        /// What the instrumentation calls metadata.
        Metadata "metadata" = metadata: Map<String, Value> as "metadata",
        /// The encoding of another value, or a copy of another key's value.
        Beside "beside",
    }

    beside {
        /// What it is.
        kind: Kind,
        /// The span's name.
        name: String,
        /// Why it failed.
        failure: Option<Failure>,
        /// Attributes that no dialect knows, by key.
        unmapped: Map<String, Value>,
        /// Whether words are among them: of a key that a rule should read, or in a form that its rule does not read. What went in or
        /// came out may then have been recorded, unread.
        has_unread_words: bool,
    }
}

facts_of! { Evaluation { name, score, label, explanation, annotator_kind, } }
facts_of! { Failure { message, error_type, stacktrace, } }

impl Model {
    /// The answering model, else the one asked for.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.response.as_deref().or(self.requested.as_deref())
    }
}

impl TokenCount {
    /// The recorded total, else input and output added as far as they are known.
    #[must_use]
    pub fn sum(&self) -> Option<u64> {
        self.total.or(match (self.input, self.output) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        })
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds other counts; what neither has stays unknown.
    #[cfg(feature = "server")]
    pub(crate) fn add(&mut self, more: &Self) {
        for (sum, more) in [
            (&mut self.input, more.input),
            (&mut self.output, more.output),
            (&mut self.total, more.total),
            (&mut self.cache_read, more.cache_read),
            (&mut self.cache_write, more.cache_write),
            (&mut self.reasoning, more.reasoning),
        ] {
            *sum = match (*sum, more) {
                (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
                (sum, more) => sum.or(more),
            };
        }
    }
}
