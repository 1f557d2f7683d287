//! Conversations into blocks.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::digest::{block_id, sha256};
use super::document::{Block, SubType};
use super::facts;
use super::limits::{Limits, pieces, size};
use super::list::{Draft, List};
use super::plan::{Item, Plan};
use super::words::{opaque, text_of, words};
use crate::formats::{Loss, LossReason};
use crate::operation::message::arguments_object;
use crate::operation::{Message, Role, ToolCall};
use crate::run::{CallEntry, Entry, EntryKind, ResultEntry, Run, Step};
use crate::span::{SpanId, UnixNanos};

/// Writes one run.
pub(super) struct Writer<'a> {
    pub(super) run: &'a Run,
    pub(super) plan: &'a Plan<'a>,
    pub(super) limits: Limits,
    /// Whether sub-agents' blocks stand in the list itself.
    pub(super) inline: bool,
    pub(super) losses: Vec<Loss>,
    /// Steps that blocks tell of.
    pub(super) told: HashSet<usize>,
    ordinals: HashMap<(String, &'static str), u32>,
    written: HashSet<usize>,
    /// Tools offered to the latest model call of each stream.
    offered: HashMap<usize, Value>,
}

/// One stream while it is written.
#[derive(Default)]
struct Conversation {
    scope: usize,
    last_message: Option<usize>,
    /// The call's draft by the id that entries use.
    calls: HashMap<String, usize>,
    /// The call's draft by the model call that asked and its place there.
    places: HashMap<(usize, usize), usize>,
    /// Sub-agents to be written after the turn.
    pending: Vec<usize>,
}

/// What a block is made of, beside its payload.
struct Made {
    sub_type: SubType,
    role: &'static str,
    author: Option<usize>,
    at: UnixNanos,
    parent: Option<usize>,
    metadata: Map<String, Value>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(run: &'a Run, plan: &'a Plan<'a>, limits: Limits, inline: bool) -> Self {
        Self {
            run,
            plan,
            limits,
            inline,
            losses: Vec::new(),
            told: HashSet::new(),
            ordinals: HashMap::new(),
            written: HashSet::new(),
            offered: HashMap::new(),
        }
    }

    /// Writes the run's top-level conversations from the given item of the first one on.
    pub(super) fn write(&mut self, list: &mut List, skip: usize) {
        list.start = list.drafts.len();
        list.streams.clear();
        let plan = self.plan;
        for (index, scope) in plan.top.iter().enumerate() {
            self.stream(list, *scope, if index == 0 { skip } else { 0 });
        }
        // A sub-agent whose call no block shows has no place but the end.
        let mut lost: Vec<usize> = plan.inner.values().flatten().copied().collect();
        lost.sort_unstable();
        for scope in lost {
            if !self.written.contains(&scope) && plan.streams.get(scope).is_some_and(|items| !items.is_empty()) {
                let span = self.scope_span(scope);
                self.lose(span, "sub-agent: no block shows the call that it belongs to", LossReason::Ambiguous);
                self.stream(list, scope, 0);
            }
        }
        self.beside(list);
    }

    fn stream(&mut self, list: &mut List, scope: usize, skip: usize) {
        if !self.written.insert(scope) {
            return;
        }
        let _ = list.streams.insert(scope);
        if let Some(step) = self.run.scopes.get(scope).and_then(|scope| scope.step) {
            let _ = self.told.insert(step);
        }
        let plan = self.plan;
        let mut talk = Conversation {
            scope,
            ..Conversation::default()
        };
        for item in plan.streams.get(scope).into_iter().flatten().skip(skip) {
            match item {
                Item::Entry { entry, at } => self.entry(list, &mut talk, entry, *at),
                Item::Pair(step) => self.pair(list, &mut talk, *step),
                Item::Said { role, content, step, at } => {
                    let message = Message::text(role.clone(), text_of(content));
                    let interrupt = self.step(*step).and_then(|step| step.operation.interrupt.clone());
                    if let Some(place) = self.message(list, &mut talk, &message, Some(*step), *at)
                        && let Some(block) = list.block(place)
                    {
                        let _ = self.told.insert(*step);
                        if let Some(interrupt) = interrupt {
                            block.annotate("interrupt", json!({"prompt": interrupt.prompt, "wait_ms": interrupt.wait_ms}));
                        }
                        if !content.is_string() {
                            block.raw = Some((*content).clone());
                        }
                    }
                }
            }
        }
        self.flush(list, &mut talk);
        self.unanswered(list, &talk);
    }

