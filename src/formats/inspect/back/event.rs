//! Reads a sample's events in order.

use serde_json::{Map, Value, json};

use super::attachments::Attachments;
use super::call::{parameters, usage};
use super::frames::{Frame, Scope, Scopes};
use super::input::Pool;
use super::judges::{Judges, judgement};
use super::message;
use crate::formats::back::{At, Draft, Result, TraceBuilder, executed, opened, read_facts, read_operations, time};
use crate::formats::inspect::model::stop_reason;
use crate::operation::{Evaluation, Kind, Message, Operation, ToolCall};

/// State while the events of a sample are read.
pub(super) struct Events<'s, 'a> {
    builder: &'s mut TraceBuilder,
    texts: &'s mut Attachments<'a>,
    pool: &'s mut Pool<'a>,
    frames: Vec<Frame>,
    scopes: Scopes,
    judges: Judges,
    /// The open steps; logs without spans have them.
    steps: Vec<Scope>,
    /// Whether the root has its own span.
    has_root: bool,
}

impl<'s, 'a> Events<'s, 'a> {
    pub(super) fn new(builder: &'s mut TraceBuilder, texts: &'s mut Attachments<'a>, pool: &'s mut Pool<'a>) -> Self {
        Self {
            builder,
            texts,
            pool,
            frames: vec![Frame::of(0)],
            scopes: Scopes::default(),
            judges: Judges::default(),
            steps: Vec::new(),
            has_root: false,
        }
    }

    pub(super) fn event(&mut self, at: &At<'a>) -> Result<()> {
        at.object()?;
        let kind = at.text_of("event")?.unwrap_or_default();
        let scope = match at.text_of("span_id")? {
            None => self.steps.last().copied().unwrap_or_default(),
            id => self.scopes.of(id),
        };
        let scope = match (kind, scope.judge) {
            ("model" | "tool", Some(_)) => self.judging(at, scope),
            _ => scope,
        };
        match kind {
            "span_begin" => self.begin(at)?,
            "span_end" => self.end(at)?,
            "step" => self.step(at, scope)?,
            "model" => self.model_call(at, scope)?,
            "tool" => self.tool(at, scope)?,
            "score" => self.score(at, scope),
            "info" => self.info(at, scope),
            _ => {}
        }
        Ok(())
    }

    /// A scorer gets its own agent for what it runs.
    fn judging(&mut self, at: &At<'a>, scope: Scope) -> Scope {
        let judge = scope.judge.filter(|_| !scope.is_judged);
        let frame = judge.and_then(|judge| self.judges.frame(judge, at, &mut self.frames, self.builder));
        Scope {
            frame: frame.unwrap_or(scope.frame),
            ..scope
        }
    }

    fn step(&mut self, at: &At<'a>, around: Scope) -> Result<()> {
        if at.text_of("action")? == Some("end") {
            let scope = self.steps.pop().unwrap_or_default();
            return self.judges.end(scope.judge, None, at, self.builder);
        }
        let mut scope = around;
        if at.text_of("type")? == Some("scorer") {
            scope.judge = Some(self.judges.begin(at, None, at.text_of("name")?.unwrap_or_default())?);
        }
        self.steps.push(scope);
        Ok(())
    }

    fn begin(&mut self, at: &At<'a>) -> Result<()> {
        let id = at.need("id")?.text()?;
        let name = at.need("name")?.text()?;
        let around = self.scopes.of(at.text_of("parent_id")?);
        match at.text_of("type")? {
            Some("agent" | "aside" | "subtask") => {
                let around = self.judging(at, around);
                let scope = self.agent(at, id, name, around)?;
                self.scopes.begin(id, scope);
            }
            kind => {
                let mut scope = Scope { is_own: false, ..around };
                if kind == Some("scorer") {
                    scope.judge = Some(self.judges.begin(at, Some(id), name)?);
                }
                self.scopes.begin(id, scope);
                if kind == Some("tool") {
                    self.scopes.wait_for_tool(around.frame, name, id);
                }
            }
        }
        Ok(())
    }

