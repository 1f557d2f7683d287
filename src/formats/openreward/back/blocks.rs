//! Reads blocks in insertion order.

use std::collections::HashMap;

use serde_json::Value;

use super::facts;
use crate::blocks::document::SubType;
use crate::document::shape::kind_of;
use crate::formats::back::{At, HistoryId, NoteKind, Result, TraceBuilder, add_left_over_input, add_sub_agent, executed, time};
use crate::operation::{Failure, Kind, Message, Operation, Part, Role, ToolCall, ToolCallId};
use crate::span::UnixNanos;
use crate::transcript::NESTING_LIMIT;

/// The part of a model's turn that has been read.
#[derive(Default)]
struct Turn<'a> {
    blocks: Vec<At<'a>>,
    span_id: Option<&'a str>,
    thoughts: String,
    words: Option<Message>,
    calls: Vec<ToolCall>,
}

struct KnownCall {
    call: ToolCall,
    caller: Option<usize>,
    kind: Kind,
    /// The execution that deltas are added to, with the deltas.
    pieces: Option<(usize, Vec<Delta>)>,
}

/// A piece of a result.
struct Delta {
    seq: Option<u64>,
    value: Value,
}

pub(super) struct BlockReader<'s> {
    builder: &'s mut TraceBuilder,
}

struct AgentHistory<'a> {
    history: HistoryId,
    first_pending: usize,
    turn: Option<Turn<'a>>,
    calls: HashMap<String, KnownCall>,
}

impl<'s> BlockReader<'s> {
    pub(super) fn new(builder: &'s mut TraceBuilder) -> Self {
        Self { builder }
    }

    /// Reads the blocks of one agent.
    pub(super) fn read(&mut self, blocks: &[At<'_>], agent: usize, depth: usize) -> Result<()> {
        let mut said = AgentHistory {
            history: self.builder.begin_history(),
            first_pending: 0,
            turn: None,
            calls: HashMap::new(),
        };
        for (number, block) in blocks.iter().enumerate() {
            let payload = block.need("payload")?;
            match block.value.get("sub_type").and_then(Value::as_str).and_then(SubType::from_name) {
                Some(SubType::Message) => self.message(block, &payload, agent, &mut said)?,
                Some(SubType::Think) => {
                    let text = payload.need("text")?.text()?;
                    let turn = self.turn(block, agent, &mut said, false);
                    let is_part = block.value.pointer("/metadata/part").is_some();
                    if !turn.thoughts.is_empty() && !is_part {
                        turn.thoughts.push('\n');
                    }
                    turn.thoughts.push_str(text);
                }
                Some(SubType::ToolCall) => self.call(block, &payload, agent, &mut said)?,
                Some(SubType::ToolResult) => self.result(block, &payload, agent, depth, &mut said)?,
                None => return Err(block.refuse("a block of no known `sub_type`")),
            }
            facts::beside(block.value, number, agent, self.builder);
        }
        self.flush(agent, &mut said);
        self.join(said.calls);
        let history = self.builder.history(said.history);
        let unheard = history.split_off(said.first_pending.min(history.len()));
        for message in unheard {
            add_left_over_input(&message, agent, self.builder);
        }
        Ok(())
    }

    fn message<'a>(&mut self, block: &At<'a>, payload: &At<'a>, agent: usize, said: &mut AgentHistory<'a>) -> Result<()> {
        let role = Role::from_word(payload.need("role")?.text()?);
        let content = payload.need("content")?;
        if block.value.pointer("/metadata/spanbridge_placeholder").is_some() {
            return Ok(());
        }
        let text = match content.value {
            Value::String(text) => text.clone(),
            other => {
                self.builder
                    .note(&content.path, NoteKind::Coerced, "the content is not text: read as JSON text");
                other.to_string()
            }
        };
        let part = block.value.pointer("/metadata/part/index").and_then(Value::as_u64).unwrap_or(0);
        if role == Role::Assistant {
            let turn = self.turn(block, agent, said, part == 0);
            match &mut turn.words {
                Some(words) => words.parts.push(Part::Text(text)),
                None => turn.words = Some(Message::text(role, text)),
            }
            return Ok(());
        }
        self.flush(agent, said);
        let history = self.builder.history(said.history);
        match history.last_mut().filter(|last| part > 0 && last.role == role) {
            Some(last) => last.parts.push(Part::Text(text)),
            None => history.push(Message::text(role, text)),
        }
        Ok(())
    }