    fn entry(&mut self, list: &mut List, talk: &mut Conversation, entry: &Entry, at: UnixNanos) {
        match &entry.kind {
            EntryKind::Message(message) if message.role == Role::Tool => {
                let result = ResultEntry {
                    call_id: message.tool_call_id.clone().unwrap_or_default(),
                    tool: None,
                    result: message.result_value(),
                    failure: None,
                    attempt: 0,
                };
                self.result(list, talk, &result, at);
            }
            EntryKind::Message(message) => {
                self.flush(list, talk);
                let before = list.drafts.len();
                let place = self.message(list, talk, message, entry.step, at);
                self.thoughts_and_calls(list, talk, message, entry.step, place, at, false);
                self.mark_branch(list, before, entry.branch);
            }
            EntryKind::Turn(message) => {
                self.flush(list, talk);
                let before = list.drafts.len();
                self.turn(list, talk, message, entry.step, at);
                self.mark_branch(list, before, entry.branch);
            }
            EntryKind::Call(call) => self.lone_call(list, talk, call, at),
            EntryKind::Result(result) => self.result(list, talk, result, at),
        }
    }

    fn mark_branch(&self, list: &mut List, first: usize, branch: bool) {
        if branch && let Some(block) = list.block(first) {
            block.annotate("branch", true);
        }
    }

    fn turn(&mut self, list: &mut List, talk: &mut Conversation, message: &Message, step: Option<usize>, at: UnixNanos) {
        let first = list.drafts.len();
        let place = self.message(list, talk, message, step, at);
        self.thoughts_and_calls(list, talk, message, step, place, at, true);
        let Some((index, step)) = step.and_then(|index| Some((index, self.step(index)?))) else {
            return;
        };
        for draft in list.drafts.iter_mut().skip(first) {
            draft.author = Some(index);
        }
        let offered = facts::tools(&step.operation.tool_definitions);
        let known = self.offered.get(&talk.scope) == Some(&offered);
        let Some(block) = list.block(first) else { return };
        let _ = self.told.insert(index);
        for (key, value) in facts::details(step) {
            block.annotate(&key, value);
        }
        let mut call = facts::model_call(&step.operation);
        if let Value::Object(map) = &mut call {
            if let Some(reason) = &message.finish_reason
                && !map.contains_key("finish_reason")
            {
                facts::put(map, "finish_reason", reason.as_str());
            }
            if !known {
                facts::put_filled(map, "tools", offered.clone());
            }
        }
        if !facts::is_empty(&call) {
            block.annotate("model_call", call);
        }
        if let Some(failure) = &step.operation.failure {
            block.annotate("error", failure.text());
        }
        if let Some(response) = &step.operation.raw_response {
            block.raw = Some(response.clone());
        }
        let _ = self.offered.insert(talk.scope, offered);
        let choices = step.operation.output_messages.as_ref().map_or(0, Vec::len);
        if choices > 1 {
            let others: Vec<Value> = step
                .operation
                .output_messages
                .iter()
                .flatten()
                .skip(1)
                .map(Message::to_chat)
                .collect();
            block.annotate("choices", others);
        }
    }

