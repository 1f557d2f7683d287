//! Lists and whole operations as OpenInference's flattened keys.

use std::collections::HashSet;
use std::fmt::{Arguments, Write as _};

use opentelemetry::{Array, Key, KeyValue, StringValue, Value};
use serde_json::Value as Json;

use super::plan::List;
use super::words::{key_of, words_of_kind};
use crate::dialect::Field;
use crate::dialect::messages::{self, Direction};
use crate::operation::{Document, Kind, Message, Operation, Part, ToolDefinition};

/// Appends attributes with composed keys.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    out: &'a mut Vec<KeyValue>,
    key: String,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut Vec<KeyValue>) -> Self {
        Self { out, key: String::new() }
    }

    pub(super) fn put(&mut self, key: Arguments<'_>, value: impl Into<Value>) {
        self.key.clear();
        let _ = self.key.write_fmt(key);
        self.out.push(KeyValue::new(Key::from(self.key.as_str().to_owned()), value));
    }

    fn put_some(&mut self, key: Arguments<'_>, value: Option<&String>) {
        if let Some(value) = value {
            self.put(key, value.clone());
        }
    }

    /// Messages from index `first` on.
    pub(super) fn messages(&mut self, prefix: &str, first: usize, list: &[Message]) {
        for (index, message) in (first..).zip(list) {
            self.message(prefix, index, message);
        }
    }

    fn message(&mut self, prefix: &str, index: usize, message: &Message) {
        self.put(format_args!("{prefix}.{index}.message.role"), message.role.name().to_owned());
        self.put_some(format_args!("{prefix}.{index}.message.name"), message.name.as_ref());
        self.put_some(format_args!("{prefix}.{index}.message.tool_call_id"), message.tool_call_id.as_ref());
        match (message.parts.as_slice(), &message.result) {
            ([], Some(result)) => self.put(format_args!("{prefix}.{index}.message.content"), plain(result)),
            ([Part::Text(text)], _) => self.put(format_args!("{prefix}.{index}.message.content"), text.clone()),
            (parts, _) => {
                for (at, part) in parts.iter().enumerate() {
                    self.part(format_args!("{prefix}.{index}.message.contents.{at}.message_content"), part);
                }
            }
        }
        for (at, call) in message.tool_calls.iter().enumerate() {
            self.put_some(
                format_args!("{prefix}.{index}.message.tool_calls.{at}.tool_call.id"),
                call.id.as_ref(),
            );
            self.put(
                format_args!("{prefix}.{index}.message.tool_calls.{at}.tool_call.function.name"),
                call.name.clone(),
            );
            if call.arguments.is_some() || call.arguments_text.is_some() {
                self.put(
                    format_args!("{prefix}.{index}.message.tool_calls.{at}.tool_call.function.arguments"),
                    arguments_text(call),
                );
            }
        }
    }

    fn part(&mut self, at: Arguments<'_>, part: &Part) {
        match part {
            Part::Text(text) => {
                self.put(format_args!("{at}.type"), "text");
                self.put(format_args!("{at}.text"), text.clone());
            }
            Part::Reasoning { text, opaque } => {
                self.put(format_args!("{at}.type"), "reasoning");
                self.put_some(format_args!("{at}.text"), text.as_ref());
                for (key, value) in opaque {
                    self.put(format_args!("{at}.{key}"), plain(value));
                }
            }
            Part::Media(media) => {
                let modality = if media.modality.is_empty() { "file" } else { &media.modality };
                self.put(format_args!("{at}.type"), modality.to_owned());
                match media.url() {
                    Some(url) => self.put(format_args!("{at}.{modality}.{modality}.url"), url),
                    None => self.flatten(at, &media.raw),
                }
                self.put_some(format_args!("{at}.{modality}.{modality}.mime_type"), media.mime_type.as_ref());
            }
            Part::Other(value) => self.flatten(at, value),
        }
    }

    /// Any JSON value below a key, one attribute a leaf.
    pub(super) fn flatten(&mut self, at: Arguments<'_>, value: &Json) {
        self.flatten_below(&at.to_string(), value, 0);
    }

    fn flatten_below(&mut self, at: &str, value: &Json, depth: usize) {
        match value {
            Json::Object(map) if !map.is_empty() && depth < 16 => {
                for (key, value) in map {
                    self.flatten_below(&format!("{at}.{key}"), value, depth + 1);
                }
            }
            Json::Array(list) if !list.is_empty() && depth < 16 => {
                for (index, value) in list.iter().enumerate() {
                    self.flatten_below(&format!("{at}.{index}"), value, depth + 1);
                }
            }
            Json::Null => {}
            leaf => self.put(format_args!("{at}"), scalar(leaf)),
        }
    }

    pub(super) fn document(&mut self, prefix: &str, index: usize, document: &Document) {
        self.put_some(format_args!("{prefix}.{index}.document.id"), document.id.as_ref());
        self.put_some(format_args!("{prefix}.{index}.document.content"), document.content.as_ref());
        if let Some(score) = document.score {
            self.put(format_args!("{prefix}.{index}.document.score"), score);
        }
        if !document.metadata.is_empty() {
            let text = Json::Object(document.metadata.clone()).to_string();
            self.put(format_args!("{prefix}.{index}.document.metadata"), text);
        }
    }

    pub(super) fn tool(&mut self, index: usize, tool: &ToolDefinition) {
        let mut function = serde_json::Map::from_iter([("name".to_owned(), tool.name.as_str().into())]);
        if let Some(description) = &tool.description {
            function.insert("description".to_owned(), description.as_str().into());
        }
        if let Some(parameters) = &tool.parameters {
            function.insert("parameters".to_owned(), parameters.clone());
        }
        let schema = serde_json::json!({"type": "function", "function": function});
        self.put(format_args!("llm.tools.{index}.tool.json_schema"), schema.to_string());
    }

    /// A JSON value recorded under the key of a list; whether it was one.
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
                    self.document(prefix, index, &document(item));
                }
                List::Embeddings if item.is_string() => {
                    self.put(format_args!("{prefix}.{index}.embedding.text"), plain(item));
                }
                List::Embeddings => match item.as_array() {
                    Some(vector) => self.put(
                        format_args!("{prefix}.{index}.embedding.vector"),
                        Value::Array(Array::F64(vector.iter().filter_map(Json::as_f64).collect())),
                    ),
                    None => self.flatten(format_args!("{prefix}.{index}"), item),
                },
                _ => self.flatten(format_args!("{prefix}.{index}"), item),
            }
        }
        true
    }

    /// What an operation says, under the keys that are not there yet.
    pub(super) fn operation(&mut self, operation: &Operation) {
        let there: HashSet<String> = self.out.iter().map(|pair| pair.key.to_string()).collect();
        let has = |prefix: &str| there.iter().any(|key| key.starts_with(prefix));
        let mut facts: Vec<(Field, Value)> = Vec::new();
        let mut text = |field, value: Option<&str>| facts.extend(value.map(|value| (field, Value::from(value.to_owned()))));
        text(Field::ModelResponse, operation.model.name());
        text(Field::Provider, operation.model.provider.as_deref());
        text(Field::FinishReason, operation.finish_reason.as_deref());
        text(Field::AgentName, operation.agent.name.as_deref());
        text(Field::SessionId, operation.session_id.as_deref());
        text(Field::UserId, operation.user_id.as_deref());
        text(Field::GraphNode, operation.graph_node.as_deref());
        text(Field::PromptId, operation.prompt.id.as_deref());
        if let Some(tool) = &operation.tool {
            text(Field::ToolName, tool.name.as_deref());
            text(Field::ToolCallId, tool.call_id.as_deref());
            text(Field::ToolDescription, tool.description.as_deref());
        }
        let usage = &operation.usage;
        let counts = [
            (Field::UsageInput, usage.input),
            (Field::UsageOutput, usage.output),
            (Field::UsageTotal, usage.total),
            (Field::UsageCacheRead, usage.cache_read),
            (Field::UsageCacheWrite, usage.cache_write),
            (Field::UsageReasoning, usage.reasoning),
        ];
        // A wrapper's sum is not counted again.
        if matches!(operation.kind, Kind::Llm | Kind::Embedding | Kind::Rerank | Kind::Detail) {
            let known = counts.into_iter().filter_map(|(field, count)| Some((field, count?)));
            facts.extend(known.map(|(field, count)| (field, super::visit::unsigned(count.into()))));
        }
        let money = [
            (Field::CostTotal, operation.cost.total),
            (Field::CostInput, operation.cost.input),
            (Field::CostOutput, operation.cost.output),
        ];
        facts.extend(money.into_iter().filter_map(|(field, cost)| Some((field, Value::F64(cost?)))));
        if !operation.parameters.is_empty() {
            facts.push((Field::Parameters, Json::Object(operation.parameters.clone()).to_string().into()));
        }
        for (field, value) in facts {
            if let Some(key) = key_of(field, operation.kind).filter(|key| !there.contains(*key)) {
                self.out.push(KeyValue::new(key, value));
            }
        }
        let tool = operation
            .tool
            .as_ref()
            .filter(|_| matches!(operation.kind, Kind::Tool | Kind::Handoff));
        let input = tool.map_or(operation.input.get(), |tool| tool.arguments.as_ref());
        let output = tool.map_or(operation.output.get(), |tool| tool.result.as_ref());
        let input = input.or(operation.search.as_ref().and_then(|search| search.query.as_ref()));
        for (name, value) in [("input", input), ("output", output)] {
            if let Some(value) = value.filter(|value| !value.is_null() && !has(&format!("{name}.value"))) {
                if !value.is_string() {
                    self.put(format_args!("{name}.mime_type"), "application/json");
                }
                self.put(format_args!("{name}.value"), plain(value));
            }
        }
        if operation.kind == Kind::Llm {
            for (list, messages) in [
                (List::InputMessages, &operation.input_messages),
                (List::OutputMessages, &operation.output_messages),
            ] {
                if let Some(messages) = messages.as_ref().filter(|_| !has(list.prefix())) {
                    self.messages(list.prefix(), 0, messages);
                }
            }
            if !has("llm.tools") {
                for (index, tool) in operation.tool_definitions.iter().enumerate() {
                    self.tool(index, tool);
                }
            }
        }
        let documents = operation.search.as_ref().and_then(|search| search.documents.as_deref());
        if let Some(documents) = documents.filter(|_| !has("retrieval.documents")) {
            for (index, document) in documents.iter().enumerate() {
                self.document("retrieval.documents", index, document);
            }
        }
    }

    /// The kind of the span.
    pub(super) fn kind(&mut self, kind: Kind) {
        if let Some((word, own)) = words_of_kind(kind) {
            self.out.push(KeyValue::new("openinference.span.kind", word));
            if let Some(own) = own {
                self.out.push(KeyValue::new("spanbridge.step_type", own));
            }
        }
    }
}

/// Text as it is, other values as JSON text.
pub(super) fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn arguments_text(call: &crate::operation::ToolCall) -> String {
    match (&call.arguments_text, &call.arguments) {
        (Some(text), _) => text.clone(),
        (None, Some(value)) => plain(value),
        (None, None) => "{}".to_owned(),
    }
}

/// A leaf of a JSON value with its type.
pub(super) fn scalar(value: &Json) -> Value {
    match value {
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => number
            .as_i64()
            .map_or_else(|| Value::F64(number.as_f64().unwrap_or(f64::NAN)), Value::I64),
        other => Value::String(StringValue::from(plain(other))),
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
