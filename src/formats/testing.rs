//! Runs for the tests of formats, built by hand: fixed ids and times.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests stop where data is not as built")]

pub(crate) mod mixed_up;
pub(crate) mod samples;
mod talk;

use serde_json::{Map, Value};

use crate::operation::{Failure, Kind, Message, Operation, Role, ToolCall, ToolCallId, ToolUse};
use crate::run::{AgentInfo, CallEntry, Entry, EntryKind, Id, IdVec, ResultEntry, Run, Scope, ScopeId, Step, StepId, Utterance, testing};
use crate::span::{SpanId, TraceId, UnixNanos};

/// Milliseconds after 2026-01-01T10:00:00Z.
pub(crate) fn ms(millis: u64) -> UnixNanos {
    UnixNanos(1_767_261_600_000_000_000 + millis * 1_000_000)
}

/// The span with this number.
pub(crate) fn span(number: u64) -> SpanId {
    SpanId::from_bytes(&(0xeee1_9b7e_c3c1_b174_u64 + number).to_be_bytes()).unwrap()
}

pub(crate) fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

pub(crate) fn assistant(text: &str) -> Message {
    Message::text(Role::Assistant, text)
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: (!id.is_empty()).then(|| ToolCallId::Recorded(id.to_owned())),
        name: name.to_owned(),
        arguments: Some(arguments),
        arguments_text: None,
        answered: None,
    }
}

pub(crate) fn calling(calls: Vec<ToolCall>) -> Message {
    Message {
        role: Role::Assistant,
        tool_calls: calls,
        ..Message::default()
    }
}

pub(crate) fn failure(message: &str, error_type: &str) -> Failure {
    Failure {
        message: Some(message.to_owned()),
        error_type: Some(error_type.to_owned()),
        stacktrace: None,
    }
}

/// A run that grows step by step.
pub(crate) struct Build {
    pub(crate) run: Run,
    histories: Vec<Vec<Message>>,
}

impl Build {
    pub(crate) fn new() -> Self {
        let run = Run {
            trace_id: TraceId::from_hex("5b8efff798038103d269b633813fc60c").unwrap(),
            session_id: Some("s-1".to_owned()),
            user_id: None,
            started_at: ms(0),
            ended_at: None,
            agent: AgentInfo::default(),
            resource: Map::new(),
            failure: None,
            root: None,
            steps: IdVec::default(),
            scopes: IdVec::default(),
            question: None,
            answer: None,
            metadata: Map::new(),
            findings: Vec::new(),
            annotations: Vec::new(),
        };
        Self {
            run,
            histories: Vec::new(),
        }
    }

    /// Adds any operation; returns its index in the list.
    pub(crate) fn step(&mut self, kind: Kind, name: &str, parent: Option<usize>, from: u64, to: u64) -> usize {
        let index = self.run.steps.len();
        let id = span(index as u64);
        self.run.steps.push(Step {
            span_id: Some(id),
            parent: parent.map(StepId::new),
            scope: ScopeId::new(self.run.scopes.len().saturating_sub(1)),
            ..testing::step(id.to_string(), kind, name, ms(from), ms(to))
        });
        self.run.ended_at = Some(self.run.ended_at.unwrap_or_default().max(ms(to)));
        index
    }

    pub(crate) fn op(&mut self, index: usize) -> &mut Operation {
        &mut self.run.steps[index].operation
    }

    /// Adds an agent with its own scope; the first is the root.
    pub(crate) fn agent(&mut self, name: &str, parent: Option<usize>, from: u64, to: u64) -> usize {
        let above = parent.map(|parent| self.run.steps[parent].scope);
        let called_by = parent
            .filter(|parent| self.run.steps[*parent].operation.kind == Kind::Tool)
            .map(StepId::new);
        let index = self.step(Kind::Agent, name, parent, from, to);
        self.run.scopes.push(Scope {
            agent: Some(name.to_owned()),
            step: Some(StepId::new(index)),
            parent: above,
            called_by,
            is_auxiliary: false,
            is_unrelated: false,
            conversation: Vec::new(),
        });
        self.histories.push(Vec::new());
        let scope = ScopeId::new(self.run.scopes.len() - 1);
        let step = &mut self.run.steps[index];
        step.scope = scope;
        step.called_by = called_by;
        step.operation.agent.name = Some(name.to_owned());
        if self.run.root.is_none() {
            self.run.root = Some(StepId::new(index));
            self.run.agent.name = Some(name.to_owned());
        }
        index
    }