    /// Begins an agent inside the enclosing scope.
    fn agent(&mut self, at: &At<'a>, id: &str, name: &str, around: Scope) -> Result<Scope> {
        let tool = self.scopes.runs.get(id).copied().or(around.tool);
        let above = self.frames.get(around.frame).map_or(0, |frame| frame.agent);
        let is_root = !self.has_root && tool.is_none() && around.frame == 0 && at.some("parent_id").is_none();
        let mut operation = Operation::named(Kind::Agent, name);
        // This program writes "agent" if no name is known.
        operation.agent.name = Some(name.to_owned()).filter(|name| name != "agent");
        let mut facts = at.object_of("metadata")?;
        operation.input = facts.shift_remove("input").map(Into::into).unwrap_or_default();
        operation.output = facts.shift_remove("output").map(Into::into).unwrap_or_default();
        read_about(facts, &mut operation);
        let place = if is_root {
            self.has_root = true;
            self.builder.set_root(Some(id), operation)
        } else {
            let own = self.builder.id_at(Some(id), at);
            self.builder.add(own, tool.unwrap_or(above), operation)
        };
        let start = at.text_of("timestamp")?.and_then(time);
        self.builder.times(place, start, None);
        let frame = if is_root {
            0
        } else {
            self.frames.push(Frame::of(place));
            self.frames.len() - 1
        };
        Ok(Scope {
            frame,
            tool: None,
            is_own: true,
            is_judged: around.judge.is_some(),
            judge: around.judge,
        })
    }

    fn end(&mut self, at: &At<'_>) -> Result<()> {
        let id = at.need("id")?.text()?;
        let scope = self.scopes.of(Some(id));
        let place = self.frames.get(scope.frame).map_or(0, |frame| frame.agent);
        let end = at.text_of("timestamp")?.and_then(time);
        if let Some(draft) = self.builder.drafts.get_mut(place).filter(|_| scope.is_own) {
            draft.end = end;
        }
        self.judges.end(scope.judge, Some(id), at, self.builder)
    }

