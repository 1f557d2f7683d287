//! Determines which operations the conversations of a run cover, and how to present the others.

use std::collections::BTreeMap;

use super::call_place::CallPlace;
use super::handoffs::HandoffCalls;
use super::repeated;
use crate::hash::{HashMap, HashSet};
use crate::operation::Kind;
use crate::run::{EntryKind, IdVec, Run, ScopeId, Step, StepId};
use crate::span::UnixNanos;

/// A run with the indexes that formats need.
#[derive(Debug)]
pub(crate) struct Transcript<'a> {
    pub(super) run: &'a Run,
    /// For each step, whether an entry of a conversation shows it.
    in_conversation: IdVec<StepId, bool>,
    /// For each step, whether it is inside a tool.
    inside_tool: IdVec<StepId, bool>,
    /// The steps of each scope.
    steps: IdVec<ScopeId, Vec<StepId>>,
    /// The number of calls in each model call's turn.
    asked: HashMap<StepId, usize>,
    /// The ids under which entries answer calls.
    answers: HashMap<CallPlace, &'a str>,
    /// The ids of calls that an entry answers.
    answered: HashSet<&'a str>,
    handoffs: HandoffCalls<'a>,
    /// Steps whose text a message, the run's question or its answer contains.
    repeated: HashSet<StepId>,
}

/// The presentation of an operation that no conversation shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Uncovered<'a> {
    /// As a call and its result, both derived from the operation.
    CallAndResult,
    /// As the result of its call in a turn.
    Result,
    /// As the result of the call with this id, by which a model handed the run over.
    HandoffResult(&'a str),
    /// As a turn without text.
    Turn,
    /// As text of a person.
    UserWords,
    /// As text of the agent.
    AgentWords,
}

impl<'a> Transcript<'a> {
    /// The transcript of a run.
    pub(crate) fn of(run: &'a Run) -> Self {
        let mut this = Self {
            run,
            in_conversation: IdVec::filled(false, run.steps.len()),
            inside_tool: inside_tool(run),
            steps: IdVec::filled(Vec::new(), run.scopes.len()),
            asked: HashMap::default(),
            answers: HashMap::default(),
            answered: HashSet::default(),
            handoffs: HandoffCalls::of(run),
            repeated: HashSet::default(),
        };
        for (id, step) in run.steps.enumerate() {
            if let Some(steps) = this.steps.get_mut(step.scope) {
                steps.push(id);
            }
        }
        for entry in run.scopes.iter().flat_map(|scope| &scope.conversation) {
            this.read(&entry.kind, entry.step);
        }
        let speakers = run.steps.ids().filter_map(|id| match this.uncovered(id)? {
            Uncovered::UserWords => Some((id, true)),
            Uncovered::AgentWords => Some((id, false)),
            _ => None,
        });
        let speakers: Vec<(StepId, bool)> = speakers.collect();
        this.repeated = repeated::find(run, &speakers);
        this
    }

    fn read(&mut self, kind: &'a EntryKind, step: Option<StepId>) {
        let shown = match kind {
            EntryKind::Turn(message) => {
                if let Some(step) = step {
                    let most = self.asked.entry(step).or_default();
                    *most = message.tool_calls.len().max(*most);
                }
                step
            }
            EntryKind::Call(call) => Some(call.tool),
            EntryKind::Result(result) => {
                let _ = self.answered.insert(&result.call_id);
                let tool = result.tool.and_then(|tool| self.run.steps.get(tool));
                if let Some(place) = tool.and_then(CallPlace::of_tool) {
                    let _ = self.answers.entry(place).or_insert(&result.call_id);
                }
                result.tool.or(step)
            }
            // A message in a model call's input does not show that call; the call's turn does.
            EntryKind::Message(_) => step.filter(|step| self.run.steps.get(*step).is_some_and(|step| !is_model_call(step))),
        };
        if let Some(shown) = shown {
            self.in_conversation.set(shown, true);
        }
    }

    /// Whether an entry of a conversation shows this step.
    pub(crate) fn is_in_conversation(&self, step: StepId) -> bool {
        self.in_conversation.is_set(step)
    }

    /// The steps of a scope, in causal order.
    pub(crate) fn steps_of(&self, scope: ScopeId) -> &[StepId] {
        self.steps.get(scope).map_or(&[], Vec::as_slice)
    }

