//! What an operation says beside what a format has fields for, under the names that documents use in their metadata.
//!
//! A format takes everything and removes what it has written in fields of its own: so nothing is forgotten.

use super::calls::Results;
use super::io;
use super::json::{Json, Object};
use crate::operation::{Evaluation, Failure, Operation};
use crate::run::{Observed, Run, Step};

/// Most of what an operation may say it does not say: nothing is made of that.
#[inline]
fn put<'a>(out: &mut Object<'a>, key: &'static str, value: Option<impl Into<Json<'a>>>) {
    if let Some(value) = value {
        put_value(out, key, value.into());
    }
}

fn put_value<'a>(out: &mut Object<'a>, key: &'static str, value: Json<'a>) {
    if !value.is_null() {
        out.add(key, value);
    }
}

fn put_map<'a>(out: &mut Object<'a>, key: &'static str, map: impl Into<Object<'a>>) {
    let map = map.into();
    if !map.is_empty() {
        out.add(key, map);
    }
}

/// Everything that a step says, but for its name, its times, what went in and what came out.
pub(crate) fn all<'a>(run: &'a Run, step: &'a Step) -> Object<'a> {
    let operation = &step.operation;
    let mut out = Object::with_capacity(8);
    who(run, step, &mut out);
    model(operation, &mut out);
    tool(operation, &mut out);
    state_and_memory(operation, &mut out);
    training(operation, &mut out);
    put(&mut out, "workflow", operation.workflow.as_deref());
    put(&mut out, "graph_node", operation.graph_node.as_deref());
    if !operation.tags.is_empty() {
        out.add("tags", operation.tags.as_slice());
    }
    put_map(&mut out, "metadata", &operation.metadata);
    put_map(&mut out, "spanbridge", &operation.format_extras);
    put_map(&mut out, "attributes", &operation.unmapped);
    if !operation.evaluations.is_empty() {
        out.add("evaluations", operation.evaluations.iter().map(evaluation).collect::<Json<'_>>());
    }
    put(&mut out, "error", operation.failure.as_ref().map(error));
    if !step.evidence.is_empty() {
        let evidence = step.evidence.iter().map(ToString::to_string);
        out.add("evidence", evidence.collect::<Json<'_>>());
    }
    put(&mut out, "observed", (step.observed == Observed::Messages).then_some("messages"));
    out
}

fn who<'a>(run: &'a Run, step: &'a Step, out: &mut Object<'a>) {
    let operation = &step.operation;
    // The agent's name is told where it is not the run's own agent, or is the agent itself.
    let agent = operation
        .agent
        .name
        .as_ref()
        .or_else(|| run.scopes.get(step.scope).and_then(|scope| scope.agent.as_ref()));
    put(out, "agent", agent.filter(|name| Some(*name) != run.agent.name.as_ref()));
    put(out, "agent_id", operation.agent.id.as_deref());
    put(out, "agent_description", operation.agent.description.as_deref());
    put(
        out,
        "agent_version",
        operation
            .agent
            .version
            .as_ref()
            .filter(|version| Some(*version) != run.agent.version.as_ref()),
    );
    put(
        out,
        "framework",
        operation
            .agent
            .framework
            .as_ref()
            .filter(|framework| Some(*framework) != run.agent.framework.as_ref()),
    );
    put(out, "input_type", operation.content_type.input.as_deref());
    put(out, "format", operation.content_type.output.as_deref());
    put(
        out,
        "session_id",
        operation.session_id.as_ref().filter(|id| Some(*id) != run.session_id.as_ref()),
    );
    put(
        out,
        "user_id",
        operation.user_id.as_ref().filter(|id| Some(*id) != run.user_id.as_ref()),
    );
}

fn model<'a>(operation: &'a Operation, out: &mut Object<'a>) {
    let model = &operation.model;
    put(out, "model", model.name());
    put(
        out,
        "requested_model",
        model.requested.as_deref().filter(|requested| Some(*requested) != model.name()),
    );
    put(out, "provider", model.provider.as_deref());
    put(out, "response_id", operation.response_id.as_deref());
    put(out, "finish_reason", operation.finish_reason.as_deref());
    put_map(out, "parameters", &operation.parameters);
    if !operation.tool_definitions.is_empty() {
        let tools = operation.tool_definitions.iter().map(|tool| {
            let mut shown = Object::with_capacity(3);
            shown.add("name", &tool.name);
            put(&mut shown, "description", tool.description.as_deref());
            put(&mut shown, "parameters", tool.parameters.as_ref());
            shown
        });
        out.add("tool_definitions", tools.collect::<Json<'_>>());
    }
    let usage = &operation.usage;
    let mut tokens = Object::new();
    put(&mut tokens, "input", usage.input);
    put(&mut tokens, "output", usage.output);
    put(&mut tokens, "total", usage.total);
    put(&mut tokens, "cache_read", usage.cache_read);
    put(&mut tokens, "cache_write", usage.cache_write);
    put(&mut tokens, "reasoning", usage.reasoning);
    put_map(out, "usage", tokens);
    let mut cost = Object::new();
    put(&mut cost, "total", operation.cost.total);
    put(&mut cost, "input", operation.cost.input);
    put(&mut cost, "output", operation.cost.output);
    put_map(out, "cost", cost);
    put(out, "time_to_first_token", operation.time_to_first_token);
    let prompt = &operation.prompt;
    let mut shown = Object::new();
    put(&mut shown, "id", prompt.id.as_deref());
    put(&mut shown, "version", prompt.version.as_deref());
    put(&mut shown, "template", prompt.template.as_deref());
    put(&mut shown, "variables", prompt.variables.as_ref());
    put_map(out, "prompt", shown);
}

fn tool<'a>(operation: &'a Operation, out: &mut Object<'a>) {
    if let Some(tool) = &operation.tool {
        put(out, "tool_call_id", tool.call_id.as_deref());
        put(out, "mcp_server", tool.mcp_server.as_deref());
        put(out, "tool_description", tool.description.as_deref());
        put(out, "tool_parameters", tool.parameters.as_ref());
    }
    if let Some(search) = &operation.search {
        put(out, "top_k", search.top_k);
    }
    put(out, "vector_count", operation.vector_count);
    if let Some(impact) = &operation.resource_impact {
        let mut shown = Object::new();
        put(&mut shown, "amount", impact.amount);
        put(&mut shown, "unit", impact.unit.as_deref());
        put(&mut shown, "breakdown", impact.breakdown.as_ref());
        put_map(out, "resource_impact", shown);
    }
}

