//! What a block's metadata say of the operation behind it.

use serde_json::{Map, Value, json};

use crate::operation::{Document, Evaluation, Kind, Operation, Task, TokenCount, ToolDefinition, Training};
use crate::run::{Observed, Run, Step};
use crate::span::UnixNanos;

/// Where the block comes from: span, agent, how we know.
pub(super) fn origin(run: &Run, step: &Step) -> Map<String, Value> {
    let mut map = Map::new();
    match step.span_id {
        Some(span) => put(&mut map, "span_id", span.to_string()),
        None => put(&mut map, "step", step.id.as_str()),
    }
    let agent = run.scopes.get(step.scope).and_then(|scope| scope.agent.as_deref());
    if let Some(agent) = agent.or(step.operation.agent.name.as_deref())
        && run.agent.name.as_deref() != Some(agent)
    {
        put(&mut map, "agent", agent);
    }
    if step.observed == Observed::Messages {
        put(&mut map, "observed", "messages");
    }
    map
}

/// Everything else that has no place in a payload.
pub(super) fn details(step: &Step) -> Map<String, Value> {
    let operation = &step.operation;
    let mut map = Map::new();
    put(&mut map, "time", time(step.started_at, step.ended_at));
    if !step.evidence.is_empty() {
        put(&mut map, "evidence", strings(&step.evidence));
    }
    if let Some(impact) = &operation.resource_impact {
        put(
            &mut map,
            "resource_impact",
            filled([
                ("amount", number(impact.amount)),
                ("unit", impact.unit.clone().into()),
                ("breakdown", impact.breakdown.clone().unwrap_or_default()),
            ]),
        );
    }
    let prompt = filled([
        ("id", operation.prompt.id.clone().into()),
        ("version", operation.prompt.version.clone().into()),
        ("template", operation.prompt.template.clone().into()),
        ("variables", operation.prompt.variables.clone().unwrap_or_default()),
    ]);
    put_filled(&mut map, "prompt", prompt);
    if let Some(tool) = &operation.tool {
        let described = filled([
            ("description", tool.description.clone().into()),
            ("parameters", tool.parameters.clone().unwrap_or_default()),
        ]);
        put_filled(&mut map, "tool", described);
    }
    put_filled(&mut map, "task", task(&operation.task));
    put_filled(&mut map, "agent_id", operation.agent.id.clone().into());
    put_filled(&mut map, "agent_description", operation.agent.description.clone().into());
    put_filled(&mut map, "workflow", operation.workflow.clone().into());
    put_filled(&mut map, "graph_node", operation.graph_node.clone().into());
    put_filled(&mut map, "tags", json!(operation.tags));
    put_filled(&mut map, "metadata", Value::Object(operation.metadata.clone()));
    put_filled(&mut map, "attributes", Value::Object(operation.unmapped.clone()));
    put_filled(&mut map, "format_extras", Value::Object(operation.format_extras.clone()));
    map
}

/// What the agent was to do.
fn task(task: &Task) -> Value {
    filled([
        ("description", task.description.clone().into()),
        ("goal", task.goal.clone().into()),
        ("input", task.input.clone().unwrap_or_default()),
    ])
}

/// Whether a step has facts beside its times, its input and its output.
pub(super) fn has_own(step: &Step) -> bool {
    let details = details(step);
    let beside = details.keys().any(|key| key != "time");
    beside || !is_empty(&model_call(&step.operation)) || !is_empty(&tools(&step.operation.tool_definitions))
}

/// Model, tokens, money and parameters of a model call.
pub(super) fn model_call(operation: &Operation) -> Value {
    filled([
        ("model", operation.model.name().into()),
        (
            "requested_model",
            operation
                .model
                .requested
                .clone()
                .filter(|requested| operation.model.name() != Some(requested))
                .into(),
        ),
        ("provider", operation.model.provider.clone().into()),
        ("response_id", operation.response_id.clone().into()),
        ("finish_reason", operation.finish_reason.clone().into()),
        ("usage", usage(&operation.usage)),
        (
            "cost_usd",
            filled([
                ("total", number(operation.cost.total)),
                ("input", number(operation.cost.input)),
                ("output", number(operation.cost.output)),
            ]),
        ),
        ("parameters", Value::Object(operation.parameters.clone())),
        ("time_to_first_token", number(operation.time_to_first_token)),
    ])
}

fn usage(usage: &TokenCount) -> Value {
    filled([
        ("input", usage.input.into()),
        ("output", usage.output.into()),
        ("total", usage.total.into()),
        ("cache_read", usage.cache_read.into()),
        ("cache_write", usage.cache_write.into()),
        ("reasoning", usage.reasoning.into()),
    ])
}

