//! Reads the graph of a trace: the messages, their conversations and their operations.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::super::table::CALL;
use super::agents::Agents;
use super::message;
use super::tokens::Tokens;
use crate::dialect::messages::{self, Direction};
use crate::formats::back::{At, HistoryId, NoteKind, Result, TraceBuilder, executed, opened, read_facts, read_record, seconds, time};
use crate::operation::{Kind, Message, Operation, Role, ToolCall, ToolDefinition};
use crate::span::UnixNanos;

/// How many bytes of messages branches may repeat, per byte of a trace.
const MAX_REPETITION: usize = 16;

/// A node that has been read.
pub(super) struct Node {
    pub(super) parent: Option<usize>,
    pub(super) message: Message,
    pub(super) agent: usize,
    /// The first node of its conversation.
    pub(super) root: usize,
    pub(super) history: HistoryId,
    /// Length of the history up to and including this node.
    pub(super) length: usize,
    /// The model call that produced it.
    pub(super) call: Option<usize>,
}

/// State while a trace is read.
pub(super) struct Graph<'s, 'a> {
    pub(super) builder: &'s mut TraceBuilder,
    pub(super) agents: Agents,
    pub(super) nodes: Vec<Node>,
    pub(super) calls: Vec<At<'a>>,
    /// Index into `calls`, by node.
    pub(super) by_node: HashMap<usize, usize>,
    /// Facts of model calls in `info`, by the number of the call.
    pub(super) about_calls: HashMap<usize, &'a Map<String, Value>>,
    /// Facts of results in `info`, by node.
    pub(super) about_results: HashMap<usize, At<'a>>,
    /// Calls waiting for their results, by conversation and id.
    pub(super) waiting: HashMap<(usize, String), (ToolCall, usize)>,
    /// Tools by span id.
    pub(super) tools: HashMap<String, usize>,
    pub(super) offered: HashMap<usize, Vec<ToolDefinition>>,
    pub(super) tokens: Tokens,
    pub(super) left: usize,
}

