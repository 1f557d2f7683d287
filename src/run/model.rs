//! The types of a run, which formats read.

use serde_json::{Map, Value};

use super::id::{Id, IdVec, ScopeId, StepId};
use crate::operation::{Evaluation, Failure, Message, Messages, Operation, ToolCallId};
use crate::span::{SESSION_SCOPE, SpanId, TIMES_UNKNOWN, TraceId, UnixNanos};
use crate::trace::Finding;

/// One agent execution: the operations of one trace.
#[derive(Debug, Clone)]
pub struct Run {
    /// The trace.
    pub trace_id: TraceId,
    /// The session, if any span of the trace names one.
    pub session_id: Option<String>,
    /// The person, if any span names one.
    pub user_id: Option<String>,
    /// The earliest start of any span.
    pub started_at: UnixNanos,
    /// The latest end of any span; `None` until the root has ended.
    pub ended_at: Option<UnixNanos>,
    /// The agent that ran.
    pub agent: AgentInfo,
    /// Attributes of the root's resource.
    pub resource: Map<String, Value>,
    /// Why the run failed, if it did: the failure of the deepest failed span.
    pub failure: Option<RunFailure>,
    /// The operation that represents the whole run.
    pub root: Option<StepId>,
    /// Operations in causal order; parents precede their children.
    pub steps: IdVec<StepId, Step>,
    /// Agent scopes; the first is the outermost. Never empty unless `steps` is.
    pub scopes: IdVec<ScopeId, Scope>,
    /// The first question of the run, with the step that records it.
    pub question: Option<Utterance>,
    /// The last answer of the run.
    pub answer: Option<Utterance>,
    /// Facts of operations that are not separate steps in most formats, tags, metadata.
    pub metadata: Map<String, Value>,
    /// Oddities of the data.
    pub findings: Vec<Finding>,
    /// People's judgements after the run, in order. Those that count are steps, too.
    pub annotations: Vec<Annotation>,
}

impl Run {
    /// Whether it contains any operation of an agent: a run without one produces no document.
    #[must_use]
    pub fn has_agent_work(&self) -> bool {
        use crate::operation::Kind;
        self.steps
            .iter()
            .filter(|step| step.observed != Observed::Annotation)
            .any(|step| !matches!(step.operation.kind, Kind::Plain | Kind::Detail))
    }

    /// The session whose other runs contain the work of this trace: a client exported it in pieces, or it is in a session file.
    #[must_use]
    pub fn told_by_session(&self) -> Option<&str> {
        let is_mark = self.agent.instrumentation.as_deref() == Some(SESSION_SCOPE) && !self.has_agent_work();
        self.session_id.as_deref().filter(|_| is_mark)
    }

    /// Approximate size in bytes of messages that are input of more than one model call, counted each time: the memory that a
    /// format writing whole inputs needs on top of the spans' content.
    #[must_use]
    pub fn repeated_bytes(&self) -> usize {
        let inputs = self.steps.iter().filter_map(|step| step.operation.input_messages.as_ref());
        inputs.map(Messages::continued_size).fold(0, usize::saturating_add)
    }

    /// The outermost agents that record tokens or cost of which no model call has any.
    pub(crate) fn metered_agents(&self) -> Vec<&Operation> {
        use crate::operation::Kind;
        let has_counts = |operation: &Operation| !operation.usage.is_empty() || operation.cost != crate::operation::Cost::default();
        let is_call = |step: &&Step| matches!(step.operation.kind, Kind::Llm | Kind::Embedding | Kind::Rerank);
        if self.steps.iter().filter(is_call).any(|step| has_counts(&step.operation)) {
            return Vec::new();
        }
        // Parents precede their children.
        let mut inside: IdVec<StepId, bool> = IdVec::with_capacity(self.steps.len());
        let mut out = Vec::new();
        for step in &self.steps {
            let is_within = step.parent.is_some_and(|parent| inside.is_set(parent));
            let counts = matches!(step.operation.kind, Kind::Agent | Kind::Chain) && has_counts(&step.operation);
            if counts && !is_within {
                out.push(&*step.operation);
            }
            inside.push(is_within || counts);
        }
        out
    }

    /// The time of a step's text, unless it is a substitute.
    #[must_use]
    pub fn known_time(&self, step: Option<StepId>, at: UnixNanos) -> Option<UnixNanos> {
        let step = step.and_then(|step| self.steps.get(step));
        let is_known = |step: &Step| {
            let start = at == step.started_at && step.known_start().is_none();
            let end = Some(at) == step.ended_at && step.known_end().is_none();
            !start && !end
        };
        Some(at).filter(|at| at.0 > 0 && step.is_none_or(is_known))
    }

