//! Steps of memory, of state, and of a person who is asked.

use serde_json::Value;

use super::document::{Body, FieldChange, Interrupt, MemoryRead, MemoryWrite, StateChange};
use super::step::Making;
use super::words::words;
use crate::document::json::{Json, Object, Text};
use crate::document::loss::LossReason;
use crate::document::text::compact;
use crate::operation::{Kind, Memory};
use crate::transcript::{content, facts};

impl<'a> Making<'a, '_> {
    pub(super) fn memory_read(&mut self) -> Body<'a> {
        let operation = &self.step.operation;
        let memory = operation.memory.as_ref();
        let query = match content::input(self.run, self.step) {
            None | Some(Json::Null) => {
                self.lose("query", LossReason::Synthesized);
                "".into()
            }
            Some(kept @ (Json::Text(_) | Json::Object(_))) => kept,
            Some(other) => {
                self.lose("query", LossReason::Coerced);
                other.into_text().into()
            }
        };
        let results = match content::output(self.results, self.step) {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::List(items)) => items,
            Some(Json::Values(items)) => items.iter().map(Json::from).collect(),
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
            match_count: self.match_count(results.len()),
            results,
            relevance_scores: recorded.or_else(of_documents),
            total_available: memory.and_then(|memory| memory.total_available),
        })
    }

    pub(super) fn memory_write(&mut self) -> Body<'a> {
        let step = self.step;
        let memory = step.operation.memory.as_ref();
        let data = memory.and_then(|memory| memory.data.as_ref());
        let data = match data.or_else(|| step.operation.input.get()) {
            Some(Value::Object(map)) => map.into(),
            None | Some(Value::Null) => Object::new(),
            Some(other) => {
                self.lose("data", LossReason::Coerced);
                Object::from([("value", other.into())])
            }
        };
        let recorded = memory.and_then(|memory| memory.operation.as_deref());
        let operation = match recorded.map(str::to_ascii_lowercase).as_deref() {
            Some("update") => "update",
            Some("delete") => "delete",
            Some("put") if replaces(memory.map(|memory| &**memory)) => "update",
            Some("add" | "create" | "upsert" | "insert" | "put") => "add",
            _ => {
                self.lose("operation", LossReason::Synthesized);
                "add"
            }
        };
        let namespace = memory.and_then(|memory| texts(memory.namespace.as_ref()?));
        let changes = memory.and_then(|memory| changes(memory.changes.as_ref()?));
        let mut done = vec!["entity_type", "entity_id", "key", "operation", "data"];
        done.extend(namespace.is_some().then_some("namespace"));
        done.extend(changes.is_some().then_some("changes"));
        self.taken("memory", &done);
        if let Some(word) = recorded.filter(|word| *word != operation) {
            self.note("operation", word);
        }
        if let Some(output) = step.operation.output.get() {
            self.note("output", output);
        }
        let text = |text: Option<&'a String>| text.map(Text::from);
        let entity_type = text(memory.and_then(|memory| memory.entity_type.as_ref())).unwrap_or_else(|| {
            self.lose("entity_type", LossReason::Synthesized);
            "unknown".into()
        });
        Body::MemoryWrite(Box::new(MemoryWrite {
            entity_type: Some(entity_type),
            entity_id: text(memory.and_then(|memory| memory.entity_id.as_ref())),
            namespace,
            key: text(memory.and_then(|memory| memory.key.as_ref())),
            operation: operation.into(),
            data,
            changes,
            triggered_by_step_id: None,
        }))
    }

    pub(super) fn state_change(&mut self) -> Body<'a> {
        let operation = &self.step.operation;
        let state = operation.state.as_ref();
        let handoff = operation.kind == Kind::Handoff;
        let state_key = match state.and_then(|state| state.key.as_deref()) {
            Some(key) => key,
            None if handoff => "active_agent",
            None => {
                self.lose("state_key", LossReason::Synthesized);
                &operation.name
            }
        };
        let named = || operation.agent.name.as_ref().filter(|_| handoff).map(Json::from);
        let from_state = state.and_then(|state| state.new_value.as_ref());
        let new_value = from_state.filter(|value| !value.is_null()).map(Json::from).or_else(named);
        let new_value = new_value.unwrap_or_else(|| {
            let reason = if from_state.is_some() {
                LossReason::Coerced
            } else {
                LossReason::Synthesized
            };
            self.lose("new_value", reason);
            "".into()
        });
        self.metadata.remove("state");
        let mut words = facts::in_and_out(self.run, self.results, self.step);
        if operation.kind == Kind::StateChange || operation.output.is_none() {
            words.retain(|_, value| *value != new_value);
        }
        if operation.kind != Kind::StateChange {
            self.note("kind", operation.kind.name());
        }
        self.metadata.extend(words);
        Body::StateChange(StateChange {
            state_key: state_key.into(),
            old_value: state.and_then(|state| state.old_value.as_ref()).into(),
            new_value,
            reason: state.and_then(|state| state.reason.as_deref()).map(Text::from),
        })
    }

    pub(super) fn interrupt(&mut self) -> Body<'a> {
        let operation = &self.step.operation;
        let asked = operation.interrupt.as_ref();
        let prompt = asked.and_then(|asked| asked.prompt.as_deref()).map(Text::from);
        let prompt = prompt.or_else(|| words(operation.input.get()?).map(|words| words.text));
        let prompt = prompt.unwrap_or_else(|| {
            self.lose("prompt", LossReason::Synthesized);
            Text::default()
        });
        let response = asked.and_then(|asked| asked.response.as_ref());
        let response = match response.or_else(|| operation.output.get()) {
            Some(kept @ (Value::String(_) | Value::Object(_))) => kept.into(),
            None | Some(Value::Null) => {
                self.lose("response", LossReason::Synthesized);
                "".into()
            }
            Some(other) => {
                self.lose("response", LossReason::Coerced);
                compact(other).into()
            }
        };
        let wait = asked.and_then(|asked| asked.wait_ms).or_else(|| self.step.latency_ms());
        let wait = wait.unwrap_or_else(|| {
            self.lose("wait_duration_ms", LossReason::Synthesized);
            0
        });
        self.metadata.remove("interrupt");
        Body::Interrupt(Interrupt {
            prompt,
            response,
            wait_duration_ms: wait,
        })
    }
}

/// Whether a write changes what was there.
fn replaces(memory: Option<&Memory>) -> bool {
    let changes = memory.and_then(|memory| memory.changes.as_ref()?.as_array());
    let before = changes.into_iter().flatten().filter_map(|change| change.get("old_value"));
    before.into_iter().any(|old| !old.is_null())
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

fn texts(value: &Value) -> Option<Vec<Text<'_>>> {
    match value {
        Value::String(text) => Some(vec![text.into()]),
        Value::Array(items) => items.iter().map(|item| item.as_str().map(Text::from)).collect(),
        _ => None,
    }
}

fn changes<'a>(value: &Value) -> Option<Vec<FieldChange<'a>>> {
    value.as_array()?.iter().map(change).collect()
}

fn change<'a>(value: &Value) -> Option<FieldChange<'a>> {
    let mut rest = value.as_object()?.clone();
    let Value::String(path) = rest.shift_remove("path")? else {
        return None;
    };
    Some(FieldChange {
        path: path.into(),
        old_value: rest.shift_remove("old_value").unwrap_or_default().into(),
        new_value: rest.shift_remove("new_value").unwrap_or_default().into(),
        extra: rest.into(),
    })
}
