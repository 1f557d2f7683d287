//! Chunks of OpenAI's chat and text completions.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::piece::{append, number, text, update};
use crate::hash::HashMap;

/// Members that come in pieces; other members of a delta are whole.
const PIECES: [&str; 5] = ["content", "refusal", "reasoning_content", "reasoning", "thinking"];

/// Assembles the response; `None` if these are whole responses instead of chunks.
pub(super) fn assemble(chunks: &[&Map<String, Value>]) -> Option<Map<String, Value>> {
    let choices_of = |chunk: &&Map<String, Value>| -> Option<Vec<Value>> { chunk.get("choices")?.as_array().cloned() };
    let lists: Vec<Vec<Value>> = chunks.iter().map(choices_of).collect::<Option<_>>()?;
    let has = |key: &str| lists.iter().flatten().any(|choice| choice.get(key).is_some());
    let are_chunks = has("delta") || chunks.len() > 1 && has("text") && !has("message");
    if !are_chunks {
        return None;
    }
    let mut out = Map::new();
    chunks.iter().for_each(|chunk| update(&mut out, chunk));
    let mut choices: BTreeMap<u64, Choice> = BTreeMap::new();
    for piece in lists.iter().flatten().filter_map(Value::as_object) {
        choices.entry(number(piece, "index").unwrap_or(0)).or_default().add(piece);
    }
    let choices = choices.into_values().map(Choice::whole).collect();
    let _ = out.insert("choices".to_owned(), choices);
    let _ = out.insert("object".to_owned(), "chat.completion".into());
    Some(out)
}

/// A choice assembled so far.
#[derive(Default)]
struct Choice {
    members: Map<String, Value>,
    message: Map<String, Value>,
    calls: Vec<Map<String, Value>>,
    /// Index of the latest call with each number.
    numbered: HashMap<u64, usize>,
}

impl Choice {
    fn add(&mut self, piece: &Map<String, Value>) {
        for (key, value) in piece {
            match (key.as_str(), value) {
                ("text", Value::String(more)) => append(&mut self.members, key, more),
                ("delta" | "message", Value::Object(delta)) => self.extend(delta),
                (_, Value::Null) if self.members.contains_key(key) => {}
                _ => {
                    let _ = self.members.insert(key.clone(), value.clone());
                }
            }
        }
    }

    fn extend(&mut self, delta: &Map<String, Value>) {
        for (key, value) in delta {
            match (key.as_str(), value) {
                (name, Value::String(piece)) if PIECES.contains(&name) => append(&mut self.message, key, piece),
                ("tool_calls", Value::Array(pieces)) => pieces.iter().filter_map(Value::as_object).for_each(|piece| self.add_call(piece)),
                ("function_call", Value::Object(piece)) => {
                    if let Value::Object(call) = self.message.entry(key.as_str()).or_insert_with(|| Map::new().into()) {
                        add_function(call, piece);
                    }
                }
                (_, Value::Array(more)) => match self.message.get_mut(key) {
                    Some(Value::Array(list)) => list.extend(more.iter().cloned()),
                    _ => {
                        let _ = self.message.insert(key.clone(), value.clone());
                    }
                },
                (_, Value::Null) => {}
                _ => {
                    let _ = self.message.insert(key.clone(), value.clone());
                }
            }
        }
    }

    /// Adds a piece to its call. Some servers number every call 0 but give each its own id.
    fn add_call(&mut self, piece: &Map<String, Value>) {
        let id = text(piece, "id").filter(|id| !id.is_empty());
        let index = number(piece, "index");
        let last = match index {
            Some(index) => self.numbered.get(&index).copied(),
            None => self.calls.len().checked_sub(1),
        };
        let known = last.filter(|place| {
            let its_id = self.calls.get(*place).and_then(|call| text(call, "id"));
            id.is_none() || its_id.is_none() || id == its_id
        });
        let place = known.unwrap_or(self.calls.len());
        if known.is_none() {
            self.calls.push(Map::new());
        }
        if let Some(index) = index {
            let _ = self.numbered.insert(index, place);
        }
        let Some(call) = self.calls.get_mut(place) else { return };
        for (key, value) in piece {
            match value {
                Value::Object(part) if key == "function" => {
                    if let Value::Object(function) = call.entry("function").or_insert_with(|| Map::new().into()) {
                        add_function(function, part);
                    }
                }
                Value::Null => {}
                Value::String(text) if text.is_empty() => {}
                _ => {
                    let _ = call.insert(key.clone(), value.clone());
                }
            }
        }
    }

    fn whole(mut self) -> Value {
        if !self.calls.is_empty() {
            let calls = self.calls.into_iter().map(Value::Object).collect();
            let _ = self.message.insert("tool_calls".to_owned(), calls);
        }
        if !self.message.is_empty() {
            let _ = self.members.insert("message".to_owned(), Value::Object(self.message));
        }
        Value::Object(self.members)
    }
}

fn add_function(function: &mut Map<String, Value>, piece: &Map<String, Value>) {
    for (key, value) in piece {
        match value {
            Value::String(more) if key == "arguments" => append(function, key, more),
            Value::Null => {}
            Value::String(text) if text.is_empty() => {}
            _ => {
                let _ = function.insert(key.clone(), value.clone());
            }
        }
    }
}
