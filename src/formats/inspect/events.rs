//! Events in causal order: agents as spans, model calls, tools, everything else as info events.

use std::collections::BTreeMap;

use super::message;
use super::model::{self, Usage};
use super::threads::{PooledThread, Threads};
use crate::document::json::{Json, Object, Text};
use crate::document::loss::{Loss, LossReason};
use crate::operation::Kind;
use crate::run::{IdVec, Run, Step, Utterance};
use crate::span::UnixNanos;
use crate::transcript::ids::Ids;
use crate::transcript::thread::Item;
use crate::transcript::{CallResult, ExchangeCall, ExchangeKind, NESTING_LIMIT, ScopeId, StepId};
use crate::transcript::{calls, chat, facts, hands_on};

/// Facts with their own field in a model event.
const PLACED: [&str; 4] = ["model", "usage", "parameters", "tool_definitions"];

/// The list of events under construction.
pub(super) struct Events<'a, 't> {
    threads: &'t Threads<'a>,
    run: &'a Run,
    /// Conversations not yet in an event, by the tool that called the agent.
    scopes: BTreeMap<Option<StepId>, Vec<ScopeId>>,
    pub(super) list: Vec<Object<'a>>,
    pub(super) losses: Vec<Loss>,
    /// The output of the model call that gave the run's answer, else of an outermost agent's last call.
    pub(super) output: Object<'a>,
    /// Whether `output` is the answer's.
    has_answer: bool,
    /// Ids of the open spans.
    open: Vec<Text<'a>>,
    /// The span of each scope.
    spans: IdVec<ScopeId, Text<'a>>,
}

pub(super) fn seconds(from: UnixNanos, to: UnixNanos) -> f64 {
    UnixNanos(to.0.saturating_sub(from.0)).seconds_micros()
}

fn times(event: &mut Object<'_>, step: &Step) {
    match step.ended_at {
        Some(end) => {
            event.add("completed", end.rfc3339_micros());
            event.add("working_time", seconds(step.started_at, end));
        }
        None => event.add("pending", true),
    }
}

impl<'a, 't> Events<'a, 't> {
    pub(super) fn new(threads: &'t Threads<'a>, scopes: BTreeMap<Option<StepId>, Vec<ScopeId>>) -> Self {
        let (run, mut ids) = (threads.run, Ids::default());
        let spans = run.scopes.iter().map(|scope| {
            let step = scope.step.and_then(|step| run.steps.get(step));
            ids.numbered(step.map_or("scope", |step| &step.id), '-')
        });
        Self {
            spans: spans.collect(),
            threads,
            run,
            scopes,
            list: Vec::new(),
            losses: Vec::new(),
            output: Object::new(),
            has_answer: false,
            open: Vec::new(),
        }
    }

    /// Adds agents whose calling tool is in no event, and the run's failure.
    pub(super) fn finish(&mut self) {
        while let Some((_, left)) = self.scopes.pop_first() {
            left.into_iter().for_each(|scope| self.scope(scope, 1));
        }
        if let Some(failed) = &self.run.failure {
            let mut event = self.event("error", self.run.ended_at.unwrap_or(self.run.started_at));
            event.add("error", message::eval_error(&failed.failure));
            event.add("metadata", Object::from([("span_id", failed.span_id.to_string().into())]));
            self.list.push(event);
        }
    }

    fn event(&self, kind: &'static str, at: UnixNanos) -> Object<'a> {
        let mut event = Object::from([("event", kind.into())]);
        event.add("uuid", format!("{}-event-{}", self.run.trace_id, self.list.len()));
        event.add_filled("span_id", self.open.last().cloned());
        event.add("timestamp", at.rfc3339_micros());
        event.add("working_start", seconds(self.run.started_at, at));
        event
    }

    fn span(&self, scope: ScopeId) -> Text<'a> {
        self.spans.get(scope).cloned().unwrap_or_default()
    }

