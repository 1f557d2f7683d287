//! Writes lists and whole operations as OpenInference's flattened keys.

use std::collections::HashSet;
use std::fmt::{Arguments, Write as _};

use opentelemetry::{Array, Key, KeyValue, Value};
use serde_json::Value as Json;

use super::convert::sdk_value;
use super::role::List;
use super::words::{words, words_of_kind};
use crate::dialect::messages::{self, Direction};
use crate::dialect::write::openinference;
use crate::operation::{Document, Kind, Message, Operation, TokenCount, ToolDefinition};
use crate::span::AnyValue;

/// Prefixes of keys that belong together: if one key is recorded, no others are added.
const PREFIXES: [&str; 8] = [
    "llm.input_messages.",
    "llm.output_messages.",
    "llm.tools.",
    "retrieval.documents.",
    "reranker.output_documents.",
    "embedding.embeddings.",
    "input.",
    "output.",
];

/// Keys of the kind, which is written before the other attributes.
const KIND_KEYS: [&str; 2] = ["openinference.span.kind", "spanbridge.step_type"];

/// Appends attributes under OpenInference's keys.
#[derive(Debug)]
pub(super) struct OpenInferenceWriter<'a> {
    out: &'a mut Vec<KeyValue>,
    key: String,
}

impl<'a> OpenInferenceWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<KeyValue>) -> Self {
        Self { out, key: String::new() }
    }

    pub(super) fn put(&mut self, key: Arguments<'_>, value: impl Into<Value>) {
        self.key.clear();
        let _ = self.key.write_fmt(key);
        self.out.push(KeyValue::new(Key::from(self.key.as_str().to_owned()), value));
    }

    fn extend(&mut self, prefix: &str, list: Vec<(String, AnyValue)>) {
        for (suffix, value) in list {
            self.out.push(KeyValue::new(format!("{prefix}.{suffix}"), sdk_value(&value)));
        }
    }

    /// Writes messages, starting at index `first`.
    pub(super) fn messages(&mut self, prefix: &str, first: usize, list: &[Message]) {
        self.extend(prefix, openinference::messages(first, list));
    }

    /// Writes documents, starting at index `first`.
    pub(super) fn documents(&mut self, prefix: &str, first: usize, list: &[Document]) {
        self.extend(prefix, openinference::documents(first, list));
    }

    /// Writes tools, starting at index `first`.
    pub(super) fn tools(&mut self, first: usize, list: &[ToolDefinition]) {
        self.extend(List::Tools.prefix(), openinference::tools(first, list));
    }

    /// Writes any JSON value below a list entry, one attribute per leaf.
    fn flatten(&mut self, prefix: &str, index: usize, value: &Json) {
        self.extend(prefix, openinference::flattened(&index.to_string(), value));
    }

    /// Writes a JSON value recorded under a list's key; returns whether it was a list.
    pub(super) fn list(&mut self, list: List, value: &Json) -> bool {
        let prefix = list.prefix();
        match list {
            List::InputMessages | List::OutputMessages => {
                let direction = if list == List::InputMessages {
                    Direction::Input
                } else {
                    Direction::Output
                };
                match messages::read(value, direction) {
                    Some(messages) => self.messages(prefix, 0, &messages),
                    None => return false,
                }
                return true;
            }
            _ => {}
        }
        let Json::Array(items) = value else { return false };
        for (index, item) in items.iter().enumerate() {
            match list {
                List::Tools if item.get("tool").is_none() => {
                    self.put(format_args!("{prefix}.{index}.tool.json_schema"), item.to_string());
                }
                List::Documents | List::InputDocuments | List::OutputDocuments if item.get("document").is_none() => {
                    self.documents(prefix, index, &[document(item)]);
                }
                List::Embeddings if item.is_string() => {
                    self.put(format_args!("{prefix}.{index}.embedding.text"), plain(item));
                }
                List::Embeddings => match item.as_array() {
                    Some(vector) => self.put(
                        format_args!("{prefix}.{index}.embedding.vector"),
                        match vector.iter().map(Json::as_f64).collect() {
                            Some(numbers) => Value::Array(Array::F64(numbers)),
                            // A vector that is not all numbers is not shortened.
                            None => item.to_string().into(),
                        },
                    ),
                    None => self.flatten(prefix, index, item),
                },
                _ => self.flatten(prefix, index, item),
            }
        }
        true
    }

    /// Adds the facts of an operation whose keys are missing. If any entry of a list exists, none are added.
    pub(super) fn operation(&mut self, mut operation: Operation) {
        // These are present already.
        operation.unmapped.clear();
        // Do not count a wrapper's sum again.
        if !matches!(operation.kind, Kind::Llm | Kind::Embedding | Kind::Rerank | Kind::Detail) {
            operation.usage = TokenCount::default();
        }
        let there: HashSet<String> = self.out.iter().map(|pair| pair.key.to_string()).collect();
        let begun: Vec<&str> = PREFIXES
            .into_iter()
            .filter(|prefix| there.iter().any(|key| key.starts_with(prefix)))
            .collect();
        let is_new = |key: &str| !there.contains(key) && !KIND_KEYS.contains(&key) && !begun.iter().any(|prefix| key.starts_with(prefix));
        let written = words().writer.write(&operation).0.into_iter().filter(|(key, _)| is_new(key));
        self.out.extend(written.map(|(key, value)| KeyValue::new(key, sdk_value(&value))));
    }

    /// Writes the kind of the span.
    pub(super) fn kind(&mut self, kind: Kind) {
        if let Some((word, own)) = words_of_kind(kind) {
            self.out.push(KeyValue::new("openinference.span.kind", word));
            if let Some(own) = own {
                self.out.push(KeyValue::new("spanbridge.step_type", own));
            }
        }
    }
}

/// Text unchanged, other values as JSON text.
pub(super) fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn document(item: &Json) -> Document {
    let text = |keys: [&str; 3]| {
        keys.iter()
            .find_map(|key| item.get(*key))
            .filter(|value| !value.is_null())
            .map(plain)
    };
    if let Json::String(content) = item {
        return Document {
            content: Some(content.clone()),
            ..Document::default()
        };
    }
    Document {
        id: text(["id", "document_id", "doc_id"]),
        content: text(["content", "text", "page_content"]),
        score: ["score", "relevance_score"].iter().find_map(|key| item.get(*key)?.as_f64()),
        metadata: item.get("metadata").and_then(Json::as_object).cloned().unwrap_or_default(),
    }
}