    fn model_call(&mut self, at: &At<'a>, scope: Scope) -> Result<()> {
        let ranges = self.pool.input(at)?;
        let Some(frame) = self.frames.get_mut(scope.frame) else {
            return Ok(());
        };
        let history = self
            .pool
            .continued_history(&mut frame.conversations, ranges, self.texts, self.builder)?;
        let output = at.need("output")?;
        let mut operation = Operation::named(Kind::Llm, "model call");
        let asked = at.need("model")?.text()?;
        let model = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty() && name != "unknown");
        operation.model.response = output.text_of("model")?.and_then(model);
        let requested = model(asked).filter(|name| Some(name) != operation.model.response.as_ref());
        operation.model.requested = requested;
        let tools = at.need("tools")?.items()?;
        operation.tool_definitions = tools.iter().map(message::definition).collect::<Result<_>>()?;
        operation.parameters = parameters(at)?;
        operation.usage = usage(output.value.get("usage"));
        operation.cost.total = output.value.pointer("/usage/total_cost").and_then(Value::as_f64);
        let said = self.said(&output, &mut operation)?;
        read_about(at.object_of("metadata")?, &mut operation);
        operation.metadata.shift_remove("content_captured");
        // The message's own reason, if it differs from the operation's.
        let reason = output.value.pointer("/choices/0/stop_reason").and_then(Value::as_str);
        let of_operation = stop_reason(operation.finish_reason.as_deref());
        if let Some(reason) = reason.filter(|reason| *reason != of_operation && *reason != "unknown")
            && let Some(first) = operation.output_messages.as_mut().and_then(|list| list.first_mut())
        {
            first.finish_reason = Some(reason.to_owned());
        }
        let error = at.text_of("error")?.or(output.text_of("error")?);
        if let Some(error) = error.filter(|_| operation.failure.is_none()) {
            operation.failure = Some(message::failure(error, at.value.get("traceback").and_then(Value::as_str)));
        }
        let recorded = at.value.pointer("/metadata/span_id").and_then(Value::as_str);
        operation.metadata.shift_remove("span_id");
        let id = self.builder.id_at(recorded, at);
        let Some(frame) = self.frames.get_mut(scope.frame) else {
            return Ok(());
        };
        let place = self.builder.add_model_call(id, frame.agent, operation, history);
        frame.last = Some(place);
        if let Some((message, own)) = said {
            let calls = message.tool_calls.iter().filter_map(|call| call.id.as_deref());
            frame.callers.extend(calls.map(|id| (id.to_owned(), place)));
            if let Some(conversation) = frame.conversations.last_mut().filter(|_| history.is_some()) {
                conversation.answered(message, own);
            }
        }
        self.times(place, at)
    }

    /// Reads the model's output into the operation; returns the first choice with its id.
    fn said(&mut self, output: &At<'a>, operation: &mut Operation) -> Result<Option<(Message, Option<String>)>> {
        let Some(choices) = output.some("choices") else { return Ok(None) };
        let mut list = Vec::new();
        let mut first = None;
        for (number, choice) in (0..).zip(choices.items()?) {
            let said = choice.need("message")?;
            let whole = self.texts.whole(said.value);
            let mut message = message::read(&said.below("", &whole))?;
            message.choice = number;
            let reason = choice.text_of("stop_reason")?.filter(|reason| *reason != "unknown");
            if number == 0 {
                operation.finish_reason = reason.map(str::to_owned);
                let id = said.value.get("id").and_then(Value::as_str).map(str::to_owned);
                first = Some((message.clone(), id));
            } else {
                message.finish_reason = reason.map(str::to_owned);
            }
            list.push(message);
        }
        operation.output_messages = (!list.is_empty()).then_some(list);
        Ok(first)
    }

    fn tool(&mut self, at: &At<'a>, scope: Scope) -> Result<()> {
        let (id, name) = (at.need("id")?.text()?, at.need("function")?.text()?);
        let arguments = Value::from(at.need("arguments")?.object()?.clone());
        let mut facts = at.object_of("metadata")?;
        let failure = at.some("error").map(|error| message::tool_failure(&error)).transpose()?;
        // A call that was only seen in messages.
        if facts.get("observed").is_some_and(|observed| observed == "messages") && facts.len() == 1 {
            return Ok(());
        }
        let kind = facts
            .shift_remove("kind")
            .and_then(|kind| Kind::from_name(kind.as_str()?))
            .unwrap_or(Kind::Tool);
        let recorded = facts.shift_remove("span_id").and_then(|id| id.as_str().map(str::to_owned));
        let arguments = self.texts.whole(&arguments).into_owned();
        let result = at.some("result").map(|result| match self.texts.whole(result.value).into_owned() {
            Value::String(text) => opened(text),
            other => other,
        });
        // A failed tool returns no words.
        let result = result.filter(|result| failure.is_none() || result.as_str().is_none_or(|words| !words.is_empty()));
        let mut operation = Operation::named(kind, name);
        let call = ToolCall {
            name: name.to_owned(),
            arguments: Some(arguments),
            ..ToolCall::default()
        };
        executed(&mut operation, &call, None, result);
        operation.failure = failure;
        let own_id = facts.shift_remove("tool_call_id").and_then(|id| id.as_str().map(str::to_owned));
        let is_asked = self.frames.get(scope.frame).is_some_and(|frame| frame.callers.contains_key(id));
        // An id that this program derived belongs to no call.
        let call_id = match (is_asked, own_id, &recorded) {
            (true, ..) | (false, None, None) => Some(id.to_owned()).filter(|id| !id.is_empty()),
            (false, own_id, _) => own_id,
        };
        if call_id.is_some() || operation.tool.is_some() {
            operation.tool.get_or_insert_default().call_id = call_id;
        }
        read_about(facts, &mut operation);
        let span = self.builder.id_at(recorded.as_deref(), at);
        let Some(frame) = self.frames.get_mut(scope.frame) else {
            return Ok(());
        };
        let place = self.builder.add(span, frame.agent, operation);
        frame.last = Some(place);
        self.builder.after(place, frame.callers.get(id).copied());
        self.scopes.tool(scope.frame, name, place);
        if let Some(agent) = at.text_of("agent_span_id")? {
            self.scopes.runs.insert(agent.to_owned(), place);
        }
        self.times(place, at)
    }

    fn times(&mut self, place: usize, at: &At<'_>) -> Result<()> {
        let start = at.text_of("timestamp")?.and_then(time);
        let end = at.text_of("completed")?.and_then(time);
        self.builder.times(place, start, end);
        self.builder.running(place, at.value.get("pending") == Some(&Value::Bool(true)));
        Ok(())
    }

    /// Adds an evaluation: to the operation before it, if it was made while the agent worked.
    fn score(&mut self, at: &At<'_>, scope: Scope) {
        let own = at.value.get("scorer").and_then(Value::as_str);
        let name = own.or_else(|| self.judges.name(scope.judge));
        let Some(score) = at.value.get("score").and_then(|score| judgement(name, score)) else {
            return;
        };
        let is_intermediate = at.value.get("intermediate") == Some(&Value::Bool(true));
        let frame = self.frames.get(scope.frame);
        let agent = frame.map_or(0, |frame| frame.agent);
        let of_agent = self
            .builder
            .operation(agent)
            .is_some_and(|agent| agent.evaluations.contains(&score));
        let place = match frame.and_then(|frame| frame.last) {
            _ if !is_intermediate => 0,
            Some(last) if !of_agent => last,
            _ => agent,
        };
        if let Some(operation) = self.builder.operation(place) {
            Evaluation::add(&mut operation.evaluations, vec![score]);
        }
    }

    /// Reads what this program writes for operations that are neither model calls nor tools.
    fn info(&mut self, at: &At<'_>, scope: Scope) {
        let Some(data) = at.value.get("data").and_then(Value::as_object) else {
            return;
        };
        let kind = data.get("kind").and_then(Value::as_str);
        if kind.is_none() || kind != at.value.get("source").and_then(Value::as_str) {
            return;
        }
        let Some(frame) = self.frames.get_mut(scope.frame) else { return };
        let before = self.builder.drafts.len();
        let mut data = data.clone();
        without_evidence(&mut data);
        let around = frame
            .last
            .filter(|last| self.builder.drafts.get(*last).is_some_and(|last| runs_within(&data, last)));
        read_operations(Some(&json!([data])), before, around.unwrap_or(frame.agent), self.builder);
        // The next operation may be inside the same tool.
        if around.is_some() {
            return;
        }
        if self.builder.drafts.len() > before {
            frame.last = Some(before);
        }
    }
}

/// Whether an operation ran during a tool, which must have called it.
fn runs_within(data: &Map<String, Value>, tool: &Draft) -> bool {
    let at = |key: &str| data.get(key).and_then(Value::as_str).and_then(time);
    tool.operation.kind == Kind::Tool
        && at("started_at").is_some_and(|start| tool.start.is_some_and(|begin| begin <= start))
        && at("ended_at").is_some_and(|end| tool.end.is_some_and(|last| end <= last))
}

/// Reads the metadata of an operation: facts of this program, or a writer's own metadata.
fn read_about(mut facts: Map<String, Value>, operation: &mut Operation) {
    without_evidence(&mut facts);
    read_facts(&mut facts, operation);
    operation.metadata.extend(facts);
}

fn without_evidence(facts: &mut Map<String, Value>) {
    for key in ["evidence", "observed"] {
        facts.shift_remove(key);
    }
}