    /// A MESSAGE, or several if its text is too long: the place of the last one. Nothing for blank text.
    fn message(
        &mut self,
        list: &mut List,
        talk: &mut Conversation,
        message: &Message,
        step: Option<usize>,
        at: UnixNanos,
    ) -> Option<usize> {
        let said = words(message);
        let span = step.and_then(|step| self.span(step));
        if said.text.trim().is_empty() {
            if message.tool_calls.is_empty() && !message.is_blank() && message.reasoning().is_none() && opaque(message).is_empty() {
                self.lose(span, format!("{} message without text", message.role.name()), LossReason::NoPlace);
            }
            return None;
        }
        let role = match &message.role {
            Role::System | Role::Developer => "system",
            Role::Assistant => "assistant",
            _ => "user",
        };
        let mut metadata = self.origin(step);
        if role != message.role.name() {
            facts::put(&mut metadata, "role", message.role.name());
            self.lose(span, format!("role {}", message.role.name()), LossReason::Coerced);
        }
        if let Some(name) = &message.name {
            facts::put(&mut metadata, "name", name.as_str());
        }
        if said.raw.is_some() {
            self.lose(span, format!("{role} message: parts that are no text"), LossReason::Coerced);
        }
        let parts: Vec<&str> = self.cut(&said.text, self.limits.message, span, "message content");
        let count = parts.len();
        let mut last = None;
        for (index, part) in parts.into_iter().enumerate() {
            let mut metadata = metadata.clone();
            if count > 1 {
                facts::put(&mut metadata, "part", json!({"index": index, "count": count}));
            }
            let made = Made {
                sub_type: SubType::Message,
                role,
                author: None,
                at,
                parent: None,
                metadata,
            };
            let payload = object([("role", role.into()), ("content", part.into())]);
            let place = self.push(list, talk.scope, made, payload, step);
            if index == 0
                && let Some(block) = list.block(place)
            {
                block.raw = said.raw.clone();
            }
            last = Some(place);
        }
        talk.last_message = last;
        last
    }

    /// What hangs under a message: under its own, else under the nearest one before.
    #[expect(clippy::too_many_arguments, reason = "one turn's facts, each used once")]
    fn thoughts_and_calls(
        &mut self,
        list: &mut List,
        talk: &mut Conversation,
        message: &Message,
        step: Option<usize>,
        own: Option<usize>,
        at: UnixNanos,
        turn: bool,
    ) {
        let span = step.and_then(|step| self.span(step));
        let thought = message.reasoning();
        let hidden = opaque(message);
        let mut metadata = self.origin(step);
        if thought.is_none() && message.tool_calls.is_empty() {
            if !hidden.is_empty() {
                match own.and_then(|place| list.block(place)) {
                    Some(block) => block.annotate("reasoning", hidden),
                    None => self.lose(span, "reasoning without text", LossReason::NoPlace),
                }
            }
            return;
        }
        let (parent, reason) = match own {
            Some(place) => (place, None),
            None => self.parent(list, talk, step, at, "assistant turn without text"),
        };
        if let Some(reason) = reason {
            facts::put(&mut metadata, "parent_reason", reason);
        }
        let mut hidden = (!hidden.is_empty()).then(|| Value::Array(hidden));
        if let Some(text) = thought {
            let parts = self.cut(&text, self.limits.think, span, "think text");
            let count = parts.len();
            for (index, part) in parts.into_iter().enumerate() {
                let mut metadata = metadata.clone();
                if count > 1 {
                    facts::put(&mut metadata, "part", json!({"index": index, "count": count}));
                }
                let made = Made {
                    sub_type: SubType::Think,
                    role: "think",
                    author: None,
                    at,
                    parent: Some(parent),
                    metadata,
                };
                let place = self.push(list, talk.scope, made, object([("text", part.into())]), step);
                if let Some(hidden) = hidden.take()
                    && let Some(block) = list.block(place)
                {
                    block.raw = Some(hidden);
                }
            }
        }
        for (index, call) in message.tool_calls.iter().enumerate() {
            let asked = step.filter(|_| turn).map(|step| (step, index));
            let place = self.call(list, talk, call, asked, step, parent, metadata.clone(), at);
            if let Some(hidden) = hidden.take()
                && let Some(block) = place.and_then(|place| list.block(place))
            {
                block.annotate("reasoning", hidden);
            }
        }
    }