fn state_and_memory<'a>(operation: &'a Operation, out: &mut Object<'a>) {
    if let Some(memory) = &operation.memory {
        let mut shown = Object::new();
        put(&mut shown, "entity_type", memory.entity_type.as_deref());
        put(&mut shown, "entity_id", memory.entity_id.as_deref());
        put(&mut shown, "namespace", memory.namespace.as_ref());
        put(&mut shown, "key", memory.key.as_deref());
        put(&mut shown, "operation", memory.operation.as_deref());
        put(&mut shown, "data", memory.data.as_ref());
        put(&mut shown, "changes", memory.changes.as_ref());
        put(&mut shown, "query", memory.query.as_ref());
        put(&mut shown, "results", memory.results.as_ref());
        put(&mut shown, "scores", memory.scores.as_ref());
        put(&mut shown, "total_available", memory.total_available);
        put_map(out, "memory", shown);
    }
    if let Some(state) = &operation.state {
        let mut shown = Object::new();
        put(&mut shown, "key", state.key.as_deref());
        put(&mut shown, "old_value", state.old_value.as_ref());
        put(&mut shown, "new_value", state.new_value.as_ref());
        put(&mut shown, "reason", state.reason.as_deref());
        put_map(out, "state", shown);
    }
    if let Some(interrupt) = &operation.interrupt {
        let mut shown = Object::new();
        put(&mut shown, "prompt", interrupt.prompt.as_deref());
        put(&mut shown, "response", interrupt.response.as_ref());
        put(&mut shown, "wait_ms", interrupt.wait_ms);
        put_map(out, "interrupt", shown);
    }
}

