//! What events say in their metadata.

use serde_json::{Map, Value, json};

use crate::operation::{Document, Evaluation, Kind, Operation, Training};
use crate::run::{Observed, Run, Step};

/// Facts that every event has: how we know of it, exact times, what no field holds.
pub(super) fn of_step(step: &Step) -> Map<String, Value> {
    let operation = &step.operation;
    let mut map = Map::new();
    if step.observed == Observed::Messages {
        put(&mut map, "observed", "messages");
        put(&mut map, "operation_id", step.id.as_str());
    }
    put(&mut map, "spanbridge.started_at_unix_nano", step.started_at.0.to_string());
    if let Some(end) = step.ended_at {
        put(&mut map, "spanbridge.ended_at_unix_nano", end.0.to_string());
    }
    put_filled(&mut map, "evidence", strings(&step.evidence));
    put_filled(
        &mut map,
        "prompt",
        filled([
            ("id", operation.prompt.id.clone().into()),
            ("version", operation.prompt.version.clone().into()),
            ("template", operation.prompt.template.clone().into()),
            ("variables", operation.prompt.variables.clone().unwrap_or_default()),
        ]),
    );
    if let Some(impact) = &operation.resource_impact {
        let told = filled([
            ("amount", number(impact.amount)),
            ("unit", impact.unit.clone().into()),
            ("breakdown", impact.breakdown.clone().unwrap_or_default()),
        ]);
        put_filled(&mut map, "resource_impact", told);
    }
    if let Some(tool) = &operation.tool {
        put_filled(&mut map, "tool_description", tool.description.clone().into());
        put_filled(&mut map, "tool_parameters", tool.parameters.clone().unwrap_or_default());
    }
    let task = &operation.task;
    put_filled(
        &mut map,
        "task",
        filled([
            ("description", task.description.clone().into()),
            ("goal", task.goal.clone().into()),
            ("input", task.input.clone().unwrap_or_default()),
        ]),
    );
    put_filled(&mut map, "workflow", operation.workflow.clone().into());
    put_filled(&mut map, "graph_node", operation.graph_node.clone().into());
    put_filled(&mut map, "tags", json!(operation.tags));
    put_filled(&mut map, "training", training(&operation.training));
    put_filled(&mut map, "metadata", Value::Object(operation.metadata.clone()));
    put_filled(&mut map, "attributes", Value::Object(operation.unmapped.clone()));
    put_filled(&mut map, "format_extras", Value::Object(operation.format_extras.clone()));
    map
}

/// Why it failed.
pub(super) fn error(map: &mut Map<String, Value>, operation: &Operation) {
    if let Some(failure) = &operation.failure {
        put(map, "error", failure.text());
        put_filled(map, "error_type", failure.error_type.clone().into());
        put_filled(map, "stacktrace", failure.stacktrace.clone().into());
    }
}

/// What a step is about, by kind: state, interrupt, memory, search, embedding.
pub(super) fn about(operation: &Operation) -> Map<String, Value> {
    let mut map = Map::new();
    if let Some(state) = &operation.state {
        let told = filled([
            ("key", state.key.clone().into()),
            ("old_value", state.old_value.clone().unwrap_or_default()),
            ("new_value", state.new_value.clone().unwrap_or_default()),
            ("reason", state.reason.clone().into()),
        ]);
        put_filled(&mut map, "state", told);
    }
    if let Some(interrupt) = &operation.interrupt {
        let told = filled([
            ("prompt", interrupt.prompt.clone().into()),
            ("response", interrupt.response.clone().unwrap_or_default()),
            ("wait_ms", interrupt.wait_ms.into()),
        ]);
        put_filled(&mut map, "interrupt", told);
    }
    if let Some(memory) = &operation.memory {
        let told = filled([
            ("operation", memory.operation.clone().into()),
            ("entity_type", memory.entity_type.clone().into()),
            ("entity_id", memory.entity_id.clone().into()),
            ("namespace", memory.namespace.clone().unwrap_or_default()),
            ("key", memory.key.clone().into()),
            ("data", memory.data.clone().unwrap_or_default()),
            ("changes", memory.changes.clone().unwrap_or_default()),
            ("query", memory.query.clone().unwrap_or_default()),
            ("results", memory.results.clone().unwrap_or_default()),
            ("scores", memory.scores.clone().unwrap_or_default()),
            ("total_available", memory.total_available.into()),
        ]);
        put_filled(&mut map, "memory", told);
    }
    if let Some(search) = &operation.search {
        put_filled(&mut map, "query", search.query.clone().unwrap_or_default());
        put_filled(&mut map, "top_k", search.top_k.into());
    }
    put_filled(&mut map, "embedded_texts", json!(operation.embedded_texts));
    put_filled(&mut map, "vector_count", operation.vector_count.into());
    put_filled(&mut map, "model", operation.model.name().into());
    put_filled(&mut map, "description", operation.agent.description.clone().into());
    let usage = &operation.usage;
    let tokens = filled([
        ("input_tokens", usage.input.into()),
        ("output_tokens", usage.output.into()),
        ("total_tokens", usage.total.into()),
    ]);
    put_filled(&mut map, "usage", tokens);
    put_filled(&mut map, "cost_usd", number(operation.cost.total));
    map
}