    /// A model's TOOL_CALL. `None` where it repeats an earlier one of the conversation.
    #[expect(clippy::too_many_arguments, reason = "one call's facts, each used once")]
    fn call(
        &mut self,
        list: &mut List,
        talk: &mut Conversation,
        call: &ToolCall,
        asked: Option<(usize, usize)>,
        step: Option<usize>,
        parent: usize,
        mut metadata: Map<String, Value>,
        at: UnixNanos,
    ) -> Option<usize> {
        let span = step.and_then(|step| self.span(step));
        let (arguments, coerced) = call.arguments_object();
        if coerced {
            self.lose(
                span,
                format!("tool_call {}: arguments are no object", call.name),
                LossReason::Coerced,
            );
        }
        let recorded = call.id.as_deref().filter(|id| !id.is_empty());
        let name = if call.name.trim().is_empty() {
            self.lose(span, "tool_call without a name", LossReason::Synthesized);
            "unknown"
        } else {
            &call.name
        };
        if let Some(earlier) = recorded.and_then(|id| talk.calls.get(id)).copied() {
            let same = list.block(earlier).is_some_and(|block| {
                block.payload.get("name").and_then(Value::as_str) == Some(name)
                    && block.payload.get("arguments") == Some(&Value::Object(arguments.clone()))
            });
            if same {
                if let Some(asked) = asked {
                    let _ = talk.places.insert(asked, earlier);
                }
                self.lose(
                    span,
                    format!("tool_call {name}: asked for again with the same id"),
                    LossReason::Ambiguous,
                );
                return None;
            }
        }
        let derived = asked.is_some_and(|(step, index)| self.id_is_derived(step, index));
        let wanted = recorded.map_or_else(
            || {
                let index = asked.map_or(talk.calls.len(), |(_, index)| index);
                format!("{}:{index}", self.span_text(step))
            },
            str::to_owned,
        );
        if recorded.is_none() || derived {
            facts::put(&mut metadata, "call_id_derived", true);
            self.lose(span, format!("tool_call {name}: call_id"), LossReason::Synthesized);
        }
        let prefix = self.prefix(talk.scope, recorded.is_some_and(|id| talk.calls.contains_key(id)), step);
        let id = list.free_call_id(&wanted, &prefix);
        if id != wanted {
            facts::put(&mut metadata, "call_id", wanted.as_str());
        }
        let made = Made {
            sub_type: SubType::ToolCall,
            role: "call",
            author: None,
            at,
            parent: Some(parent),
            metadata,
        };
        let raw = call
            .arguments_text
            .as_ref()
            .filter(|text| coerced || serde_json::to_string(&arguments).ok().as_ref() != Some(text))
            .map(|text| json!({ "arguments": text }));
        let place = self.push_call(list, talk.scope, made, &id, name, arguments, step);
        if let Some(raw) = raw
            && let Some(block) = list.block(place)
            && block.raw.is_none()
        {
            block.raw = Some(raw);
        }
        let _ = talk.calls.insert(wanted, place);
        if let Some(asked) = asked {
            let _ = talk.places.insert(asked, place);
        }
        Some(place)
    }

    /// A call that only the tool's span tells of.
    fn lone_call(&mut self, list: &mut List, talk: &mut Conversation, entry: &CallEntry, at: UnixNanos) {
        let Some(step) = self.step(entry.tool) else { return };
        let span = step.span_id;
        let (parent, _) = self.parent(list, talk, Some(entry.tool), at, "no model call asks for it");
        let mut metadata = self.origin(Some(entry.tool));
        facts::put(&mut metadata, "parent_reason", "no model call asks for it");
        let tool = step.operation.tool.as_ref();
        let name = tool_name(step);
        if tool.and_then(|tool| tool.call_id.as_deref()) != Some(entry.call_id.as_str()) {
            facts::put(&mut metadata, "call_id_derived", true);
        }
        self.lose(
            span,
            format!("tool_call {name}: no model call asks for it"),
            LossReason::Synthesized,
        );
        let (arguments, coerced) = arguments_object(tool.and_then(|tool| tool.arguments.as_ref()));
        if coerced {
            self.lose(span, format!("tool_call {name}: arguments are no object"), LossReason::Coerced);
        }
        let prefix = self.prefix(talk.scope, talk.calls.contains_key(&entry.call_id), Some(entry.tool));
        let id = list.free_call_id(&entry.call_id, &prefix);
        if id != entry.call_id {
            facts::put(&mut metadata, "call_id", entry.call_id.as_str());
        }
        let made = Made {
            sub_type: SubType::ToolCall,
            role: "call",
            author: Some(entry.tool),
            at,
            parent: Some(parent),
            metadata,
        };
        let place = self.push_call(list, talk.scope, made, &id, &name, arguments, Some(entry.tool));
        let _ = talk.calls.insert(entry.call_id.clone(), place);
        let _ = self.told.insert(entry.tool);
    }