fn training<'a>(operation: &'a Operation, out: &mut Object<'a>) {
    let training = &operation.training;
    put(out, "reward", training.reward);
    put(out, "terminated", training.terminated);
    put(out, "truncated", training.truncated);
    put(out, "prompt_token_ids", training.prompt_token_ids.as_ref());
    put(out, "completion_token_ids", training.completion_token_ids.as_ref());
    put(out, "logprobs", training.logprobs.as_ref());
    put(out, "optimize", training.optimize);
    put(out, "ideal", training.ideal.as_ref());
    put(out, "step", training.step);
    let task = &operation.task;
    let mut shown = Object::new();
    put(&mut shown, "description", task.description.as_deref());
    put(&mut shown, "goal", task.goal.as_deref());
    put(&mut shown, "input", task.input.as_ref());
    put_map(out, "task", shown);
}

/// A failure as `{type, message, stacktrace}`.
pub(crate) fn error(failure: &Failure) -> Object<'_> {
    let mut out = Object::new();
    put(&mut out, "type", failure.error_type.as_deref());
    out.add("message", super::calls::error_text(failure));
    put(&mut out, "stacktrace", failure.stacktrace.as_deref());
    out
}

/// A judgement as an object.
pub(crate) fn evaluation(evaluation: &Evaluation) -> Object<'_> {
    let mut out = Object::new();
    put(&mut out, "name", evaluation.name.as_deref());
    put(&mut out, "score", evaluation.score);
    put(&mut out, "label", evaluation.label.as_deref());
    put(&mut out, "explanation", evaluation.explanation.as_deref());
    put(&mut out, "annotator_kind", evaluation.annotator_kind.as_deref());
    out
}

/// Which operation, of what kind, when: for one that has no place of its own in a document.
pub(crate) fn identity(step: &Step) -> Object<'_> {
    let mut out = Object::new();
    put(&mut out, "span_id", step.span_id.map(|id| id.to_string()));
    out.add("kind", step.operation.kind.name());
    out.add("name", &step.operation.name);
    out.add("started_at", step.started_at.rfc3339());
    put(&mut out, "ended_at", step.ended_at.map(|end| end.rfc3339()));
    out
}

/// What went in and what came out, as `input` and `output`.
pub(crate) fn in_and_out<'a>(run: &'a Run, results: &Results<'a>, step: &'a Step) -> Object<'a> {
    let mut out = Object::new();
    put(&mut out, "input", io::input(run, step));
    put(&mut out, "output", io::output(results, step));
    out
}

/// The instrumentation that recorded the run's first work.
pub(crate) fn instrumentation(run: &Run) -> Object<'_> {
    let mut out = Object::new();
    put(&mut out, "name", run.agent.instrumentation.as_deref());
    put(&mut out, "version", run.agent.instrumentation_version.as_deref());
    out
}

/// Facts of the run itself: trace, session, person, resource, what the run floor collected.
pub(crate) fn of_run(run: &Run) -> Object<'_> {
    let mut out = Object::new();
    out.add("otel.trace_id", run.trace_id.to_string());
    put(&mut out, "session_id", run.session_id.as_deref());
    put(&mut out, "user_id", run.user_id.as_deref());
    put_map(&mut out, "instrumentation", instrumentation(run));
    put_map(&mut out, "resource", &run.resource);
    // Its keys are distinct: only those that stand here already can come again.
    let beside: Vec<_> = run.metadata.iter().filter(|(key, _)| !out.contains_key(key)).collect();
    for (key, value) in beside {
        out.add(key, value);
    }
    if let Some(failed) = &run.failure {
        let mut failure = error(&failed.failure);
        failure.add("span_id", failed.span_id.to_string());
        out.insert("error", failure);
    }
    out
}

/// Facts of the run itself, and who ran.
pub(crate) fn of_run_and_agent(run: &Run) -> Object<'_> {
    let mut out = of_run(run);
    let agent = &run.agent;
    for (key, value) in [
        ("agent", &agent.name),
        ("agent_version", &agent.version),
        ("framework", &agent.framework),
        ("framework_version", &agent.framework_version),
    ] {
        if let Some(value) = value {
            out.insert_new(key, value);
        }
    }
    out
}

/// An object of the values that are there.
pub(in crate::formats) fn filled<'a, const N: usize>(pairs: [(&'static str, Json<'a>); N]) -> Object<'a> {
    let mut out = Object::new();
    for (key, value) in pairs {
        out.add_filled(key, value);
    }
    out
}

/// A list of the texts of these.
pub(in crate::formats) fn strings<'a, T: std::fmt::Display>(list: &[T]) -> Json<'a> {
    list.iter().map(ToString::to_string).collect()
}
