//! Converts a run to an episode.

use std::borrow::Cow;

use super::call;
use super::node::{self, Tokens};
use super::table::{AGENT, EPISODE, LINK, NODE, TASK, TRACE, VERIFIERS};
use crate::document::json::{Json, Object, Text};
use crate::document::loss::{Loss, LossReason};
use crate::formats::format::Assembled;
use crate::hash::HashMap;
use crate::operation::Kind;
use crate::run::{Run, Step, Utterance};
use crate::transcript::calls;
use crate::transcript::calls::Results;
use crate::transcript::chat;
use crate::transcript::chat::OfferedTools;
use crate::transcript::conversation_words::ConversationWords;
use crate::transcript::facts;
use crate::transcript::ids::Ids;
use crate::transcript::thread::{Thread, Words};
use crate::transcript::{CallResult, ExchangeKind, ScopeId, StepId, Transcript};

/// The run's episode.
pub(super) fn of_run(run: &Run) -> Assembled<Object<'_>> {
    let transcript = Transcript::of(run);
    let scopes = transcript.scopes_with_tool();
    let is_auxiliary = |scope: &ScopeId| run.scopes.get(*scope).is_some_and(|scope| scope.is_auxiliary);
    let main: Vec<ScopeId> = scopes
        .iter()
        .filter(|(id, tool)| tool.is_none() && !is_auxiliary(id))
        .map(|(id, _)| *id)
        .collect();
    let (first, last) = (main.first().copied(), main.last().copied());
    let fallback = scopes.first().map(|(id, _)| *id);
    let mut graph = Graph {
        run,
        results: Results::of(run),
        words: ConversationWords::of(run),
        nodes: Vec::new(),
        calls: Vec::new(),
        info: Object::from([("run", facts::of_run_and_agent(run).into())]),
        tools: OfferedTools::default(),
        losses: Vec::new(),
        answered: HashMap::default(),
    };
    let mut ends: Vec<(StepId, usize)> = Vec::new();
    let mut reply = None;
    for (scope, tool) in scopes {
        let outside = |is_here: bool| move |utterance: &&Utterance| is_here && !utterance.in_conversation;
        let question = run.question.as_ref().filter(outside(Some(scope) == first.or(fallback)));
        let answer = run.answer.as_ref().filter(outside(Some(scope) == last.or(fallback)));
        let thread = Thread::of(run, &graph.results, transcript.exchanges(scope), question, answer);
        let end = graph.scope(scope, tool, thread);
        match (tool, end) {
            (Some(tool), Some(end)) => ends.push((tool, end)),
            (None, Some(end)) if !is_auxiliary(&scope) => reply = graph.words(end),
            _ => {}
        }
    }
    let has_others = !ends.is_empty();
    for (tool, end) in ends {
        let place = graph.answered.get(&tool).and_then(|place| graph.nodes.get_mut(*place));
        if let Some(node) = place {
            let link = LINK.given([("node", end.into()), ("type", "subagent_return".into())]);
            node.push("semantic_parents", link);
            *node = NODE.in_order(std::mem::take(node));
        }
    }
    let Graph {
        nodes,
        calls,
        info,
        tools,
        losses,
        ..
    } = graph;
    let id = Text::from(run.trace_id.to_string());
    let failure = run.failure.as_ref().map(|failed| call::error(&failed.failure));
    let errors: Json<'_> = failure.into_iter().collect();
    let ok = errors.is_empty() && run.ended_at.is_some();
    let task = task(run, &nodes);
    let name = run.agent.name.as_deref().filter(|name| !name.is_empty());
    let model = run.steps.iter().find_map(|step| step.operation.model.name());
    let config = facts::filled([("model", model.into())]);
    let agent = AGENT.given([("config", config.into()), ("name", name.unwrap_or("agent").into())]);
    let mut timing = Object::from([("start", run.started_at.seconds_micros().into())]);
    timing.add_filled("agent", run.ended_at.map(|end| call::span(run.started_at, end)));
    let (rewards, metrics) = scores(run);
    let trace = TRACE.given([
        ("version", 1_u64.into()),
        ("id", id.clone().into()),
        ("verifiers", Object::from([("version", VERIFIERS.into())]).into()),
        ("task", task.clone().into()),
        ("agent", agent.into()),
        ("tools", call::tools(&tools)),
        ("nodes", nodes.into_iter().collect()),
        ("calls", calls.into_iter().collect()),
        ("rewards", rewards.into()),
        ("metrics", metrics.into()),
        ("info", info.into()),
        ("root_reply", reply.filter(|_| has_others).into()),
        ("is_completed", run.ended_at.is_some().into()),
        ("ok", ok.into()),
        ("errors", errors.clone()),
        ("timing", timing.into()),
    ]);
    let document = EPISODE.given([
        ("id", id.into()),
        ("env", Object::from([("id", name.unwrap_or_default().into())]).into()),
        ("task", task.into()),
        ("ok", ok.into()),
        ("errors", errors),
        ("traces", Json::List(vec![trace.into()])),
    ]);
    Assembled { document, losses }
}

