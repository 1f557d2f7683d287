//! A list of events under construction: each call id occurs once, each call has one output, and each event knows its steps.

use super::content;
use super::nearest::AddedSteps;
use super::run_facts::RunFacts;
use super::table::{CALL, FUNCTION, MESSAGE, OUTPUT};
use crate::document::choice::Options;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::{Loss, LossReason};
use crate::hash::{HashMap, HashSet};
use crate::operation;
use crate::run::{Entry, EntryKind, ResultEntry, Run, Step, StepId};
use crate::span::{SpanId, UnixNanos};
use crate::transcript::{calls, content as step_content};

/// An event and the steps it represents.
#[derive(Debug, Default)]
pub(super) struct EventDraft<'a> {
    /// The event without its metadata.
    pub(super) event: Object<'a>,
    pub(super) metadata: Object<'a>,
    /// Steps that the event represents.
    pub(super) steps: Vec<StepId>,
    /// Time of the event.
    pub(super) at: UnixNanos,
    /// Replaced by a later output of the same call.
    pub(super) gone: bool,
}

impl<'a> EventDraft<'a> {
    pub(super) fn write(self) -> Object<'a> {
        let mut event = self.event;
        event.add_filled("metadata", self.metadata);
        let record = if event.contains_key("tool_call_id") { &OUTPUT } else { &MESSAGE };
        record.in_order(event)
    }

    pub(super) fn has_role(&self, role: &str) -> bool {
        self.event.get("role").is_some_and(|own| own.as_str() == Some(role))
    }
}

/// A call in the list.
struct BoundCall<'a> {
    id: Text<'a>,
    name: Text<'a>,
    arguments: Object<'a>,
    output: Option<usize>,
}

/// A tool's output.
pub(super) struct Output<'a> {
    /// The call that it answers.
    pub(super) call_id: Text<'a>,
    pub(super) tool: Option<StepId>,
    pub(super) result: Json<'a>,
    pub(super) failure: Option<&'a operation::Failure>,
    /// The tool's name, if recorded with the result.
    pub(super) name: Option<&'a str>,
}

/// Events in order.
pub(super) struct List<'a, 'o> {
    pub(super) run: &'a Run,
    pub(super) facts: &'o RunFacts<'a>,
    options: &'o Options,
    pub(super) drafts: Vec<EventDraft<'a>>,
    /// Calls by recorded id; a reused id refers to the latest call.
    bound: HashMap<Text<'a>, BoundCall<'a>>,
    /// Every id written so far, with the number of its uses.
    written: HashMap<Text<'a>, u32>,
    offered: Json<'a>,
    /// Operations that have no event yet.
    pub(super) unsettled: Vec<StepId>,
    /// The texts in events, and the number of events searched so far.
    pub(super) event_texts: (HashSet<Text<'a>>, usize),
    /// The first event of each step; it may have been replaced.
    event_of_step: HashMap<StepId, usize>,
    /// The steps with an event, except `newly_with_event`.
    pub(super) with_event: AddedSteps,
    /// The steps that got an event since the last search.
    pub(super) newly_with_event: Vec<StepId>,
    /// Replaced events and their replacements.
    replaced: HashMap<usize, usize>,
    /// Running maxima of event times, and the number of events covered.
    peaks: (Vec<(UnixNanos, usize)>, usize),
    pub(super) losses: Vec<Loss>,
}

pub(super) fn call<'a>(id: Text<'a>, name: Text<'a>, arguments: Object<'a>) -> Json<'a> {
    let function = FUNCTION.given([("name", name.into()), ("arguments", arguments.into())]);
    let call = CALL.given([("id", id.into()), ("type", "function".into()), ("function", function.into())]);
    call.into()
}

