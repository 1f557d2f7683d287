//! Session traces as in `synth_ai.tracing_v3`. Times of steps and calls are ISO 8601 with an offset, of events seconds since 1970.

use std::sync::Arc;

use serde::Serialize;

use crate::document::json::{Json, Object, Text};

/// Complete record of one session; every field is always written.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct SessionTrace<'a> {
    /// The session's or run's id.
    pub(crate) session_id: Text<'a>,
    /// When it began.
    pub(crate) created_at: Text<'a>,
    /// Turns, in order.
    pub(crate) session_time_steps: Vec<SessionTimeStep<'a>>,
    /// All events as objects by the tables, in order of time.
    pub(crate) event_history: Vec<Arc<Object<'a>>>,
    /// All messages, in order of time.
    pub(crate) markov_blanket_message_history: Vec<Arc<Message<'a>>>,
    /// Facts of the session.
    pub(crate) metadata: Object<'a>,
    /// Facts that fit no single key.
    pub(crate) session_metadata: Option<Vec<Json<'a>>>,
}

/// One turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct SessionTimeStep<'a> {
    /// Unique in the session.
    pub(crate) step_id: Text<'a>,
    /// 0, 1, 2, ...
    pub(crate) step_index: i64,
    /// When it began.
    pub(crate) timestamp: Text<'a>,
    /// 1, 2, 3, ...
    pub(crate) turn_number: Option<i64>,
    /// The events of the turn.
    pub(crate) events: Vec<Arc<Object<'a>>>,
    /// The messages of the turn.
    pub(crate) markov_blanket_messages: Vec<Arc<Message<'a>>>,
    /// Facts of the turn.
    pub(crate) step_metadata: Object<'a>,
    /// When it ended.
    pub(crate) completed_at: Option<Text<'a>>,
}

/// The time of an event.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct TimeRecord {
    /// Seconds since 1970.
    pub(crate) event_time: f64,
    /// A message's own time or sequence number.
    pub(crate) message_time: Option<i64>,
}

/// A message across a boundary between systems.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Message<'a> {
    /// The words or the payload.
    pub(crate) content: MessageContent<'a>,
    /// `user_input`, `agent_response`, `action`, `result`, `observation`, or the store's names.
    pub(crate) message_type: Text<'a>,
    /// When.
    pub(crate) time_record: TimeRecord,
    /// Facts.
    pub(crate) metadata: Object<'a>,
}

/// Content of a message: the payload takes precedence over the text.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct MessageContent<'a> {
    /// Words.
    pub(crate) text: Option<Text<'a>>,
    /// JSON text.
    pub(crate) json_payload: Option<Text<'a>>,
}
