//! Writes operations as events.

use super::facts::{self, count};
use super::messages::Messages;
use super::record::{Inputs, cost, record, total_tokens};
use super::table::{ENVIRONMENT, MODEL_CALL, RUNTIME, TIME};
use super::turns::Turns;
use crate::document::choice::Options;
use crate::document::json::{Json, Object, Text};
use crate::document::json_read::recorded;
use crate::document::loss::{Loss, LossReason};
use crate::hash::{HashMap, HashSet};
use crate::operation::{Kind, Operation};
use crate::run::{Run, Step, StepId};
use crate::span::{TraceId, UnixNanos};
use crate::transcript::content;
use crate::transcript::conversation_words::ConversationWords;

/// Facts with a field in the event of a model call or its record.
const IN_MODEL_EVENT: [&str; 12] = [
    "model",
    "requested_model",
    "provider",
    "response_id",
    "finish_reason",
    "parameters",
    "tool_definitions",
    "usage",
    "time_to_first_token",
    "prompt_token_ids",
    "completion_token_ids",
    "logprobs",
];

/// An event, its turn and its exact time.
#[derive(Debug)]
pub(super) struct TimedEvent<'a> {
    pub(super) turn: usize,
    pub(super) at: UnixNanos,
    /// When it ended; `None` while it is running.
    pub(super) until: Option<UnixNanos>,
    pub(super) event: Object<'a>,
}

/// The events of a session under construction.
#[derive(Debug, Default)]
pub(super) struct Events<'a> {
    pub(super) happened: Vec<TimedEvent<'a>>,
    /// Facts of turns, from chains that represent a turn.
    pub(super) turn_facts: Vec<(usize, Object<'a>)>,
    /// Outcomes of the session.
    pub(super) session: Vec<Json<'a>>,
    pub(super) losses: Vec<Loss>,
    /// The words of the current run's conversations.
    words: ConversationWords<'a>,
    /// The input of its model calls.
    inputs: Inputs<'a>,
    /// Traces whose events have been collected.
    before: HashSet<TraceId>,
}

impl<'a> Events<'a> {
    /// Collects the events of a run.
    pub(super) fn collect(&mut self, run: &'a Run, turns: &Turns, messages: &Messages<'a>, options: &Options) {
        let first = self.happened.len();
        self.words = ConversationWords::of(run);
        self.inputs = Inputs::default();
        for (index, step) in run.steps.enumerate() {
            let turn = turns.turn(Some(index));
            let event = match step.operation.kind {
                Kind::Plain | Kind::Detail => None,
                Kind::AgentCreate => {
                    self.lose(step, "no event", LossReason::NoPlace);
                    None
                }
                Kind::Llm if step.same_call_as.is_some_and(|(trace, _)| self.before.contains(&trace)) => {
                    self.lose(step, "an earlier trace of the session has the same call", LossReason::NoPlace);
                    None
                }
                Kind::Llm => Some(self.model(run, turns, index, step, messages, options)),
                Kind::Tool | Kind::Retrieval | Kind::Rerank | Kind::MemoryRead => Some(environment(run, turns, index, step, messages)),
                Kind::Guardrail if facts::blocks(&step.operation) => Some(stop(run, turns, step)),
                Kind::Evaluator if !step.operation.evaluations.is_empty() => None,
                _ if run.root == Some(index) => {
                    self.repeats(step);
                    None
                }
                Kind::Chain if self.is_turn(run, turns, index, step) => None,
                _ => Some(self.runtime(run, turns, step)),
            };
            if let Some(event) = event {
                let is_feedback = event.contains_key("reward");
                let at = if is_feedback { step.end_or_start() } else { step.started_at };
                self.push(turn, at, step.ended_at, event);
            }
            if step.operation.kind == Kind::Llm && options.is("synth.decisions", "events") {
                self.decision(turns, step, turn);
            }
            self.judge(run, turns, index, step, turn);
        }
        self.end_of_episode(first, run);
        let _ = self.before.insert(run.trace_id);
    }

    pub(super) fn push(&mut self, turn: usize, at: UnixNanos, until: Option<UnixNanos>, event: Object<'a>) {
        self.happened.push(TimedEvent { turn, at, until, event });
    }

    pub(super) fn lose(&mut self, step: &Step, what: &str, reason: LossReason) {
        let what = format!("{} {}: {what}", step.operation.kind.name(), step.operation.name);
        self.losses.push(Loss::new(step.span_id, what, reason));
    }

    /// Reports input and output of agents and chains, which mostly repeat the calls and are left out.
    fn repeats(&mut self, step: &Step) {
        if facts::repeats(step.operation.kind)
            && let Some(what) = self.words.unwritten(&step.operation)
        {
            self.lose(step, what, LossReason::NoPlace);
        }
    }