    fn result(&mut self, list: &mut List, talk: &mut Conversation, entry: &ResultEntry, at: UnixNanos) {
        let tool = entry.tool.and_then(|tool| self.step(tool));
        let by_place = tool.and_then(|tool| talk.places.get(&(tool.dispatched_by?, tool.call_index?)).copied());
        let call = match talk.calls.get(&entry.call_id).copied().or(by_place) {
            Some(call) => call,
            None => self.call_for_result(list, talk, entry, at),
        };
        let output = entry.failure.as_ref().map(|failure| json!({"error": failure.text()}));
        let failed = output.is_some();
        let place = self.push_result(
            list,
            talk.scope,
            call,
            output.unwrap_or_else(|| entry.result.clone()),
            entry.tool,
            at,
            entry.attempt,
        );
        let Some(place) = place else { return };
        if let Some(failure) = &entry.failure
            && let Some(block) = list.block(place)
        {
            block.annotate_extra("status", "error");
            if let Some(word) = &failure.error_type {
                block.annotate("error_type", word.as_str());
            }
            if let Some(trace) = &failure.stacktrace {
                block.annotate("stacktrace", trace.as_str());
            }
            if failed && !entry.result.is_null() && entry.result.as_str() != Some(failure.text()) {
                block.annotate("result", entry.result.clone());
            }
        }
        let Some(step) = entry.tool else { return };
        let plan = self.plan;
        for scope in plan.inner.get(&step).into_iter().flatten() {
            self.sub_agent(list, talk, *scope, place);
        }
    }

    fn call_for_result(&mut self, list: &mut List, talk: &mut Conversation, entry: &ResultEntry, at: UnixNanos) -> usize {
        let span = entry.tool.and_then(|tool| self.span(tool));
        let step = entry.tool.and_then(|tool| self.step(tool));
        let name = step.map_or_else(|| "unknown".to_owned(), tool_name);
        let (arguments, _) = arguments_object(step.and_then(|step| step.operation.tool.as_ref()?.arguments.as_ref()));
        self.lose(
            span,
            format!("tool_call {name}: a result without its call"),
            LossReason::Synthesized,
        );
        let (parent, _) = self.parent(list, talk, entry.tool, at, "result without a call");
        let mut metadata = self.origin(entry.tool);
        facts::put(&mut metadata, "parent_reason", "result without a call");
        let wanted = if entry.call_id.is_empty() {
            self.span_text(entry.tool)
        } else {
            entry.call_id.clone()
        };
        let prefix = self.prefix(talk.scope, false, entry.tool);
        let id = list.free_call_id(&wanted, &prefix);
        let made = Made {
            sub_type: SubType::ToolCall,
            role: "call",
            author: entry.tool,
            at,
            parent: Some(parent),
            metadata,
        };
        let place = self.push_call(list, talk.scope, made, &id, &name, arguments, entry.tool);
        let _ = talk.calls.insert(entry.call_id.clone(), place);
        place
    }

