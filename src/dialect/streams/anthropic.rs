//! Events of Anthropic's Messages API.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::piece::{append, arguments, number, object, text, update};

/// Whether an object is one of these events.
pub(super) fn is_event(event: &Map<String, Value>) -> bool {
    match text(event, "type") {
        Some("message_start") => object(event, "message").is_some(),
        Some("content_block_start") => object(event, "content_block").is_some(),
        Some("content_block_delta") => object(event, "delta").is_some(),
        _ => false,
    }
}

/// Assembles the message.
pub(super) fn assemble(events: &[&Map<String, Value>]) -> Option<Map<String, Value>> {
    let mut message = Map::from_iter([
        ("type".to_owned(), Value::from("message")),
        ("role".to_owned(), Value::from("assistant")),
    ]);
    let mut blocks: BTreeMap<u64, Map<String, Value>> = BTreeMap::new();
    let mut inputs: BTreeMap<u64, String> = BTreeMap::new();
    let mut usage = Map::new();
    for event in events {
        let index = number(event, "index").unwrap_or(0);
        match text(event, "type")? {
            "message_start" => {
                let begun = object(event, "message")?;
                update(&mut message, begun);
                update(&mut usage, object(begun, "usage").unwrap_or(&Map::new()));
            }
            "content_block_start" => {
                let _ = blocks.insert(index, object(event, "content_block")?.clone());
            }
            "content_block_delta" => {
                let block = blocks.entry(index).or_default();
                let delta = object(event, "delta")?;
                if let Some(piece) = text(delta, "partial_json") {
                    inputs.entry(index).or_default().push_str(piece);
                }
                for (key, kind) in [("text", "text"), ("thinking", "thinking"), ("signature", "thinking")] {
                    if let Some(piece) = text(delta, key) {
                        append(block, key, piece);
                        let _ = block.entry("type").or_insert_with(|| kind.into());
                    }
                }
                if let Some(citation) = delta.get("citation") {
                    match block.get_mut("citations") {
                        Some(Value::Array(list)) => list.push(citation.clone()),
                        _ => {
                            let _ = block.insert("citations".to_owned(), Value::Array(vec![citation.clone()]));
                        }
                    }
                }
            }
            "message_delta" => {
                update(&mut message, object(event, "delta").unwrap_or(&Map::new()));
                update(&mut usage, object(event, "usage").unwrap_or(&Map::new()));
            }
            "content_block_stop" | "message_stop" | "ping" | "error" => {}
            _ => return None,
        }
    }
    for (index, input) in inputs {
        let _ = blocks.entry(index).or_default().insert("input".to_owned(), arguments(&input));
    }
    let content = blocks.into_values().map(Value::Object).collect();
    let _ = message.insert("content".to_owned(), content);
    if !usage.is_empty() {
        let _ = message.insert("usage".to_owned(), Value::Object(usage));
    }
    Some(message)
}