    fn model(
        &mut self,
        run: &'a Run,
        turns: &Turns,
        index: StepId,
        step: &'a Step,
        messages: &Messages<'a>,
        options: &Options,
    ) -> Object<'a> {
        let operation = &step.operation;
        let provider = operation.model.provider.as_ref().map(Text::from);
        let name = provider
            .as_ref()
            .map_or_else(|| "llm".to_owned(), |provider| format!("llm:{provider}"));
        let mut metadata = facts::of_step(run, step, &IN_MODEL_EVENT);
        if !metadata.contains_key("agent") {
            who(&mut metadata, run, step);
        }
        let cost = cost(operation);
        // The store keeps whole cents, so the exact sum is written here, too.
        metadata.insert_filled("cost_usd", facts::number(cost));
        if operation.cost.total.is_some_and(|cost| !cost.is_finite()) {
            self.lose(step, "cost_usd is not a finite number", LossReason::Coerced);
        }
        if operation.model.name().is_none() {
            self.lose(step, "model_name is unknown", LossReason::Synthesized);
        }
        let ids = messages.call_ids.get(&index).map(Vec::as_slice).unwrap_or_default();
        let record = record(run, step, ids, options, &mut self.inputs, &mut self.losses);
        MODEL_CALL.complete([
            ("system_instance_id", turns.system(step, &name).into()),
            ("time_record", time(step.started_at)),
            ("metadata", metadata.into()),
            ("model_name", operation.model.name().unwrap_or_default().into()),
            ("provider", provider.into()),
            ("input_tokens", count(operation.usage.input).into()),
            ("output_tokens", count(operation.usage.output).into()),
            ("total_tokens", count(total_tokens(operation)).into()),
            ("cost_usd", cost.into()),
            ("latency_ms", count(step.latency_ms()).into()),
            ("span_id", step.span_id.map(|span| span.to_string()).into()),
            ("trace_id", run.trace_id.to_string().into()),
            ("call_records", Json::List(vec![record.into()])),
        ])
    }

    fn runtime(&mut self, run: &'a Run, turns: &Turns, step: &'a Step) -> Object<'a> {
        let operation = &step.operation;
        let mut metadata = described(run, step);
        if facts::repeats(operation.kind) {
            self.repeats(step);
        } else {
            facts::in_and_out(&mut metadata, operation);
        }
        let name = operation
            .agent
            .name
            .as_deref()
            .filter(|_| operation.kind == Kind::Agent)
            .unwrap_or(&operation.name);
        let system = turns.system(step, &format!("{}:{name}", operation.kind.name()));
        RUNTIME.complete([
            ("system_instance_id", system.into()),
            ("time_record", time(step.started_at)),
            ("metadata", metadata.into()),
        ])
    }

    /// Writes the decision to call tools: indices of the called tools among those offered.
    fn decision(&mut self, turns: &Turns, step: &'a Step, turn: usize) {
        let offered = &step.operation.tool_definitions;
        let called = step
            .operation
            .output_messages
            .iter()
            .flatten()
            .take(1)
            .flat_map(|message| &message.tool_calls);
        let mut actions = Vec::new();
        let mut names = Vec::new();
        // Of two tools with the same name, the first one counts.
        let places = offered.iter().enumerate().rev();
        let places: HashMap<&str, usize> = places.map(|(place, tool)| (tool.name.as_str(), place)).collect();
        for call in called {
            let place = places.get(call.name.as_str()).copied();
            actions.extend(place.map(Json::from));
            names.push(Json::from(&call.name));
        }
        if names.is_empty() {
            return;
        }
        let at = step.end_or_start();
        let mut metadata = Object::new();
        metadata.insert("kind", "decision");
        metadata.insert("tools", names);
        metadata.insert_filled("decided_in", step.span_id.map(|span| span.to_string()));
        let event = RUNTIME.complete([
            ("system_instance_id", turns.system(step, "runtime").into()),
            ("time_record", time(at)),
            ("metadata", metadata.into()),
            ("actions", Json::List(actions)),
        ]);
        self.push(turn, at, Some(at), event);
    }

    /// Whether a chain is named like a turn (`turn`, `step 3`, `cycle`): it then becomes a fact of the turns below it.
    fn is_turn(&mut self, run: &'a Run, turns: &Turns, index: StepId, step: &'a Step) -> bool {
        let name = step.operation.name.to_lowercase();
        let word = name
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .trim_end_matches([' ', '_', '-', '.']);
        if !matches!(word, "turn" | "step" | "cycle" | "iteration") {
            return false;
        }
        let mut details = described(run, step);
        details.insert_filled("span_id", step.span_id.map(|span| span.to_string()));
        let below = turns.below(index);
        for turn in &below {
            self.turn_facts.push((*turn, details.clone()));
        }
        if !below.is_empty() {
            self.repeats(step);
        }
        !below.is_empty()
    }
}

