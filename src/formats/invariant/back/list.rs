//! Reads a list of events in order.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Map, Value};

use super::beside::{started, take, tools};
use super::content::{self, result};
use crate::document::shape::kind_of;
use crate::formats::back::{
    At, HistoryId, NoteKind, Result, TraceBuilder, add_left_over_input, add_sub_agent, asked_operation, executed, read_operations,
    take_instructions, time,
};
use crate::operation::{Failure, Kind, Message, Operation, Role, ToolCall, ToolCallId, ToolDefinition};
use crate::span::UnixNanos;
use crate::transcript::NESTING_LIMIT;
use crate::transcript::content as step_content;

/// A call in the list.
#[derive(Debug, Clone)]
struct KnownCall {
    call: ToolCall,
    /// The model call that made it.
    caller: Option<usize>,
    /// The kind of the operation that it represents, if no model made it.
    kind: Kind,
}

/// Reads lists of events.
pub(super) struct EventReader<'s> {
    pub(super) builder: &'s mut TraceBuilder,
}

/// An event with a role.
struct Event<'e> {
    at: &'e At<'e>,
    metadata: Map<String, Value>,
    /// Its time.
    stamp: Option<UnixNanos>,
}

impl Event<'_> {
    fn span_id(&self) -> Option<&str> {
        self.metadata.get("span_id").and_then(Value::as_str)
    }
}

/// The messages so far in one list.
struct ListHistory {
    /// The agent that the list belongs to, and how many others enclose it.
    agent: usize,
    depth: usize,
    history: HistoryId,
    /// Index of the first message not yet passed to a model call.
    first_pending: usize,
    calls: HashMap<String, KnownCall>,
    /// Ids of calls requested by messages of the history.
    asked: HashSet<String>,
    last_call: Option<String>,
    /// Calls without an id and without an output so far.
    without_id: VecDeque<String>,
    tools: Vec<ToolDefinition>,
    /// Whether events name their spans: then an assistant message without span and time was only input of a model call.
    names_spans: bool,
    /// The span of each event.
    noted: Vec<Option<usize>>,
}

impl<'s> EventReader<'s> {
    pub(super) fn new(builder: &'s mut TraceBuilder) -> Self {
        Self { builder }
    }