    /// An agent's conversation, as a span.
    pub(super) fn scope(&mut self, id: ScopeId, depth: usize) {
        let (threads, run) = (self.threads, self.run);
        let (Some(scope), Some(pooled)) = (run.scopes.get(id), threads.pooled(id)) else {
            return;
        };
        let step = scope.step.and_then(|step| run.steps.get(step));
        let thread = &pooled.thread;
        self.losses.extend(thread.losses.iter().cloned());
        let first = thread.nodes.first().map(|node| node.at);
        let begin = step.map(|step| step.started_at).or(first).unwrap_or(run.started_at);
        let mut event = self.event("span_begin", begin);
        event.add("id", self.span(id));
        event.add_filled("parent_id", self.open.last().cloned());
        event.add("type", if scope.is_auxiliary { "aside" } else { "agent" });
        let name = scope.agent.as_deref().or_else(|| step.map(|step| step.operation.name.as_str()));
        event.add("name", name.unwrap_or("agent"));
        event.add_filled("metadata", step.map(|step| self.about(step)));
        self.list.push(event);
        self.open.push(self.span(id));
        let is_call = |item: &Item<'_>| matches!(item.exchange.kind, ExchangeKind::Turn(_) | ExchangeKind::SilentTurn);
        let others = thread.rest.iter().filter(|rest| Some(**rest) != scope.step);
        let mut others = others.filter_map(|rest| Some((*rest, rest.of(run)?.started_at))).peekable();
        for (at, item) in thread.items.iter().enumerate() {
            let own = item.exchange.step.and_then(|step| step.of(run));
            let begin = own.map_or(item.exchange.at, |step| step.started_at);
            while let Some((earlier, _)) = others.next_if(|(_, at)| *at < begin) {
                self.operation(earlier);
            }
            self.item(pooled, at, item, depth);
            // Messages that no model received are in no model event.
            if let Some(node) = item.node.filter(|node| !is_call(item) && pooled.is_unwritten(*node, depth == 0)) {
                let mut event = self.event("info", item.exchange.at);
                event.add("source", "message");
                event.add("data", pooled.message(run, node).unwrap_or_default());
                self.list.push(event);
            }
        }
        others.for_each(|(rest, _)| self.operation(rest));
        step.into_iter().for_each(|step| self.scores(step));
        let end = step
            .map(Step::end_or_start)
            .or_else(|| self.list.last().and(thread.nodes.last()).map(|node| node.at));
        let _ = self.open.pop();
        let mut event = self.event("span_end", end.unwrap_or(begin));
        event.add("id", self.span(id));
        self.list.push(event);
    }

