//! Sorts the recorded values of a span into attributes, lists for indexed keys, and the status.

use opentelemetry::trace::Event;
use opentelemetry::{Array, Key, KeyValue, StringValue, Value};
use serde_json::Value as Json;

use super::convert;
use super::debug_form::Returned;
use super::record::SpanOutcome;
use super::role::{self, List, Role};
use super::typed::{is_json, mime_type, typed};
use super::visit;
use super::words::{Meaning, kind_of_word, words};
use super::write::plain;
use crate::dialect::{Codec, Field, messages};
use crate::operation::{Content, Kind};

/// Failure of an operation whose future was dropped before completion, by a timeout, `select!` or an aborted task.
pub(super) const DROPPED: &str = "the future was dropped before it was ready";

/// The sorted values of a span.
pub(super) struct SpanContents {
    pub(super) attributes: Vec<KeyValue>,
    pub(super) lists: Vec<(List, Json)>,
    outcome: SpanOutcome,
    /// `otel.status_code`.
    status_code: SpanOutcome,
    /// The failure given by `error` or `success`.
    failure: Option<String>,
    /// Whether a field names the kind.
    kind_by_word: bool,
}

impl SpanContents {
    pub(super) fn new(attributes: Vec<KeyValue>, outcome: SpanOutcome, kind_by_word: bool) -> Self {
        Self {
            attributes,
            lists: Vec::new(),
            outcome,
            status_code: SpanOutcome::Unset,
            failure: None,
            kind_by_word,
        }
    }

    /// The status, and an event for a failure given by a field.
    pub(super) fn status(&mut self) -> (SpanOutcome, Option<Event>) {
        let event = self.failure.as_ref().map(|message| exception(message.clone()));
        let mut outcome = std::mem::take(&mut self.outcome);
        if let Some(message) = self.failure.take() {
            outcome.fail(message);
        }
        let status = match (std::mem::take(&mut self.status_code), outcome) {
            (SpanOutcome::Ok, _) => SpanOutcome::Ok,
            (code, SpanOutcome::Unset) => code,
            (_, outcome) => outcome,
        };
        (status, event)
    }

    pub(super) fn take(&mut self, key: Key, role: Role, value: Value, kind: Option<Kind>) {
        match role {
            Role::Forwarded | Role::Kind => {}
            Role::StepType if self.kind_by_word && kind_of_word(&value.as_str()).is_some() => {}
            Role::Short(meanings) => match kind {
                Some(kind) => self.short(key, value, meanings, kind),
                None => self.push(key, value),
            },
            Role::List(list) => self.list(list, key, value),
            Role::StatusCode => {
                let word = value.as_str();
                if word.eq_ignore_ascii_case("ok") {
                    self.status_code = SpanOutcome::Ok;
                } else if word.eq_ignore_ascii_case("error") {
                    self.status_code = SpanOutcome::Error("".into());
                }
            }
            Role::StatusText => self.outcome.fail(value.as_str().into_owned()),
            Role::Plain | Role::Hint(_) | Role::Foreign | Role::StepType => self.push(key, value),
        }
    }

    /// Takes the return value recorded by `#[instrument(ret)]`, which is the output unless another was recorded. Returns the event if it is
    /// not the output.
    pub(super) fn returned(&mut self, event: Event, kind: Option<Kind>) -> Option<Event> {
        let Some(kind) = kind.filter(|_| !self.has_output()) else {
            return Some(event);
        };
        let value = event.attributes.iter().find(|pair| pair.key.as_str() == visit::RETURN);
        match Returned::of(&value?.value.as_str()) {
            Returned::Nothing => {}
            Returned::Value(text) => self.take("output".into(), role::role("output"), text.into(), Some(kind)),
            Returned::Error(message) => self.failed(message),
        }
        None
    }

