//! A scope's conversation as exchanges: the messages, and each call with its results, regardless of when they arrived.

use std::borrow::Cow;

use super::call_place::CallPlace;
use super::coverage::{Transcript, Uncovered};
use crate::hash::HashMap;
use crate::operation::{Kind, Message, ToolCall};
use crate::run::{Entry, EntryKind, ResultEntry, ScopeId, Step, StepId};
use crate::span::UnixNanos;

/// One message or action in a conversation.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    pub(crate) kind: ExchangeKind<'a>,
    /// The operation that the exchange shows, or whose input contains the message.
    pub(crate) step: Option<StepId>,
    pub(crate) at: UnixNanos,
    /// The history was edited or cut before it.
    pub(crate) branch: bool,
    /// Whether a message, the run's question or its answer also contains the text.
    pub(crate) is_repeated: bool,
    /// The tool calls, in order.
    pub(crate) calls: Vec<ExchangeCall<'a>>,
}

/// The kind of an exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ExchangeKind<'a> {
    /// A message from an input; facts of its step do not apply to it.
    Message(&'a Message),
    /// The output of a model call.
    Turn(&'a Message),
    /// A model call without recorded text.
    SilentTurn,
    /// Work that no model asked for: a call and its result, both derived from the operation; without a step, a result whose
    /// call is unknown.
    Unasked,
    /// Text of a person that only an operation has.
    UserWords,
    /// Text of the agent that only an operation has.
    AgentWords,
}

/// A call and its results.
#[derive(Debug)]
pub(crate) struct ExchangeCall<'a> {
    /// The recorded id, else one derived from the model call's.
    pub(crate) id: Cow<'a, str>,
    /// Whether no span has the id.
    pub(crate) id_is_derived: bool,
    /// The call in the model's output; `None` if no model asked.
    pub(crate) call: Option<&'a ToolCall>,
    /// The tool's step, if known.
    pub(crate) tool: Option<StepId>,
    /// In order; the last one counts.
    pub(crate) results: Vec<CallResult<'a>>,
}

impl ExchangeCall<'_> {
    /// Whether anything other than a result records it.
    pub(crate) fn is_recorded(&self) -> bool {
        self.call.is_some() || self.tool.is_some()
    }
}

/// A result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallResult<'a> {
    /// The conversation's entry; `None` if only the tool's step has it.
    pub(crate) entry: Option<&'a ResultEntry>,
    pub(crate) tool: Option<StepId>,
    pub(crate) at: UnixNanos,
    /// The history was edited or cut before it.
    pub(crate) branch: bool,
}

/// The exchanges of a scope's conversation.
#[derive(Debug, Default)]
pub(crate) struct Exchanges<'a> {
    pub(crate) list: Vec<Exchange<'a>>,
    /// Operations that no exchange shows, except those without agent facts.
    pub(crate) rest: Vec<StepId>,
    by_place: HashMap<CallPlace, (usize, usize)>,
    by_id: HashMap<Cow<'a, str>, (usize, usize)>,
    /// Results of unknown calls.
    stray: Vec<Exchange<'a>>,
}

impl<'a> Transcript<'a> {
    /// The conversation of a scope, with the operations that it does not show inserted.
    pub(crate) fn exchanges(&self, scope: ScopeId) -> Exchanges<'a> {
        let mut out = Exchanges::default();
        let conversation = self.run.scopes.get(scope).map_or(&[][..], |scope| &scope.conversation);
        for entry in conversation {
            out.entry(self, entry);
        }
        let mut between = std::mem::take(&mut out.stray);
        let first_tools = self.first_tools(scope);
        for id in self.steps_of(scope) {
            if let Some(step) = id.of(self.run)
                && !out.add_uncovered(self, (*id, first_tools.get(id).copied()), step, &mut between)
                && !matches!(step.operation.kind, Kind::Plain | Kind::Detail)
                && !self.is_in_conversation(*id)
            {
                out.rest.push(*id);
            }
        }
        out.merge(between);
        out
    }

    /// For each model call of a scope, when the first of its tools began.
    fn first_tools(&self, scope: ScopeId) -> HashMap<StepId, UnixNanos> {
        let mut first: HashMap<StepId, UnixNanos> = HashMap::default();
        for step in self.steps_of(scope).iter().filter_map(|step| step.of(self.run)) {
            if let Some(by) = step.dispatched_by.filter(|_| step.operation.kind == Kind::Tool) {
                let known = first.entry(by).or_insert(step.started_at);
                *known = step.started_at.min(*known);
            }
        }
        first
    }
}

