//! The metadata of events.

use serde_json::{Map, Value};

use crate::document::json::{Json, Object};
use crate::operation::{Group as _, Kind, Operation, Training};
use crate::run::{Observed, Run, Step};
use crate::transcript::content;
use crate::transcript::facts;
pub(super) use crate::transcript::facts::{documents, filled};
use crate::transcript::facts::{instrumentation, run_failure};

/// Facts that always have their own field: the failure, the reward, the evaluations.
const PLACED: [&str; 4] = ["observed", "error", "reward", "evaluations"];

/// Facts about a step's subject, which follow its other facts in this order.
const SUBJECT_FACTS: [&str; 11] = [
    "state",
    "interrupt",
    "memory",
    "query",
    "top_k",
    "embedded_texts",
    "vector_count",
    "model",
    "agent_description",
    "usage",
    "cost",
];

/// The facts of a step, under the names used in events' metadata. `placed`: facts with a field in the event, by their names in
/// [`facts::all`].
pub(super) fn of_step<'a>(run: &'a Run, step: &'a Step, placed: &[&str]) -> Object<'a> {
    let operation = &step.operation;
    let mut map = Object::with_capacity(8);
    if step.observed == Observed::Messages {
        map.add("observed", "messages");
        map.add("operation_id", step.id.as_str());
    }
    map.add("spanbridge.started_at_unix_nano", step.started_at.0.to_string());
    if let Some(end) = step.ended_at {
        map.add("spanbridge.ended_at_unix_nano", end.0.to_string());
    }
    let mut all = facts::all(run, step);
    map.add_filled("evidence", all.remove("evidence").unwrap_or_default());
    // Input of some kinds of operations, whose events have no field for it.
    all.insert_filled("query", operation.search.as_ref().and_then(|search| search.query.as_ref()));
    all.insert_filled("embedded_texts", operation.embedded_texts.as_slice());
    let mut all: Vec<_> = all.into_iter().collect();
    all.sort_by_key(|(name, _)| SUBJECT_FACTS.iter().position(|last| last == name).map_or(0, |place| place + 1));
    let mut training = Object::new();
    for (name, value) in all {
        match (&*name, value) {
            (name, _) if PLACED.contains(&name) || placed.contains(&name) => {}
            // The enclosing agent is a prefix of the system's name.
            ("agent", _) if operation.agent.name.is_none() => {}
            ("usage", Json::Object(counts)) => map.add("usage", tokens(counts)),
            ("cost", Json::Object(mut parts)) => {
                map.add_filled("cost_usd", parts.remove("total").unwrap_or_default());
                map.add_filled("cost", parts);
            }
            ("memory", Json::Object(mut memory)) => {
                if let Some(done) = memory.remove("operation") {
                    memory.lead("operation", done);
                }
                map.add("memory", memory);
            }
            ("agent_description", value) if operation.kind == Kind::Agent => map.add("description", value),
            ("mcp_server", value) if operation.kind == Kind::Tool => map.add("server", value),
            ("spanbridge", value) => map.add("format_extras", value),
            (fact, value) if Training::NAMES.contains(&fact) => training.add(name, value),
            (_, value) => map.add(name, value),
        }
    }
    map.add_filled("training", training);
    map
}

/// Token counts under the names of a call record.
fn tokens(counts: Object<'_>) -> Object<'_> {
    let mut out = Object::with_capacity(counts.len());
    out.extend(counts.into_iter().map(|(name, count)| (format!("{name}_tokens").into(), count)));
    out
}

/// Adds the whole input and output to an operation's facts, in place of a tool's equal arguments and result.
pub(super) fn in_and_out<'a>(map: &mut Object<'a>, operation: &'a Operation) {
    let written = [
        ("input", "arguments", content::whole_input(operation)),
        ("output", "result", content::whole_output(operation)),
    ];
    for (name, of_tool, whole) in written {
        let Some(whole) = whole else { continue };
        if map.get(of_tool).is_some_and(|of_tool| *of_tool == whole) {
            map.remove(of_tool);
        }
        map.insert_filled(name, whole);
    }
}

/// Adds the failure.
pub(super) fn error<'a>(map: &mut Object<'a>, operation: &'a Operation) {
    if let Some(failure) = &operation.failure {
        map.insert("error", failure.text());
        map.insert_filled("error_type", failure.error_type.as_ref());
        map.insert_filled("stacktrace", failure.stacktrace.as_ref());
    }
}