    /// Reads the events of one agent; returns the span of each.
    pub(super) fn list(&mut self, events: &[At<'_>], agent: usize, depth: usize) -> Result<Vec<Option<usize>>> {
        let names_span = |event: &At<'_>| event.value.pointer("/metadata/span_id").is_some();
        let mut said = ListHistory {
            agent,
            depth,
            history: self.builder.begin_history(),
            first_pending: 0,
            calls: HashMap::new(),
            asked: HashSet::new(),
            last_call: None,
            without_id: VecDeque::new(),
            tools: Vec::new(),
            names_spans: events.iter().any(names_span),
            noted: Vec::new(),
        };
        for event in events {
            event.object()?;
            let index = match event.get("role") {
                Some(role) => self.message(event, &role, &mut said)?,
                None if event.get("tools").is_some() => {
                    said.tools = tools(event)?;
                    None
                }
                None if event.get("type").is_some() || event.get("function").is_some() => {
                    let call = content::call(event, self.builder)?;
                    self.bare(call, &mut said);
                    None
                }
                None => return Err(event.refuse("an event has a `role`, or is a call or a list of `tools`")),
            };
            said.noted.push(index);
        }
        Ok(self.left_over(said))
    }

    fn bare(&mut self, call: ToolCall, said: &mut ListHistory) {
        said.know(call.clone(), None, Kind::Tool);
        let message = Message {
            role: Role::Assistant,
            tool_calls: vec![call],
            ..Message::default()
        };
        self.say(message, said);
    }

    fn message(&mut self, at: &At<'_>, role: &At<'_>, said: &mut ListHistory) -> Result<Option<usize>> {
        let role = role.text()?;
        let metadata = at.get("metadata").map(|metadata| metadata.object().cloned()).transpose()?;
        let metadata = metadata.unwrap_or_default();
        let recorded = at.some("timestamp");
        let stamp = recorded.as_ref().and_then(|at| at.value.as_str().and_then(time));
        if let Some(at) = recorded.filter(|_| stamp.is_none()) {
            let detail = format!("{} is not an ISO 8601 time", step_content::text(at.value));
            self.builder.note(&at.path, NoteKind::TimeUnknown, detail);
        }
        let event = Event { at, metadata, stamp };
        if role == "tool" {
            return self.output(event, said);
        }
        let mut message = content::message(at, role, &event.metadata)?;
        if let Some(calls) = at.some("tool_calls") {
            let derived = event
                .metadata
                .get("synthesized_call_ids")
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            let derived: HashSet<Option<&str>> = derived.map(Value::as_str).collect();
            for call in calls.items()? {
                let mut call = content::call(&call, self.builder)?;
                if derived.contains(&call.id.as_deref()) {
                    call.id = call.id.map(|id| ToolCallId::Derived(id.as_str().to_owned()));
                }
                message.tool_calls.push(call);
            }
        }
        match role {
            "assistant" if event.metadata.contains_key("synthesized") => {
                let kind = event.metadata.get("synthesized").and_then(Value::as_str).and_then(Kind::from_name);
                for call in message.tool_calls {
                    said.know(call, None, kind.unwrap_or(Kind::Tool));
                }
                Ok(None)
            }
            "assistant" => Ok(self.turn(event, message, said)),
            _ => Ok(self.words(event, message, said)),
        }
    }

    /// Adds a model's turn.
    fn turn(&mut self, event: Event<'_>, message: Message, said: &mut ListHistory) -> Option<usize> {
        let (span_id, agent) = (event.span_id(), said.agent);
        // The agent's own answer: its span already exists.
        if span_id.is_some_and(|id| self.builder.has(id)) && message.tool_calls.is_empty() {
            let operation = self.builder.operation(agent)?;
            operation.output = message.content().into();
            return Some(agent);
        }
        if said.names_spans && span_id.is_none() && event.stamp.is_none() {
            for call in &message.tool_calls {
                said.know(call.clone(), None, Kind::Tool);
            }
            self.say(message, said);
            return None;
        }
        let id = self.builder.id_at(span_id, event.at);
        let start = started(&event.metadata, event.stamp);
        let inner = event.metadata.get("operations").cloned();
        let mut operation = Operation {
            output_messages: Some(vec![message.clone()]),
            // Tools offered to the following calls are recorded once, with the first call.
            tool_definitions: std::mem::take(&mut said.tools),
            ..Operation::named(Kind::Llm, "model call")
        };
        take(event.metadata, &mut operation);
        operation.metadata.shift_remove("operations");
        let index = self.builder.add_model_call(id, agent, operation, said.history);
        self.builder.times(index, start, event.stamp);
        for call in &message.tool_calls {
            said.know(call.clone(), Some(index), Kind::Tool);
        }
        said.first_pending = self.say(message, said);
        read_operations(inner.as_ref(), index, agent, self.builder);
        Some(index)
    }

    /// Adds words not written by a model.
    fn words(&mut self, event: Event<'_>, message: Message, said: &mut ListHistory) -> Option<usize> {
        let (content, mut index, agent) = (message.content(), None, said.agent);
        if let Some(id) = event.span_id().map(str::to_owned) {
            let is_first = agent == 0 && self.builder.drafts.len() == 1;
            let inner = asked_operation(&event.metadata, &id);
            if is_first && (event.metadata.len() == 1 || inner.is_some()) {
                // A workflow has its own operation; an agent is the root.
                if inner.is_none() {
                    self.builder.root_id(Some(&id));
                }
                read_operations(inner.as_ref(), 0, agent, self.builder);
                self.builder.operation(0)?.input = content.into();
                index = Some(0);
            } else {
                let id = self.builder.id_at(Some(&id), event.at);
                let start = started(&event.metadata, event.stamp);
                let mut operation = Operation::named(Kind::UserInput, "input");
                take(event.metadata, &mut operation);
                if let Some(asked) = operation.interrupt.as_deref_mut() {
                    operation.kind = Kind::Interrupt;
                    asked.response = asked.response.take().or(Some(content.into()));
                } else {
                    operation.input = content.into();
                }
                let place = self.builder.add(id, agent, operation);
                self.builder.times(place, start, event.stamp);
                index = Some(place);
            }
        }
        // Words recorded as a separate operation are not known to be input of a model call.
        if index.is_none() {
            self.say(message, said);
        }
        index
    }

    /// Adds a tool's output.
    fn output(&mut self, event: Event<'_>, said: &mut ListHistory) -> Result<Option<usize>> {
        let at = event.at;
        let call_id = match at.get("tool_call_id") {
            // To the analyzer, it then answers no call.
            Some(id) if id.value.is_null() => None,
            Some(id) => Some(id.text()?.to_owned()),
            None => {
                let last = said.without_id.pop_front().or_else(|| said.last_call.clone());
                let detail = "no `tool_call_id`: it answers the last call, as the analyzer has it";
                last.inspect(|_| self.builder.note(&at.path, NoteKind::ByPosition, detail))
            }
        };
        let known = call_id.as_ref().and_then(|id| said.calls.get(id)).cloned();
        let content = at.get("content");
        if let Some(content) = &content {
            match content.value {
                Value::Null | Value::String(_) => {}
                Value::Array(_) => drop(content::parts(content)?),
                Value::Object(_) => {
                    self.builder
                        .note(&content.path, NoteKind::Coerced, "Explorer expects text: comes back as JSON text");
                    self.builder.mend(&content.pointer, content.value.to_string().into());
                }
                other => return Err(content.refuse(format!("text, null or a list of parts is wanted, found {}", kind_of(other)))),
            }
        }
        let (Some(known), Some(call_id)) = (known, &call_id) else {
            self.without_call(&event, content.as_ref(), call_id, said)?;
            return Ok(None);
        };
        for earlier in event
            .metadata
            .get("earlier_results")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let earlier = Event {
                at: &at.below(".metadata.earlier_results", earlier),
                metadata: earlier.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default(),
                stamp: earlier.get("timestamp").and_then(Value::as_str).and_then(time),
            };
            self.run(earlier, said.agent, &known);
        }
        let inner = event.metadata.get("operations").cloned();
        let called = event.metadata.get("subagent").cloned();
        let failed = event.metadata.contains_key("error");
        let index = self.run(event, said.agent, &known);
        read_operations(inner.as_ref(), index, index, self.builder);
        if let Some(called) = called.filter(|_| said.depth < NESTING_LIMIT) {
            let at = at.below(".metadata.subagent", &called);
            self.subagent(&at, index, said.depth)?;
        }
        let mut answer = Message {
            role: Role::Tool,
            parts: match &content {
                Some(content) if !content.value.is_object() => content::parts(content)?,
                _ => Vec::new(),
            },
            tool_call_id: known.call.recorded_id().map(str::to_owned),
            name: Some(known.call.name),
            is_error: failed,
            ..Message::default()
        };
        if let Some(content) = content.filter(|content| content.value.is_object()) {
            answer.result = Some(content.value.clone().into());
        }
        if said.asked.contains(call_id) {
            said.first_pending = self.say(answer, said);
        }
        Ok(Some(index))
    }

