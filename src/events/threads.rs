//! Converts threads to spans: one trace per turn, model calls and tools under their agent, sub-agents under the tool that asked for them.
//!
//! A turn's first model call has only the messages since the previous turn: earlier ones are in the trace of that turn, to which
//! the root has a link. So spans take as much space as the files, however long a session grows.

mod facts;
mod given;
mod pieces;
mod placing;
mod times;
mod tools;
mod unlinked;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::draft::{self, Draft};
use super::event::{Call, Compaction, Event, Prompt, Thread};
use super::history::{Histories, HistoryId};
use super::ids;
use crate::dialect::write::AttributeWriter;
use crate::operation::{Kind, Message, Operation, Role, ToolUse};
use crate::span::{Resource, Scope, Span, SpanId, TraceId, UnixNanos};
pub(crate) use facts::PREFIX;
use facts::{add_facts, settle_turn};
use pieces::{failure, link, own};
use times::in_order;
use unlinked::{Turns, Unlinked, UnplacedThread};

/// State while the threads of one session are placed.
struct Builder<'c> {
    client: &'c str,
    drafts: Vec<Draft>,
    histories: Histories,
    /// The span of each tool call, by the call's id.
    tools: HashMap<String, usize>,
    /// For tool calls that asked for an agent of a certain kind: the kind, by the call's span.
    agent_kinds: HashMap<SpanId, String>,
    /// Resources by version of the client.
    resources: HashMap<Option<String>, Arc<Resource>>,
}

/// State while one thread is converted.
#[derive(Default)]
struct Cursor {
    /// The span of the agent at work.
    agent: Option<usize>,
    /// The conversation that the next model call continues; `None` if it begins one.
    history: Option<HistoryId>,
    /// The new messages in the input of the next model call.
    pending: Vec<Message>,
    /// The position in `pending` of the turn's prompt, including messages that the client added around it.
    prompt: Option<Range<usize>>,
    clock: Option<UnixNanos>,
    /// The system prompt of the turn's last model call.
    system: Option<Arc<str>>,
    has_tools: bool,
    /// Facts recorded before any turn, which belong to the first one.
    facts: Vec<Map<String, Value>>,
    /// The root of the previous turn.
    before: Option<(TraceId, SpanId)>,
}

impl Cursor {
    /// Adds a prompt to the input of the next model call.
    fn push_prompt(&mut self, prompt: Prompt) {
        let [before, after] = prompt.around;
        self.pending.extend(before);
        self.pending.push(prompt.received.unwrap_or(prompt.message));
        self.pending.extend(after);
    }

    /// An instant after the last event; `None` if that has no time either.
    fn tick(&mut self) -> Option<UnixNanos> {
        self.clock = self.clock.map(|clock| UnixNanos(clock.0.saturating_add(1)));
        self.clock
    }
}

/// The spans of the threads of one session. `client`: the program that recorded them. `is_elsewhere`: whether a session that this one
/// has copies from is read separately.
pub(crate) fn spans(
    client: &str,
    threads: Vec<Thread>,
    scope: &Arc<Scope>,
    writer: &AttributeWriter,
    is_elsewhere: &dyn Fn(&str) -> bool,
) -> Vec<Span> {
    let mut builder = Builder {
        client,
        drafts: Vec::new(),
        histories: Histories::default(),
        tools: HashMap::new(),
        agent_kinds: HashMap::new(),
        resources: HashMap::new(),
    };
    let (sub, main): (Vec<Thread>, Vec<Thread>) = threads.into_iter().partition(|thread| thread.under.is_some());
    for thread in main {
        builder.place(thread, None, is_elsewhere);
    }
    // A sub-agent is placed after the agent that asked for it. Each round places all that it can; those that no file links to a call
    // are placed by their prompts, once all others are.
    let with_prompt = |thread: Thread| {
        let prompt = unlinked::prompt_of(&thread);
        (thread, prompt)
    };
    let mut waiting: Vec<UnplacedThread> = sub.into_iter().map(with_prompt).collect();
    let mut unlinked = Unlinked::default();
    while !waiting.is_empty() {
        let before = waiting.len();
        builder.place_some(&mut waiting, is_elsewhere, &mut |builder, thread, _| {
            builder.place_of(thread.under.as_ref())
        });
        if waiting.len() < before {
            continue;
        }
        builder.place_some(&mut waiting, is_elsewhere, &mut |builder, _, prompt| {
            unlinked.by_prompt(&builder.drafts, prompt?)
        });
        if waiting.len() == before {
            break;
        }
    }
    let turns = Turns::of(&builder.drafts);
    for (thread, _) in waiting {
        let place = turns.place_of(&thread);
        builder.place(thread, place, is_elsewhere);
    }
    times::settle(&mut builder.drafts);
    draft::spans(builder.drafts, builder.histories, writer, scope)
}