    /// The turn that a block belongs to.
    fn turn<'a, 't>(&mut self, block: &At<'a>, agent: usize, said: &'t mut AgentHistory<'a>, begins: bool) -> &'t mut Turn<'a> {
        let span_id = block.value.pointer("/metadata/span_id").and_then(Value::as_str);
        let goes_on = said.turn.as_ref().is_some_and(|turn| match (turn.span_id, span_id) {
            (Some(open), Some(here)) => open == here,
            _ => !(begins && turn.words.is_some()),
        });
        if !goes_on {
            self.flush(agent, said);
        }
        let turn = said.turn.get_or_insert_default();
        turn.span_id = turn.span_id.or(span_id);
        turn.blocks.push(block.clone());
        turn
    }

    fn call<'a>(&mut self, block: &At<'a>, payload: &At<'a>, agent: usize, said: &mut AgentHistory<'a>) -> Result<()> {
        let call_id = payload.need("call_id")?.text()?;
        let about = |key: &str| block.value.get("metadata").and_then(|metadata| metadata.get(key));
        let kind = about("kind").and_then(Value::as_str).and_then(Kind::from_name);
        let reason = about("parent_reason").and_then(Value::as_str);
        let on_its_own = kind.is_some() || reason == Some("an operation on its own");
        // A tool that no model asked for is restored with a model call, to which this id belongs.
        let is_asked = reason != Some("no model call asks for it");
        let is_derived = on_its_own || is_asked && about("call_id_derived") == Some(&Value::Bool(true));
        let id = call_id.to_owned();
        let call = ToolCall {
            id: Some(if is_derived {
                ToolCallId::Derived(id)
            } else {
                ToolCallId::Recorded(id)
            }),
            name: payload.need("name")?.text()?.to_owned(),
            arguments: Some(arguments(payload, self.builder)?),
            ..ToolCall::default()
        };
        if on_its_own {
            self.flush(agent, said);
        } else {
            self.turn(block, agent, said, false).calls.push(call.clone());
        }
        let known = KnownCall {
            call,
            caller: None,
            kind: kind.unwrap_or(Kind::Tool),
            pieces: None,
        };
        said.calls.insert(call_id.to_owned(), known);
        Ok(())
    }

    fn result<'a>(&mut self, block: &At<'a>, payload: &At<'a>, agent: usize, depth: usize, said: &mut AgentHistory<'a>) -> Result<()> {
        self.flush(agent, said);
        let call_id = payload.need("call_id")?.text()?;
        let Some(known) = said.calls.get_mut(call_id) else {
            return Err(payload.need("call_id")?.refuse("no call with this id comes before it"));
        };
        let output = payload.value.get("output").cloned();
        let delta = payload.value.get("delta").cloned();
        let seq = || payload.value.get("seq").and_then(Value::as_u64);
        if let (Some(delta), Some((_, pieces))) = (&delta, &mut known.pieces) {
            pieces.push(Delta {
                seq: seq(),
                value: delta.clone(),
            });
            return Ok(());
        }
        let index = self.execution(block, output.clone(), agent, known);
        if let Some(delta) = delta {
            known.pieces = Some((index, vec![Delta { seq: seq(), value: delta }]));
        }
        if known.caller.is_some() {
            let answer = Message {
                role: Role::Tool,
                tool_call_id: known.call.recorded_id().map(str::to_owned),
                name: Some(known.call.name.clone()),
                result: output.map(Box::new),
                ..Message::default()
            };
            let history = self.builder.history(said.history);
            history.push(answer);
            said.first_pending = history.len();
        }
        let called = block.value.pointer("/metadata/subagent");
        let called = called.map(|called| called.as_array().map_or_else(|| vec![called], |list| list.iter().collect()));
        for about in called.into_iter().flatten().filter(|_| depth < NESTING_LIMIT) {
            let at = block.below(".metadata.subagent", about);
            self.subagent(&at, index, depth)?;
        }
        Ok(())
    }

    fn execution(&mut self, block: &At<'_>, output: Option<Value>, agent: usize, known: &KnownCall) -> usize {
        let metadata = facts::metadata(block.value);
        let id = self.builder.id_at(metadata.get("span_id").and_then(Value::as_str), block);
        let mut operation = Operation::named(known.kind, known.call.name.clone());
        facts::take(block.value, &mut operation);
        let mut result = output;
        if block.value.pointer("/extra/status").and_then(Value::as_str) == Some("error") {
            let failure: &mut Failure = operation.failure.get_or_insert_default();
            let only = result.as_ref().and_then(Value::as_object).filter(|map| map.len() == 1);
            if let Some(text) = only.and_then(|map| map.get("error")?.as_str()) {
                failure.message = Some(text.to_owned());
                result = None;
            }
        }
        let recorded = metadata.get("call_id").and_then(Value::as_str).or_else(|| known.call.recorded_id());
        match (known.kind, result) {
            (Kind::MemoryRead, Some(Value::Object(mut found))) => {
                executed(&mut operation, &known.call, recorded, found.shift_remove("results"));
                if let Some(memory) = operation.memory.as_deref_mut() {
                    memory.scores = found.shift_remove("scores");
                    memory.total_available = found.get("total_available").and_then(Value::as_i64);
                }
            }
            (_, result) => executed(&mut operation, &known.call, recorded, result),
        }
        let index = self.builder.add(id, agent, operation);
        let (start, end) = facts::times(&metadata);
        self.builder.times(index, start, end.or_else(|| inserted(block.value)));
        self.builder.after(index, known.caller);
        index
    }

    fn subagent(&mut self, at: &At<'_>, tool: usize, depth: usize) -> Result<()> {
        // Metadata may hold anything.
        let Some(blocks) = at.some("blocks").filter(|blocks| blocks.value.is_array()) else {
            return Ok(());
        };
        let agent = add_sub_agent(at, tool, self.builder);
        self.read(&blocks.items()?, agent, depth + 1)
    }

    /// Turns the open turn into a model call.
    fn flush(&mut self, agent: usize, said: &mut AgentHistory<'_>) {
        let Some(turn) = said.turn.take() else { return };
        let Some(first) = turn.blocks.first() else { return };
        let mut message = turn.words.unwrap_or(Message {
            role: Role::Assistant,
            ..Message::default()
        });
        if !turn.thoughts.is_empty() {
            message.parts.insert(0, Part::thought(turn.thoughts));
        }
        message.tool_calls = turn.calls;
        let id = self.builder.id_at(turn.span_id, first);
        let mut operation = Operation {
            output_messages: Some(vec![message.clone()]),
            ..Operation::named(Kind::Llm, "model call")
        };
        let (mut start, mut end) = (None, None);
        for block in &turn.blocks {
            facts::take(block.value, &mut operation);
            let (from, to) = facts::times(&facts::metadata(block.value));
            (start, end) = (start.or(from), end.or(to));
        }
        let inserted = turn.blocks.iter().rev().find_map(|block| inserted(block.value));
        let index = self.builder.add_model_call(id, agent, operation, said.history);
        self.builder.times(index, start, end.or(inserted));
        for call in &message.tool_calls {
            if let Some(known) = call.id.as_deref().and_then(|id| said.calls.get_mut(id)) {
                known.caller = Some(index);
            }
        }
        let history = self.builder.history(said.history);
        history.push(message);
        said.first_pending = history.len();
    }

    /// Joins deltas to the result of their execution, ordered by `seq`.
    fn join(&mut self, calls: HashMap<String, KnownCall>) {
        for (index, mut pieces) in calls.into_values().filter_map(|known| known.pieces) {
            pieces.sort_by_key(|piece| piece.seq.unwrap_or(u64::MAX));
            let texts: Option<String> = pieces.iter().map(|piece| piece.value.as_str()).collect();
            let whole = texts.map_or_else(|| pieces.into_iter().map(|piece| piece.value).collect(), Value::from);
            if let Some(tool) = self.builder.operation(index).and_then(|operation| operation.tool.as_deref_mut()) {
                tool.result = Some(whole);
            }
        }
    }
}

/// When a block was inserted.
fn inserted(block: &Value) -> Option<UnixNanos> {
    time(block.get("created_at")?.as_str()?)
}

/// Arguments; JSON text is parsed, as the spec demands.
fn arguments(payload: &At<'_>, builder: &mut TraceBuilder) -> Result<Value> {
    let at = payload.need("arguments")?;
    let Value::String(text) = at.value else {
        return Ok(at.value.clone());
    };
    let opened: Value = serde_json::from_str(text).map_err(|error| at.refuse(format!("text that is not JSON: {error}")))?;
    if !opened.is_object() {
        return Err(at.refuse(format!("an object is wanted, found JSON text of {}", kind_of(&opened))));
    }
    builder.numbers.add_text(text);
    builder.note(&at.path, NoteKind::Coerced, "JSON text was parsed, as on the page of the format");
    builder.mend(&at.pointer, opened.clone());
    Ok(opened)
}