    /// The span of a step: its own, else that of the model call that asked for it.
    #[must_use]
    pub fn span_of(&self, step: &Step) -> Option<SpanId> {
        let asked_by = || step.dispatched_by.and_then(|call| self.steps.get(call)?.span_id);
        step.span_id.or_else(asked_by)
    }

    /// The run's own reward, else the sum of its steps' rewards.
    #[must_use]
    pub fn reward(&self) -> Option<f64> {
        let of = |step: &Step| step.operation.training.reward.filter(|reward| reward.is_finite());
        // The run's own reward is not part of the sum.
        let whole = self.root.and_then(|root| of(self.steps.get(root)?));
        whole.or_else(|| self.steps.iter().filter_map(of).reduce(|sum, reward| sum + reward))
    }
}

impl StepId {
    /// The index in [`Run::steps`].
    #[must_use]
    pub fn index(self) -> usize {
        Id::index(self)
    }

    /// The step; `None` if the run has no such step.
    #[must_use]
    pub fn of(self, run: &Run) -> Option<&Step> {
        run.steps.get(self)
    }
}

impl ScopeId {
    /// The index in [`Run::scopes`].
    #[must_use]
    pub fn index(self) -> usize {
        Id::index(self)
    }
}

/// The agent that ran.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentInfo {
    /// The root agent's name, else the service's.
    pub name: Option<String>,
    /// The agent's version, else the service's.
    pub version: Option<String>,
    /// The framework that the agent is built with, for example `langchain`; `custom` if it calls a provider's package directly.
    pub framework: Option<String>,
    /// The framework's version, if it records its spans itself.
    pub framework_version: Option<String>,
    /// Instrumentation scope of the root.
    pub instrumentation: Option<String>,
    /// Version of that scope.
    pub instrumentation_version: Option<String>,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunFailure {
    /// What went wrong.
    pub failure: Failure,
    /// The deepest span that failed.
    pub span_id: SpanId,
}

/// The question or the answer of a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Utterance {
    /// A text or another JSON value.
    pub content: Value,
    /// The step whose input or output it is.
    pub step: StepId,
    /// Its time.
    pub at: UnixNanos,
    /// Whether a model call contains it too; `false`: only an agent or chain span does.
    pub in_conversation: bool,
}

/// The evidence for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Observed {
    /// A span records it.
    Span,
    /// Only the messages of model calls contain it; its times lie between those calls.
    Messages,
    /// A person judged the run after it ended.
    Annotation,
}

/// A person's judgement of a run or a step after it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Annotation {
    /// Its own span.
    pub span_id: SpanId,
    /// The judged span.
    pub judged: Option<SpanId>,
    /// The judgement.
    pub evaluation: Evaluation,
    /// Who made it, if named.
    pub annotator: Option<String>,
    /// When it was made.
    pub at: Option<UnixNanos>,
    /// Whether it withdraws the person's previous judgement.
    pub withdraws: bool,
    /// Whether it is the last of its name, judged span and person, and not a withdrawal.
    pub counts: bool,
}

/// One operation of a run.
#[derive(Debug, Clone)]
pub struct Step {
    /// Unique in the run: the span id, or `<model call's span id>:<call id>` if a tool execution has no span.
    pub id: String,
    /// Its span, if it has one.
    pub span_id: Option<SpanId>,
    /// The nearest kept ancestor in the span tree.
    pub parent: Option<StepId>,
    /// The agent scope.
    pub scope: ScopeId,
    /// The evidence for it.
    pub observed: Observed,
    /// What it did.
    pub operation: Box<Operation>,
    /// When it began.
    pub started_at: UnixNanos,
    /// When it ended; `None` while it is running. Never before `started_at`.
    pub ended_at: Option<UnixNanos>,
    /// 1 for the scope's first model call and the tools it asked for, 2 for the next; `None` outside turns.
    pub turn: Option<u32>,
    /// For a tool: the model call that asked for it.
    pub dispatched_by: Option<StepId>,
    /// For a tool: the index of its call in that model call's output.
    pub call_index: Option<usize>,
    /// For a retrieval or memory operation: the tool around it, if any.
    pub inside_tool: Option<StepId>,
    /// For the scope's agent step: the tool step or model call that called this agent as a tool.
    pub called_by: Option<StepId>,
    /// Other spans of the same operation.
    pub evidence: Vec<SpanId>,
    /// The same model call in another trace (with the same provider response id). It depends on which traces are read together,
    /// so it appears in findings and counts of session documents, never in a document of one trace.
    pub same_call_as: Option<(TraceId, SpanId)>,
    /// The cost of a model call by the user's prices, in US dollars; `None` if spans record costs. Never written to documents.
    pub computed_cost: Option<f64>,
}

