//! Runs that LangSmith gives out: those of its API and of its SDK's `Run`, one by one, in a list, or with those below in
//! `child_runs`. Each is a span with the attributes that LangSmith's own OpenTelemetry exporter writes.

use serde_json::{Value, json};

use super::pieces::{Attributes, id, list, nanos, status_number, with_rest};

/// What becomes a separate attribute, or a field of the span.
const READ: &[&str] = &[
    "id",
    "trace_id",
    "parent_run_id",
    "parent_run_ids",
    "child_run_ids",
    "direct_child_run_ids",
    "child_runs",
    "dotted_order",
    "name",
    "run_type",
    "start_time",
    "end_time",
    "inputs",
    "outputs",
    "inputs_preview",
    "outputs_preview",
    "extra",
    "error",
    "tags",
    "session_name",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "total_cost",
    "status",
];

/// Whether a value is a run.
pub(super) fn is_run(value: &Value) -> bool {
    ["run_type", "start_time", "id"]
        .iter()
        .all(|name| value.get(*name).is_some_and(Value::is_string))
}

/// A run, and those below it.
pub(super) fn of_run(value: &Value) -> Option<Vec<Value>> {
    let mut spans = Vec::new();
    let mut waiting = vec![value];
    while let Some(run) = waiting.pop() {
        spans.push(span(run)?);
        waiting.extend(list(run, "child_runs"));
    }
    Some(vec![json!({"scopeSpans": [{"scope": {"name": "langsmith"}, "spans": spans}]})])
}

fn span(run: &Value) -> Option<Value> {
    let text = |name: &str| run.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let kind = text("run_type")?;
    let extra = run.get("extra");
    let metadata = extra.and_then(|extra| extra.get("metadata"));
    let mut attributes = Attributes::default();
    attributes.text("langsmith.span.kind", kind);
    attributes.json("langsmith.trace.name", run.get("name"));
    attributes.json("langsmith.trace.session_name", run.get("session_name"));
    for (name, key) in [("inputs", "gen_ai.prompt"), ("outputs", "gen_ai.completion")] {
        attributes.json(key, run.get(name));
    }
    attributes.members("langsmith.metadata.", metadata);
    let tags: Vec<&str> = list(run, "tags").filter_map(Value::as_str).collect();
    if !tags.is_empty() {
        attributes.text("langsmith.span.tags", &tags.join(", "));
    }
    let of_metadata = |name: &str| metadata.and_then(|metadata| metadata.get(name));
    if kind == "llm" {
        attributes.json("gen_ai.request.model", of_metadata("ls_model_name"));
        attributes.json("gen_ai.system", of_metadata("ls_provider"));
    }
    let invocation = extra.and_then(|extra| extra.get("invocation_params"));
    attributes.json("gen_ai.tool.definitions", invocation.and_then(|given| given.get("tools")));
    for (name, key) in [
        ("prompt_tokens", "gen_ai.usage.input_tokens"),
        ("completion_tokens", "gen_ai.usage.output_tokens"),
        ("total_tokens", "gen_ai.usage.total_tokens"),
    ] {
        // Runs above model calls have sums.
        attributes.value(key, run.get(name).filter(|_| kind == "llm"));
    }
    let cost = run.get("total_cost").filter(|_| kind == "llm");
    let cost = cost.and_then(|cost| cost.as_f64().or_else(|| cost.as_str()?.parse().ok()));
    attributes.value("gen_ai.usage.cost", cost.map(Value::from).as_ref());
    let of_extra = |name: &str| ["metadata", "invocation_params"].contains(&name);
    extra
        .into_iter()
        .for_each(|extra| with_rest(extra, of_extra, "langsmith.run.extra.", &mut attributes));
    invocation
        .into_iter()
        .for_each(|given| with_rest(given, |name| name == "tools", "langsmith.run.invocation_params.", &mut attributes));
    with_rest(run, |name| READ.contains(&name), "langsmith.run.", &mut attributes);
    let error = text("error");
    let code = match (error, text("status")) {
        (Some(_), _) | (None, Some("error")) => status_number("ERROR"),
        _ => 0,
    };
    let own = text("id")?;
    Some(json!({
        "traceId": id(text("trace_id").unwrap_or(own), 32),
        "spanId": id(own, 16),
        "parentSpanId": text("parent_run_id").map(|parent| id(parent, 16)),
        "name": text("name").unwrap_or(kind),
        "startTimeUnixNano": nanos(text("start_time")?)?,
        "endTimeUnixNano": text("end_time").and_then(nanos),
        "attributes": attributes.0,
        "status": {"code": code, "message": error},
    }))
}