/// An event with the feedback of a tool, a search or a memory.
fn environment<'a>(run: &'a Run, turns: &Turns, index: StepId, step: &'a Step, messages: &Messages<'a>) -> Object<'a> {
    let operation = &step.operation;
    let tool = operation.tool.as_ref();
    let mut metadata = Object::new();
    metadata.insert_filled("span_id", step.span_id.map(|span| span.to_string()));
    let own_id = tool.and_then(|tool| tool.call_id.as_ref()).map(Text::from);
    let tool_id = messages.tool_ids.get(&index);
    metadata.insert_filled("tool_call_id", own_id.clone().or_else(|| tool_id.cloned()));
    if let (Some(own_id), Some(tool_id)) = (&own_id, tool_id)
        && own_id != tool_id
    {
        metadata.insert("call_id", tool_id.clone());
    }
    metadata.insert_filled("duration_ms", step.latency_ms());
    facts::error(&mut metadata, operation);
    metadata.extend(facts::of_step(run, step, &[]));
    let (word, result) = match operation.kind {
        Kind::Tool => {
            if tool_id.is_none() {
                let arguments = tool.and_then(|tool| tool.arguments.as_ref()).map(Json::from);
                metadata.insert_filled("arguments", arguments.or_else(|| recorded(&operation.input)));
            }
            let result = tool.and_then(|tool| tool.result.as_ref()).map(Json::from);
            ("tool", result.or_else(|| recorded(&operation.output)))
        }
        kind => {
            if !metadata.contains_key("query") {
                metadata.insert_filled("input", recorded(&operation.input));
            }
            let found = operation
                .search
                .as_ref()
                .and_then(|search| search.documents.as_deref())
                .map(facts::documents);
            let results = || operation.memory.as_ref()?.results.as_ref().map(Json::from);
            let result = found
                .map(|found| Object::from([("documents", found)]).into())
                .or_else(results)
                .or_else(|| recorded(&operation.output));
            (kind.name(), result)
        }
    };
    let name = tool.and_then(|tool| tool.name.as_deref()).unwrap_or(&operation.name);
    ENVIRONMENT.complete([
        ("system_instance_id", turns.system(step, &format!("{word}:{name}")).into()),
        ("time_record", time(step.end_or_start())),
        ("metadata", metadata.into()),
        ("reward", reward(operation)),
        ("terminated", operation.training.terminated.unwrap_or(false).into()),
        ("truncated", operation.training.truncated.unwrap_or(false).into()),
        ("system_state_after", result.map(state).into()),
    ])
}

fn reward(operation: &Operation) -> Json<'static> {
    operation.training.reward.filter(|reward| reward.is_finite()).unwrap_or(0.0).into()
}

/// An object unchanged, unless it could be mistaken for a wrapped value; anything else wrapped.
fn state(value: Json<'_>) -> Json<'_> {
    match value {
        Json::Object(map) if !(map.len() == 1 && map.contains_key("result")) => map.into(),
        other => Object::from([("result", other)]).into(),
    }
}

/// An event of a guardrail that stopped the run.
fn stop<'a>(run: &'a Run, turns: &Turns, step: &'a Step) -> Object<'a> {
    let mut metadata = described(run, step);
    metadata.insert_filled("input", content::whole_input(&step.operation));
    ENVIRONMENT.complete([
        (
            "system_instance_id",
            turns.system(step, &format!("guardrail:{}", step.operation.name)).into(),
        ),
        ("time_record", time(step.end_or_start())),
        ("metadata", metadata.into()),
        ("reward", reward(&step.operation)),
        ("terminated", true.into()),
        ("truncated", step.operation.training.truncated.unwrap_or(false).into()),
        ("system_state_after", content::whole_output(&step.operation).map(state).into()),
    ])
}

/// The metadata of a runtime decision, or of an evaluation.
pub(super) fn described<'a>(run: &'a Run, step: &'a Step) -> Object<'a> {
    let operation = &step.operation;
    let mut metadata = Object::new();
    metadata.insert("kind", operation.kind.name());
    metadata.insert("name", operation.name.as_str());
    metadata.insert_filled("span_id", step.span_id.map(|span| span.to_string()));
    metadata.insert_filled("agent", operation.agent.name.as_ref());
    metadata.insert_filled("agent_id", operation.agent.id.as_ref());
    metadata.insert_filled("duration_ms", step.latency_ms());
    facts::error(&mut metadata, operation);
    metadata.extend(facts::of_step(run, step, &[]));
    metadata
}

/// Adds the agent, unless it is the session's.
fn who<'a>(metadata: &mut Object<'a>, run: &'a Run, step: &Step) {
    let agent = run.scopes.get(step.scope).and_then(|scope| scope.agent.as_ref());
    metadata.insert_filled("agent", agent.filter(|agent| run.agent.name.as_ref() != Some(*agent)));
}

pub(super) fn time(at: UnixNanos) -> Json<'static> {
    TIME.complete([("event_time", at.seconds().into())]).into()
}