/// A judgement.
pub(super) fn evaluation(evaluation: &Evaluation) -> Map<String, Value> {
    let mut map = Map::new();
    put_filled(&mut map, "name", evaluation.name.clone().into());
    put_filled(&mut map, "score", number(evaluation.score));
    put_filled(&mut map, "label", evaluation.label.clone().into());
    put_filled(&mut map, "explanation", evaluation.explanation.clone().into());
    put_filled(&mut map, "annotator_kind", evaluation.annotator_kind.clone().into());
    map
}

/// Documents that were found.
pub(super) fn documents(documents: &[Document]) -> Value {
    documents
        .iter()
        .map(|document| {
            filled([
                ("id", document.id.clone().into()),
                ("content", document.content.clone().into()),
                ("score", number(document.score)),
                ("metadata", Value::Object(document.metadata.clone())),
            ])
        })
        .collect()
}

/// The session's metadata. `synth-ai filter` reads `model`, `env_name` and the task's words at the top.
pub(super) fn of_run(run: &Run) -> Map<String, Value> {
    let mut map = Map::new();
    let model = run
        .steps
        .iter()
        .filter(|step| step.operation.kind == Kind::Llm)
        .find_map(|step| step.operation.model.name());
    put_filled(&mut map, "model", model.into());
    put_filled(&mut map, "env_name", run.agent.name.clone().into());
    put_filled(&mut map, "user_id", run.user_id.clone().into());
    put_filled(&mut map, "session_id", run.session_id.clone().into());
    put(&mut map, "trace_id", run.trace_id.to_string());
    put_filled(&mut map, "agent_version", run.agent.version.clone().into());
    put_filled(&mut map, "framework", run.agent.framework.clone().into());
    put_filled(&mut map, "framework_version", run.agent.framework_version.clone().into());
    put(&mut map, "spanbridge.started_at_unix_nano", run.started_at.0.to_string());
    if let Some(end) = run.ended_at {
        put(&mut map, "spanbridge.ended_at_unix_nano", end.0.to_string());
    }
    if let Some(failed) = &run.failure {
        let told = filled([
            ("message", failed.failure.text().into()),
            ("type", failed.failure.error_type.clone().into()),
            ("stacktrace", failed.failure.stacktrace.clone().into()),
            ("span_id", failed.span_id.to_string().into()),
        ]);
        put(&mut map, "error", told);
    }
    if let Some(root) = run.root.and_then(|root| run.steps.get(root)) {
        let mut told = Map::new();
        put(&mut told, "kind", root.operation.kind.name());
        put(&mut told, "name", root.operation.name.as_str());
        put_filled(&mut told, "span_id", root.span_id.map(|span| span.to_string()).into());
        put_filled(&mut told, "agent_id", root.operation.agent.id.clone().into());
        told.extend(of_step(root));
        // The task stands at the top.
        let _ = told.remove("task");
        told.extend(about(&root.operation));
        if !has_event(root.operation.kind) && !repeats(root.operation.kind) {
            put_filled(&mut told, "input", root.operation.input.clone().unwrap_or_default());
            put_filled(&mut told, "output", root.operation.output.clone().unwrap_or_default());
        }
        let task = &root.operation.task;
        put_filled(&mut map, "task_description", task.description.clone().into());
        put_filled(&mut map, "task_goal", task.goal.clone().into());
        put_filled(&mut map, "task_input", task.input.clone().unwrap_or_default());
        put(&mut map, "root", told);
    }
    put_filled(&mut map, "resource", Value::Object(run.resource.clone()));
    let mut beside = Map::new();
    for (key, value) in &run.metadata {
        if map.contains_key(key) {
            put(&mut beside, key, value.clone());
        } else {
            put(&mut map, key, value.clone());
        }
    }
    put_filled(&mut map, "run_metadata", Value::Object(beside));
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

fn training(training: &Training) -> Value {
    filled([
        ("terminated", training.terminated.into()),
        ("truncated", training.truncated.into()),
        ("optimize", training.optimize.into()),
        ("ideal", training.ideal.clone().unwrap_or_default()),
        ("step", training.step.into()),
    ])
}

/// A finite number.
pub(super) fn number(number: Option<f64>) -> Value {
    number.and_then(serde_json::Number::from_f64).map_or(Value::Null, Value::Number)
}

/// A count as the signed integer that the format has.
pub(super) fn count(count: Option<u64>) -> Option<i64> {
    count.map(|count| i64::try_from(count).unwrap_or(i64::MAX))
}

/// An object of the values that are there.
pub(super) fn filled<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    let mut map = Map::new();
    for (key, value) in pairs {
        put_filled(&mut map, key, value);
    }
    Value::Object(map)
}

/// Writes a value.
pub(super) fn put(map: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    let _ = map.insert(key.to_owned(), value.into());
}

/// Writes a value that is there.
pub(super) fn put_filled(map: &mut Map<String, Value>, key: &str, value: Value) {
    let empty = match &value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    };
    if !empty {
        put(map, key, value);
    }
}

fn strings<T: std::fmt::Display>(list: &[T]) -> Value {
    list.iter().map(|item| Value::String(item.to_string())).collect()
}
