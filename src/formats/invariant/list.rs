//! A list of events under construction: call ids once, each call one output, every event with the steps it tells of.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::content;
use super::document::{Function, Message, ToolCall};
use crate::formats::{Loss, LossReason, Options, calls, io};
use crate::operation;
use crate::run::{Entry, EntryKind, ResultEntry, Run, Step};
use crate::span::{SpanId, UnixNanos};

/// An event and what it tells of.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Without its metadata.
    pub(super) event: Message,
    pub(super) metadata: Map<String, Value>,
    /// Steps that the event tells of.
    pub(super) steps: Vec<usize>,
    /// When.
    pub(super) at: UnixNanos,
    /// A later output of the same call has taken its place.
    pub(super) gone: bool,
}

impl Draft {
    pub(super) fn write(self) -> Message {
        Message {
            metadata: (!self.metadata.is_empty()).then_some(self.metadata),
            ..self.event
        }
    }
}

/// A call that stands in the list.
struct Bound {
    id: String,
    name: String,
    arguments: Map<String, Value>,
    output: Option<usize>,
}

/// Events in order.
pub(super) struct List<'a> {
    pub(super) run: &'a Run,
    options: &'a Options,
    pub(super) drafts: Vec<Draft>,
    /// Calls by recorded id; a reused id names the latest call.
    bound: HashMap<String, Bound>,
    /// Every id that was written.
    written: HashMap<String, u32>,
    offered: Value,
    /// Operations that found no event yet.
    pub(super) unsettled: Vec<usize>,
    /// What events tell, for the first so many of them.
    pub(super) heard: (HashSet<String>, usize),
    /// The latest event that tells of a step.
    pub(super) telling: HashMap<usize, usize>,
    /// Events that are later than all before them, among the first so many.
    peaks: (Vec<(UnixNanos, usize)>, usize),
    pub(super) losses: Vec<Loss>,
}

pub(super) fn call(id: &str, name: &str, arguments: Map<String, Value>) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        kind: "function".to_owned(),
        function: Function {
            name: name.to_owned(),
            arguments,
            extra: Map::new(),
        },
        extra: Map::new(),
    }
}

impl<'a> List<'a> {
    pub(super) fn new(run: &'a Run, options: &'a Options) -> Self {
        Self {
            run,
            options,
            drafts: Vec::new(),
            bound: HashMap::new(),
            written: HashMap::new(),
            offered: Value::Null,
            unsettled: Vec::new(),
            heard: (HashSet::new(), 0),
            telling: HashMap::new(),
            peaks: (Vec::new(), 0),
            losses: Vec::new(),
        }
    }

    pub(super) fn lose(&mut self, span: Option<SpanId>, what: impl Into<String>, reason: LossReason) {
        self.losses.push(Loss::new(span, what, reason));
    }

