//! What events say in their metadata.

use crate::formats::fact_groups::FactGroup as _;
pub(super) use crate::formats::facts::{documents, filled};
use crate::formats::facts::{instrumentation, run_failure, strings};
use crate::formats::json::{Json, Object};
use crate::formats::json_read::recorded;
use crate::operation::{Kind, Operation, Training};
use crate::run::{Observed, Run, Step};

/// Facts that every event has: how we know of it, exact times, what no field holds.
pub(super) fn of_step(step: &Step) -> Object<'_> {
    let operation = &step.operation;
    let mut map = Object::new();
    if step.observed == Observed::Messages {
        map.insert("observed", "messages");
        map.insert("operation_id", step.id.as_str());
    }
    map.insert("spanbridge.started_at_unix_nano", step.started_at.0.to_string());
    if let Some(end) = step.ended_at {
        map.insert("spanbridge.ended_at_unix_nano", end.0.to_string());
    }
    map.insert_filled("evidence", strings(&step.evidence));
    map.insert_filled("prompt", operation.prompt.filled_facts());
    if let Some(impact) = &operation.resource_impact {
        map.insert_filled("resource_impact", impact.filled_facts());
    }
    if let Some(tool) = &operation.tool {
        map.insert_filled("tool_description", tool.description.as_ref());
        map.insert_filled("tool_parameters", tool.parameters.as_ref());
    }
    map.insert_filled("task", operation.task.filled_facts());
    map.insert_filled("workflow", operation.workflow.as_ref());
    map.insert_filled("graph_node", operation.graph_node.as_ref());
    map.insert_filled("tags", operation.tags.as_slice());
    map.insert_filled("training", training(&operation.training));
    map.insert_filled("input_type", operation.content_type.input.as_ref());
    map.insert_filled("format", operation.content_type.output.as_ref());
    map.insert_filled("metadata", &operation.metadata);
    map.insert_filled("attributes", &operation.unmapped);
    map.insert_filled("format_extras", &operation.format_extras);
    map
}

/// Why it failed.
pub(super) fn error<'a>(map: &mut Object<'a>, operation: &'a Operation) {
    if let Some(failure) = &operation.failure {
        map.insert("error", failure.text());
        map.insert_filled("error_type", failure.error_type.as_ref());
        map.insert_filled("stacktrace", failure.stacktrace.as_ref());
    }
}

/// What a step is about, by kind: state, interrupt, memory, search, embedding.
pub(super) fn about(operation: &Operation) -> Object<'_> {
    let mut map = Object::new();
    if let Some(state) = &operation.state {
        map.insert_filled("state", state.filled_facts());
    }
    if let Some(interrupt) = &operation.interrupt {
        map.insert_filled("interrupt", interrupt.filled_facts());
    }
    if let Some(memory) = &operation.memory {
        let mut told = memory.filled_facts();
        if memory.operation.is_some() {
            told.lead("operation", Json::Null);
        }
        map.insert_filled("memory", told);
    }
    if let Some(search) = &operation.search {
        map.insert_filled("query", search.query.as_ref());
        map.insert_filled("top_k", search.top_k);
    }
    map.insert_filled("embedded_texts", operation.embedded_texts.as_slice());
    map.insert_filled("vector_count", operation.vector_count);
    map.insert_filled("model", operation.model.name());
    map.insert_filled("description", operation.agent.description.as_ref());
    let usage = &operation.usage;
    let tokens = filled([
        ("input_tokens", usage.input.into()),
        ("output_tokens", usage.output.into()),
        ("total_tokens", usage.total.into()),
    ]);
    map.insert_filled("usage", tokens);
    map.insert_filled("cost_usd", number(operation.cost.total));
    map
}

/// The session's metadata. `synth-ai filter` reads `model`, `env_name` and the task's words at the top.
pub(super) fn of_run(run: &Run) -> Object<'_> {
    let mut map = Object::new();
    let model = run
        .steps
        .iter()
        .filter(|step| step.operation.kind == Kind::Llm)
        .find_map(|step| step.operation.model.name());
    map.insert_filled("model", model);
    // What was recorded goes before what we make of the agent's name.
    let env_name = run.metadata.get("env_name").or_else(|| {
        let root = run.root.and_then(|root| run.steps.get(root));
        root.and_then(|root| root.operation.unmapped.get("env_name"))
    });
    let env_name = env_name.filter(|name| name.is_string());
    map.insert_filled("env_name", env_name.map_or_else(|| run.agent.name.as_ref().into(), Json::from));
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
        let mut told = Object::new();
        told.insert("kind", root.operation.kind.name());
        told.insert("name", root.operation.name.as_str());
        told.insert_filled("span_id", root.span_id.map(|span| span.to_string()));
        told.insert_filled("agent_id", root.operation.agent.id.as_ref());
        told.extend(of_step(root));
        // The task stands at the top.
        let _ = told.swap_remove("task");
        told.extend(about(&root.operation));
        if !has_event(root.operation.kind) && !repeats(root.operation.kind) {
            told.insert_filled("input", recorded(&root.operation.input));
            told.insert_filled("output", recorded(&root.operation.output));
        }
        let task = &root.operation.task;
        map.insert_filled("task_description", task.description.as_ref());
        map.insert_filled("task_goal", task.goal.as_ref());
        map.insert_filled("task_input", task.input.as_ref());
        map.insert("root", told);
    }
    map.insert_filled("resource", &run.resource);
    // Its keys are distinct: only those that stand here already can come again.
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

/// Whether an operation of this kind is an event even where it is the whole run.
fn has_event(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Llm | Kind::Tool | Kind::Retrieval | Kind::Rerank | Kind::MemoryRead | Kind::Guardrail
    )
}

/// Whether what goes in and comes out repeats what is said inside.
pub(super) fn repeats(kind: Kind) -> bool {
    matches!(kind, Kind::Agent | Kind::Chain)
}

/// The reward, the tokens and their probabilities have places of their own.
fn training(training: &Training) -> Object<'_> {
    let mut told = training.filled_facts();
    for placed in ["reward", "prompt_token_ids", "completion_token_ids", "logprobs"] {
        let _ = told.remove(placed);
    }
    told
}

/// A finite number.
pub(super) fn number(number: Option<f64>) -> Json<'static> {
    number.into()
}

/// A count as the signed integer that the format has.
pub(super) fn count(count: Option<u64>) -> Option<i64> {
    count.map(|count| i64::try_from(count).unwrap_or(i64::MAX))
}
