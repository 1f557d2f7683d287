//! What one span says that an agent did, free of any dialect.
//!
//! ```
//! use spanbridge::operation::{Kind, Message, Operation, Role};
//!
//! let answer = Message::text(Role::Assistant, "18 C");
//! let call = Operation { kind: Kind::Llm, output_messages: Some(vec![answer]), ..Operation::default() };
//! assert_eq!(call.kind, Kind::Llm);
//! // None: the span has no input.
//! assert!(call.input_messages.is_none());
//! ```

pub mod document;
pub mod message;
pub mod messages;
pub mod rare;
pub mod recorded;
pub mod tool_call_id;
pub mod usage;

use serde_json::{Map, Value};

pub use document::Document;
pub use message::{Message, Part, Role, ToolCall, arguments_text};
pub use messages::Messages;
pub use rare::{ContentType, Interrupt, Memory, Prompt, Rare, ResourceImpact, StateChange, Task, Training};
pub use recorded::{Form, Recorded};
pub use tool_call_id::ToolCallId;
pub use usage::{Cost, TokenCount};

/// The kind of an operation. The words are OpenInference's and OTel GenAI's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// A call of a language model.
    Llm,
    /// The execution of a tool.
    Tool,
    /// An agent, or a sub-agent.
    Agent,
    /// A workflow, a graph node, a step of a loop.
    Chain,
    /// A search for documents.
    Retrieval,
    /// A re-ordering of documents.
    Rerank,
    /// Text into vectors.
    Embedding,
    /// A read of an agent's memory.
    MemoryRead,
    /// A write of an agent's memory.
    MemoryWrite,
    /// One agent passes the run to another.
    Handoff,
    /// A check of what goes in or out.
    Guardrail,
    /// A judgement of what an agent did.
    Evaluator,
    /// A prompt was fetched or rendered.
    Prompt,
    /// A decision that is no model call.
    Decision,
    /// A person was asked.
    Interrupt,
    /// A person said something.
    UserInput,
    /// The run's answer.
    FinalOutput,
    /// A value of the agent's state changed.
    StateChange,
    /// An agent was made; it did nothing yet.
    AgentCreate,
    /// A part of the operation around it.
    Detail,
    /// Marked as agent work, but of an unknown kind.
    Unknown,
    /// Says nothing about agents: kept as a link between parents and children.
    #[default]
    Plain,
}

impl Kind {
    /// The kind's name in `semconv/` tables and in output for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Llm => "llm",
            Self::Tool => "tool",
            Self::Agent => "agent",
            Self::Chain => "chain",
            Self::Retrieval => "retrieval",
            Self::Rerank => "rerank",
            Self::Embedding => "embedding",
            Self::MemoryRead => "memory_read",
            Self::MemoryWrite => "memory_write",
            Self::Handoff => "handoff",
            Self::Guardrail => "guardrail",
            Self::Evaluator => "evaluator",
            Self::Prompt => "prompt",
            Self::Decision => "decision",
            Self::Interrupt => "interrupt",
            Self::UserInput => "user_input",
            Self::FinalOutput => "final_output",
            Self::StateChange => "state_change",
            Self::AgentCreate => "agent_create",
            Self::Detail => "detail",
            Self::Unknown => "unknown",
            Self::Plain => "plain",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Every kind.
    pub const ALL: [Self; 22] = [
        Self::Llm,
        Self::Tool,
        Self::Agent,
        Self::Chain,
        Self::Retrieval,
        Self::Rerank,
        Self::Embedding,
        Self::MemoryRead,
        Self::MemoryWrite,
        Self::Handoff,
        Self::Guardrail,
        Self::Evaluator,
        Self::Prompt,
        Self::Decision,
        Self::Interrupt,
        Self::UserInput,
        Self::FinalOutput,
        Self::StateChange,
        Self::AgentCreate,
        Self::Detail,
        Self::Unknown,
        Self::Plain,
    ];
}

/// Why an operation failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong, for people.
    pub message: Option<String>,
    /// The error's class or code (`error.type`, `exception.type`).
    pub error_type: Option<String>,
    /// The stack trace.
    pub stacktrace: Option<String>,
}

impl Failure {
    /// The message, else the type, else "error".
    #[must_use]
    pub fn text(&self) -> &str {
        self.message.as_deref().or(self.error_type.as_deref()).unwrap_or("error")
    }
}

/// Which agent an operation belongs to, or is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Agent {
    /// Its name.
    pub name: Option<String>,
    /// Its id, where that is not its name.
    pub id: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The framework that it is built with, where the spans say so.
    pub framework: Option<String>,
}

/// Which model an operation calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Model {
    /// The name that the caller asked for.
    pub requested: Option<String>,
    /// The name that the provider answered with.
    pub response: Option<String>,
    /// For example `openai`, lower case.
    pub provider: Option<String>,
}

impl Model {
    /// The answering model, else the one asked for.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.response.as_deref().or(self.requested.as_deref())
    }
}

/// One execution of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolUse {
    /// The tool's name.
    pub name: Option<String>,
    /// The id that the model gave the call.
    pub call_id: Option<String>,
    /// What the tool was called with: an object, or a bare value where the client recorded only that.
    pub arguments: Option<Value>,
    /// What the tool gave back.
    pub result: Option<Value>,
    /// What the tool is for.
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub parameters: Option<Value>,
    /// The MCP server that offers the tool.
    pub mcp_server: Option<String>,
}