    /// The facts of an agent or a chain; its words only if the conversations do not contain them.
    fn about(&self, step: &'a Step) -> Object<'a> {
        let mut out = Object::new();
        if self.threads.words.unwritten(&step.operation).is_some() {
            out = facts::in_and_out(self.run, &self.threads.results, step);
        }
        out.extend(facts::all(self.run, step));
        out
    }

    fn item(&mut self, pooled: &'t PooledThread<'a>, at: usize, item: &'t Item<'a>, depth: usize) {
        let exchange = &item.exchange;
        let step = exchange.step.and_then(|step| step.of(self.run));
        match exchange.kind {
            ExchangeKind::Message(_) => {}
            ExchangeKind::Turn(_) | ExchangeKind::SilentTurn => {
                // A turn without a span is from before the run.
                step.into_iter().for_each(|step| self.model(pooled, item, step, depth));
            }
            ExchangeKind::Unasked if step.is_none() => {
                let mut event = self.event("info", exchange.at);
                event.add("source", "result without a call");
                let ids = exchange.calls.iter().map(|asked| asked.id.clone());
                event.add("data", ids.collect::<Json<'_>>());
                self.list.push(event);
            }
            ExchangeKind::Unasked => {}
            ExchangeKind::UserWords | ExchangeKind::AgentWords => exchange.step.into_iter().for_each(|step| self.operation(step)),
        }
        for (call, (asked, id)) in exchange.calls.iter().zip(&item.ids).enumerate() {
            let (arguments, wrapped) = chat::arguments(self.run, asked);
            if wrapped {
                let span = step.and_then(|step| step.span_id);
                let what = format!("tool_calls[{}].arguments", asked.id);
                self.losses.push(Loss::new(span, what, LossReason::Coerced));
            }
            let is_old =
                matches!(exchange.kind, ExchangeKind::Message(_)) || exchange.step.is_none() && exchange.kind == ExchangeKind::Unasked;
            let ran = |given: &&CallResult<'_>| !is_old || given.tool.is_some();
            let given: Vec<CallResult<'a>> = asked.results.iter().filter(ran).copied().collect();
            let last = pooled.result_id(self.run, at, call);
            for (number, one) in given.iter().enumerate() {
                let id = (id.clone(), last.clone().filter(|_| number + 1 == given.len()));
                self.tool(asked, arguments.clone(), id, one.tool, Some(*one), depth);
            }
            if let (true, Some(running)) = (given.is_empty(), asked.tool) {
                self.tool(asked, arguments, (id.clone(), None), Some(running), None, depth);
            }
        }
    }

    fn model(&mut self, pooled: &PooledThread<'a>, item: &Item<'a>, step: &'a Step, depth: usize) {
        let operation = &*step.operation;
        let name = model::name(operation);
        let mut event = self.event("model", step.started_at);
        event.add("model", name.clone());
        event.add("input", Json::List(Vec::new()));
        event.add("input_refs", pooled.input(item.before));
        let tools = operation.tool_definitions.iter().filter(|tool| !tool.name.is_empty());
        event.add("tools", tools.map(model::tool).collect::<Json<'_>>());
        let (config, others) = model::config(&operation.parameters);
        event.add("tool_choice", model::tool_choice(&operation.parameters));
        event.add("config", config);
        let mut output = Object::from([("model", name.into())]);
        let mut choices = Vec::new();
        if let (ExchangeKind::Turn(choice), Some(node)) = (item.exchange.kind, item.node) {
            let first = pooled.message(self.run, node).map(|message| (message, choice));
            let more = operation
                .output_messages
                .as_deref()
                .and_then(|list| list.get(1..))
                .unwrap_or_default();
            for (message, choice) in first
                .into_iter()
                .chain(more.iter().map(|choice| (message::of_choice(choice), choice)))
            {
                let reason = choice.finish_reason.as_deref().or(operation.finish_reason.as_deref());
                let choice = [("message", message.into()), ("stop_reason", model::stop_reason(reason).into())];
                choices.push(Json::from(Object::from(choice)));
            }
        }
        output.add("choices", Json::List(choices));
        output.add_filled("usage", Usage::of(operation).object());
        output.add_filled("time", step.ended_at.map(|end| seconds(step.started_at, end)));
        // Side calls may follow the call that gave the run's answer.
        let is_answer = |answer: &Utterance| answer.in_conversation && item.exchange.step == Some(answer.step);
        let answers = self.run.answer.as_ref().is_some_and(is_answer);
        if answers || depth == 0 && !self.has_answer {
            self.output = output.clone();
            self.has_answer |= answers;
        }
        event.add("output", output);
        if let Some(failure) = &operation.failure {
            event.add_filled("error", message::eval_error(failure).remove("message").unwrap_or_default());
            event.add_filled("traceback", failure.stacktrace.as_deref());
        }
        times(&mut event, step);
        let mut more = facts::all(self.run, step);
        more.retain(|key, _| !PLACED.contains(&key));
        if item.exchange.kind == ExchangeKind::SilentTurn {
            let (name, value) = facts::silence(operation);
            more.add(name, value);
        }
        more.add_filled("parameters", others);
        event.add_filled("metadata", more);
        self.list.push(event);
        self.scores(step);
    }

    /// Adds a tool that ran or is running. `id`: of the call, and of the message with the result.
    fn tool(
        &mut self,
        asked: &ExchangeCall<'a>,
        arguments: Object<'a>,
        id: (Text<'a>, Option<Text<'a>>),
        tool: Option<StepId>,
        given: Option<CallResult<'a>>,
        depth: usize,
    ) {
        let run = self.run;
        let step = tool.and_then(|tool| tool.of(run));
        let at = step.map(|step| step.started_at).or(given.map(|given| given.at));
        let mut event = self.event("tool", at.unwrap_or(run.started_at));
        event.add("id", id.0);
        event.add("function", chat::name(run, asked));
        event.add("arguments", arguments);
        let mut failed = None;
        if let Some(given) = given {
            let (text, failure) = chat::result(run, &self.threads.results, given);
            event.add("result", text);
            failed = failure;
            if chat::shows_media(run, &self.threads.results, given) {
                let span = step.and_then(|step| step.span_id);
                self.losses
                    .push(Loss::new(span, "result: a part that is no text", LossReason::Coerced));
            }
        }
        if let Some(failure) = failed {
            event.add("error", message::tool_error(failure));
            event.add("failed", true);
        }
        event.add_filled("message_id", id.1);
        let below = (depth < NESTING_LIMIT)
            .then(|| self.scopes.remove(&tool.filter(|_| step.is_some())))
            .flatten();
        let below = below.filter(|_| tool.is_some()).unwrap_or_default();
        if let Some(first) = below.first() {
            event.add_filled("agent", run.scopes.get(*first).and_then(|scope| scope.agent.as_deref()));
            event.add("agent_span_id", self.span(*first));
        }
        match step {
            Some(step) => {
                times(&mut event, step);
                let mut more = facts::all(run, step);
                more.insert("span_id", &step.id);
                if step.operation.kind != Kind::Tool {
                    more.insert("kind", step.operation.kind.name());
                }
                event.add("metadata", more);
            }
            None => event.add("metadata", Object::from([("observed", "messages".into())])),
        }
        self.list.push(event);
        step.into_iter().for_each(|step| self.scores(step));
        below.into_iter().for_each(|scope| self.scope(scope, depth + 1));
    }

    /// Adds the evaluations of an operation.
    fn scores(&mut self, step: &'a Step) {
        for evaluation in &step.operation.evaluations {
            let Some(score) = message::score(evaluation) else { continue };
            let mut event = self.event("score", step.end_or_start());
            event.add("score", score);
            event.add_filled("scorer", evaluation.name.as_deref());
            event.add("intermediate", true);
            self.list.push(event);
        }
    }

    /// Adds an operation that is in no model call or tool.
    fn operation(&mut self, id: StepId) {
        let Some(step) = id.of(self.run) else { return };
        let hands_on = hands_on(step.operation.kind);
        let mut content = self.about(step);
        if !hands_on {
            let whole = facts::in_and_out(self.run, &self.threads.results, step);
            content.extend(whole);
        }
        if !hands_on || !content.is_empty() {
            let mut event = self.event("info", step.started_at);
            event.add("source", step.operation.kind.name());
            let mut data = facts::identity(step);
            if step.operation.kind == Kind::Tool {
                data.insert("name", calls::tool_name(self.run, step));
            }
            data.extend(content);
            event.add("data", data);
            self.list.push(event);
        }
        self.scores(step);
    }
}