/// Tools offered to a model.
pub(super) fn tools(definitions: &[ToolDefinition]) -> Value {
    definitions
        .iter()
        .map(|tool| {
            filled([
                ("name", tool.name.as_str().into()),
                ("description", tool.description.clone().into()),
                ("parameters", tool.parameters.clone().unwrap_or_default()),
            ])
        })
        .collect()
}

/// A judgement.
pub(super) fn evaluation(evaluation: &Evaluation) -> Value {
    filled([
        ("name", evaluation.name.clone().into()),
        ("score", number(evaluation.score)),
        ("label", evaluation.label.clone().into()),
        ("explanation", evaluation.explanation.clone().into()),
        ("annotator_kind", evaluation.annotator_kind.clone().into()),
    ])
}

/// What training tools ask for, but for the reward.
pub(super) fn training(training: &Training) -> Value {
    filled([
        ("terminated", training.terminated.into()),
        ("truncated", training.truncated.into()),
        ("prompt_token_ids", training.prompt_token_ids.clone().unwrap_or_default()),
        ("completion_token_ids", training.completion_token_ids.clone().unwrap_or_default()),
        ("logprobs", training.logprobs.clone().unwrap_or_default()),
        ("optimize", training.optimize.into()),
        ("ideal", training.ideal.clone().unwrap_or_default()),
        ("step", training.step.into()),
    ])
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

/// The run as a whole.
pub(super) fn run(run: &Run) -> Value {
    let failure = run.failure.as_ref().map_or(Value::Null, |failed| {
        filled([
            ("message", failed.failure.text().into()),
            ("type", failed.failure.error_type.clone().into()),
            ("stacktrace", failed.failure.stacktrace.clone().into()),
            ("span_id", failed.span_id.to_string().into()),
        ])
    });
    filled([
        ("trace_id", run.trace_id.to_string().into()),
        ("session_id", run.session_id.clone().into()),
        ("user_id", run.user_id.clone().into()),
        ("agent", run.agent.name.clone().into()),
        ("agent_version", run.agent.version.clone().into()),
        ("framework", run.agent.framework.clone().into()),
        ("framework_version", run.agent.framework_version.clone().into()),
        ("time", time(run.started_at, run.ended_at)),
        ("failure", failure),
        ("root", run.root.and_then(|root| run.steps.get(root)).map_or(Value::Null, root)),
        ("resource", Value::Object(run.resource.clone())),
        ("metadata", Value::Object(run.metadata.clone())),
    ])
}

/// What the operation that stands for the whole run says beside its words. A block of its own says it elsewhere.
fn root(step: &Step) -> Value {
    let operation = &step.operation;
    if !stands_for_run(operation.kind) {
        return Value::Null;
    }
    let mut told = details(step);
    let _ = told.remove("time");
    put_filled(&mut told, "model_call", model_call(operation));
    put_filled(&mut told, "tools", tools(&operation.tool_definitions));
    put_filled(&mut told, "reward", number(operation.training.reward));
    put_filled(&mut told, "training", training(&operation.training));
    if !told.is_empty() {
        put(&mut told, "kind", operation.kind.name());
        put(&mut told, "name", operation.name.as_str());
        put_filled(&mut told, "span_id", step.span_id.map(|span| span.to_string()).into());
    }
    Value::Object(told)
}

/// Whether a root of this kind is told as the run.
pub(super) fn stands_for_run(kind: Kind) -> bool {
    matches!(kind, Kind::Agent | Kind::Chain)
}

/// Exact times, which `created_at` cannot hold.
fn time(start: UnixNanos, end: Option<UnixNanos>) -> Value {
    filled([
        ("start_unix_nano", start.0.to_string().into()),
        ("end_unix_nano", end.map(|end| end.0.to_string()).into()),
    ])
}

/// A finite number.
pub(super) fn number(number: Option<f64>) -> Value {
    number.and_then(serde_json::Number::from_f64).map_or(Value::Null, Value::Number)
}

/// An object of the values that are there.
pub(super) fn filled<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    pairs
        .into_iter()
        .filter(|(_, value)| !is_empty(value))
        .map(|(key, value)| (key.to_owned(), value))
        .collect::<Map<_, _>>()
        .into()
}

/// Whether nothing is there.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// Writes a value.
pub(super) fn put(map: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    let _ = map.insert(key.to_owned(), value.into());
}

/// Writes a value that is there.
pub(super) fn put_filled(map: &mut Map<String, Value>, key: &str, value: Value) {
    if !is_empty(&value) {
        put(map, key, value);
    }
}

fn strings<T: std::fmt::Display>(list: &[T]) -> Value {
    list.iter().map(|item| Value::String(item.to_string())).collect()
}
