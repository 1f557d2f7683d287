//! The kind of an operation.

/// The kind of an operation. The terms are those of OpenInference and OTel GenAI.
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
    /// A conversion of text to vectors.
    Embedding,
    /// A read of an agent's memory.
    MemoryRead,
    /// A write of an agent's memory.
    MemoryWrite,
    /// A handoff of the run from one agent to another.
    Handoff,
    /// A check of input or output.
    Guardrail,
    /// A judgement of an agent's work.
    Evaluator,
    /// The fetching or rendering of a prompt.
    Prompt,
    /// A decision that is not a model call.
    Decision,
    /// A question to a person.
    Interrupt,
    /// A message of a person.
    UserInput,
    /// The run's answer.
    FinalOutput,
    /// A change of the agent's state.
    StateChange,
    /// The creation of an agent, without any work yet.
    AgentCreate,
    /// A part of the operation around it.
    Detail,
    /// Marked as agent work, but of an unknown kind.
    Unknown,
    /// Not agent work: kept as a link between parents and children.
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
