//! Chunks of Ollama's `/api/chat` and `/api/generate`.

use serde_json::{Map, Value, json};

use super::piece::{append, object, text, update};

/// Assembles the response; `None` for a single response.
pub(super) fn assemble(chunks: &[&Map<String, Value>]) -> Option<Map<String, Value>> {
    if chunks.len() < 2 {
        return None;
    }
    let mut out = Map::new();
    let mut message = Map::new();
    let mut words = Map::new();
    for chunk in chunks {
        if !chunk.contains_key("done") {
            return None;
        }
        update(&mut out, chunk);
        if let Some(piece) = text(chunk, "response") {
            append(&mut words, "response", piece);
        }
        for (key, value) in object(chunk, "message").into_iter().flatten() {
            match (key.as_str(), value) {
                ("content" | "thinking", Value::String(piece)) => append(&mut message, key, piece),
                ("tool_calls", Value::Array(more)) => {
                    if let Value::Array(calls) = message.entry(key.clone()).or_insert_with(|| json!([])) {
                        calls.extend(more.iter().cloned());
                    }
                }
                _ => {
                    let _ = message.insert(key.clone(), value.clone());
                }
            }
        }
    }
    out.extend(words);
    if !message.is_empty() {
        let _ = out.insert("message".to_owned(), Value::Object(message));
    }
    Some(out)
}
