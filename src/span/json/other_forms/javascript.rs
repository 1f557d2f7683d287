//! `ReadableSpan`s of the JavaScript SDK as JSON, from its in-memory exporter or file exporters such as VS Code's Copilot Chat.

use serde_json::{Map, Value, json};

use super::flat;
use super::pieces::pairs;

/// Whether an object has a span's context among its fields.
pub(super) fn is_span(value: &Value) -> bool {
    context(value).is_some_and(|context| context.get("spanId").is_some()) && value.get("startTime").is_some()
}

fn context(value: &Value) -> Option<&Value> {
    value.get("spanContext").or_else(|| value.get("_spanContext"))
}

/// Converts a span to `ResourceSpans`.
pub(super) fn of_span(value: &Value) -> Option<Vec<Value>> {
    let context = context(value)?;
    // Private fields of the SDK repeat others, except for the dropped counts.
    let is_own = |name: &str, value: &Value| match name {
        "spanContext" | "parentSpanContext" | "duration" | "ended" | "links" | "resource" | "kind" => false,
        _ if name.contains("dropped") => value.as_u64() != Some(0),
        _ => !name.starts_with('_'),
    };
    let mut span: Map<String, Value> = value
        .as_object()?
        .iter()
        .filter(|(name, value)| is_own(name, value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    for name in ["traceId", "spanId", "traceState"] {
        span.extend(context.get(name).map(|id| (name.to_owned(), id.clone())));
    }
    if let Some(parent) = value.pointer("/parentSpanContext/spanId") {
        span.insert("parentSpanId".to_owned(), parent.clone());
    }
    // The SDK numbers kinds from internal, OTLP from unspecified.
    if let Some(kind) = value.get("kind").and_then(Value::as_u64) {
        span.insert("kind".to_owned(), kind.saturating_add(1).into());
    }
    let scope = value.get("instrumentationScope").or_else(|| value.get("instrumentationLibrary"));
    span.remove("instrumentationLibrary");
    span.extend(scope.map(|scope| ("instrumentationScope".to_owned(), scope.clone())));
    span.insert("resource".to_owned(), resource(value.get("resource")));
    let mut read = flat::of_span(&Value::Object(span))?;
    let links: Vec<Value> = value
        .get("links")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(link)
        .collect();
    if let Some(span) = read
        .first_mut()
        .and_then(|read| read.pointer_mut("/scopeSpans/0/spans/0")?.as_object_mut())
    {
        span.insert("links".to_owned(), links.into());
    }
    Some(read)
}

fn resource(resource: Option<&Value>) -> Value {
    let Some(resource) = resource else { return json!({}) };
    if let Some(Value::Array(list)) = resource.get("_rawAttributes") {
        let pairs = list
            .iter()
            .filter_map(|pair| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.clone())));
        return json!({ "attributes": pairs.collect::<Map<String, Value>>() });
    }
    let attributes = ["attributes", "_attributes", "_memoizedAttributes"]
        .iter()
        .find_map(|name| resource.get(*name));
    json!({ "attributes": attributes.unwrap_or(resource) })
}

fn link(link: &Value) -> Option<Value> {
    let context = link.get("context")?;
    Some(json!({"traceId": context.get("traceId")?, "spanId": context.get("spanId")?, "attributes": pairs(link.get("attributes"))}))
}