impl<'a> Exchanges<'a> {
    fn entry(&mut self, transcript: &Transcript<'a>, entry: &'a Entry) {
        let step = entry.step;
        let (kind, message) = match &entry.kind {
            EntryKind::Message(message) => (ExchangeKind::Message(message), Some(message)),
            EntryKind::Turn(message) => (ExchangeKind::Turn(message), Some(message)),
            EntryKind::Call(_) => (ExchangeKind::Unasked, None),
            EntryKind::Result(result) => return self.result(entry, result),
        };
        let mut piece = Exchange {
            kind,
            step: step.filter(|step| step.of(transcript.run).is_some()),
            at: entry.at,
            branch: entry.branch,
            is_repeated: false,
            calls: Vec::new(),
        };
        if let EntryKind::Call(call) = &entry.kind {
            piece.step = Some(call.tool);
            piece.calls.push(ExchangeCall {
                id: (&call.call_id).into(),
                id_is_derived: call.call_id.is_derived(),
                call: None,
                tool: piece.step,
                results: Vec::new(),
            });
        }
        for (index, call) in message.iter().flat_map(|message| message.tool_calls.iter().enumerate()) {
            let place = step.map(|caller| CallPlace { caller, index });
            let recorded = call.id.as_deref().filter(|id| !id.is_empty());
            let answer = || place.and_then(|place| transcript.answer(place));
            let id = recorded.or_else(answer).map_or_else(
                || match step.and_then(|step| step.of(transcript.run)) {
                    Some(step) => format!("{}:{index}", step.id).into(),
                    None => format!("call{}:{index}", self.list.len()).into(),
                },
                Cow::Borrowed,
            );
            if let (Some(place), ExchangeKind::Turn(_)) = (place, kind) {
                let _ = self.by_place.insert(place, (self.list.len(), index));
            }
            piece.calls.push(ExchangeCall {
                id,
                id_is_derived: call.recorded_id().is_none(),
                call: Some(call),
                tool: None,
                results: Vec::new(),
            });
        }
        self.push(piece);
    }

    fn push(&mut self, piece: Exchange<'a>) {
        for (at, asked) in piece.calls.iter().enumerate() {
            let _ = self.by_id.insert(asked.id.clone(), (self.list.len(), at));
        }
        self.list.push(piece);
    }

    fn result(&mut self, entry: &'a Entry, result: &'a ResultEntry) {
        let new_result = CallResult {
            entry: Some(result),
            tool: result.tool,
            at: entry.at,
            branch: entry.branch,
        };
        if let Some(asked) = self.call(&result.call_id, None) {
            asked.add_result(new_result);
        } else if new_result.tool.is_some() {
            let mut asked = ExchangeCall::unasked((&result.call_id).into(), result.call_id.is_derived(), new_result.tool);
            asked.results.push(new_result);
            self.push(Exchange::new(ExchangeKind::Unasked, new_result.tool, new_result.at, vec![asked]));
        } else {
            let mut asked = ExchangeCall::unasked((&result.call_id).into(), result.call_id.is_derived(), None);
            asked.results.push(new_result);
            self.stray
                .push(Exchange::new(ExchangeKind::Unasked, None, new_result.at, vec![asked]));
        }
    }