    /// The scopes, each with the tool step that its conversation belongs into: its own caller, else that of the scope around it,
    /// which precedes it.
    pub(crate) fn scopes_with_tool(&self) -> Vec<(ScopeId, Option<StepId>)> {
        let mut scopes: IdVec<ScopeId, Option<StepId>> = IdVec::with_capacity(self.run.scopes.len());
        for scope in &self.run.scopes {
            let around = || scopes.known(scope.parent?);
            let tool = scope.called_by.or_else(around);
            scopes.push(tool);
        }
        scopes.ids().zip(scopes).collect()
    }

    /// The scopes by the tool step that their conversations belong into, each list ordered by begin.
    pub(crate) fn scopes_by_tool(&self) -> BTreeMap<Option<StepId>, Vec<ScopeId>> {
        let mut scopes: BTreeMap<Option<StepId>, Vec<ScopeId>> = BTreeMap::new();
        for (scope, tool) in self.scopes_with_tool() {
            scopes.entry(tool).or_default().push(scope);
        }
        for list in scopes.values_mut() {
            list.sort_by_cached_key(|scope| self.begin(*scope));
        }
        scopes
    }

    fn begin(&self, scope: ScopeId) -> UnixNanos {
        let first = self.run.scopes.get(scope).and_then(|scope| scope.conversation.first());
        let steps = || self.steps_of(scope).iter().filter_map(|step| step.of(self.run));
        first
            .map(|entry| entry.at)
            .or_else(|| steps().map(|step| step.started_at).min())
            .unwrap_or_default()
    }

    /// Whether a turn of a conversation shows the call of this tool; a running tool has no result yet.
    pub(crate) fn is_asked(&self, tool: &Step) -> bool {
        let place = CallPlace::of_tool(tool);
        place.is_some_and(|place| self.asked.get(&place.caller).is_some_and(|count| place.index < *count))
    }

    /// The id under which an entry answers a call.
    pub(crate) fn answer(&self, call: CallPlace) -> Option<&'a str> {
        self.answers.get(&call).copied()
    }

    /// How this step is presented; `None` if a conversation or another operation shows it, or it has no facts.
    pub(crate) fn uncovered(&self, id: StepId) -> Option<Uncovered<'a>> {
        let step = id.of(self.run).filter(|_| !self.is_in_conversation(id))?;
        match step.operation.kind {
            Kind::Retrieval | Kind::Rerank | Kind::MemoryRead | Kind::MemoryWrite => {
                step.inside_tool.is_none().then_some(Uncovered::CallAndResult)
            }
            Kind::Handoff => match self.handoffs.before(step) {
                Some(call) => (!self.answered.contains(call)).then_some(Uncovered::HandoffResult(call)),
                None => Some(Uncovered::CallAndResult),
            },
            // A running tool has only its call.
            Kind::Tool if self.is_asked(step) => step.ended_at.map(|_| Uncovered::Result),
            Kind::Tool => Some(Uncovered::CallAndResult),
            Kind::Interrupt | Kind::UserInput => Some(Uncovered::UserWords),
            Kind::FinalOutput => Some(Uncovered::AgentWords),
            _ => is_model_call(step).then_some(Uncovered::Turn),
        }
    }

    /// Whether the text of this step is written elsewhere.
    pub(crate) fn is_repeated(&self, step: StepId) -> bool {
        self.repeated.contains(&step)
    }

    /// Whether this step is inside a tool, at any depth.
    pub(crate) fn is_inside_tool(&self, step: StepId) -> bool {
        self.inside_tool.is_set(step)
    }
}

/// Whether a step is a model call, or a decision that names a model.
pub(crate) fn is_model_call(step: &Step) -> bool {
    let operation = &step.operation;
    operation.kind == Kind::Llm || (operation.kind == Kind::Decision && operation.model.name().is_some())
}

/// Whether operations of this kind mostly repeat the input and output of the turns inside them.
pub(crate) fn hands_on(kind: Kind) -> bool {
    matches!(kind, Kind::Agent | Kind::AgentCreate | Kind::Chain)
}

/// Computed in one pass, since parents precede their children.
fn inside_tool(run: &Run) -> IdVec<StepId, bool> {
    let mut inside: IdVec<StepId, bool> = IdVec::with_capacity(run.steps.len());
    for step in &run.steps {
        let above = step.parent.and_then(|above| Some((inside.get(above)?, run.steps.get(above)?)));
        let is_inside = above.is_some_and(|(inside, above)| *inside || above.operation.kind == Kind::Tool);
        inside.push(is_inside);
    }
    inside
}
