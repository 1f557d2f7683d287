//! The fields of an operation, one line each. A line defines the field's name in `semconv/`, its place and its type; reading,
//! writing, filling, documents' facts and the tests of every field are derived from it.
//!
//! Fields are read and written in this order: those that take a whole JSON text follow those that take a part of it.

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

    /// The model that an operation calls.
    struct Model,
    /// The called model.
    model: Model {
        /// The name that the caller asked for.
        ModelRequested "model.requested" => model.requested: Option<String> as "requested_model",
        /// The name that the provider answered with.
        ModelResponse "model.response" => model.response: Option<String> as "model",
        /// For example `openai`, lower case.
        Provider "provider" => model.provider: Option<String> as "provider",
    }

    {
        /// The model's input, beginning with the system prompt if known; `None` if not recorded.
        InputMessages "input.messages" = input_messages: Option<Messages> [Input],
        /// The span whose conversation this one continues.
        ContinuedSpan "continues.span_id",
        /// How many messages of that conversation are input.
        ContinuedMessages "continues.messages",
        /// How many messages at the end of that span's input are not input again; nor is its answer.
        ContinuedWithout "continues.without",
        /// The model's output, one message per choice; `None` if not recorded.
        OutputMessages "output.messages" = output_messages: Option<Vec<Message>> [Output],
        /// The model's tool calls, if recorded apart from its text.
        OutputCalls "output.calls",
        /// The system prompt.
        System "system" [Input],
        /// The whole input.
        Input "input" = input: Recorded [Input],
        /// The whole output.
        Output "output" = output: Recorded [Output],
    }

    /// Tokens of one model call. Input includes cache reads and writes, output includes reasoning.
    #[derive(Copy, Eq)]
    struct TokenCount,
    /// Tokens used.
    usage: TokenCount {
        /// Input tokens.
        UsageInput "usage.input" => usage.input: Option<u64>,
        /// Input tokens without cached ones.
        UsageInputExcludingCache "usage.input_excluding_cache",
        /// The value shared by spans that each record one event of an operation.
        EventGroup "event_group",
        /// Marks that the client sums up tokens over the calls of an agent.
        UsageRunningSum "usage.running_sum",
        /// Input tokens of one turn, recorded with the turn's message on the agent's span.
        UsageInputOfTurn "usage.input_of_turn",
        /// Likewise the output tokens of one turn.
        UsageOutputOfTurn "usage.output_of_turn",
        /// Output tokens.
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
        /// The total.
        CostTotal "cost.total" => cost.total: Option<f64>,
        /// For the prompt.
        CostInput "cost.input" => cost.input: Option<f64>,
        /// For the completion.
        CostOutput "cost.output" => cost.output: Option<f64>,
    }

    {
        /// `temperature`, `max_tokens`, ... by the names that the caller uses.
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
        /// The tool's arguments: an object, or a bare value if the client recorded only that.
        ToolArguments "tool.arguments" => tool.arguments: Option<Value> [Input],
        /// The tool's result.
        ToolResult "tool.result" => tool.result: Option<Value> [Output],
        /// Results of tools recorded on the agent's span.
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
        /// The query.
        SearchQuery "search.query" => search.query: Option<Value> [Input],
        /// The results; `None` if not recorded.
        SearchDocuments "search.documents" => search.documents: Option<Vec<Document>> [Output],
        /// The maximum number of documents to find.
        SearchTopK "search.top_k" => search.top_k: Option<u64> as "top_k",
        /// The number of matching documents, returned or not.
        SearchMatchCount "search.match_count" => search.match_count: Option<u64> as "match_count",
    }

    {
        /// The embedded texts.
        EmbeddedTexts "embedding.texts" = embedded_texts: Vec<String> as "embedded_texts" [Input],
        /// The number of resulting vectors.
        VectorCount "embedding.count" = vector_count: Option<u64> as "vector_count",
    }

    /// The agent that an operation belongs to, or is.
    struct Agent,
    /// The agent it belongs to or is.
    agent: Agent {
        /// Its name.
        AgentName "agent.name" => agent.name: Option<String> as "agent",
        /// Its id, if different from its name.
        AgentId "agent.id" => agent.id: Option<String> as "agent_id",
        /// What it is for.
        AgentDescription "agent.description" => agent.description: Option<String> as "agent_description",
        /// Its version.
        AgentVersion "agent.version" => agent.version: Option<String> as "agent_version",
        /// The framework that it is built with, if recorded.
        AgentFramework "agent.framework" => agent.framework: Option<String> as "framework",
    }

    {
        /// The agent that hands the run over.
        HandoffFrom "handoff.from",
        /// The agent that takes the run over.
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
        /// Its text before variables are filled in.
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

    /// Facts for training and replay tools (`spanbridge.*`).
    struct Training,
    /// Facts for training tools.
    training: Rare<Training> {
        /// Reward of this operation.
        Reward "reward" => training.reward: Option<f64>,
        /// Whether the episode ended here.
        Terminated "terminated" => training.terminated: Option<bool>,
        /// Whether the episode was truncated here.
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

    /// The agent's task (`spanbridge.task.*`).
    struct Task,
    /// Task description, goal and input (`spanbridge.task.*`).
    task: Rare<Task> {
        /// Its description.
        TaskDescription "task.description" => task.description: Option<String> [Input],
        /// What counts as success.
        TaskGoal "task.goal" => task.goal: Option<String> [Input],
        /// Structured input.
        TaskInput "task.input" => task.input: Option<Value> [Input],
    }

    /// A change of an agent's state (`spanbridge.state.*`), including that of the active agent by a handoff.
    struct StateChange,
    /// A change of state.
    state: Option<Box<StateChange>> {
        /// The changed value.
        StateKey "state.key" => state.key: Option<String>,
        /// The value before.
        StateOldValue "state.old_value" => state.old_value: Option<Value> [Input],
        /// The value after.
        StateNewValue "state.new_value" => state.new_value: Option<Value> [Output],
        /// The reason.
        StateReason "state.reason" => state.reason: Option<String>,
    }

    /// A question to a person (`spanbridge.interrupt.*`).
    struct Interrupt,
    /// A question to a person.
    interrupt: Option<Box<Interrupt>> {
        /// The question.
        InterruptPrompt "interrupt.prompt" => interrupt.prompt: Option<String> [Input],
        /// The person's answer.
        InterruptResponse "interrupt.response" => interrupt.response: Option<Value> [Output],
        /// The time until the answer, in milliseconds.
        InterruptWait "interrupt.wait_ms" => interrupt.wait_ms: Option<u64>,
    }

    /// A memory operation's own facts (`spanbridge.memory.*`, `gen_ai.memory.*`).
    struct Memory,
    /// Facts of a memory operation.
    memory: Option<Box<Memory>> {
        /// The type of the entity, for example `user`.
        MemoryEntityType "memory.entity_type" => memory.entity_type: Option<String>,
        /// The id of the entity.
        MemoryEntityId "memory.entity_id" => memory.entity_id: Option<String>,
        /// The store's name space.
        MemoryNamespace "memory.namespace" => memory.namespace: Option<Value>,
        /// The key in it.
        MemoryKey "memory.key" => memory.key: Option<String>,
        /// `add`, `update`, `delete` or `put`.
        MemoryOperation "memory.operation" => memory.operation: Option<String>,
        /// The written data.
        MemoryData "memory.data" => memory.data: Option<Value> [Input],
        /// Old and new values by path.
        MemoryChanges "memory.changes" => memory.changes: Option<Value> [Input],
        /// The query.
        MemoryQuery "memory.query" => memory.query: Option<Value> [Input],
        /// The results.
        MemoryResults "memory.results" => memory.results: Option<Value> [Output],
        /// The relevance of each result.
        MemoryScores "memory.scores" => memory.scores: Option<Value>,
        /// The total number of records.
        MemoryTotalAvailable "memory.total_available" => memory.total_available: Option<i64>,
    }

    /// The resources that a tool used (`spanbridge.resource_impact.*`).
    struct ResourceImpact,
    /// The resources that a tool used.
    resource_impact: Option<Box<ResourceImpact>> {
        /// The amount.
        ResourceAmount "resource_impact.amount" => resource_impact.amount: Option<f64>,
        /// The unit: `credits`, `USD`.
        ResourceUnit "resource_impact.unit" => resource_impact.unit: Option<String>,
        /// The amount by part.
        ResourceBreakdown "resource_impact.breakdown" => resource_impact.breakdown: Option<Value>,
    }

    /// The types of input and output (`spanbridge.input_type`, `spanbridge.format`).
    struct ContentType,
    /// The types of input and output.
    content_type: Rare<ContentType> {
        /// `text`, `file` and the like.
        InputType "input.type" => content_type.input: Option<String> as "input_type",
        /// `text`, `json`, `markdown` and the like.
        OutputFormat "output.format" => content_type.output: Option<String> as "format",
    }

    {
        /// `spanbridge.<format>` attributes: values of a source document that fit nowhere else.
        FormatExtras "format_extras" = format_extras: Map<String, Value> as "spanbridge",
        /// The provider's response as recorded in the spans: an object, or a list of messages.
        RawResponse "raw_response" = raw_response: Option<Value> [Output],
        /// The instrumentation's metadata.
        Metadata "metadata" = metadata: Map<String, Value> as "metadata",
        /// The encoding of another value, or a copy of another key's value.
        Beside "beside",
    }

    beside {
        /// Its kind.
        kind: Kind,
        /// The span's name.
        name: String,
        /// Why it failed.
        failure: Option<Failure>,
        /// Attributes that no dialect knows, by key.
        unmapped: Map<String, Value>,
        /// Whether they include text, under a key that a rule should read, or in a form that its rule does not read. Then input or
        /// output may have been recorded but not read.
        has_unread_words: bool,
    }
}

facts_of! { Evaluation { name, score, label, explanation, annotator_kind, } }
facts_of! { Failure { message, error_type, stacktrace, } }

impl Model {
    /// The answering model, else the requested one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.response.as_deref().or(self.requested.as_deref())
    }
}

impl TokenCount {
    /// The recorded total, else the sum of input and output, as far as known.
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

    /// Adds other counts; those missing from both stay unknown.
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