/// The session's metadata. `synth-ai filter` reads `model`, `env_name` and the task at the top level.
pub(super) fn of_run(run: &Run) -> Object<'_> {
    let mut map = Object::new();
    let model = run
        .steps
        .iter()
        .filter(|step| step.operation.kind == Kind::Llm)
        .find_map(|step| step.operation.model.name());
    map.insert_filled("model", model);
    // A recorded name takes precedence over the agent's.
    let env_name = run.metadata.get("env_name").or_else(|| {
        let root = run.root.and_then(|root| run.steps.get(root));
        root.and_then(|root| root.operation.unmapped.get("env_name"))
    });
    let env_name = env_name.filter(|name| name.is_string());
    map.insert_filled("env_name", env_name.map_or_else(|| run.agent.name.as_ref().into(), Json::from));
    map.insert_filled("agent", run.agent.name.as_ref().filter(|_| env_name.is_some()));
    map.insert_filled("user_id", run.user_id.as_ref());
    map.insert_filled("session_id", run.session_id.as_ref());
    map.insert("trace_id", run.trace_id.to_string());
    map.insert_filled("agent_version", run.agent.version.as_ref());
    map.insert_filled("framework", run.agent.framework.as_ref());
    map.insert_filled("framework_version", run.agent.framework_version.as_ref());
    map.insert_filled("instrumentation", instrumentation(run));
    map.insert("spanbridge.started_at_unix_nano", run.started_at.0.to_string());
    if let Some(end) = run.ended_at {
        map.insert("spanbridge.ended_at_unix_nano", end.0.to_string());
    }
    map.insert_filled("error", run_failure(run));
    if let Some(root) = run.root.and_then(|root| run.steps.get(root)) {
        let mut written = Object::new();
        written.insert("kind", root.operation.kind.name());
        written.insert("name", root.operation.name.as_str());
        written.insert_filled("span_id", root.span_id.map(|span| span.to_string()));
        if !has_event(&root.operation) {
            // The task is at the top level.
            written.extend(of_step(run, root, &["task"]));
            if run.failure.as_ref().map(|failed| failed.span_id) != root.span_id {
                error(&mut written, &root.operation);
            }
            if !repeats(root.operation.kind) {
                in_and_out(&mut written, &root.operation);
            }
        }
        let task = &root.operation.task;
        map.insert_filled("task_description", task.description.as_ref());
        map.insert_filled("task_goal", task.goal.as_ref());
        map.insert_filled("task_input", task.input.as_ref());
        map.insert("root", written);
    }
    map.insert_filled("resource", &run.resource);
    // The run's metadata have distinct keys, so only keys that are already in the map can clash.
    let (again, new): (Vec<_>, Vec<_>) = run.metadata.iter().partition(|(key, _)| map.contains_key(key));
    for (key, value) in new {
        map.add(key, value);
    }
    let mut beside = Object::new();
    for (key, value) in again {
        beside.add(key, value);
    }
    map.insert_filled("run_metadata", beside);
    map
}

/// Whether an operation has an event even if it represents the whole run.
fn has_event(operation: &Operation) -> bool {
    operation.kind == Kind::Llm || is_feedback(operation)
}

/// Whether an operation's own event is feedback of the environment: it then has the reward, and whether the episode ended.
pub(super) fn is_feedback(operation: &Operation) -> bool {
    match operation.kind {
        Kind::Tool | Kind::Retrieval | Kind::Rerank | Kind::MemoryRead => true,
        Kind::Guardrail => blocks(operation),
        _ => false,
    }
}

/// Whether a guardrail was tripped.
pub(super) fn blocks(operation: &Operation) -> bool {
    let is_tripped = |map: &Map<String, Value>| {
        ["tripwire_triggered", "triggered", "blocked"]
            .iter()
            .any(|key| map.get(*key) == Some(&Value::Bool(true)))
    };
    operation.failure.is_some()
        || operation.output.get().and_then(Value::as_object).is_some_and(is_tripped)
        || is_tripped(&operation.metadata)
        || is_tripped(&operation.unmapped)
}

/// Whether input and output repeat the conversation inside the operation.
pub(super) fn repeats(kind: Kind) -> bool {
    matches!(kind, Kind::Agent | Kind::Chain)
}

/// A finite number.
pub(super) fn number(number: Option<f64>) -> Json<'static> {
    number.into()
}

/// A count as a signed integer, which the format uses.
pub(super) fn count(count: Option<u64>) -> Option<i64> {
    count.map(|count| i64::try_from(count).unwrap_or(i64::MAX))
}
