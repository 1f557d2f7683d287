//! A session trace with the types of `synth_ai.tracing_v3`: every field is always written, an absent one is read as its
//! default. Times of steps and calls are ISO 8601 texts with an offset, times of events seconds since 1970.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::call::LlmCallRecord;
use crate::document::json::{Json, Object, Text};

/// Complete record of one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SessionTrace<'a> {
    /// The session's or run's id.
    pub(crate) session_id: Text<'a>,
    /// When it began.
    pub(crate) created_at: Text<'a>,
    /// Turns, in order.
    pub(crate) session_time_steps: Vec<SessionTimeStep<'a>>,
    /// All events, in order of time.
    pub(crate) event_history: Vec<Arc<Event<'a>>>,
    /// All messages, in order of time.
    pub(crate) markov_blanket_message_history: Vec<Arc<Message<'a>>>,
    /// Facts of the session.
    pub(crate) metadata: Object<'a>,
    /// Facts that fit no single key.
    pub(crate) session_metadata: Option<Vec<Json<'a>>>,
}

/// One turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SessionTimeStep<'a> {
    /// Unique in the session.
    pub(crate) step_id: Text<'a>,
    /// 0, 1, 2, ...
    pub(crate) step_index: i64,
    /// When it began.
    pub(crate) timestamp: Text<'a>,
    /// 1, 2, 3, ...
    pub(crate) turn_number: Option<i64>,
    /// What happened in it.
    pub(crate) events: Vec<Arc<Event<'a>>>,
    /// The messages in it.
    pub(crate) markov_blanket_messages: Vec<Arc<Message<'a>>>,
    /// Facts of the turn.
    pub(crate) step_metadata: Object<'a>,
    /// When it ended.
    pub(crate) completed_at: Option<Text<'a>>,
}

/// When something happened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TimeRecord {
    /// Seconds since 1970.
    pub(crate) event_time: f64,
    /// A message's own time or number.
    pub(crate) message_time: Option<i64>,
}

/// Something that happened inside a subsystem. No tag is written: readers distinguish the three kinds by their fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Event<'a> {
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
pub(crate) struct RuntimeEvent<'a> {
    /// Who.
    pub(crate) system_instance_id: Text<'a>,
    /// When.
    pub(crate) time_record: TimeRecord,
    /// Facts.
    pub(crate) metadata: Object<'a>,
    /// Facts that fit no single key.
    pub(crate) event_metadata: Option<Vec<Json<'a>>>,
    /// Indices of the actions taken.
    pub(crate) actions: Vec<i64>,
}

/// Feedback of the environment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct EnvironmentEvent<'a> {
    /// Who.
    pub(crate) system_instance_id: Text<'a>,
    /// When.
    pub(crate) time_record: TimeRecord,
    /// Facts.
    pub(crate) metadata: Object<'a>,
    /// Facts that fit no single key.
    pub(crate) event_metadata: Option<Vec<Json<'a>>>,
    /// The reward.
    pub(crate) reward: f64,
    /// Whether the episode ended here.
    pub(crate) terminated: bool,
    /// Whether the episode was cut here.
    pub(crate) truncated: bool,
    /// The state before.
    pub(crate) system_state_before: Option<Json<'a>>,
    /// The state after: a tool's result.
    pub(crate) system_state_after: Option<Json<'a>>,
}

/// A model call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LmcaisEvent<'a> {
    /// Who.
    pub(crate) system_instance_id: Text<'a>,
    /// When it began.
    pub(crate) time_record: TimeRecord,
    /// Facts.
    pub(crate) metadata: Object<'a>,
    /// Facts that fit no single key.
    pub(crate) event_metadata: Option<Vec<Json<'a>>>,
    /// The model.
    pub(crate) model_name: Text<'a>,
    /// Its provider.
    pub(crate) provider: Option<Text<'a>>,
    /// Tokens in.
    pub(crate) input_tokens: Option<i64>,
    /// Tokens out.
    pub(crate) output_tokens: Option<i64>,
    /// Tokens in all.
    pub(crate) total_tokens: Option<i64>,
    /// Money.
    pub(crate) cost_usd: Option<f64>,
    /// Duration.
    pub(crate) latency_ms: Option<i64>,
    /// The span.
    pub(crate) span_id: Option<Text<'a>>,
    /// The trace.
    pub(crate) trace_id: Option<Text<'a>>,
    /// The state before.
    pub(crate) system_state_before: Option<Json<'a>>,
    /// The state after.
    pub(crate) system_state_after: Option<Json<'a>>,
    /// What went in and came out.
    #[serde(deserialize_with = "null_as_empty")]
    pub(crate) call_records: Vec<LlmCallRecord<'a>>,
}

/// Something that crosses a boundary between systems.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Message<'a> {
    /// The words or the payload.
    pub(crate) content: MessageContent<'a>,
    /// `user_input`, `agent_response`, `action`, `result`, `observation`, or the store's words.
    pub(crate) message_type: Text<'a>,
    /// When.
    pub(crate) time_record: TimeRecord,
    /// Facts.
    pub(crate) metadata: Object<'a>,
}

/// Content of a message: a payload wins over a text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct MessageContent<'a> {
    /// Words.
    pub(crate) text: Option<Text<'a>>,
    /// JSON text.
    pub(crate) json_payload: Option<Text<'a>>,
}

impl<'a> Event<'a> {
    /// Its facts.
    pub(crate) fn metadata_mut(&mut self) -> &mut Object<'a> {
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
