//! The facts of an operation in a block's metadata.

use crate::document::json::{Json, Object};
use crate::operation::{Kind, Operation, ToolDefinition, Training};
use crate::run::{Observed, Run, Step};
use crate::span::UnixNanos;
use crate::transcript::content;
use crate::transcript::fact_groups::FactGroup as _;
pub(super) use crate::transcript::facts::{documents, filled};
use crate::transcript::facts::{others, run_failure, strings};

/// Where the block comes from: span, agent, evidence.
pub(super) fn origin<'a>(run: &'a Run, step: &'a Step) -> Object<'a> {
    let mut map = Object::with_capacity(4);
    match step.span_id {
        Some(span) => map.insert("span_id", span.to_string()),
        None => map.insert("step", step.id.as_str()),
    }
    let agent = step.operation.agent.name.as_ref();
    let agent = agent.or_else(|| run.scopes.get(step.scope)?.agent.as_ref());
    map.add_filled("agent", agent.filter(|name| Some(*name) != run.agent.name.as_ref()));
    if step.observed == Observed::Messages {
        map.insert("observed", "messages");
    }
    map
}

/// All facts of an operation except its words and its payload; `about` are the facts from [`about`].
pub(super) fn of_step<'a>(run: &'a Run, step: &'a Step, about: Object<'a>) -> Object<'a> {
    let operation = &step.operation;
    let mut map = details(run, step);
    map.add_filled("model_call", model_call(operation));
    map.add_filled("tools", tools(&operation.tool_definitions));
    map.extend(about);
    map
}

/// Facts that any kind of operation may have.
pub(super) fn details<'a>(run: &'a Run, step: &'a Step) -> Object<'a> {
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
    let session = operation.session_id.as_ref();
    map.add_filled("session_id", session.filter(|id| Some(*id) != run.session_id.as_ref()));
    map.add_filled("user_id", operation.user_id.as_ref().filter(|id| Some(*id) != run.user_id.as_ref()));
    map.add_filled("input_type", operation.content_type.input.as_ref());
    map.add_filled("format", operation.content_type.output.as_ref());
    for (name, value) in others(operation) {
        map.add_filled(name, value);
    }
    map.add_filled("tags", operation.tags.as_slice());
    map.add_filled("metadata", &operation.metadata);
    map.add_filled("attributes", &operation.unmapped);
    map.add_filled("format_extras", &operation.format_extras);
    map
}

/// The subject of an operation; depending on its kind, the payload may contain some of it.
pub(super) fn about(operation: &Operation) -> Object<'_> {
    let mut map = Object::new();
    if let Some(state) = &operation.state {
        map.add_filled("state", state.filled_facts());
    }
    if let Some(interrupt) = &operation.interrupt {
        map.add_filled("interrupt", interrupt.filled_facts());
    }
    if let Some(search) = &operation.search {
        map.add_filled("query", search.query.as_ref());
        map.add_filled("documents", search.documents.as_deref().map(documents));
        map.add_filled("top_k", search.top_k);
        map.add_filled("match_count", search.match_count);
    }
    map.add_filled("embedded_texts", operation.embedded_texts.as_slice());
    map.add_filled("vector_count", operation.vector_count);
    if let Some(memory) = &operation.memory {
        let mut written = memory.filled_facts();
        // What is read from a memory may also be recorded as a search.
        for (own, of_search) in [("query", "query"), ("results", "documents")] {
            if written
                .get(own)
                .is_some_and(|value| map.get(of_search).is_some_and(|known| *known == *value))
            {
                let _ = written.remove(own);
            }
        }
        map.add_filled("memory", written);
    }
    if let Some(tool) = &operation.tool {
        map.add_filled("tool_name", tool.name.as_ref());
        map.add_filled("tool_call_id", tool.call_id.as_ref());
        map.add_filled("arguments", tool.arguments.as_ref());
        map.add_filled("result", tool.result.as_ref());
        let server = if operation.kind == Kind::Tool { "server" } else { "mcp_server" };
        map.add_filled(server, tool.mcp_server.as_ref());
    }
    // If messages may be the input or the output, they are written as such.
    if !content::has_messages_for_input(operation.kind) {
        map.add_filled("input_messages", operation.input_messages.as_deref().map(content::chats));
    }
    if !content::has_messages_for_output(operation.kind) {
        map.add_filled("output_messages", operation.output_messages.as_deref().map(content::chats));
    }
    map
}