    fn call(&mut self, id: &str, place: Option<CallPlace>) -> Option<&mut ExchangeCall<'a>> {
        let of_place = place.and_then(|place| self.by_place.get(&place));
        let (piece, at) = *of_place.or_else(|| self.by_id.get(id))?;
        self.list.get_mut(piece)?.calls.get_mut(at)
    }

    /// Adds a step that no entry shows; returns whether it was added. A model call without text precedes the first of its tools,
    /// which may begin before its answer has ended.
    fn add_uncovered(
        &mut self,
        transcript: &Transcript<'a>,
        (id, first_tool): (StepId, Option<UnixNanos>),
        step: &'a Step,
        between: &mut Vec<Exchange<'a>>,
    ) -> bool {
        let Some(uncovered) = transcript.uncovered(id) else { return false };
        let new_result = CallResult {
            entry: None,
            tool: Some(id),
            at: step.end_or_start(),
            branch: false,
        };
        let call = match uncovered {
            Uncovered::Result => self.call("", CallPlace::of_tool(step)),
            Uncovered::HandoffResult(call) => self.call(call, None),
            _ => None,
        };
        if let Some(asked) = call {
            asked.add_result(new_result);
            return true;
        }
        let kind = match uncovered {
            // A tool inside a tool is part of it.
            Uncovered::CallAndResult if step.operation.kind == Kind::Tool && transcript.is_inside_tool(id) => return false,
            Uncovered::CallAndResult | Uncovered::Result | Uncovered::HandoffResult(_) => ExchangeKind::Unasked,
            Uncovered::Turn => ExchangeKind::SilentTurn,
            Uncovered::UserWords => ExchangeKind::UserWords,
            Uncovered::AgentWords => ExchangeKind::AgentWords,
        };
        let mut calls = Vec::new();
        if kind == ExchangeKind::Unasked {
            let mut asked = ExchangeCall::unasked((&step.id).into(), true, Some(id));
            asked.results.extend(step.ended_at.map(|_| new_result));
            calls.push(asked);
        }
        let at = first_tool.map_or(new_result.at, |first| first.min(new_result.at));
        between.push(Exchange {
            is_repeated: transcript.is_repeated(id),
            ..Exchange::new(kind, Some(id), at, calls)
        });
        true
    }

    /// Inserts exchanges by time: before the first later one, but after the messages that begin the conversation.
    fn merge(&mut self, mut between: Vec<Exchange<'a>>) {
        if between.is_empty() {
            return;
        }
        between.sort_by_key(|piece| piece.at);
        let mut between = between.into_iter().peekable();
        let mut has_begun = false;
        let opening = self.list.first().and_then(|piece| piece.step);
        for piece in std::mem::take(&mut self.list) {
            // The first call's input begins the conversation; that of a later call does not.
            has_begun |= !matches!(piece.kind, ExchangeKind::Message(_)) || piece.step != opening;
            while has_begun && let Some(earlier) = between.next_if(|earlier| earlier.at <= piece.at) {
                self.list.push(earlier);
            }
            self.list.push(piece);
        }
        self.list.extend(between);
    }
}

impl<'a> Exchange<'a> {
    fn new(kind: ExchangeKind<'a>, step: Option<StepId>, at: UnixNanos, calls: Vec<ExchangeCall<'a>>) -> Self {
        Self {
            kind,
            step,
            at,
            branch: false,
            is_repeated: false,
            calls,
        }
    }
}

impl<'a> ExchangeCall<'a> {
    fn unasked(id: Cow<'a, str>, id_is_derived: bool, tool: Option<StepId>) -> Self {
        Self {
            id,
            id_is_derived,
            call: None,
            tool,
            results: Vec::new(),
        }
    }

    fn add_result(&mut self, new_result: CallResult<'a>) {
        self.tool = new_result.tool.or(self.tool);
        self.results.push(new_result);
    }
}
