//! A session trace, in the words of `synth_ai.tracing_v3`: every field is always written, an absent one is read as its
//! default. Times of steps and calls are ISO 8601 texts with an offset, times of events seconds since 1970.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::call::LlmCallRecord;
use crate::document::json::{Json, Object, Text};

/// Complete record of one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionTrace<'a> {
    /// The session's or run's id.
    pub session_id: Text<'a>,
    /// When it began.
    pub created_at: Text<'a>,
    /// Turns, in order.
    pub session_time_steps: Vec<SessionTimeStep<'a>>,
    /// All events, in order of time.
    pub event_history: Vec<Arc<Event<'a>>>,
    /// All messages, in order of time.
    pub markov_blanket_message_history: Vec<Arc<Message<'a>>>,
    /// Facts of the session.
    pub metadata: Object<'a>,
    /// Facts that fit no single key.
    pub session_metadata: Option<Vec<Json<'a>>>,
}

/// One turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionTimeStep<'a> {
    /// Unique in the session.
    pub step_id: Text<'a>,
    /// 0, 1, 2, ...
    pub step_index: i64,
    /// When it began.
    pub timestamp: Text<'a>,
    /// 1, 2, 3, ...
    pub turn_number: Option<i64>,
    /// What happened in it.
    pub events: Vec<Arc<Event<'a>>>,
    /// What was said in it.
    pub markov_blanket_messages: Vec<Arc<Message<'a>>>,
    /// Facts of the turn.
    pub step_metadata: Object<'a>,
    /// When it ended.
    pub completed_at: Option<Text<'a>>,
}

/// When something happened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeRecord {
    /// Seconds since 1970.
    pub event_time: f64,
    /// A message's own time or number.
    pub message_time: Option<i64>,
}

/// Something that happened inside a subsystem. No tag is written: the three kinds are told apart by their fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Event<'a> {
    /// A decision of the runtime.
    Runtime(RuntimeEvent<'a>),
    /// Feedback of the environment.
    Environment(EnvironmentEvent<'a>),
    /// A model call.
    Model(Box<LmcaisEvent<'a>>),
}

/// A decision of the runtime.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuntimeEvent<'a> {
    /// Who.
    pub system_instance_id: Text<'a>,
    /// When.
    pub time_record: TimeRecord,
    /// Facts.
    pub metadata: Object<'a>,
    /// Facts that fit no single key.
    pub event_metadata: Option<Vec<Json<'a>>>,
    /// Indices of the actions taken.
    pub actions: Vec<i64>,
}

/// Feedback of the environment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnvironmentEvent<'a> {
    /// Who.
    pub system_instance_id: Text<'a>,
    /// When.
    pub time_record: TimeRecord,
    /// Facts.
    pub metadata: Object<'a>,
    /// Facts that fit no single key.
    pub event_metadata: Option<Vec<Json<'a>>>,
    /// The reward.
    pub reward: f64,
    /// Whether the episode ended here.
    pub terminated: bool,
    /// Whether the episode was cut here.
    pub truncated: bool,
    /// The state before.
    pub system_state_before: Option<Json<'a>>,
    /// The state after: a tool's result.
    pub system_state_after: Option<Json<'a>>,
}

/// A model call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LmcaisEvent<'a> {
    /// Who.
    pub system_instance_id: Text<'a>,
    /// When it began.
    pub time_record: TimeRecord,
    /// Facts.
    pub metadata: Object<'a>,
    /// Facts that fit no single key.
    pub event_metadata: Option<Vec<Json<'a>>>,
    /// The model.
    pub model_name: Text<'a>,
    /// Its provider.
    pub provider: Option<Text<'a>>,
    /// Tokens in.
    pub input_tokens: Option<i64>,
    /// Tokens out.
    pub output_tokens: Option<i64>,
    /// Tokens in all.
    pub total_tokens: Option<i64>,
    /// Money.
    pub cost_usd: Option<f64>,
    /// Duration.
    pub latency_ms: Option<i64>,
    /// The span.
    pub span_id: Option<Text<'a>>,
    /// The trace.
    pub trace_id: Option<Text<'a>>,
    /// The state before.
    pub system_state_before: Option<Json<'a>>,
    /// The state after.
    pub system_state_after: Option<Json<'a>>,
    /// What went in and came out.
    #[serde(deserialize_with = "null_as_empty")]
    pub call_records: Vec<LlmCallRecord<'a>>,
}

/// Something that crosses a boundary between systems.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Message<'a> {
    /// The words or the payload.
    pub content: MessageContent<'a>,
    /// `user_input`, `agent_response`, `action`, `result`, `observation`, or the store's words.
    pub message_type: Text<'a>,
    /// When.
    pub time_record: TimeRecord,
    /// Facts.
    pub metadata: Object<'a>,
}

/// Content of a message: a payload wins over a text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageContent<'a> {
    /// Words.
    pub text: Option<Text<'a>>,
    /// JSON text.
    pub json_payload: Option<Text<'a>>,
}

impl<'a> Event<'a> {
    /// When it happened, in seconds.
    #[must_use]
    pub fn event_time(&self) -> f64 {
        match self {
            Self::Runtime(event) => event.time_record.event_time,
            Self::Environment(event) => event.time_record.event_time,
            Self::Model(event) => event.time_record.event_time,
        }
    }

    /// Its facts.
    pub fn metadata_mut(&mut self) -> &mut Object<'a> {
        match self {
            Self::Runtime(event) => &mut event.metadata,
            Self::Environment(event) => &mut event.metadata,
            Self::Model(event) => &mut event.metadata,
        }
    }
}

impl<'de> Deserialize<'de> for Event<'_> {
    /// By the tag of the page's Rust form (`cais`, `environment`, `runtime`), else by the fields.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let value = Value::deserialize(deserializer)?;
        let has = |field: &str| value.get(field).is_some();
        let tag = value.get("event_type").and_then(Value::as_str).map(str::to_owned);
        let read = match tag.as_deref() {
            Some("runtime") => serde_json::from_value(value).map(Self::Runtime),
            Some("environment") => serde_json::from_value(value).map(Self::Environment),
            Some("cais") => serde_json::from_value(value).map(Self::Model),
            _ if has("actions") => serde_json::from_value(value).map(Self::Runtime),
            _ if has("reward") => serde_json::from_value(value).map(Self::Environment),
            _ if has("call_records") || has("model_name") => serde_json::from_value(value).map(Self::Model),
            _ => return Err(D::Error::custom("an event has actions, reward or call_records")),
        };
        read.map_err(D::Error::custom)
    }
}

fn null_as_empty<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<LlmCallRecord<'a>>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