/// The agent's task, from its first messages.
fn task<'a>(run: &'a Run, nodes: &[Object<'a>]) -> Object<'a> {
    let first_of = |role: &str| {
        let is_sampled = |node: &Object<'_>| node.get("sampled").is_some_and(|sampled| matches!(*sampled, Json::Bool(true)));
        let mut messages = nodes.iter().take_while(|node| !is_sampled(node)).filter_map(message_of);
        let message = messages.find(|message| message.get("role").is_some_and(|have| have.as_str() == Some(role)))?;
        message.get("content")?.as_str().map(str::to_owned)
    };
    let task = run
        .steps
        .iter()
        .map(|step| &step.operation.task)
        .find(|task| task.description.is_some());
    let data = facts::filled([
        ("id", run.trace_id.to_string().into()),
        ("name", run.agent.name.as_deref().into()),
        ("description", task.and_then(|task| task.description.as_deref()).into()),
        ("prompt", first_of("user").into()),
        ("system_prompt", first_of("system").into()),
    ]);
    TASK.given([("type", "Recorded".into()), ("data", data.into())])
}

fn message_of<'n, 'a>(node: &'n Object<'a>) -> Option<&'n Object<'a>> {
    match node.get("message")? {
        Cow::Borrowed(message) => message.as_object(),
        Cow::Owned(_) => None,
    }
}

/// The run's reward, else the sum of its steps' rewards; and evaluations with a number.
fn scores(run: &Run) -> (Object<'_>, Object<'_>) {
    let (mut metrics, mut ids) = (Object::new(), Ids::default());
    for operation in run.steps.iter().map(|step| &step.operation) {
        for evaluation in &operation.evaluations {
            if let Some(score) = evaluation.score.filter(|score| score.is_finite()) {
                let name = ids.numbered(evaluation.name.as_deref().unwrap_or(&operation.name), ':');
                metrics.add(name, score);
            }
        }
    }
    let reward = run
        .reward()
        .map(|reward| Object::from([("score", reward.into()), ("weight", 1.0.into())]));
    (facts::filled([("reward", reward.into())]), metrics)
}

/// A graph under construction.
struct Graph<'a> {
    run: &'a Run,
    results: Results<'a>,
    words: ConversationWords<'a>,
    nodes: Vec<Object<'a>>,
    calls: Vec<Object<'a>>,
    info: Object<'a>,
    tools: OfferedTools<'a>,
    losses: Vec<Loss>,
    /// The messages with the results of tools.
    answered: HashMap<StepId, usize>,
}

