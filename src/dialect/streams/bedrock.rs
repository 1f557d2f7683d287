//! Events of Bedrock's `ConverseStream`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::piece::{append, arguments, number, object, text, update};

const EVENTS: [&str; 6] = [
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "contentBlockStop",
    "messageStop",
    "metadata",
];

/// Whether an object is one of these events, whose only member has the event's name.
pub(super) fn is_event(event: &Map<String, Value>) -> bool {
    event.len() == 1 && EVENTS.iter().any(|name| object(event, name).is_some())
}

/// Assembles the response.
pub(super) fn assemble(events: &[&Map<String, Value>]) -> Option<Map<String, Value>> {
    let mut out = Map::new();
    let mut role = Value::from("assistant");
    let mut blocks: BTreeMap<u64, Map<String, Value>> = BTreeMap::new();
    let mut inputs: BTreeMap<u64, String> = BTreeMap::new();
    for event in events {
        if !is_event(event) {
            return None;
        }
        let (name, body) = event.iter().next()?;
        let body = body.as_object()?;
        let index = number(body, "contentBlockIndex").unwrap_or(0);
        match name.as_str() {
            "messageStart" => role = body.get("role").cloned().unwrap_or(role),
            "contentBlockStart" => {
                let _ = blocks.insert(index, object(body, "start")?.clone());
            }
            "contentBlockDelta" => {
                let delta = object(body, "delta")?;
                let block = blocks.entry(index).or_default();
                if let Some(piece) = text(delta, "text") {
                    append(block, "text", piece);
                }
                if let Some(piece) = object(delta, "toolUse").and_then(|call| text(call, "input")) {
                    inputs.entry(index).or_default().push_str(piece);
                }
                if let Some(thought) = object(delta, "reasoningContent") {
                    let inside = block
                        .entry("reasoningContent")
                        .or_insert_with(|| json!({"reasoningText": {}}))
                        .get_mut("reasoningText");
                    if let Some(Value::Object(inside)) = inside {
                        for key in ["text", "signature"] {
                            if let Some(piece) = text(thought, key) {
                                append(inside, key, piece);
                            }
                        }
                    }
                }
            }
            "messageStop" | "metadata" => update(&mut out, body),
            _ => {}
        }
    }
    for (index, block) in &mut blocks {
        if let Some(Value::Object(call)) = block.get_mut("toolUse") {
            let input = inputs.remove(index).unwrap_or_default();
            let _ = call.insert("input".to_owned(), arguments(&input));
        }
    }
    let content: Value = blocks.into_values().map(Value::Object).collect();
    let message = json!({"role": role, "content": content});
    let _ = out.insert("output".to_owned(), json!({ "message": message }));
    Some(out)
}