    /// Adds an output that answers no call of the list: like Explorer, passes it to the next model call unchanged.
    fn without_call(&mut self, event: &Event<'_>, content: Option<&At<'_>>, call_id: Option<String>, said: &mut ListHistory) -> Result<()> {
        let detail = "no call before it has this output: the model was given it as it is";
        self.builder.note(&event.at.path, NoteKind::ByPosition, detail);
        let answer = Message {
            role: Role::Tool,
            parts: match content {
                Some(content) if !content.value.is_object() => content::parts(content)?,
                _ => Vec::new(),
            },
            result: content
                .map(|content| content.value)
                .filter(|value| value.is_object())
                .map(|value| value.clone().into()),
            name: event.at.text_of("name")?.map(str::to_owned),
            is_error: event.metadata.contains_key("error"),
            tool_call_id: call_id,
            ..Message::default()
        };
        self.say(answer, said);
        Ok(())
    }

    fn run(&mut self, event: Event<'_>, agent: usize, known: &KnownCall) -> usize {
        let id = self.builder.id_at(event.span_id(), event.at);
        let start = started(&event.metadata, event.stamp);
        let mut result = result(event.at.get("content").as_ref());
        let mut metadata = event.metadata;
        metadata.shift_remove("earlier_results");
        metadata.shift_remove("operations");
        let mut operation = Operation::named(known.kind, known.call.name.clone());
        take(metadata, &mut operation);
        if let Some(Failure { message: Some(text), .. }) = &operation.failure {
            result = result.filter(|result| result.as_str() != Some(&format!("Error: {text}")));
        }
        // For a call not made by a model, the call id is the span id, because none was recorded.
        let is_recorded = |recorded: &&str| known.caller.is_some() || *recorded != id.to_string();
        executed(&mut operation, &known.call, known.call.recorded_id().filter(is_recorded), result);
        let index = self.builder.add(id, agent, operation);
        self.builder.times(index, start, event.stamp);
        self.builder.after(index, known.caller);
        index
    }

    fn subagent(&mut self, at: &At<'_>, tool: usize, depth: usize) -> Result<()> {
        // Metadata may hold anything.
        let Some(events) = at.some("events").filter(|events| events.value.is_array()) else {
            return Ok(());
        };
        let agent = add_sub_agent(at, tool, self.builder);
        self.list(&events.items()?, agent, depth + 1).map(drop)
    }

    /// Adds a message to the history; returns the number of messages.
    fn say(&mut self, message: Message, said: &mut ListHistory) -> usize {
        let ids = message.tool_calls.iter().filter_map(|call| call.id.as_deref());
        said.asked.extend(ids.map(str::to_owned));
        let history = self.builder.history(said.history);
        history.push(message);
        history.len()
    }

    /// Adds words after the last model call as user input, one span each.
    fn left_over(&mut self, said: ListHistory) -> Vec<Option<usize>> {
        let agent = said.agent;
        let history = self.builder.history(said.history);
        let mut unheard = history.split_off(said.first_pending.min(history.len()));
        // No model was called.
        if said.first_pending == 0 {
            unheard = take_instructions(unheard, agent, self.builder, |message| message);
        }
        for message in unheard.into_iter().filter(|message| message.tool_calls.is_empty()) {
            match (&message.role, self.builder.operation(agent)) {
                (Role::Assistant, Some(operation)) => operation.output = message.content().into(),
                (Role::Assistant | Role::Tool, _) => {}
                _ => add_left_over_input(&message, agent, self.builder),
            }
        }
        said.noted
    }
}

impl ListHistory {
    fn know(&mut self, call: ToolCall, caller: Option<usize>, kind: Kind) {
        let id = call.id.as_deref().unwrap_or_default().to_owned();
        self.last_call = Some(id.clone());
        if call.recorded_id().is_none() && caller.is_some() {
            self.without_id.push_back(id.clone());
        }
        self.calls.insert(id, KnownCall { call, caller, kind });
    }
}