impl<'a> Graph<'a> {
    fn words(&self, node: usize) -> Option<Text<'a>> {
        let content = message_of(self.nodes.get(node)?)?.get("content").map(Cow::into_owned)?;
        matches!(content, Json::Text(_)).then(|| content.into_text())
    }

    /// Adds the messages of a scope; returns the index of the last one.
    fn scope(&mut self, id: ScopeId, tool: Option<StepId>, mut thread: Thread<'a>) -> Option<usize> {
        let (run, first) = (self.run, self.nodes.len());
        self.losses.append(&mut thread.losses);
        let mut offered = OfferedTools::default();
        for operation in thread.items.iter().filter_map(|item| Some(&item.exchange.step?.of(run)?.operation)) {
            let _ = offered.add(&operation.tool_definitions);
            for name in self.tools.add(&operation.tool_definitions) {
                self.losses
                    .push(Loss::new(None, format!("another definition of {name}"), LossReason::Ambiguous));
            }
        }
        let mut tokens: HashMap<usize, Tokens> = HashMap::default();
        for (at, node) in thread.nodes.iter().enumerate() {
            let item = node.item.and_then(|item| thread.items.get(item));
            let step = item.and_then(|item| item.exchange.step?.of(run));
            let turn = step.filter(|_| matches!(node.words, Words::Turn(_)));
            let message = node::message(run, &thread, node, &mut self.losses);
            let mut added = None;
            if let Some((own, step)) = turn.and_then(|step| Some((Tokens::of(step)?, step))) {
                let before = std::iter::successors(node.parent, |at| thread.nodes.get(*at)?.parent).find_map(|at| tokens.get(&at));
                added = own.added(before);
                if added.is_some() {
                    let _ = tokens.insert(at, own);
                } else {
                    let what = "token_ids: the prompt is no continuation";
                    self.losses.push(Loss::new(step.span_id, what, LossReason::NoPlace));
                }
            }
            let (ids, mask, logprobs) = added.unwrap_or_default();
            let tools = if node.parent.is_none() { call::tools(&offered) } else { Json::Null };
            self.nodes.push(NODE.given([
                ("parent", node.parent.map(|parent| first + parent).into()),
                ("tools", tools),
                ("message", message.into()),
                ("sampled", turn.is_some().into()),
                ("timestamp", node.at.seconds_micros().into()),
                ("token_ids", ids.into_iter().collect()),
                ("mask", mask.into_iter().collect()),
                ("logprobs", logprobs.into_iter().collect()),
            ]));
            if let Words::Result { call, .. } = &node.words
                && let Some(tool) = thread.asked(node, *call).and_then(|(asked, _)| asked.tool)
            {
                let _ = self.answered.insert(tool, first + at);
            }
        }
        self.agent(id, tool, first);
        for item in &thread.items {
            let step = item.exchange.step.and_then(|step| step.of(run));
            let place = item.node.map(|node| first + node);
            match (item.exchange.kind, step) {
                (ExchangeKind::Turn(_) | ExchangeKind::SilentTurn, Some(step)) => {
                    let is_placed = item.node.is_some_and(|node| tokens.contains_key(&node));
                    self.call(step, place, is_placed.then(|| tokens.get(&item.node?)).flatten());
                }
                (ExchangeKind::Unasked, Some(step)) | (ExchangeKind::UserWords | ExchangeKind::AgentWords, Some(step)) => {
                    self.operation(step, place, item.exchange.kind == ExchangeKind::Unasked);
                }
                _ => {}
            }
            if item.exchange.kind != ExchangeKind::Unasked {
                for asked in &item.exchange.calls {
                    let count = asked.results.len();
                    for (number, given) in asked.results.iter().enumerate() {
                        self.result(given, number + 1 < count);
                    }
                }
            }
        }
        let own = run.scopes.get(id).and_then(|scope| scope.step);
        let rest = thread.rest.iter().filter(|rest| Some(**rest) != own);
        rest.filter_map(|rest| rest.of(run))
            .for_each(|step| self.operation(step, None, false));
        thread.tip().map(|tip| first + tip)
    }

    /// Lists the agent whose messages begin here.
    fn agent(&mut self, id: ScopeId, tool: Option<StepId>, first: usize) {
        let run = self.run;
        let Some(scope) = run.scopes.get(id) else { return };
        let step = scope.step.and_then(|step| run.steps.get(step));
        let mut about = facts::filled([("name", scope.agent.as_deref().into())]);
        if first < self.nodes.len() {
            about.add("first_node", first);
            about.add("last_node", self.nodes.len() - 1);
        }
        if scope.is_auxiliary {
            about.add("aside", true);
        }
        let called_by = tool.and_then(|tool| tool.of(run));
        about.add_filled("called_by", called_by.map(|tool| tool.id.as_str()));
        if let Some(step) = step {
            about.extend(self.about(step));
        }
        self.info.push("agents", about);
    }

    /// The facts of an operation; its words only if the conversations do not contain them.
    fn about(&self, step: &'a Step) -> Object<'a> {
        let mut out = facts::identity(step);
        out.remove("name").into_iter().for_each(|name| out.insert("operation", name));
        if self.words.unwritten(&step.operation).is_some() {
            out.extend(facts::in_and_out(self.run, &self.results, step));
        }
        out.extend(facts::all(self.run, step));
        out
    }

    fn call(&mut self, step: &'a Step, node: Option<usize>, tokens: Option<&Tokens>) {
        let (written, left) = call::call(self.run, step, node, tokens);
        let number = self.calls.len();
        self.calls.push(written);
        let mut about = Object::from([("call", number.into())]);
        about.add_filled("span_id", step.span_id.map(|span| span.to_string()));
        about.extend(left);
        self.info.push("model_calls", about);
    }

    /// Lists facts of a result that are not in a tool's message.
    fn result(&mut self, given: &CallResult<'a>, is_earlier: bool) {
        let step = given.tool.and_then(|tool| tool.of(self.run));
        let (text, failure) = chat::result(self.run, &self.results, *given);
        let mut about = Object::new();
        if let Some(tool) = given.tool.filter(|_| !is_earlier) {
            about.add_filled("node", self.answered.get(&tool).copied());
        }
        // The message has the text that the model received.
        let is_other = given.entry.is_some_and(|entry| entry.given.is_some()) && !text.is_empty();
        if chat::shows_media(self.run, &self.results, *given) {
            about.add_filled("content", chat::recorded(self.run, &self.results, *given));
        } else if is_earlier || is_other {
            about.add("content", text);
        }
        if let Some(step) = step {
            about.extend(facts::identity(step));
            about.insert("name", calls::tool_name(self.run, step));
            about.extend(facts::all(self.run, step));
        }
        about.insert_filled("error", failure.map(facts::error));
        if !about.is_empty() {
            self.info.push("results", about);
        }
    }

    /// Lists an operation that the messages do not contain, or not completely.
    fn operation(&mut self, step: &'a Step, node: Option<usize>, is_unasked: bool) {
        let Some(content) = self.words.listed(self.run, &self.results, step) else {
            return;
        };
        let mut shown = Object::new();
        shown.add_filled("node", node);
        shown.extend(facts::identity(step));
        if step.operation.kind == Kind::Tool {
            shown.insert("name", calls::tool_name(self.run, step));
        }
        shown.extend(content);
        if is_unasked {
            shown.insert("asked_for", false);
        }
        self.info.push("operations", shown);
    }
}