impl<'s, 'a> Graph<'s, 'a> {
    /// Reads a trace into its builder.
    pub(super) fn read(trace: &At<'a>, builder: &'s mut TraceBuilder) -> Result<()> {
        let nodes = trace.items_of("nodes")?;
        let calls = trace.items_of("calls")?;
        let agents = Agents::read(trace, builder)?;
        let info = trace.some("info").filter(|info| info.value.is_object());
        let entries = |key: &str| -> Vec<At<'a>> {
            let list = info.as_ref().and_then(|info| info.some(key)).filter(|list| list.value.is_array());
            list.and_then(|list| list.items().ok()).unwrap_or_default()
        };
        let mut this = Self {
            agents,
            nodes: Vec::with_capacity(nodes.len()),
            by_node: HashMap::new(),
            about_calls: HashMap::new(),
            about_results: HashMap::new(),
            waiting: HashMap::new(),
            tools: HashMap::new(),
            offered: HashMap::new(),
            tokens: Tokens::default(),
            left: trace.value.to_string().len().saturating_mul(MAX_REPETITION).max(1 << 20),
            calls,
            builder,
        };
        for about in entries("model_calls") {
            if let (Some(call), Some(map)) = (number(about.value, "call"), about.value.as_object()) {
                this.about_calls.insert(call, map);
            }
        }
        let mut earlier = Vec::new();
        for about in entries("results") {
            match number(about.value, "node") {
                Some(node) => drop(this.about_results.insert(node, about)),
                None => earlier.push(about),
            }
        }
        let mut silent = Vec::new();
        for (place, call) in this.calls.iter().enumerate() {
            call.object()?;
            match number(call.value, "node") {
                Some(node) if node >= nodes.len() => return Err(call.refuse("there is no such node")),
                Some(node) if !this.by_node.contains_key(&node) => drop(this.by_node.insert(node, place)),
                _ => silent.push(place),
            }
        }
        this.links(&nodes)?;
        // Tools of the whole trace are recorded once, with its first message.
        let mut general = message::tools(trace)?;
        let mut silent = silent.into_iter().peekable();
        for (index, node) in nodes.iter().enumerate() {
            node.object()?;
            let at = node.value.get("timestamp").and_then(Value::as_f64);
            while let Some(call) = silent.next_if(|call| index > 0 && this.began(*call) < at) {
                this.silent(call)?;
            }
            this.node(index, node, &mut general)?;
        }
        for call in silent {
            this.silent(call)?;
        }
        this.rest(&earlier, &entries("operations"))
    }

    /// Adds agents whose last messages are linked from the results of tools.
    fn links(&mut self, nodes: &[At<'a>]) -> Result<()> {
        let mut roots: Vec<usize> = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            let parent = match node.some("parent") {
                None => None,
                Some(parent) => Some(
                    number(node.value, "parent")
                        .filter(|parent| *parent < index)
                        .ok_or_else(|| parent.refuse("the place of a node before this one is wanted"))?,
                ),
            };
            roots.push(parent.and_then(|parent| roots.get(parent)).copied().unwrap_or(index));
        }
        for node in nodes {
            let Some(links) = node.some("semantic_parents") else { continue };
            for link in links.items()? {
                let is_agent = link.value.get("type").and_then(Value::as_str) == Some("subagent_return");
                let Some(root) = number(link.value, "node").and_then(|last| roots.get(last)) else {
                    return Err(link.refuse("there is no such node"));
                };
                if is_agent {
                    self.agents.linked(*root, &link, self.builder);
                }
            }
        }
        Ok(())
    }

    fn began(&self, call: usize) -> Option<f64> {
        self.calls.get(call)?.value.pointer("/time/start")?.as_f64()
    }

    fn node(&mut self, index: usize, at: &At<'a>, general: &mut Vec<ToolDefinition>) -> Result<()> {
        let parent = number(at.value, "parent");
        let said = message::read(&at.need("message")?)?;
        let before = parent.and_then(|parent| self.nodes.get(parent));
        let (agent, root) = before.map_or_else(|| (self.agents.of_root(index), index), |node| (node.agent, node.root));
        if parent.is_none() {
            let own = message::tools(at)?;
            self.offered
                .insert(index, if own.is_empty() { std::mem::take(general) } else { own });
        }
        let history = self.history(parent)?;
        let is_sampled = at.value.get("sampled") == Some(&Value::Bool(true));
        let call = self.by_node.get(&index).copied();
        let mut training = crate::operation::Training::default();
        self.tokens.add(at.value, parent, &mut training);
        let place = if call.is_some() || is_sampled && said.role == Role::Assistant {
            let mut operation = self.operation(call, root)?;
            let known = &mut *operation.training;
            for (slot, recorded) in [
                (&mut known.prompt_token_ids, training.prompt_token_ids),
                (&mut known.completion_token_ids, training.completion_token_ids),
                (&mut known.logprobs, training.logprobs),
            ] {
                *slot = slot.take().or(recorded);
            }
            let mut output = vec![said.clone()];
            output.append(&mut operation.output_messages.take().unwrap_or_default());
            operation.output_messages = Some(output);
            let place = self.model_call(call, at, agent, operation, Some(history));
            for call in &said.tool_calls {
                let id = call.id.as_deref().unwrap_or_default().to_owned();
                self.waiting.insert((root, id), (call.clone(), place));
            }
            Some(place)
        } else {
            None
        };
        if said.role == Role::Tool {
            self.result(index, at, &said, (agent, root))?;
        }
        self.builder.history(history).push(said.clone());
        let length = self.builder.history(history).len();
        self.nodes.push(Node {
            parent,
            message: said,
            agent,
            root,
            history,
            length,
            call: place,
        });
        Ok(())
    }

    /// The conversation that ends with this node: its own if nothing follows there, else a new one that repeats the messages.
    fn history(&mut self, end: Option<usize>) -> Result<HistoryId> {
        let Some(node) = end.and_then(|end| self.nodes.get(end)) else {
            return Ok(self.builder.begin_history());
        };
        if self.builder.history(node.history).len() == node.length {
            return Ok(node.history);
        }
        let way = std::iter::successors(Some(node), |node| self.nodes.get(node.parent?));
        let mut messages = Vec::with_capacity(node.length);
        for node in way {
            let size = node.message.size();
            let Some(left) = self.left.checked_sub(size) else {
                let detail = format!("branches have more than {MAX_REPETITION} times what the trace does: from here on they begin anew");
                self.builder.note("$", NoteKind::Beside, detail);
                self.left = 0;
                messages.clear();
                break;
            };
            self.left = left;
            messages.push(node.message.clone());
        }
        messages.reverse();
        let history = self.builder.begin_history();
        self.builder.history(history).extend(messages);
        Ok(history)
    }

    /// Adds a model call without a message.
    fn silent(&mut self, call: usize) -> Result<()> {
        let last = self.nodes.last().map(|node| (node.history, node.agent, node.root));
        let (history, agent, root) = last.map_or((None, 0, 0), |(history, agent, root)| (Some(history), agent, root));
        let operation = self.operation(Some(call), root)?;
        let Some(at) = self.calls.get(call).cloned() else { return Ok(()) };
        self.model_call(Some(call), &at, agent, operation, history);
        Ok(())
    }

    /// Reads an entry of `calls`.
    fn operation(&mut self, call: Option<usize>, root: usize) -> Result<Operation> {
        let mut operation = Operation {
            // Tools offered to all calls of a conversation are recorded once, with the first call.
            tool_definitions: self.offered.remove(&root).unwrap_or_default(),
            ..Operation::named(Kind::Llm, "model call")
        };
        let Some(at) = call.and_then(|call| self.calls.get(call)) else {
            return Ok(operation);
        };
        read_record(at, CALL.fields, &mut operation)?;
        operation.parameters.retain(|_, value| !value.is_null());
        if let Some(error) = at.some("error") {
            error.object()?;
            operation.failure = Some(message::failure(error.value));
        }
        let Some(about) = call.and_then(|call| self.about_calls.get(&call)) else {
            return Ok(operation);
        };
        let mut facts = (*about).clone();
        for key in ["call", "span_id", "started_at", "evidence", "observed"] {
            facts.shift_remove(key);
        }
        if let Some(choices) = facts.get("choices").and_then(|choices| messages::read(choices, Direction::Output)) {
            facts.shift_remove("choices");
            let others = (1..).zip(choices).map(|(choice, other)| Message { choice, ..other });
            operation.output_messages = Some(others.collect());
        }
        read_facts(&mut facts, &mut operation);
        operation.metadata.extend(facts);
        Ok(operation)
    }

    fn model_call(&mut self, call: Option<usize>, at: &At<'a>, agent: usize, operation: Operation, history: Option<HistoryId>) -> usize {
        let about = call.and_then(|call| self.about_calls.get(&call));
        let text = |key: &str| about.and_then(|about| about.get(key)?.as_str());
        let id = self.builder.id_at(text("span_id"), at);
        let begun = text("started_at").and_then(time);
        let agent = self.agents.place(agent);
        let place = self.builder.add_model_call(id, agent, operation, history);
        let times = call.and_then(|call| self.calls.get(call)?.value.get("time"));
        let (start, end) = times.map(span).unwrap_or_default();
        self.builder.times(place, start.or(begun), end);
        self.builder.running(place, begun.is_some());
        place
    }

    /// Adds a tool's execution for its message, if the call was made in this run.
    fn result(&mut self, index: usize, at: &At<'a>, said: &Message, (agent, root): (usize, usize)) -> Result<()> {
        let id = said.tool_call_id.clone().unwrap_or_default();
        let waiting = self.waiting.remove(&(root, id));
        let about = self.about_results.get(&index).cloned();
        if waiting.is_none() && about.is_none() {
            return Ok(());
        }
        let (call, caller) = waiting.map_or((None, None), |(call, caller)| (Some(call), Some(caller)));
        let name = call.as_ref().map(|call| call.name.clone()).or_else(|| said.name.clone());
        let mut facts = about
            .as_ref()
            .and_then(|about| about.value.as_object())
            .cloned()
            .unwrap_or_default();
        let mut word = |key: &str| facts.shift_remove(key).and_then(|value| value.as_str().map(str::to_owned));
        let (span, kind) = (word("span_id"), word("kind").and_then(|kind| Kind::from_name(&kind)));
        let (started, ended, own) = (word("started_at"), word("ended_at"), word("name"));
        for key in ["node", "evidence", "observed"] {
            facts.shift_remove(key);
        }
        let name = name.or(own).unwrap_or_default();
        // A result that was only seen in messages.
        if about.is_some() && span.is_none() && started.is_none() && kind.is_none() {
            return Ok(());
        }
        let kind = kind.unwrap_or(Kind::Tool);
        let mut operation = Operation::named(kind, name.clone());
        let failed = facts.get("error").is_some();
        let result = Some(opened(said.content())).filter(|result| !failed || result.as_str().is_none_or(|words| !words.is_empty()));
        let is_asked = call.is_some();
        let call = ToolCall {
            name,
            ..call.unwrap_or_default()
        };
        executed(&mut operation, &call, said.tool_call_id.as_deref(), result);
        let own_id = facts.shift_remove("tool_call_id").and_then(|id| id.as_str().map(str::to_owned));
        if !is_asked && own_id.is_some() {
            operation.tool.get_or_insert_default().call_id = own_id;
        }
        read_facts(&mut facts, &mut operation);
        operation.metadata.extend(facts);
        // The message of a tool that failed without a result has the error.
        let error = operation.failure.as_ref().map(|failure| format!("Error: {}", failure.text()));
        if let Some(tool) = &mut operation.tool
            && error.is_some()
            && tool.result.as_ref().and_then(Value::as_str) == error.as_deref()
        {
            tool.result = None;
        }
        let own = self.builder.id_at(span.as_deref(), at);
        let place = self.builder.add(own, self.agents.place(agent), operation);
        if let Some(span) = span {
            self.tools.insert(span, place);
        }
        let seen = at.value.get("timestamp").and_then(Value::as_f64).and_then(seconds);
        let (start, end) = (started.as_deref().and_then(time), ended.as_deref().and_then(time));
        // A message is written when a tool has ended.
        let end = end.or(if start.is_none() && about.is_none() {
            None
        } else {
            seen.filter(|_| about.is_none())
        });
        self.builder.times(place, start, end);
        self.builder.after(place, caller);
        if let Some(links) = at.some("semantic_parents") {
            for link in links.items()? {
                let last = number(link.value, "node").and_then(|last| self.nodes.get(last));
                let inner = last.map(|last| self.agents.place(last.agent)).filter(|inner| *inner != 0);
                if let Some(draft) = inner.and_then(|inner| self.builder.drafts.get_mut(inner)) {
                    draft.parent = Some(place);
                }
            }
        }
        Ok(())
    }
}

pub(super) fn number(value: &Value, key: &str) -> Option<usize> {
    value.get(key)?.as_u64().and_then(|number| usize::try_from(number).ok())
}

fn span(time: &Value) -> (Option<UnixNanos>, Option<UnixNanos>) {
    let at = |key: &str| time.get(key).and_then(Value::as_f64).filter(|at| *at > 0.0).and_then(seconds);
    (at("start"), at("end"))
}