impl Step {
    /// A step with only its operation and times.
    pub(super) fn new(
        id: String,
        scope: ScopeId,
        operation: impl Into<Box<Operation>>,
        (started_at, ended_at): (UnixNanos, Option<UnixNanos>),
    ) -> Self {
        Self {
            id,
            span_id: None,
            parent: None,
            scope,
            observed: Observed::Span,
            operation: operation.into(),
            started_at,
            ended_at,
            turn: None,
            dispatched_by: None,
            call_index: None,
            inside_tool: None,
            called_by: None,
            evidence: Vec::new(),
            same_call_as: None,
            computed_cost: None,
        }
    }

    /// Milliseconds from start to end; `None` while it is running or if they were not measured.
    #[must_use]
    pub fn latency_ms(&self) -> Option<u64> {
        let unknown = self.times_unknown();
        if !unknown.is_empty() && !unknown.contains("duration known") {
            return None;
        }
        self.ended_at.map(|end| end.millis_since(self.started_at))
    }

    /// The start, unless it is a substitute.
    #[must_use]
    pub fn known_start(&self) -> Option<UnixNanos> {
        (!self.times_unknown().contains("start")).then_some(self.started_at)
    }

    /// The end, unless it is a substitute; `None` while it is running.
    #[must_use]
    pub fn known_end(&self) -> Option<UnixNanos> {
        self.ended_at.filter(|_| !self.times_unknown().contains("end"))
    }

    /// Which of its times are substitutes, by [`TIMES_UNKNOWN`].
    fn times_unknown(&self) -> &str {
        let marked = self.operation.unmapped.get(TIMES_UNKNOWN);
        marked.and_then(Value::as_str).unwrap_or_default()
    }

    /// The end, else the start.
    #[must_use]
    pub fn end_or_start(&self) -> UnixNanos {
        self.ended_at.unwrap_or(self.started_at)
    }
}

/// The work of one agent: the operations whose nearest agent it is.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// The agent's name.
    pub agent: Option<String>,
    /// The agent's step; `None` without an agent span above.
    pub step: Option<StepId>,
    /// The scope around it.
    pub parent: Option<ScopeId>,
    /// The tool step (in the parent scope) that called this agent: its conversation belongs inside that call.
    /// `None`: a top-level conversation.
    pub called_by: Option<StepId>,
    /// Whether it checks others' work (a guardrail's or an evaluator's model calls), or is outside the agents: it contains
    /// neither the run's question nor its answer.
    pub is_auxiliary: bool,
    /// Whether it has model calls of the agent around it that continue no earlier call: a separate conversation.
    pub is_unrelated: bool,
    /// The messages, each once, in causal order. Empty if the scope continues another scope's conversation.
    pub conversation: Vec<Entry>,
}

/// One entry of a conversation.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What happened.
    pub kind: EntryKind,
    /// The model call whose input (or output) contains it, or the operation that records it.
    pub step: Option<StepId>,
    /// Its time: the end of a turn, the end of a tool for its result, the start of the call for an input.
    pub at: UnixNanos,
    /// Whether the history was edited or cut before this entry: a branch of the conversation begins here.
    pub branch: bool,
}

/// The kind of a conversation entry.
#[derive(Debug, Clone)]
pub enum EntryKind {
    /// A system, developer or user message, or an assistant message in an input that no known call wrote: facts of
    /// [`Entry::step`] (tokens, response id) do not apply to it. Results of its tool calls follow.
    Message(Message),
    /// The output of a model call: text, reasoning, tool calls. The calls' results follow as separate entries. Without a step, it
    /// is the output of a call without a span, whose tools ran in this run.
    Turn(Message),
    /// A tool call known only from the tool's span, not from a model's output: its result follows.
    Call(CallEntry),
    /// A tool's result, after its call.
    Result(ResultEntry),
}

/// A tool call that no model's output asks for.
#[derive(Debug, Clone)]
pub struct CallEntry {
    /// Id of the call: the recorded one, else the tool's span id.
    pub call_id: ToolCallId,
    /// The tool's step.
    pub tool: StepId,
}

/// A tool's result.
#[derive(Debug, Clone)]
pub struct ResultEntry {
    /// Id of the call it answers, as used by the turn or call entry before it.
    pub call_id: ToolCallId,
    /// The tool's step; it also has the failure.
    pub tool: Option<StepId>,
    /// The tool's name, if a message with the result names it.
    pub tool_name: Option<String>,
    /// The result.
    pub result: Value,
    /// The result as the model received it, if different: shortened, moved to a file, an error in other words.
    pub given: Option<Value>,
    /// Why the tool failed.
    pub failure: Option<Failure>,
    /// 0 for the first result of this call id, 1 for the next (a retry).
    pub attempt: u32,
}