    /// A TOOL_CALL and a TOOL_RESULT made of one operation.
    fn pair(&mut self, list: &mut List, talk: &mut Conversation, index: usize) {
        let Some(step) = self.step(index) else { return };
        let pair = super::pairs::pair(step);
        let (parent, _) = self.parent(list, talk, Some(index), step.started_at, "an operation on its own");
        let mut metadata = self.origin(Some(index));
        facts::put(&mut metadata, "parent_reason", "an operation on its own");
        facts::put(&mut metadata, "kind", step.operation.kind.name());
        let wanted = self.span_text(Some(index));
        let prefix = self.prefix(talk.scope, false, Some(index));
        let id = list.free_call_id(&wanted, &prefix);
        self.lose(
            step.span_id,
            format!("{} {}: told as a tool call", step.operation.kind.name(), pair.name),
            LossReason::Synthesized,
        );
        let made = Made {
            sub_type: SubType::ToolCall,
            role: "call",
            author: Some(index),
            at: step.started_at,
            parent: Some(parent),
            metadata,
        };
        let call = self.push_call(list, talk.scope, made, &id, &pair.name, pair.arguments, Some(index));
        if let Some(block) = list.block(call)
            && block.raw.is_none()
        {
            block.raw = Some(pair.raw);
        }
        let failed = step.operation.failure.as_ref();
        let output = failed.map_or(pair.output, |failure| json!({"error": failure.text()}));
        if let Some(place) = self.push_result(list, talk.scope, call, output, Some(index), step.end_or_start(), 0)
            && failed.is_some()
            && let Some(block) = list.block(place)
        {
            block.annotate_extra("status", "error");
        }
    }

    /// A sub-agent's work: inside the given block, or after the turn.
    fn sub_agent(&mut self, list: &mut List, talk: &mut Conversation, scope: usize, place: usize) {
        if self.written.contains(&scope) {
            return;
        }
        if self.inline {
            talk.pending.push(scope);
        } else {
            self.nest(list, scope, place);
        }
    }