impl Builder<'_> {
    fn place(&mut self, mut thread: Thread, place: Option<usize>, is_elsewhere: &dyn Fn(&str) -> bool) {
        let mut cursor = Cursor::default();
        let events = std::mem::take(&mut thread.events);
        if let Some(above) = place.and_then(|place| self.drafts.get(place)) {
            let trace = above.trace;
            if thread.name.is_none() {
                thread.name = self.agent_kinds.get(&above.id).cloned();
            }
            self.begin_sub_agent(&thread, trace, place, &mut cursor);
        }
        let is_sub = place.is_some();
        let mut is_copy = false;
        for event in events {
            if let Event::Prompt(prompt) = &event
                && !is_sub
            {
                is_copy = prompt.session.as_deref().is_some_and(is_elsewhere);
            }
            if is_copy {
                continue;
            }
            match event {
                Event::Prompt(prompt) if is_sub => self.add_agent_prompt(*prompt, &mut cursor),
                Event::Prompt(prompt) => self.begin_turn(&thread, *prompt, &mut cursor),
                Event::Input(message) => cursor.pending.push(message),
                Event::Call(call) => {
                    self.ensure_turn(&thread, &mut cursor, call.start.or(call.end), &call.id);
                    self.call(&thread, *call, &mut cursor);
                }
                Event::Result(result) => {
                    self.ensure_turn(&thread, &mut cursor, result.end, &result.call_id);
                    self.result(&thread, *result, &mut cursor);
                }
                Event::Compacted(compaction) => self.compacted(&thread, *compaction, &mut cursor),
                Event::Facts(facts) => match cursor.agent.and_then(|agent| self.drafts.get_mut(agent)) {
                    Some(agent) => add_facts(&mut agent.operation, facts),
                    None => cursor.facts.push(facts),
                },
                Event::Failed(message, at) => {
                    self.extend_agent(&cursor, None, at);
                    if let Some(agent) = cursor.agent.and_then(|agent| self.drafts.get_mut(agent)) {
                        agent.operation.failure = Some(failure(message));
                    }
                }
            }
        }
        if let (false, Some(agent)) = (is_sub, cursor.agent.and_then(|agent| self.drafts.get_mut(agent))) {
            settle_turn(agent, true);
        }
        if let Some(words) = thread.unknown.words()
            && let Some(agent) = cursor.agent.and_then(|agent| self.drafts.get_mut(agent))
        {
            add_facts(&mut agent.operation, Map::from_iter([("unknown_records".to_owned(), words.into())]));
        }
    }

    fn operation(&self, thread: &Thread, kind: Kind, name: String) -> Operation {
        let mut operation = Operation {
            session_id: Some(thread.session.clone()).filter(|session| !session.is_empty()),
            ..Operation::named(kind, name)
        };
        operation.agent.name = Some(self.agent_name(thread));
        if thread.under.is_some() {
            operation.agent.id = Some(thread.id.clone()).filter(|id| !id.is_empty());
        }
        operation
    }

    fn agent_name(&self, thread: &Thread) -> String {
        thread.name.clone().unwrap_or_else(|| self.client.to_owned())
    }

    /// Adds an operation of a thread, and returns its index.
    fn add(&mut self, thread: &Thread, mut draft: Draft) -> usize {
        let client = self.client;
        let resource = self.resources.entry(thread.version.clone()).or_insert_with_key(|version| {
            let mut resource = Resource::default();
            resource.attributes.push("service.name", client);
            if let Some(version) = version {
                resource.attributes.push("service.version", version.clone());
            }
            Arc::new(resource)
        });
        draft.resource = Some(Arc::clone(resource));
        self.drafts.push(draft);
        self.drafts.len() - 1
    }

    fn begin_sub_agent(&mut self, thread: &Thread, trace: TraceId, parent: Option<usize>, cursor: &mut Cursor) {
        let mut operation = self.operation(thread, Kind::Agent, format!("invoke_agent {}", self.agent_name(thread)));
        operation.agent.description = thread.description.clone();
        let id = ids::span(trace, "agent", &thread.id);
        cursor.agent = Some(self.add(thread, Draft::new(trace, id, parent, operation)));
    }

    /// Handles the prompt of a sub-agent, and later messages to it.
    fn add_agent_prompt(&mut self, mut prompt: Prompt, cursor: &mut Cursor) {
        cursor.clock = prompt.at.or(cursor.clock);
        if let Some(agent) = cursor.agent.and_then(|agent| self.drafts.get_mut(agent)) {
            if agent.operation.input.get().is_none() {
                agent.operation.input = prompt.message.content().into();
            }
            agent.start = agent.start.or(prompt.at);
            add_facts(&mut agent.operation, std::mem::take(&mut prompt.facts));
        }
        cursor.push_prompt(prompt);
    }

    fn begin_turn(&mut self, thread: &Thread, mut prompt: Prompt, cursor: &mut Cursor) {
        let trace = prompt.trace.unwrap_or_else(|| ids::trace(self.client, &prompt.id));
        let mut operation = self.operation(thread, Kind::Agent, format!("invoke_agent {}", self.agent_name(thread)));
        operation.input = prompt.message.content().into();
        if let Some(session) = prompt.session.take() {
            operation.session_id = Some(session);
        }
        cursor.facts.drain(..).for_each(|facts| add_facts(&mut operation, facts));
        add_facts(&mut operation, std::mem::take(&mut prompt.facts));
        if let Some(before) = cursor.agent.and_then(|agent| self.drafts.get_mut(agent)) {
            settle_turn(before, false);
        }
        let id = ids::span(trace, "turn", "");
        let mut draft = Draft::new(trace, id, None, operation);
        draft.start = prompt.at;
        let reported = prompt.reports.take().and_then(|call| self.tools.get(&call));
        let reported = reported
            .and_then(|index| self.drafts.get(*index))
            .map(|draft| (draft.trace, draft.id));
        draft.links = [
            cursor.before.map(|to| link(to, "previous_turn")),
            reported.map(|to| link(to, "reports")),
        ]
        .into_iter()
        .flatten()
        .collect();
        cursor.agent = Some(self.add(thread, draft));
        cursor.before = Some((trace, id));
        cursor.history = None;
        cursor.system = None;
        cursor.has_tools = false;
        cursor.clock = prompt.at.or(cursor.clock);
        // Drop the previous turn's prompt and tool results if no model call received them: they are in that turn's trace.
        if let Some(before) = cursor.prompt.take().filter(|range| range.end <= cursor.pending.len()) {
            cursor.pending.drain(before);
        }
        cursor.pending.retain(|message| message.role != Role::Tool);
        let begin = cursor.pending.len();
        cursor.push_prompt(prompt);
        cursor.prompt = Some(begin..cursor.pending.len());
    }

    /// Begins a turn for events before any prompt, if the beginning of the file is missing.
    fn ensure_turn(&mut self, thread: &Thread, cursor: &mut Cursor, at: Option<UnixNanos>, first: &str) {
        if cursor.agent.is_some() {
            return;
        }
        let trace = ids::trace(self.client, first);
        let mut operation = self.operation(thread, Kind::Agent, format!("invoke_agent {}", self.agent_name(thread)));
        cursor.facts.drain(..).for_each(|facts| add_facts(&mut operation, facts));
        let id = ids::span(trace, "turn", "");
        let mut draft = Draft::new(trace, id, None, operation);
        draft.start = at;
        cursor.agent = Some(self.add(thread, draft));
        cursor.before = Some((trace, id));
    }

    fn call(&mut self, thread: &Thread, mut call: Call, cursor: &mut Cursor) {
        let Some((trace, parent, session)) = self.agent(cursor) else {
            return;
        };
        let model = call.requested_model.clone().or_else(|| call.response_model.clone());
        let mut operation = self.operation(
            thread,
            Kind::Llm,
            format!("chat {}", model.as_deref().unwrap_or_default()).trim().to_owned(),
        );
        operation.session_id = session;
        operation.model.requested = call.requested_model.take();
        operation.model.response = call.response_model.take();
        operation.model.provider = call.provider.take();
        operation.response_id = call.response_id.take();
        operation.finish_reason = call.finish_reason.take();
        operation.parameters = std::mem::take(&mut call.parameters);
        operation.usage = call.usage;
        operation.cost = call.cost;
        operation.time_to_first_token = call.time_to_first_token;
        add_facts(&mut operation, std::mem::take(&mut call.facts));
        if !cursor.has_tools && !call.tools.is_empty() {
            operation.tool_definitions = call.tools.to_vec();
            cursor.has_tools = true;
        }
        let id = ids::span(trace, "call", &own(thread, &call.id));
        cursor.prompt = None;
        let heard = std::mem::take(&mut cursor.pending);
        let mut given = given::of(&mut call, heard, cursor.history.is_none(), &mut operation);
        let system = call.system.take();
        let history = cursor.history.filter(|_| system.is_none() || system == cursor.system);
        if history.is_none()
            && let Some(system) = system
        {
            given.insert(0, Message::text(Role::System, &*system));
            cursor.system = Some(system);
        }
        let history = history.unwrap_or_else(|| self.histories.begin());
        cursor.history = Some(history);
        self.histories.of(history).append(&mut given);
        let output = call.output.take().filter(|message| !message.is_blank());
        if let Some(why) = call.failure.take() {
            operation.failure = Some(failure(why));
        }
        // The client retried successfully.
        if operation.failure.is_none()
            && let Some(agent) = cursor.agent.and_then(|agent| self.drafts.get_mut(agent))
            && let Some(failure) = agent.operation.failure.take()
        {
            let message = failure.message.unwrap_or_default();
            add_facts(&mut agent.operation, Map::from_iter([("retries".to_owned(), message.into())]));
        }
        let start = call.start.or(cursor.clock.filter(|clock| call.end.is_none_or(|end| *clock <= end)));
        // A line without times is an instant after the previous one, since lines are in order of events.
        let has_times = call.start.or(call.end).is_some();
        let start = if has_times {
            in_order(start, call.end, cursor.clock)
        } else {
            cursor.tick()
        };
        let end = call.end.or(start);
        cursor.clock = end.or(cursor.clock);
        let mut calls = output.as_ref().map(|message| message.tool_calls.clone()).unwrap_or_default();
        calls.retain(|call| call.recorded_id().is_none_or(|id| !self.is_done(thread, trace, id)));
        if let Some(message) = &output
            && let Some(agent) = cursor.agent.and_then(|agent| self.drafts.get_mut(agent))
        {
            // Text before a tool call is not an answer.
            let is_answer = message.has_words() && (calls.is_empty() || !message.asks_for_tools());
            agent.operation.output = if is_answer { message.content().into() } else { Default::default() };
        }
        let mut draft = Draft::new(trace, id, Some(parent), operation);
        (draft.start, draft.end, draft.start_unknown) = (start, end, call.start.is_none());
        draft.hears(history, &mut self.histories);
        self.histories.of(history).extend(output.clone());
        draft.operation.output_messages = output.map(|message| vec![message]);
        self.extend_agent(cursor, start, end);
        self.add(thread, draft);
        for asked in calls {
            let Some(call_id) = asked.recorded_id().map(str::to_owned) else {
                continue;
            };
            let tool = ToolUse {
                name: Some(asked.name),
                call_id: Some(call_id.clone()),
                arguments: asked.arguments,
                ..ToolUse::default()
            };
            let at = if has_times { end } else { cursor.tick() };
            self.tool(thread, tool, &call_id, parent, (at, at), cursor);
        }
    }

    /// Replaces the conversation by a summary. The call that wrote it is recorded outside the conversation.
    fn compacted(&mut self, thread: &Thread, compaction: Compaction, cursor: &mut Cursor) {
        if let Some(summary) = compaction.summary {
            (cursor.history, cursor.prompt) = (None, None);
            cursor.pending.clear();
            if let Some(system) = cursor.system.take() {
                cursor.pending.push(Message::text(Role::System, &*system));
                cursor.system = Some(system);
            }
            cursor.pending.push(summary);
        }
        let Some((trace, parent, session)) = self.agent(cursor) else {
            return;
        };
        let mut operation = self.operation(thread, Kind::Chain, "compaction".to_owned());
        operation.session_id = session;
        operation.response_id = compaction.response_id;
        operation.usage = compaction.usage;
        operation.cost = compaction.cost;
        add_facts(&mut operation, compaction.facts);
        let id = ids::span(trace, "compaction", &own(thread, &compaction.id));
        let mut draft = Draft::new(trace, id, Some(parent), operation);
        let end = compaction.at.or(cursor.clock);
        (draft.start, draft.end) = (compaction.start.or(end), end);
        draft.start_unknown = compaction.start.is_none();
        self.add(thread, draft);
    }

    /// The trace, the index and the session of the agent at work.
    fn agent(&self, cursor: &Cursor) -> Option<(TraceId, usize, Option<String>)> {
        let agent = cursor.agent?;
        let draft = self.drafts.get(agent)?;
        Some((draft.trace, agent, draft.operation.session_id.clone()))
    }

    fn extend_agent(&mut self, cursor: &Cursor, start: Option<UnixNanos>, end: Option<UnixNanos>) {
        if let Some(agent) = cursor.agent.and_then(|agent| self.drafts.get_mut(agent)) {
            agent.start = agent.start.or(start);
            agent.end = agent.end.max(end);
        }
    }
}