/// A tool that was offered to a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolDefinition {
    /// The tool's name.
    pub name: String,
    /// What the tool is for.
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub parameters: Option<Value>,
}

/// A retrieval, a reranking or a memory read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Search {
    /// What was looked for.
    pub query: Option<Value>,
    /// What was found; `None` if the spans do not say.
    pub documents: Option<Vec<Document>>,
    /// How many documents were to be found at most.
    pub top_k: Option<u64>,
    /// How many documents match, found or not.
    pub match_count: Option<u64>,
}

/// A judgement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evaluation {
    /// What was judged, for example `relevance`.
    pub name: Option<String>,
    /// How good.
    pub score: Option<f64>,
    /// For example `pass`.
    pub label: Option<String>,
    /// Why.
    pub explanation: Option<String>,
    /// `HUMAN`, `LLM` or `CODE`.
    pub annotator_kind: Option<String>,
}

impl Evaluation {
    /// Adds what another dialect or another span tells: a score that is known is told once.
    pub(crate) fn add(known: &mut Vec<Self>, more: Vec<Self>) {
        fn agrees<T: PartialEq>(one: &Option<T>, other: &Option<T>) -> bool {
            one.is_none() || other.is_none() || one == other
        }
        let count = known.len();
        let mut told = vec![false; count];
        for evaluation in more {
            let is_told = |(one, told): (&Self, &bool)| {
                !told
                    && one.name == evaluation.name
                    && one.score == evaluation.score
                    && agrees(&one.label, &evaluation.label)
                    && agrees(&one.explanation, &evaluation.explanation)
                    && agrees(&one.annotator_kind, &evaluation.annotator_kind)
            };
            // More than a few scores of one operation are not compared.
            let at = known.iter().zip(&told).take(64).position(is_told);
            let Some((have, told)) = at.and_then(|at| Some((known.get_mut(at)?, told.get_mut(at)?))) else {
                known.push(evaluation);
                continue;
            };
            *told = true;
            have.label = have.label.take().or(evaluation.label);
            have.explanation = have.explanation.take().or(evaluation.explanation);
            have.annotator_kind = have.annotator_kind.take().or(evaluation.annotator_kind);
        }
    }
}

/// What one span says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Operation {
    /// What it is.
    pub kind: Kind,
    /// The span's name.
    pub name: String,
    /// The agent it belongs to or is.
    pub agent: Agent,
    /// The model it calls.
    pub model: Model,
    /// What went into the model, the system prompt first where it is known; `None` if not recorded.
    pub input_messages: Option<Messages>,
    /// What the model said, one message a choice; `None` if not recorded.
    pub output_messages: Option<Vec<Message>>,
    /// What went in, as a whole.
    pub input: Recorded,
    /// What came out, as a whole.
    pub output: Recorded,
    /// The provider's response as the spans hold it: an object, or a list of messages.
    pub raw_response: Option<Value>,
    /// The provider's id of the answer.
    pub response_id: Option<String>,
    /// `stop`, `tool_call`, `length`, `content_filter`, or the provider's own word.
    pub finish_reason: Option<String>,
    /// `temperature`, `max_tokens`, ... by the caller's names.
    pub parameters: Map<String, Value>,
    /// Tools offered to the model.
    pub tool_definitions: Vec<ToolDefinition>,
    /// Tokens used.
    pub usage: TokenCount,
    /// Money spent.
    pub cost: Cost,
    /// Seconds until the first token of a stream.
    pub time_to_first_token: Option<f64>,
    /// The tool execution.
    pub tool: Option<Box<ToolUse>>,
    /// The search.
    pub search: Option<Box<Search>>,
    /// Texts that were embedded.
    pub embedded_texts: Vec<String>,
    /// How many vectors came out.
    pub vector_count: Option<u64>,
    /// Facts of a memory operation.
    pub memory: Option<Box<Memory>>,
    /// A change of state.
    pub state: Option<Box<StateChange>>,
    /// A question to a person.
    pub interrupt: Option<Box<Interrupt>>,
    /// Judgements.
    pub evaluations: Vec<Evaluation>,
    /// What training tools ask for.
    pub training: Rare<Training>,
    /// What kind of content goes in and comes out.
    pub content_type: Rare<ContentType>,
    /// The prompt.
    pub prompt: Rare<Prompt>,
    /// What a tool used up.
    pub resource_impact: Option<Box<ResourceImpact>>,
    /// Task description, goal and input (`spanbridge.task.*`).
    pub task: Rare<Task>,
    /// The conversation or session.
    pub session_id: Option<String>,
    /// The person.
    pub user_id: Option<String>,
    /// The workflow's name.
    pub workflow: Option<String>,
    /// The node of a graph.
    pub graph_node: Option<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// What the instrumentation calls metadata.
    pub metadata: Map<String, Value>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// `spanbridge.<format>` attributes: what a source document had and nothing else fits.
    pub format_extras: Map<String, Value>,
    /// Attributes that no dialect knows, by key.
    pub unmapped: Map<String, Value>,
    /// Whether words are among them: of a key that a rule should read, or in a form that its rule does not read. What went in or
    /// came out may then have been recorded, unread.
    pub has_unread_words: bool,
}