    fn nest(&mut self, list: &mut List, scope: usize, place: usize) {
        let trace = list.trace.clone();
        let mut inner = List::new(&trace);
        self.stream(&mut inner, scope, 0);
        self.beside(&mut inner);
        let agent = self.run.scopes.get(scope).and_then(|scope| scope.agent.clone());
        let told = facts::filled([
            ("agent", agent.into()),
            ("span_id", self.scope_span(scope).map(|span| span.to_string()).into()),
        ]);
        let mut told = match told {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let blocks = serde_json::to_value(inner.finish()).unwrap_or_default();
        facts::put(&mut told, "blocks", blocks);
        let Some(block) = list.block(place) else { return };
        let several = match block.metadata.as_ref().and_then(|metadata| metadata.get("subagent")) {
            None => Value::Object(told),
            Some(Value::Array(before)) => {
                let mut all = before.clone();
                all.push(Value::Object(told));
                Value::Array(all)
            }
            Some(first) => json!([first, told]),
        };
        block.annotate("subagent", several);
    }

    /// Sub-agents that stand after their call's turn.
    fn flush(&mut self, list: &mut List, talk: &mut Conversation) {
        for scope in std::mem::take(&mut talk.pending) {
            self.stream(list, scope, 0);
        }
    }

    /// Sub-agents of calls without a result.
    fn unanswered(&mut self, list: &mut List, talk: &Conversation) {
        let plan = self.plan;
        let mut tools: Vec<(usize, usize)> = Vec::new();
        for tool in plan.inner.keys() {
            let Some(step) = self.step(*tool) else { continue };
            let by_place = step.dispatched_by.zip(step.call_index).and_then(|place| talk.places.get(&place));
            let by_id = || {
                let id = step.operation.tool.as_ref()?.call_id.as_ref()?;
                let belongs = plan.hosts.get(step.scope) == Some(&talk.scope);
                talk.calls.get(id).filter(|_| belongs)
            };
            let own = || list.of_run().find(|(_, draft)| draft.author == Some(*tool)).map(|(place, _)| place);
            if let Some(place) = by_place.copied().or_else(|| by_id().copied()).or_else(own) {
                tools.push((*tool, place));
            }
        }
        tools.sort_unstable();
        for (tool, place) in tools {
            for scope in plan.inner.get(&tool).into_iter().flatten() {
                if self.written.contains(scope) {
                    continue;
                }
                let _ = self.told.insert(tool);
                if self.inline {
                    self.stream(list, *scope, 0);
                } else {
                    self.nest(list, *scope, place);
                }
            }
        }
    }

    /// The message that something without one of its own hangs under, and why.
    fn parent(
        &mut self,
        list: &mut List,
        talk: &mut Conversation,
        step: Option<usize>,
        at: UnixNanos,
        reason: &'static str,
    ) -> (usize, Option<&'static str>) {
        if let Some(place) = talk.last_message {
            return (place, Some(reason));
        }
        if let Some(place) = list.last_message() {
            return (place, Some("no message of its own conversation"));
        }
        let span = step.and_then(|step| self.span(step));
        self.lose(span, "a message to hang on: none was recorded", LossReason::Synthesized);
        let mut metadata = self.origin(step);
        facts::put(&mut metadata, "spanbridge_placeholder", true);
        let made = Made {
            sub_type: SubType::Message,
            role: "placeholder",
            author: None,
            at,
            parent: None,
            metadata,
        };
        let payload = object([("role", "assistant".into()), ("content", "(no message was recorded)".into())]);
        let place = self.push(list, talk.scope, made, payload, step);
        talk.last_message = Some(place);
        (place, Some(reason))
    }

    #[expect(clippy::too_many_arguments, reason = "one call's facts, each used once")]
    fn push_call(
        &mut self,
        list: &mut List,
        stream: usize,
        mut made: Made,
        id: &str,
        name: &str,
        arguments: Map<String, Value>,
        step: Option<usize>,
    ) -> usize {
        let mut arguments = Value::Object(arguments);
        let bytes = size(&arguments);
        let mut whole = None;
        if bytes > self.limits.arguments {
            let text = arguments.to_string();
            let stand_in = json!({"omitted_bytes": bytes, "sha256": sha256(text.as_bytes())});
            whole = Some(json!({"arguments": std::mem::replace(&mut arguments, stand_in)}));
            facts::put(&mut made.metadata, "arguments_omitted", true);
            let span = step.and_then(|step| self.span(step));
            self.lose(span, format!("tool_call {name}: arguments of {bytes} bytes"), LossReason::Coerced);
        }
        let payload = object([("call_id", id.into()), ("name", name.into()), ("arguments", arguments)]);
        let place = self.push(list, stream, made, payload, step);
        if let Some(block) = list.block(place) {
            block.raw = whole;
        }
        place
    }

    /// One TOOL_RESULT, or several deltas if it is too long: the place of the last.
    #[expect(clippy::too_many_arguments, reason = "one result's facts, each used once")]
    fn push_result(
        &mut self,
        list: &mut List,
        stream: usize,
        call: usize,
        output: Value,
        step: Option<usize>,
        at: UnixNanos,
        attempt: u32,
    ) -> Option<usize> {
        let id = list.block(call).and_then(|block| block.call_id().map(str::to_owned))?;
        let mut metadata = self.origin(step);
        if let Some(tool) = step.and_then(|step| self.step(step)) {
            for (key, value) in facts::details(tool) {
                facts::put(&mut metadata, &key, value);
            }
            if let Some(server) = tool.operation.tool.as_ref().and_then(|tool| tool.mcp_server.as_deref()) {
                facts::put(&mut metadata, "server", server);
            }
        }
        if let Some(step) = step {
            let _ = self.told.insert(step);
        }
        if attempt > 0 {
            facts::put(&mut metadata, "attempt", attempt);
        }
        let made = |metadata: Map<String, Value>| Made {
            sub_type: SubType::ToolResult,
            role: "result",
            author: step,
            at,
            parent: Some(call),
            metadata,
        };
        if size(&output) <= self.limits.result {
            let payload = object([("call_id", id.into()), ("output", output)]);
            return Some(self.push(list, stream, made(metadata), payload, step));
        }
        let span = step.and_then(|step| self.span(step));
        self.lose(span, format!("tool_result output of {} bytes", size(&output)), LossReason::Split);
        let (text, encoding) = match &output {
            Value::String(text) => (text.clone(), "text"),
            other => (other.to_string(), "json"),
        };
        let parts = pieces(&text, self.limits.result);
        let count = parts.len();
        let mut last = None;
        for (index, part) in parts.into_iter().enumerate() {
            let mut metadata = if index + 1 == count {
                std::mem::take(&mut metadata)
            } else {
                self.origin(step)
            };
            facts::put(&mut metadata, "part", json!({"index": index, "count": count, "encoding": encoding}));
            let payload = object([("call_id", id.as_str().into()), ("delta", part.into())]);
            last = Some(self.push(list, stream, made(metadata), payload, step));
        }
        last
    }

    fn push(&mut self, list: &mut List, stream: usize, made: Made, payload: Map<String, Value>, step: Option<usize>) -> usize {
        let span = self.span_text(step);
        let ordinal = self.ordinals.entry((span.clone(), made.role)).or_default();
        let id = block_id(&self.run.trace_id.to_string(), &span, made.role, *ordinal);
        *ordinal += 1;
        let mut block = Block::new(made.sub_type, id, &list.trace, payload);
        block.parent_block_id = made.parent.and_then(|parent| list.id(parent)).map(Some);
        block.metadata = (!made.metadata.is_empty()).then_some(Value::Object(made.metadata));
        list.push(Draft {
            block,
            sub_type: made.sub_type,
            at: made.at,
            author: made.author,
            stream,
            call: made.parent.filter(|_| made.sub_type == SubType::ToolResult),
        })
    }

    /// Text in pieces that fit and are not blank.
    fn cut<'t>(&mut self, text: &'t str, limit: usize, span: Option<SpanId>, what: &str) -> Vec<&'t str> {
        let mut parts = pieces(text, limit);
        if parts.len() > 1 {
            self.lose(span, format!("{what} of {} bytes", text.len()), LossReason::Split);
            let before = parts.len();
            parts.retain(|part| !part.trim().is_empty());
            if parts.len() < before {
                self.lose(span, format!("{what}: a part of blanks alone"), LossReason::NoPlace);
            }
        }
        parts
    }

    /// What makes a call id of this conversation its own.
    fn prefix(&self, scope: usize, repeated: bool, step: Option<usize>) -> String {
        if repeated {
            return self.span_text(step);
        }
        self.run
            .scopes
            .get(scope)
            .and_then(|scope| scope.agent.clone())
            .or_else(|| self.scope_span(scope).map(|span| span.to_string()))
            .unwrap_or_else(|| format!("conversation-{scope}"))
    }

    /// Whether the model's output had no id where the conversation has one.
    fn id_is_derived(&self, step: usize, index: usize) -> bool {
        self.step(step)
            .and_then(|step| step.operation.output_messages.as_ref()?.first()?.tool_calls.get(index))
            .is_some_and(|call| call.id.is_none())
    }

    fn origin(&self, step: Option<usize>) -> Map<String, Value> {
        step.and_then(|step| self.step(step))
            .map(|step| facts::origin(self.run, step))
            .unwrap_or_default()
    }

    pub(super) fn step(&self, step: usize) -> Option<&'a Step> {
        self.run.steps.get(step)
    }

    fn span(&self, step: usize) -> Option<SpanId> {
        self.step(step)?.span_id
    }

    fn span_text(&self, step: Option<usize>) -> String {
        step.and_then(|step| self.step(step)).map_or_else(
            || "run".to_owned(),
            |step| step.span_id.map_or_else(|| step.id.clone(), |span| span.to_string()),
        )
    }

    fn scope_span(&self, scope: usize) -> Option<SpanId> {
        self.span(self.run.scopes.get(scope)?.step?)
    }

    pub(super) fn lose(&mut self, span: Option<SpanId>, what: impl Into<String>, reason: LossReason) {
        self.losses.push(Loss::new(span, what, reason));
    }
}

fn tool_name(step: &Step) -> String {
    let name = step.operation.tool.as_ref().and_then(|tool| tool.name.as_deref());
    [name, Some(step.operation.name.as_str())]
        .into_iter()
        .flatten()
        .find(|name| !name.trim().is_empty())
        .unwrap_or("unknown")
        .to_owned()
}

fn object<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