/// Removes what an operation's name, input and output already contain.
pub(super) fn take_repeated(about: &mut Object<'_>, name: &str, input: &Json<'_>, output: &Json<'_>) {
    if !about.is_empty() {
        about.retain(|key, value| match key {
            "tool_name" => value.as_str() != Some(name),
            "arguments" => value != input,
            "result" => value != output,
            _ => true,
        });
    }
}

/// Why an operation failed.
pub(super) fn error(operation: &Operation) -> Object<'_> {
    let Some(failure) = &operation.failure else { return Object::new() };
    filled([
        ("error", failure.text().into()),
        ("error_type", failure.error_type.as_ref().into()),
        ("stacktrace", failure.stacktrace.as_ref().into()),
    ])
}

/// Whether a step has facts besides its times, input and output.
pub(super) fn has_own(run: &Run, step: &Step) -> bool {
    let facts = of_step(run, step, about(&step.operation));
    step.operation.failure.is_some() || facts.iter().any(|(key, _)| key != "time")
}

/// Model, tokens, cost and parameters of a model call.
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

/// Facts for training tools, except the reward.
pub(super) fn training(training: &Training) -> Object<'_> {
    let mut written = training.filled_facts();
    let _ = written.remove("reward");
    written
}

/// The facts of a run.
pub(super) fn run(run: &Run) -> Object<'_> {
    filled([
        ("trace_id", run.trace_id.to_string().into()),
        ("session_id", run.session_id.as_ref().into()),
        ("user_id", run.user_id.as_ref().into()),
        ("agent", run.agent.name.as_ref().into()),
        ("agent_version", run.agent.version.as_ref().into()),
        ("framework", run.agent.framework.as_ref().into()),
        ("framework_version", run.agent.framework_version.as_ref().into()),
        ("instrumentation", crate::transcript::facts::instrumentation(run).into()),
        ("time", time(run.started_at, run.ended_at).into()),
        ("failure", run_failure(run).into()),
        ("root", run.root.and_then(|step| Some(root(run, run.steps.get(step)?))).into()),
        ("resource", (&run.resource).into()),
        ("metadata", (&run.metadata).into()),
    ])
}

/// Facts of the operation that represents the whole run, except its words; other operations have their own block.
fn root<'a>(run: &'a Run, step: &'a Step) -> Object<'a> {
    let operation = &step.operation;
    if !represents_run(operation.kind) {
        return Object::new();
    }
    let mut written = details(run, step);
    let _ = written.swap_remove("time");
    written.add_filled("model_call", model_call(operation));
    written.add_filled("tools", tools(&operation.tool_definitions));
    written.extend(about(operation));
    let agent = operation.agent.name.as_ref();
    written.add_filled("agent", agent.filter(|name| Some(*name) != run.agent.name.as_ref()));
    let of_run = run.failure.as_ref().map(|failed| &failed.failure);
    if operation.failure.as_ref() != of_run {
        written.extend(error(operation));
    }
    written.add_filled("reward", number(operation.training.reward));
    written.add_filled("training", training(&operation.training));
    if !written.is_empty() {
        written.insert("kind", operation.kind.name());
        written.insert("name", operation.name.as_str());
        written.add_filled("span_id", step.span_id.map(|span| span.to_string()));
    }
    written
}

/// Whether a root of this kind represents the run.
pub(super) fn represents_run(kind: Kind) -> bool {
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
