//! Traces of Mastra's API and Studio: spans of its own form, each with type, input, output and attributes. They are converted to spans with
//! the attributes that `@mastra/otel-exporter` writes.

use serde_json::{Value, json};

use super::pieces::{Attributes, hex_id, list, moment, with_rest};
use crate::hash::{HashMap, HashSet};

/// Members that become separate attributes or fields of the span.
const READ: [&str; 17] = [
    "traceId",
    "spanId",
    "parentSpanId",
    "name",
    "spanType",
    "entityId",
    "entityName",
    "entityType",
    "attributes",
    "metadata",
    "input",
    "output",
    "error",
    "tags",
    "startedAt",
    "endedAt",
    "serviceName",
];
const READ_OF_ATTRIBUTES: [&str; 13] = [
    "model",
    "provider",
    "usage",
    "finishReason",
    "responseModel",
    "responseId",
    "stepIndex",
    "instructions",
    "toolDescription",
    "toolCallId",
    "completionStartTime",
    "parameters",
    "availableTools",
];

/// Whether an object is a span of Mastra.
pub(super) fn is_span(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some_and(Value::is_string);
    has("traceId") && has("spanId") && has("spanType") && has("startedAt")
}

/// Converts the spans of a trace; calls take their model from the generation around them.
pub(super) fn of_trace(trace: &Value) -> Option<Vec<Value>> {
    let spans = || list(trace, "spans");
    let of = |span: &Value, key: &str| span.get(key).and_then(Value::as_str).map(str::to_owned);
    let is_of = |span: &Value, kind: &str| span.get("spanType").and_then(Value::as_str) == Some(kind);
    let generations: HashMap<String, &Value> = spans()
        .filter(|span| is_of(span, "model_generation"))
        .filter_map(|span| Some((of(span, "spanId")?, span)))
        .collect();
    let with_steps: HashSet<String> = spans()
        .filter(|span| is_of(span, "model_step"))
        .filter_map(|span| of(span, "parentSpanId"))
        .collect();
    spans()
        .map(|span| {
            let around = of(span, "parentSpanId").and_then(|id| generations.get(&id).copied());
            let is_sum = of(span, "spanId").is_some_and(|id| with_steps.contains(&id));
            self::span(span, around.filter(|_| is_of(span, "model_step")), is_sum)
        })
        .collect()
}

/// Converts a span. `around` is the generation that a step belongs to. `is_sum` means that its counts are those of its steps.
fn span(span: &Value, around: Option<&Value>, is_sum: bool) -> Option<Value> {
    if !is_span(span) {
        return None;
    }
    let text = |key: &str| span.get(key).and_then(Value::as_str);
    let kind = text("spanType")?;
    let attribute = |name: &str| span.get("attributes")?.get(name).filter(|value| !value.is_null());
    let of_model = |name: &str| attribute(name).or_else(|| around?.get("attributes")?.get(name));
    let is_blank = |value: &&Value| !value.is_null() && value.as_object().is_none_or(|map| !map.is_empty());
    let mut out = Attributes::default();
    out.text("mastra.span.type", kind);
    let is_first = attribute("stepIndex").and_then(Value::as_u64) == Some(0);
    let asked = || around.filter(|_| is_first)?.get("input");
    let (input, output) = (span.get("input").filter(is_blank).or_else(asked), span.get("output"));
    if matches!(kind, "tool_call" | "mcp_tool_call") {
        out.value("gen_ai.tool.name", span.get("entityName").or_else(|| span.get("entityId")));
        out.value("gen_ai.tool.call.id", attribute("toolCallId"));
        out.value("gen_ai.tool.description", attribute("toolDescription"));
        out.json("gen_ai.tool.call.arguments", input);
        out.json("gen_ai.tool.call.result", output);
    } else {
        out.json(&format!("mastra.{kind}.input"), input);
        out.json(&format!("mastra.{kind}.output"), output);
    }
    if text("entityType") == Some("agent") {
        out.value("gen_ai.agent.id", span.get("entityId"));
        out.value("gen_ai.agent.name", span.get("entityName").or_else(|| span.get("entityId")));
    }
    out.json("gen_ai.system_instructions", attribute("instructions"));
    out.value("gen_ai.request.model", of_model("model"));
    out.value("gen_ai.response.model", attribute("responseModel"));
    out.value("gen_ai.response.id", attribute("responseId"));
    out.value("gen_ai.provider.name", of_model("provider"));
    out.value("gen_ai.response.finish_reasons", attribute("finishReason").filter(|_| !is_sum));
    out.value("mastra.model_step.step_index", attribute("stepIndex"));
    out.value("mastra.completion_start_time", attribute("completionStartTime"));
    out.json("mastra.tags", span.get("tags"));
    out.members("gen_ai.request.", attribute("parameters"));
    let usage = |name: &str| attribute("usage").filter(|_| !is_sum)?.pointer(name);
    out.value("gen_ai.usage.input_tokens", usage("/inputTokens"));
    out.value("gen_ai.usage.output_tokens", usage("/outputTokens"));
    out.value("gen_ai.usage.cache_read.input_tokens", usage("/inputDetails/cacheRead"));
    out.value("gen_ai.usage.cache_creation.input_tokens", usage("/inputDetails/cacheWrite"));
    out.value("gen_ai.usage.reasoning_tokens", usage("/outputDetails/reasoning"));
    if let Some(metadata) = span.get("metadata").filter(|metadata| metadata.is_object()) {
        out.members("mastra.metadata.", Some(metadata));
    }
    if let Some(own) = span.get("attributes") {
        with_rest(own, |name| READ_OF_ATTRIBUTES.contains(&name), "mastra.attributes.", &mut out);
    }
    with_rest(span, |name| READ.contains(&name), "mastra.", &mut out);
    let failure = span.get("error").filter(|error| !error.is_null());
    let message = failure.and_then(|error| error.get("message").unwrap_or(error).as_str());
    let start = moment(span.get("startedAt")?)?;
    Some(json!({
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": text("serviceName").unwrap_or("mastra")}}]},
        "scopeSpans": [{"scope": {"name": "@mastra/otel-exporter"}, "spans": [{
            "traceId": hex_id(span.get("traceId")?, 32)?,
            "spanId": hex_id(span.get("spanId")?, 16)?,
            "parentSpanId": span.get("parentSpanId").and_then(|id| hex_id(id, 16)),
            "name": text("name"),
            "startTimeUnixNano": start,
            "endTimeUnixNano": span.get("endedAt").and_then(moment),
            "attributes": out.0,
            "status": {"code": if failure.is_some() { 2 } else { 0 }, "message": message},
        }]}],
    }))
}
