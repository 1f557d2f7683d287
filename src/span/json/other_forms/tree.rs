//! Lists of spans of one trace: nested spans, as exported by TRAIL and Patronus, maps of spans by id, as stored by Genkit, spans whose
//! trace is named once, as in AgentOps, and pages of the APIs of Traceloop, AgentCore and Logfire.

use serde_json::{Map, Value};

/// The spans, each with its trace and parent; `None` if there is no list.
pub(super) fn spans(whole: &Map<String, Value>) -> Option<Vec<Value>> {
    let listed = ["spans", "root_spans", "sessionSpans", "rows"]
        .iter()
        .find_map(|name| whole.get(*name))?;
    let list: Vec<&Value> = match listed {
        // A page of Traceloop's API.
        Value::Object(page) if page.get("data").is_some_and(Value::is_array) => {
            page.get("data").and_then(Value::as_array)?.iter().collect()
        }
        Value::Array(list) => list.iter().collect(),
        Value::Object(map) => map.values().collect(),
        _ => return None,
    };
    let of_whole = || whole.get("trace_id").or_else(|| whole.get("traceId"));
    let trace = of_whole().or_else(|| whole.get("trace")?.get("trace_id"));
    let mut out = Vec::new();
    // Depth first without recursion: a tree may be as deep as its text is long.
    let mut waiting: Vec<(&Value, Option<&Value>)> = list.into_iter().rev().map(|span| (span, None)).collect();
    while let Some((span, parent)) = waiting.pop() {
        let Some(fields) = span.as_object() else {
            out.push(span.clone());
            continue;
        };
        let mut own: Map<String, Value> = fields
            .iter()
            .filter(|(name, _)| *name != "child_spans")
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let mut fill = |keys: [&str; 2], value: Option<&Value>| {
            if keys.iter().all(|key| own.get(*key).is_none_or(Value::is_null)) {
                own.extend(value.map(|value| (keys[0].to_owned(), value.clone())));
            }
        };
        if !fields.contains_key("context") {
            fill(["trace_id", "traceId"], trace);
            fill(["parent_span_id", "parentSpanId"], parent);
        }
        let id = fields.get("span_id").or_else(|| fields.get("spanId"));
        let children = fields.get("child_spans").and_then(Value::as_array).into_iter().flatten();
        waiting.extend(children.rev().map(|child| (child, id)));
        out.push(Value::Object(own));
    }
    Some(out)
}