    pub(super) fn step(&self, index: Option<usize>) -> Option<&'a Step> {
        self.run.steps.get(index?)
    }

    pub(super) fn push(&mut self, event: Message, metadata: Map<String, Value>, step: Option<usize>, at: UnixNanos) {
        self.push_draft(Draft {
            event,
            metadata,
            steps: step.into_iter().collect(),
            at,
            gone: false,
        });
    }

    fn push_draft(&mut self, draft: Draft) {
        let place = self.drafts.len();
        self.telling.extend(draft.steps.iter().map(|step| (*step, place)));
        self.drafts.push(draft);
    }

    /// The first event at this time or later.
    pub(super) fn first_since(&mut self, at: UnixNanos) -> Option<usize> {
        let (peaks, until) = &mut self.peaks;
        for (place, draft) in self.drafts.iter().enumerate().skip(*until) {
            if !draft.gone && peaks.last().is_none_or(|(latest, _)| draft.at > *latest) {
                peaks.push((draft.at, place));
            }
        }
        *until = self.drafts.len();
        let first = peaks.partition_point(|(peak, _)| *peak < at);
        peaks.get(first).map(|(_, place)| *place)
    }

    /// One entry of a conversation; `after` are those that follow it.
    pub(super) fn entry(&mut self, entry: &'a Entry, after: &[&'a Entry]) {
        match &entry.kind {
            EntryKind::Message(message) => self.message(entry, message, after),
            EntryKind::Turn(message) => self.turn(entry, message, after),
            EntryKind::Call(_) => {}
            EntryKind::Result(result) => self.result(entry, result),
        }
    }

    fn message(&mut self, entry: &Entry, message: &operation::Message, after: &[&Entry]) {
        let step = self.step(entry.step);
        let (content, mut metadata) = self.content(step, message);
        if entry.branch {
            metadata.insert("branch".into(), true.into());
        }
        let tool_calls = self.calls(entry.step, message, after, &mut metadata);
        let mut extra = Map::new();
        if let Some(name) = &message.name {
            extra.insert("name".into(), name.as_str().into());
        }
        let event = Message {
            role: message.role.name().to_owned(),
            content: Some(content),
            tool_calls: tool_calls.map(Some),
            extra,
            ..Message::default()
        };
        // The message is not the call's own work: facts of the call go to its turn.
        self.push(event, metadata, None, entry.at);
    }

    fn turn(&mut self, entry: &Entry, message: &operation::Message, after: &[&Entry]) {
        let step = self.step(entry.step);
        let (content, said) = self.content(step, message);
        let mut metadata = step.map(|step| self.turn_metadata(step)).unwrap_or_default();
        metadata.extend(said);
        if let Some(reason) = &message.finish_reason {
            metadata.entry("finish_reason").or_insert_with(|| reason.as_str().into());
        }
        let others = step.and_then(|step| step.operation.output_messages.as_deref()?.get(1..));
        if let Some(others) = others.filter(|others| !others.is_empty()) {
            metadata.insert("choices".into(), io::chats(others));
        }
        if entry.branch {
            metadata.insert("branch".into(), true.into());
        }
        let tool_calls = self.calls(entry.step, message, after, &mut metadata);
        let event = Message {
            role: "assistant".to_owned(),
            content: Some(content),
            tool_calls: tool_calls.map(Some),
            timestamp: Some(entry.at.rfc3339_offset()),
            ..Message::default()
        };
        self.push(event, metadata, entry.step, entry.at);
    }

    pub(super) fn turn_metadata(&mut self, step: &Step) -> Map<String, Value> {
        let mut metadata = content::metadata(self.run, step);
        // Offered tools are told with the first turn that has them.
        if let Some(tools) = metadata.get("tool_definitions") {
            if *tools == self.offered || self.options.is("invariant.tools", "event") {
                metadata.shift_remove("tool_definitions");
            } else {
                self.offered = tools.clone();
            }
        }
        metadata
    }

    fn content(&mut self, step: Option<&Step>, message: &operation::Message) -> (Value, Map<String, Value>) {
        let content::Content { mut value, coerced } = content::of_message(message);
        let (_, mut metadata) = io::chat_and_reasoning(message);
        if let Some(thought) = message.reasoning().filter(|_| self.options.is("invariant.reasoning", "prepend")) {
            value = content::with_reasoning(value, &thought);
        }
        if !coerced.is_empty() {
            let span = step.and_then(|step| step.span_id);
            self.lose(span, "content: a part that is neither text nor image", LossReason::Coerced);
            metadata.insert("parts".into(), coerced.into());
        }
        (value, metadata)
    }

    /// The calls of a message; one that stands in the list already is not told again.
    fn calls(
        &mut self,
        caller: Option<usize>,
        message: &operation::Message,
        after: &[&Entry],
        metadata: &mut Map<String, Value>,
    ) -> Option<Vec<ToolCall>> {
        let mut out = Vec::new();
        let mut repeated = Vec::new();
        let mut made = Vec::new();
        let mut renamed = Map::new();
        for (index, wanted) in message.tool_calls.iter().enumerate() {
            let (arguments, wrapped) = wanted.arguments_object();
            let step = self.step(caller);
            let span = step.and_then(|step| step.span_id);
            let recorded = wanted
                .id
                .clone()
                .filter(|id| !id.is_empty())
                .or_else(|| self.answered(caller, index, after));
            let recorded = recorded.unwrap_or_else(|| format!("{}:{index}", step.map_or("call", |step| step.id.as_str())));
            let is_made = wanted.id.as_ref().is_none_or(String::is_empty) || is_made(step, &recorded, index);
            if self.stands(&recorded, &wanted.name, &arguments) {
                repeated.push(Value::from(recorded));
                continue;
            }
            if is_made {
                self.lose(span, format!("tool_calls[{recorded}].id"), LossReason::Synthesized);
                made.push(Value::from(recorded.as_str()));
            }
            if wrapped {
                self.lose(span, format!("tool_calls[{recorded}].function.arguments"), LossReason::Coerced);
            }
            let id = self.bind(&recorded, &wanted.name, arguments.clone());
            if id != recorded {
                self.lose(span, format!("tool_calls[{recorded}].id"), LossReason::Coerced);
                renamed.insert(id.clone(), recorded.into());
            }
            out.push(call(&id, &wanted.name, arguments));
        }
        if !repeated.is_empty() {
            metadata.insert("repeated_calls".into(), repeated.into());
        }
        if !made.is_empty() {
            metadata.insert("synthesized_call_ids".into(), made.into());
        }
        if !renamed.is_empty() {
            metadata.insert("recorded_call_ids".into(), renamed.into());
        }
        (!out.is_empty()).then_some(out)
    }

    /// The id under which a later entry answers a call that was recorded without one.
    fn answered(&self, caller: Option<usize>, index: usize, after: &[&Entry]) -> Option<String> {
        let caller = caller?;
        after.iter().find_map(|entry| match &entry.kind {
            EntryKind::Result(result) => {
                let tool = self.step(result.tool)?;
                (tool.dispatched_by == Some(caller) && tool.call_index == Some(index)).then(|| result.call_id.clone())
            }
            _ => None,
        })
    }

    /// Whether an event tells of a step.
    pub(super) fn tells_of(&self, step: usize) -> bool {
        self.telling.contains_key(&step)
    }

    /// Whether a call with this recorded id stands in the list.
    pub(super) fn is_bound(&self, recorded: &str) -> bool {
        self.bound.contains_key(recorded)
    }

    /// Whether this very call stands in the list.
    pub(super) fn stands(&self, recorded: &str, name: &str, arguments: &Map<String, Value>) -> bool {
        let known = self.bound.get(recorded);
        known.is_some_and(|known| known.name == name && known.arguments == *arguments)
    }

    /// Writes an id down, another one where it is taken by a different call.
    pub(super) fn bind(&mut self, recorded: &str, name: &str, arguments: Map<String, Value>) -> String {
        let mut id = recorded.to_owned();
        while let Some(count) = self.written.get_mut(&id) {
            *count += 1;
            id = format!("{recorded}:{count}");
        }
        self.written.insert(id.clone(), 1);
        let bound = Bound {
            id: id.clone(),
            name: name.to_owned(),
            arguments,
            output: None,
        };
        self.bound.insert(recorded.to_owned(), bound);
        id
    }

    fn result(&mut self, entry: &Entry, result: &ResultEntry) {
        self.output(result.tool.or(entry.step), entry.at, result, entry.branch);
    }

    pub(super) fn output(&mut self, index: Option<usize>, at: UnixNanos, result: &ResultEntry, branch: bool) {
        if !self.is_bound(&result.call_id) {
            self.lone_calls_or_unknown(&result.call_id, result.tool, at);
        }
        let step = self.step(result.tool);
        let mut metadata = step.map(|step| content::metadata(self.run, step)).unwrap_or_default();
        if let Some(failure) = &result.failure {
            metadata.entry("error").or_insert_with(|| calls::error_text(failure).into());
        }
        if branch {
            metadata.insert("branch".into(), true.into());
        }
        let failure = result
            .failure
            .as_ref()
            .or_else(|| step.and_then(|step| step.operation.failure.as_ref()));
        let next = self.drafts.len();
        let Some(bound) = self.bound.get_mut(&result.call_id) else { return };
        let tool_call_id = bound.id.clone();
        let earlier = bound.output.replace(next);
        let mut steps: Vec<usize> = index.into_iter().collect();
        if let Some((place, draft)) = earlier.and_then(|earlier| Some((earlier, self.drafts.get_mut(earlier)?))) {
            let mut before = std::mem::take(draft);
            draft.gone = true;
            let (peaks, until) = &mut self.peaks;
            if let Ok(first) = peaks.binary_search_by_key(&place, |(_, place)| *place) {
                peaks.truncate(first);
                *until = place;
            }
            steps.splice(0..0, before.steps.drain(..));
            let told = before.metadata.shift_remove("earlier_results");
            let mut list = match told {
                Some(Value::Array(list)) => list,
                _ => Vec::new(),
            };
            list.push(json!({
                "content": before.event.content,
                "timestamp": before.event.timestamp,
                "metadata": before.metadata,
            }));
            metadata.insert("earlier_results".into(), list.into());
        }
        let event = Message {
            role: "tool".to_owned(),
            tool_call_id: Some(tool_call_id),
            content: Some(content::of_result(&result.result, failure).into()),
            timestamp: Some(at.rfc3339_offset()),
            ..Message::default()
        };
        self.push_draft(Draft {
            event,
            metadata,
            steps,
            at,
            gone: false,
        });
    }

    /// The events without those that a later output replaced.
    pub(super) fn finish(mut self) -> (Vec<Draft>, Vec<Loss>) {
        let left = std::mem::take(&mut self.unsettled);
        self.settle(&left);
        for index in std::mem::take(&mut self.unsettled) {
            if let Some(step) = self.step(Some(index)) {
                self.lose(step.span_id, step.operation.kind.name(), LossReason::NoPlace);
            }
        }
        let drafts = self.drafts.into_iter().filter(|draft| !draft.gone).collect();
        (drafts, self.losses)
    }
}

/// Whether the run made this call id because no span has one: `<span id or message>:<place of the call>`.
fn is_made(step: Option<&Step>, id: &str, index: usize) -> bool {
    let Some(of) = id.strip_suffix(&format!(":{index}")) else {
        return false;
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has_shape = (of.len() == 16 && digits(of)) || of.strip_prefix("message").is_some_and(digits);
    let messages = step.into_iter().flat_map(|step| {
        let operation = &step.operation;
        operation.output_messages.iter().chain(&operation.input_messages).flatten()
    });
    let mut calls = messages.flat_map(|message| &message.tool_calls);
    has_shape && !calls.any(|call| call.id.as_deref() == Some(id))
}
