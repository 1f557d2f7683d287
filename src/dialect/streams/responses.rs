//! Events of OpenAI's Responses API.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::piece::{append, number, object, text};

/// Whether an object is one of these events.
pub(super) fn is_event(event: &Map<String, Value>) -> bool {
    text(event, "type").is_some_and(|kind| kind.starts_with("response."))
}

/// The response in the final event, or if the stream broke off, the items and texts received.
pub(super) fn assemble(events: &[&Map<String, Value>]) -> Option<Map<String, Value>> {
    let is_end = |event: &&&Map<String, Value>| {
        matches!(
            text(event, "type"),
            Some("response.completed" | "response.incomplete" | "response.failed")
        )
    };
    let end = events.iter().rev().find(is_end).and_then(|event| object(event, "response"));
    if let Some(end) = end {
        return Some(end.clone());
    }
    let mut out = events
        .iter()
        .find_map(|event| object(event, "response"))
        .cloned()
        .unwrap_or_default();
    let mut items: BTreeMap<u64, Value> = BTreeMap::new();
    let mut texts: BTreeMap<u64, Map<String, Value>> = BTreeMap::new();
    for event in events {
        let index = number(event, "output_index").unwrap_or(0);
        match text(event, "type") {
            Some("response.output_item.done") => {
                let _ = items.insert(index, event.get("item")?.clone());
            }
            Some("response.output_text.delta") => append(texts.entry(index).or_default(), "text", text(event, "delta")?),
            _ => {}
        }
    }
    for (index, text) in texts {
        let part = json!({"type": "output_text", "text": text.get("text")});
        let _ = items
            .entry(index)
            .or_insert_with(|| json!({"type": "message", "role": "assistant", "content": [part]}));
    }
    let _ = out.insert("output".to_owned(), items.into_values().collect());
    Some(out)
}
