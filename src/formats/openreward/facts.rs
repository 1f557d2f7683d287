//! What a block's metadata say of the operation behind it.

use crate::formats::fact_groups::FactGroup as _;
pub(super) use crate::formats::facts::{documents, filled};
use crate::formats::facts::{run_failure, strings};
use crate::formats::json::{Json, Object};
use crate::operation::{Kind, Operation, ToolDefinition, Training};
use crate::run::{Observed, Run, Step};
use crate::span::UnixNanos;

/// Where the block comes from: span, agent, how we know.
pub(super) fn origin<'a>(run: &'a Run, step: &'a Step) -> Object<'a> {
    let mut map = Object::with_capacity(4);
    match step.span_id {
        Some(span) => map.insert("span_id", span.to_string()),
        None => map.insert("step", step.id.as_str()),
    }
    let agent = run.scopes.get(step.scope).and_then(|scope| scope.agent.as_deref());
    if let Some(agent) = agent.or(step.operation.agent.name.as_deref())
        && run.agent.name.as_deref() != Some(agent)
    {
        map.insert("agent", agent);
    }
    if step.observed == Observed::Messages {
        map.insert("observed", "messages");
    }
    map
}

/// Everything else that has no place in a payload.
pub(super) fn details(step: &Step) -> Object<'_> {
    let operation = &step.operation;
    let mut map = Object::with_capacity(4);
    map.insert("time", time(step.started_at, step.ended_at));
    if !step.evidence.is_empty() {
        map.insert("evidence", strings(&step.evidence));
    }
    if let Some(impact) = &operation.resource_impact {
        map.insert("resource_impact", impact.filled_facts());
    }
    map.add_filled("prompt", operation.prompt.filled_facts());
    if let Some(tool) = &operation.tool {
        let described = filled([
            ("description", tool.description.as_ref().into()),
            ("parameters", tool.parameters.as_ref().into()),
        ]);
        map.add_filled("tool", described);
    }
    map.add_filled("task", operation.task.filled_facts());
    map.add_filled("agent_id", operation.agent.id.as_ref());
    map.add_filled("agent_description", operation.agent.description.as_ref());
    map.add_filled("agent_version", operation.agent.version.as_ref());
    map.add_filled("framework", operation.agent.framework.as_ref());
    map.add_filled("input_type", operation.content_type.input.as_ref());
    map.add_filled("format", operation.content_type.output.as_ref());
    map.add_filled("workflow", operation.workflow.as_ref());
    map.add_filled("graph_node", operation.graph_node.as_ref());
    map.add_filled("tags", operation.tags.as_slice());
    map.add_filled("metadata", &operation.metadata);
    map.add_filled("attributes", &operation.unmapped);
    map.add_filled("format_extras", &operation.format_extras);
    map
}

/// Whether a step has facts beside its times, its input and its output.
pub(super) fn has_own(step: &Step) -> bool {
    let details = details(step);
    let beside = details.iter().any(|(key, _)| key != "time");
    beside || !model_call(&step.operation).is_empty() || !step.operation.tool_definitions.is_empty()
}

/// Model, tokens, money and parameters of a model call.
pub(super) fn model_call(operation: &Operation) -> Object<'_> {
    filled([
        ("model", operation.model.name().into()),
        (
            "requested_model",
            operation
                .model
                .requested
                .as_deref()
                .filter(|requested| operation.model.name() != Some(requested))
                .into(),
        ),
        ("provider", operation.model.provider.as_ref().into()),
        ("response_id", operation.response_id.as_ref().into()),
        ("finish_reason", operation.finish_reason.as_ref().into()),
        ("usage", operation.usage.filled_facts().into()),
        ("cost_usd", operation.cost.filled_facts().into()),
        ("parameters", (&operation.parameters).into()),
        ("time_to_first_token", number(operation.time_to_first_token)),
    ])
}

/// Tools offered to a model.
pub(super) fn tools(definitions: &[ToolDefinition]) -> Json<'_> {
    definitions
        .iter()
        .map(|tool| {
            filled([
                ("name", tool.name.as_str().into()),
                ("description", tool.description.as_ref().into()),
                ("parameters", tool.parameters.as_ref().into()),
            ])
        })
        .collect()
}

/// What training tools ask for, but for the reward.
pub(super) fn training(training: &Training) -> Object<'_> {
    let mut told = training.filled_facts();
    let _ = told.remove("reward");
    told
}

/// The run as a whole.
pub(super) fn run(run: &Run) -> Object<'_> {
    filled([
        ("trace_id", run.trace_id.to_string().into()),
        ("session_id", run.session_id.as_ref().into()),
        ("user_id", run.user_id.as_ref().into()),
        ("agent", run.agent.name.as_ref().into()),
        ("agent_version", run.agent.version.as_ref().into()),
        ("framework", run.agent.framework.as_ref().into()),
        ("framework_version", run.agent.framework_version.as_ref().into()),
        ("instrumentation", crate::formats::facts::instrumentation(run).into()),
        ("time", time(run.started_at, run.ended_at).into()),
        ("failure", run_failure(run).into()),
        ("root", run.root.and_then(|root| run.steps.get(root)).map(root).into()),
        ("resource", (&run.resource).into()),
        ("metadata", (&run.metadata).into()),
    ])
}

/// What the operation that stands for the whole run says beside its words. A block of its own says it elsewhere.
fn root(step: &Step) -> Object<'_> {
    let operation = &step.operation;
    if !stands_for_run(operation.kind) {
        return Object::new();
    }
    let mut told = details(step);
    let _ = told.swap_remove("time");
    told.add_filled("model_call", model_call(operation));
    told.add_filled("tools", tools(&operation.tool_definitions));
    told.add_filled("reward", number(operation.training.reward));
    told.add_filled("training", training(&operation.training));
    if !told.is_empty() {
        told.insert("kind", operation.kind.name());
        told.insert("name", operation.name.as_str());
        told.add_filled("span_id", step.span_id.map(|span| span.to_string()));
    }
    told
}

/// Whether a root of this kind is told as the run.
pub(super) fn stands_for_run(kind: Kind) -> bool {
    matches!(kind, Kind::Agent | Kind::Chain)
}

/// Exact times, which `created_at` cannot hold.
fn time(start: UnixNanos, end: Option<UnixNanos>) -> Object<'static> {
    filled([
        ("start_unix_nano", start.0.to_string().into()),
        ("end_unix_nano", end.map(|end| end.0.to_string()).into()),
    ])
}

/// A finite number.
pub(super) fn number(number: Option<f64>) -> Json<'static> {
    number.into()
}