impl<'a, 'o> List<'a, 'o> {
    pub(super) fn new(run: &'a Run, facts: &'o RunFacts<'a>, options: &'o Options) -> Self {
        Self {
            run,
            facts,
            options,
            drafts: Vec::new(),
            bound: HashMap::default(),
            written: HashMap::default(),
            offered: Json::Null,
            unsettled: Vec::new(),
            event_texts: (HashSet::default(), 0),
            event_of_step: HashMap::default(),
            with_event: AddedSteps::default(),
            newly_with_event: Vec::new(),
            replaced: HashMap::default(),
            peaks: (Vec::new(), 0),
            losses: Vec::new(),
        }
    }

    pub(super) fn lose(&mut self, span: Option<SpanId>, what: impl Into<String>, reason: LossReason) {
        self.losses.push(Loss::new(span, what, reason));
    }

    pub(super) fn step(&self, index: Option<StepId>) -> Option<&'a Step> {
        self.run.steps.get(index?)
    }

    pub(super) fn push(&mut self, event: Object<'a>, metadata: Object<'a>, step: Option<StepId>, at: UnixNanos) {
        self.record_event(step, self.drafts.len());
        self.drafts.push(EventDraft {
            event,
            metadata,
            steps: step.into_iter().collect(),
            at,
            gone: false,
        });
    }

    /// Records the event of a step.
    fn record_event(&mut self, step: Option<StepId>, event: usize) {
        if let Some(step) = step {
            self.event_of_step.insert(step, event);
            self.newly_with_event.push(step);
        }
    }

    /// The latest event of a step.
    pub(super) fn event_of(&mut self, step: StepId) -> Option<usize> {
        let first = self.event_of_step.get(&step).copied()?;
        let mut last = first;
        while let Some(next) = self.replaced.get(&last) {
            last = *next;
        }
        let mut at = first;
        while let Some(next) = self.replaced.get_mut(&at).filter(|next| **next != last) {
            at = std::mem::replace(next, last);
        }
        Some(last)
    }

    /// The first event at or after this time.
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

    /// Adds an entry of a conversation.
    pub(super) fn entry(&mut self, entry: &'a Entry) {
        match &entry.kind {
            EntryKind::Message(message) => self.message(entry, message),
            EntryKind::Turn(message) => self.turn(entry, message),
            EntryKind::Call(_) => {}
            EntryKind::Result(result) => self.result(entry, result),
        }
    }

    fn message(&mut self, entry: &'a Entry, message: &'a operation::Message) {
        let step = self.step(entry.step);
        let (content, mut metadata) = self.content(step, message);
        if entry.branch {
            metadata.insert("branch", true);
        }
        let tool_calls = self.calls(entry.step, message, &mut metadata);
        let event = MESSAGE.given([
            ("role", message.role.name().into()),
            ("content", content),
            ("tool_calls", tool_calls),
            ("name", message.name.as_deref().into()),
        ]);
        // The message is not an effect of the call: facts of the call go to its turn.
        self.push(event, metadata, None, entry.at);
    }

    fn turn(&mut self, entry: &'a Entry, message: &'a operation::Message) {
        let step = self.step(entry.step);
        let (content, said) = self.content(step, message);
        let mut metadata = step.map(|step| self.turn_metadata(step)).unwrap_or_default();
        metadata.extend(said);
        if let Some(reason) = &message.finish_reason {
            metadata.insert_new("finish_reason", reason);
        }
        let others = step.and_then(|step| step.operation.output_messages.as_deref()?.get(1..));
        if let Some(others) = others.filter(|others| !others.is_empty()) {
            metadata.insert("choices", step_content::chats(others));
        }
        if entry.branch {
            metadata.insert("branch", true);
        }
        let tool_calls = self.calls(entry.step, message, &mut metadata);
        let event = MESSAGE.given([
            ("role", "assistant".into()),
            ("content", content),
            ("tool_calls", tool_calls),
            ("timestamp", self.timestamp(entry.step, entry.at)),
        ]);
        self.push(event, metadata, entry.step, entry.at);
    }

    /// A time in the format's form; null if it was not measured.
    pub(super) fn timestamp(&self, step: Option<StepId>, at: UnixNanos) -> Json<'a> {
        self.run.known_time(step, at).map(UnixNanos::rfc3339_offset).into()
    }

    pub(super) fn turn_metadata(&mut self, step: &'a Step) -> Object<'a> {
        let mut metadata = content::metadata(self.run, step);
        // Offered tools are written with the first turn that has them.
        if let Some(tools) = metadata.get("tool_definitions") {
            if *tools == self.offered || self.options.is("invariant.tools", "event") {
                metadata.remove("tool_definitions");
            } else {
                self.offered = tools.into_owned();
            }
        }
        metadata
    }

    fn content(&mut self, step: Option<&Step>, message: &'a operation::Message) -> (Json<'a>, Object<'a>) {
        let content::Content { mut value, coerced } = content::of_message(message);
        let mut metadata = step_content::thoughts(message);
        if let Some(thought) = step_content::reasoning(message).filter(|_| self.options.is("invariant.reasoning", "prepend")) {
            value = content::with_reasoning(value, thought);
        }
        if !coerced.is_empty() {
            let span = step.and_then(|step| step.span_id);
            self.lose(span, "content: a part that is neither text nor image", LossReason::Coerced);
            metadata.insert("parts", coerced);
        }
        (value, metadata)
    }

    /// The calls of a message, except those already in the list.
    fn calls(&mut self, caller: Option<StepId>, message: &'a operation::Message, metadata: &mut Object<'a>) -> Json<'a> {
        let mut out = Vec::with_capacity(message.tool_calls.len());
        let mut repeated: Vec<Json<'a>> = Vec::new();
        let mut made: Vec<Json<'a>> = Vec::new();
        let mut renamed = Object::new();
        let step = self.step(caller);
        let span = step.and_then(|step| step.span_id);
        for (index, wanted) in message.tool_calls.iter().enumerate() {
            let (arguments, wrapped) = calls::arguments_object(wanted.arguments.as_ref());
            let id = wanted.id.as_deref().filter(|id| !id.is_empty());
            let recorded: Text<'a> = match id.or_else(|| self.facts.answer(caller?, index)) {
                Some(id) => id.into(),
                None => format!("{}:{index}", step.map_or("call", |step| step.id.as_str())).into(),
            };
            // With ids that restart in each answer, it is a different call.
            if !operation::is_counter(&recorded) && self.contains_call(&recorded, &wanted.name, &arguments) {
                repeated.push(recorded.into());
                continue;
            }
            if wanted.recorded_id().is_none() {
                self.lose(span, format!("tool_calls[{recorded}].id"), LossReason::Synthesized);
                made.push(recorded.clone().into());
            }
            if wrapped {
                self.lose(span, format!("tool_calls[{recorded}].function.arguments"), LossReason::Coerced);
            }
            let name = Text::from(&wanted.name);
            let id = self.bind(recorded.clone(), name.clone(), arguments.clone());
            if id != recorded {
                self.lose(span, format!("tool_calls[{recorded}].id"), LossReason::Coerced);
                renamed.add(id.clone(), recorded);
            }
            out.push(call(id, name, arguments));
        }
        if !repeated.is_empty() {
            metadata.insert("repeated_calls", repeated);
        }
        if !made.is_empty() {
            metadata.insert("synthesized_call_ids", made);
        }
        if !renamed.is_empty() {
            metadata.insert("recorded_call_ids", renamed);
        }
        out.into()
    }

    /// Whether a step has an event.
    pub(super) fn has_event(&self, step: StepId) -> bool {
        self.event_of_step.contains_key(&step)
    }

    /// Whether a call with this recorded id is in the list.
    pub(super) fn is_bound(&self, recorded: &str) -> bool {
        self.bound.contains_key(recorded)
    }

    /// Whether exactly this call is in the list.
    pub(super) fn contains_call(&self, recorded: &str, name: &str, arguments: &Object<'a>) -> bool {
        let known = self.bound.get(recorded);
        known.is_some_and(|known| known.name == name && known.arguments == *arguments)
    }

    /// Registers an id; chooses another if a different call uses it.
    pub(super) fn bind(&mut self, recorded: Text<'a>, name: Text<'a>, arguments: Object<'a>) -> Text<'a> {
        let mut id = recorded.clone();
        while let Some(count) = self.written.get_mut(&id) {
            *count += 1;
            id = format!("{recorded}:{count}").into();
        }
        self.written.insert(id.clone(), 1);
        let bound = BoundCall {
            id: id.clone(),
            name,
            arguments,
            output: None,
        };
        self.bound.insert(recorded, bound);
        id
    }

    fn result(&mut self, entry: &'a Entry, result: &'a ResultEntry) {
        let output = Output {
            call_id: (&result.call_id).into(),
            tool: result.tool,
            result: (&result.result).into(),
            failure: result.failure.as_ref(),
            name: result.tool_name.as_deref(),
        };
        self.output(result.tool.or(entry.step), entry.at, output, entry.branch);
    }

    pub(super) fn output(&mut self, index: Option<StepId>, at: UnixNanos, result: Output<'a>, branch: bool) {
        if !self.is_bound(&result.call_id) && !self.lone_call(&result.call_id, result.tool, result.name, at) {
            return self.result_of_nothing(result);
        }
        let step = self.step(result.tool);
        let mut metadata = step.map(|step| content::metadata(self.run, step)).unwrap_or_default();
        if let Some(failure) = result.failure {
            metadata.insert_new("error", calls::error_text(failure));
        }
        if branch {
            metadata.insert("branch", true);
        }
        let of_step = || step.and_then(|step| step.operation.failure.as_ref());
        let failure = result.failure.or_else(of_step);
        let next = self.drafts.len();
        let Some(bound) = self.bound.get_mut(&result.call_id) else { return };
        let tool_call_id = bound.id.clone();
        let earlier = bound.output.replace(next);
        let mut steps: Vec<StepId> = Vec::new();
        if let Some((place, draft)) = earlier.and_then(|earlier| Some((earlier, self.drafts.get_mut(earlier)?))) {
            let mut before = std::mem::take(draft);
            draft.gone = true;
            let (peaks, until) = &mut self.peaks;
            if let Ok(first) = peaks.binary_search_by_key(&place, |(_, place)| *place) {
                peaks.truncate(first);
                *until = place;
            }
            steps = std::mem::take(&mut before.steps);
            self.replaced.insert(place, next);
            let mut list = match before.metadata.remove("earlier_results") {
                Some(Json::List(list)) => list,
                _ => Vec::new(),
            };
            let presented = Object::from([
                ("content", before.event.remove("content").into()),
                ("timestamp", before.event.remove("timestamp").into()),
                ("metadata", before.metadata.into()),
            ]);
            list.push(presented.into());
            metadata.insert("earlier_results", list);
        }
        steps.extend(index);
        self.record_event(index, next);
        let event = OUTPUT.given([
            ("role", "tool".into()),
            ("tool_call_id", tool_call_id.into()),
            ("content", content::of_result(result.result, failure).into()),
            ("timestamp", self.timestamp(index, at)),
        ]);
        self.drafts.push(EventDraft {
            event,
            metadata,
            steps,
            at,
            gone: false,
        });
    }

    /// Adds a result whose call and tool were not recorded. An output must name a call, so the previous event holds it.
    fn result_of_nothing(&mut self, result: Output<'a>) {
        let what = format!("tool output {}: neither its call nor its tool was recorded", result.call_id);
        self.lose(None, what, LossReason::NoPlace);
        let presented = Object::from([("tool_call_id", result.call_id.into()), ("content", result.result)]);
        if let Some(before) = self.drafts.iter_mut().rev().find(|draft| !draft.gone) {
            before.metadata.push("results_without_call", presented);
        }
    }

    /// The events, except those replaced by a later output.
    pub(super) fn finish(mut self) -> (Vec<EventDraft<'a>>, Vec<Loss>) {
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
