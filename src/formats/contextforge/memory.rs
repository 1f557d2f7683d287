//! Steps of memory, of state, and of a person who is asked.

use serde_json::{Map, Value};

use super::document::{Body, FieldChange, Interrupt, MemoryRead, MemoryWrite, StateChange};
use super::step::{Making, words};
use crate::formats::{LossReason, io};
use crate::operation::Kind;

impl Making<'_> {
    pub(super) fn memory_read(&mut self) -> Body {
        let operation = &self.step.operation;
        let memory = operation.memory.as_ref();
        let query = match io::input(self.run, self.step) {
            None | Some(Value::Null) => {
                self.lose("query", LossReason::Synthesized);
                Value::String(String::new())
            }
            Some(kept @ (Value::String(_) | Value::Object(_))) => kept,
            Some(other) => {
                self.lose("query", LossReason::Coerced);
                other.to_string().into()
            }
        };
        let results = match io::output(self.run, self.step) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => vec![other],
        };
        self.taken("memory", &["query", "results", "total_available"]);
        let recorded = memory.and_then(|memory| numbers(memory.scores.as_ref()?));
        if recorded.is_some() {
            self.taken("memory", &["scores"]);
        }
        let of_documents = || {
            let documents = operation.search.as_ref()?.documents.as_deref()?;
            let scores: Option<Vec<f64>> = documents.iter().map(|document| document.score).collect();
            scores.filter(|scores| !scores.is_empty())
        };
        Body::MemoryRead(MemoryRead {
            query,
            match_count: super::step::match_count(operation, results.len()),
            results,
            relevance_scores: recorded.or_else(of_documents),
            total_available: memory.and_then(|memory| memory.total_available),
            extra: Map::new(),
        })
    }

    pub(super) fn memory_write(&mut self) -> Body {
        let memory = self.step.operation.memory.clone().unwrap_or_default();
        let data = match memory.data.or_else(|| self.step.operation.input.clone()) {
            Some(Value::Object(map)) => map,
            None | Some(Value::Null) => Map::new(),
            Some(other) => {
                self.lose("data", LossReason::Coerced);
                Map::from_iter([("value".to_owned(), other)])
            }
        };
        let operation = match memory.operation.as_deref().map(str::to_ascii_lowercase).as_deref() {
            Some(word @ ("add" | "update" | "delete" | "put")) => word.to_owned(),
            Some("create" | "upsert" | "insert") => "add".to_owned(),
            _ => {
                self.lose("operation", LossReason::Synthesized);
                "add".to_owned()
            }
        };
        let recorded = memory.operation.filter(|word| *word != operation);
        let namespace = memory.namespace.as_ref().and_then(texts);
        let changes = memory.changes.as_ref().and_then(changes);
        let mut done = vec!["entity_type", "entity_id", "key", "operation", "data"];
        done.extend(namespace.is_some().then_some("namespace"));
        done.extend(changes.is_some().then_some("changes"));
        self.taken("memory", &done);
        if let Some(word) = recorded {
            self.note("operation", word.into());
        }
        if let Some(output) = &self.step.operation.output {
            self.note("output", output.clone());
        }
        Body::MemoryWrite(Box::new(MemoryWrite {
            entity_type: memory.entity_type,
            entity_id: memory.entity_id,
            namespace,
            key: memory.key,
            operation,
            data,
            changes,
            triggered_by_step_id: None,
            extra: Map::new(),
        }))
    }

    pub(super) fn state_change(&mut self) -> Body {
        let operation = &self.step.operation;
        let state = operation.state.clone().unwrap_or_default();
        let handoff = operation.kind == Kind::Handoff;
        let state_key = match state.key {
            Some(key) => key,
            None if handoff => "active_agent".to_owned(),
            None => {
                self.lose("state_key", LossReason::Synthesized);
                operation.name.clone()
            }
        };
        let named = || operation.agent.name.clone().filter(|_| handoff).map(Value::from);
        let recorded = state.new_value.is_some();
        let new_value = state.new_value.filter(|value| !value.is_null()).or_else(named).unwrap_or_else(|| {
            let reason = if recorded { LossReason::Coerced } else { LossReason::Synthesized };
            self.lose("new_value", reason);
            "".into()
        });
        self.metadata.shift_remove("state");
        if operation.kind != Kind::StateChange {
            self.note("kind", operation.kind.name().into());
            for (key, value) in [("input", &operation.input), ("output", &operation.output)] {
                if let Some(value) = value {
                    self.note(key, value.clone());
                }
            }
        }
        Body::StateChange(StateChange {
            state_key,
            old_value: state.old_value.unwrap_or_default(),
            new_value,
            reason: state.reason,
            extra: Map::new(),
        })
    }

    pub(super) fn interrupt(&mut self) -> Body {
        let asked = self.step.operation.interrupt.clone().unwrap_or_default();
        let prompt = asked
            .prompt
            .or_else(|| words(self.step.operation.input.as_ref()?).map(|said| said.text));
        let prompt = prompt.unwrap_or_else(|| {
            self.lose("prompt", LossReason::Synthesized);
            String::new()
        });
        let response = match asked.response.or_else(|| self.step.operation.output.clone()) {
            Some(kept @ (Value::String(_) | Value::Object(_))) => kept,
            None | Some(Value::Null) => {
                self.lose("response", LossReason::Synthesized);
                "".into()
            }
            Some(other) => {
                self.lose("response", LossReason::Coerced);
                other.to_string().into()
            }
        };
        let wait = asked.wait_ms.or_else(|| self.step.latency_ms()).unwrap_or_else(|| {
            self.lose("wait_duration_ms", LossReason::Synthesized);
            0
        });
        self.metadata.shift_remove("interrupt");
        Body::Interrupt(Interrupt {
            prompt,
            response,
            wait_duration_ms: wait,
            extra: Map::new(),
        })
    }
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

fn changes(value: &Value) -> Option<Vec<FieldChange>> {
    value
        .as_array()?
        .iter()
        .map(|item| serde_json::from_value(item.clone()).ok())
        .collect()
}