    /// The function records return values but returned none: its future was dropped. If it failed, that explains it already.
    pub(super) fn never_returned(&mut self) {
        if self.outcome == SpanOutcome::Unset && self.status_code == SpanOutcome::Unset && !self.has_output() {
            self.failed(DROPPED.to_owned());
        }
    }

    fn has_output(&self) -> bool {
        let is_output = |list: &List| matches!(list, List::OutputMessages | List::Documents | List::OutputDocuments);
        self.lists.iter().any(|(list, _)| is_output(list))
            || self.attributes.iter().any(|pair| {
                let key = pair.key.as_str();
                key == "output.value" || words().content(key) == Some(Content::Output)
            })
    }

    fn push(&mut self, key: Key, value: Value) {
        self.attributes.push(KeyValue::new(key, value));
    }

    fn list(&mut self, list: List, key: Key, value: Value) {
        let parsed = match &value {
            Value::String(text) => serde_json::from_str::<Json>(text.as_str()).ok(),
            _ => None,
        };
        match parsed {
            Some(Json::Array(items)) if list == List::Tags => {
                let items = items.iter().map(|item| StringValue::from(plain(item))).collect();
                self.push(key, Value::Array(Array::String(items)));
            }
            Some(json @ (Json::Array(_) | Json::Object(_))) => self.lists.push((list, json)),
            _ => self.push(key, value),
        }
    }

    /// Writes a short name under each of its meanings on a span of this kind, as in the reader's table.
    fn short(&mut self, key: Key, value: Value, meanings: &[Meaning], kind: Kind) {
        let mut written = false;
        let mut left = Some(value);
        for meaning in meanings.iter().filter(|meaning| meaning.matches(kind)) {
            let Some(value) = &left else { break };
            match meaning.field {
                Field::InputMessages | Field::OutputMessages => {
                    let (list, direction) = match meaning.field {
                        Field::InputMessages => (List::InputMessages, messages::Direction::Input),
                        _ => (List::OutputMessages, messages::Direction::Output),
                    };
                    let json = opened(value);
                    if messages::read(&json, direction).is_some() {
                        self.lists.push((list, json));
                    }
                }
                Field::SearchDocuments => {
                    if let json @ Json::Array(_) = opened(value) {
                        self.lists.push((List::Documents, json));
                        written = true;
                    }
                }
                Field::FailureMessage => match value {
                    Value::Bool(true) => self.failed(String::new()),
                    Value::String(text) if !text.as_str().is_empty() => self.failed(text.as_str().to_owned()),
                    _ => {}
                },
                Field::FailureFlag => {
                    if value.as_str().eq_ignore_ascii_case("false") {
                        self.failed(String::new());
                    }
                }
                _ => {
                    let Some(target) = meaning.key(kind) else { continue };
                    let Some(value) = left.take() else { break };
                    self.under(target, value, meaning.codec);
                    written = true;
                }
            }
        }
        if let Some(value) = left.filter(|_| !written) {
            self.push(key, value);
        }
    }

    /// Writes a value under the key of a short name.
    fn under(&mut self, target: &'static str, value: Value, codec: Codec) {
        if let Some(key) = mime_type(target, codec).filter(|_| is_json(&value)) {
            self.push(key.into(), "application/json".into());
        }
        self.push(target.into(), typed(value, codec));
    }

    fn failed(&mut self, message: String) {
        match &mut self.failure {
            Some(known) if message.is_empty() || !known.is_empty() => {}
            failure => *failure = Some(message),
        }
    }
}

fn exception(message: String) -> Event {
    let attributes = vec![KeyValue::new("exception.message", message)];
    Event::new("exception", std::time::SystemTime::now(), attributes, 0)
}

/// Parses JSON text; other values stay as they are.
fn opened(value: &Value) -> Json {
    match value {
        Value::String(text) => match serde_json::from_str(text.as_str()) {
            Ok(json @ (Json::Array(_) | Json::Object(_))) => json,
            _ => Json::String(text.as_str().to_owned()),
        },
        other => convert::any_value(other).to_json(),
    }
}