    /// Adds a model call in the scope of `parent`: `new` is appended to the history, `output` is the model's output.
    pub(crate) fn llm(&mut self, parent: usize, from: u64, to: u64, new: &[Message], output: Option<Message>) -> usize {
        let index = self.step(Kind::Llm, "ChatOpenAI", Some(parent), from, to);
        let scope = self.run.steps[parent].scope;
        let turns = self
            .run
            .steps
            .iter()
            .filter(|step| step.scope == scope && step.operation.kind == Kind::Llm);
        let turn = u32::try_from(turns.count()).unwrap();
        for message in new.iter().filter(|message| message.role != Role::Tool) {
            self.entry(scope.index(), EntryKind::Message(message.clone()), Some(index), from);
        }
        let history = &mut self.histories[scope.index()];
        history.extend(new.iter().cloned());
        let input = history.clone();
        history.extend(output.iter().cloned());
        let step = &mut self.run.steps[index];
        step.scope = scope;
        step.turn = Some(turn);
        step.operation.model.response = Some("gpt-4o".to_owned());
        step.operation.model.provider = Some("openai".to_owned());
        step.operation.input_messages = Some(input.into());
        step.operation.output_messages = output.clone().map(|output| vec![output]);
        if let Some(output) = output {
            self.entry(scope.index(), EntryKind::Turn(output), Some(index), to);
        }
        index
    }

    /// Adds the execution of call `place` of a model call; `Err` is its failure.
    pub(crate) fn tool(&mut self, caller: usize, place: usize, from: u64, to: u64, result: Result<Value, Failure>) -> usize {
        let wanted = self.op(caller).output_messages.as_ref().unwrap()[0].tool_calls[place].clone();
        let (scope, turn, parent) = (
            self.run.steps[caller].scope,
            self.run.steps[caller].turn,
            self.run.steps[caller].parent,
        );
        let index = self.step(Kind::Tool, &wanted.name, parent.map(Id::index), from, to);
        let step = &mut self.run.steps[index];
        step.scope = scope;
        step.turn = turn;
        step.dispatched_by = Some(StepId::new(caller));
        step.call_index = Some(place);
        step.operation.failure = result.clone().err();
        step.operation.tool = Some(Box::new(ToolUse {
            name: Some(wanted.name),
            call_id: wanted.id.as_deref().map(str::to_owned),
            arguments: wanted.arguments,
            result: result.clone().ok(),
            ..ToolUse::default()
        }));
        let call_id = wanted.id.unwrap_or_else(|| ToolCallId::Derived(span(index as u64).to_string()));
        let written = self.run.scopes[scope.index()].conversation.iter();
        let attempt = written
            .filter(|entry| matches!(&entry.kind, EntryKind::Result(written) if written.call_id == call_id))
            .count();
        let entry = ResultEntry {
            call_id,
            tool: Some(StepId::new(index)),
            tool_name: None,
            given: None,
            failure: result.clone().err(),
            result: result.unwrap_or_default(),
            attempt: u32::try_from(attempt).unwrap(),
        };
        self.entry(scope.index(), EntryKind::Result(entry), Some(index), to);
        index
    }

    /// Adds a tool that no model asked for.
    pub(crate) fn lone_tool(&mut self, name: &str, parent: usize, from: u64, to: u64, arguments: Value, result: Value) -> usize {
        let index = self.step(Kind::Tool, name, Some(parent), from, to);
        let scope = self.run.steps[parent].scope;
        self.run.steps[index].scope = scope;
        self.op(index).tool = Some(Box::new(ToolUse {
            name: Some(name.to_owned()),
            arguments: Some(arguments),
            result: Some(result.clone()),
            ..ToolUse::default()
        }));
        let call_id = ToolCallId::Derived(span(index as u64).to_string());
        let made = CallEntry {
            call_id: call_id.clone(),
            tool: StepId::new(index),
        };
        self.entry(scope.index(), EntryKind::Call(made), Some(index), from);
        let given = ResultEntry {
            call_id,
            tool: Some(StepId::new(index)),
            tool_name: None,
            result,
            given: None,
            failure: None,
            attempt: 0,
        };
        self.entry(scope.index(), EntryKind::Result(given), Some(index), to);
        index
    }

    pub(crate) fn entry(&mut self, scope: usize, kind: EntryKind, step: Option<usize>, at: u64) {
        self.run.scopes[scope].conversation.push(Entry {
            kind,
            step: step.map(StepId::new),
            at: ms(at),
            branch: false,
        });
    }

    pub(crate) fn ask(&mut self, content: &str, step: usize, in_conversation: bool) {
        let at = self.run.steps[step].started_at;
        self.run.question = Some(Utterance {
            content: content.into(),
            step: StepId::new(step),
            at,
            in_conversation,
        });
    }

    pub(crate) fn answer(&mut self, content: &str, step: usize, in_conversation: bool) {
        let at = self.run.steps[step].end_or_start();
        self.run.answer = Some(Utterance {
            content: content.into(),
            step: StepId::new(step),
            at,
            in_conversation,
        });
    }
}

pub(crate) fn tokens(input: u64, output: u64, total: u64) -> crate::operation::TokenCount {
    crate::operation::TokenCount {
        input: Some(input),
        output: Some(output),
        total: Some(total),
        ..crate::operation::TokenCount::default()
    }
}
