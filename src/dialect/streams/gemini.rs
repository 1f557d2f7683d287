//! Chunks of Gemini's `streamGenerateContent`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::piece::{number, object, update};

/// Assembles the response; `None` for a single response.
pub(super) fn assemble(chunks: &[&Map<String, Value>]) -> Option<Map<String, Value>> {
    if chunks.len() < 2 {
        return None;
    }
    let mut out = Map::new();
    let mut candidates: BTreeMap<u64, (Map<String, Value>, Vec<Value>)> = BTreeMap::new();
    for chunk in chunks {
        update(&mut out, chunk);
        let list = chunk.get("candidates").and_then(Value::as_array);
        for piece in list.into_iter().flatten().filter_map(Value::as_object) {
            let (candidate, parts) = candidates.entry(number(piece, "index").unwrap_or(0)).or_default();
            update(candidate, piece);
            let more = object(piece, "content").and_then(|content| content.get("parts")?.as_array());
            more.into_iter().flatten().for_each(|part| add_part(parts, part));
        }
    }
    let whole = |(mut candidate, parts): (Map<String, Value>, Vec<Value>)| {
        let _ = candidate.insert("content".to_owned(), json!({"role": "model", "parts": parts}));
        Value::Object(candidate)
    };
    let list = candidates.into_values().map(whole).collect();
    let _ = out.insert("candidates".to_owned(), list);
    Some(out)
}

/// Adds a part. Text continues the previous text if both are thoughts or neither is.
fn add_part(parts: &mut Vec<Value>, part: &Value) {
    if let (Some(Value::Object(last)), Value::Object(part)) = (parts.last_mut(), part)
        && last.get("thought") == part.get("thought")
        && let (Some(Value::String(text)), Some(Value::String(more))) = (last.get_mut("text"), part.get("text"))
    {
        text.push_str(more);
        let others = part.iter().filter(|(key, _)| *key != "text");
        update(last, &others.map(|(key, value)| (key.clone(), value.clone())).collect());
        return;
    }
    parts.push(part.clone());
}
