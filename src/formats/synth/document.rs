//! A session trace, in the words of `synth_ai.tracing_v3`: every field is always written, an absent one is read as its
//! default. Times of steps and calls are ISO 8601 texts with an offset, times of events seconds since 1970.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Complete record of one session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionTrace {
    /// The session's or run's id.
    pub session_id: String,
    /// When it began.
    pub created_at: String,
    /// Turns, in order.
    pub session_time_steps: Vec<SessionTimeStep>,
    /// All events, in order of time.
    pub event_history: Vec<Event>,
    /// All messages, in order of time.
    pub markov_blanket_message_history: Vec<Message>,
    /// Facts of the session.
    pub metadata: Map<String, Value>,
    /// Facts that fit no single key.
    pub session_metadata: Option<Vec<Value>>,
}

/// One turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionTimeStep {
    /// Unique in the session.
    pub step_id: String,
    /// 0, 1, 2, ...
    pub step_index: i64,
    /// When it began.
    pub timestamp: String,
    /// 1, 2, 3, ...
    pub turn_number: Option<i64>,
    /// What happened in it.
    pub events: Vec<Event>,
    /// What was said in it.
    pub markov_blanket_messages: Vec<Message>,
    /// Facts of the turn.
    pub step_metadata: Map<String, Value>,
    /// When it ended.
    pub completed_at: Option<String>,
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
pub enum Event {
    /// A decision of the runtime.
    Runtime(RuntimeEvent),
    /// Feedback of the environment.
    Environment(EnvironmentEvent),
    /// A model call.
    Model(Box<LmcaisEvent>),
}

/// A decision of the runtime.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuntimeEvent {
    /// Who.
    pub system_instance_id: String,
    /// When.
    pub time_record: TimeRecord,
    /// Facts.
    pub metadata: Map<String, Value>,
    /// Facts that fit no single key.
    pub event_metadata: Option<Vec<Value>>,
    /// Indices of the actions taken.
    pub actions: Vec<i64>,
}

/// Feedback of the environment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnvironmentEvent {
    /// Who.
    pub system_instance_id: String,
    /// When.
    pub time_record: TimeRecord,
    /// Facts.
    pub metadata: Map<String, Value>,
    /// Facts that fit no single key.
    pub event_metadata: Option<Vec<Value>>,
    /// The reward.
    pub reward: f64,
    /// Whether the episode ended here.
    pub terminated: bool,
    /// Whether the episode was cut here.
    pub truncated: bool,
    /// The state before.
    pub system_state_before: Option<Value>,
    /// The state after: a tool's result.
    pub system_state_after: Option<Value>,
}

/// A model call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LmcaisEvent {
    /// Who.
    pub system_instance_id: String,
    /// When it began.
    pub time_record: TimeRecord,
    /// Facts.
    pub metadata: Map<String, Value>,
    /// Facts that fit no single key.
    pub event_metadata: Option<Vec<Value>>,
    /// The model.
    pub model_name: String,
    /// Its provider.
    pub provider: Option<String>,
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
    pub span_id: Option<String>,
    /// The trace.
    pub trace_id: Option<String>,
    /// The state before.
    pub system_state_before: Option<Value>,
    /// The state after.
    pub system_state_after: Option<Value>,
    /// What went in and came out.
    #[serde(deserialize_with = "null_as_empty")]
    pub call_records: Vec<LlmCallRecord>,
}

/// Something that crosses a boundary between systems.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Message {
    /// The words or the payload.
    pub content: MessageContent,
    /// `user_input`, `agent_response`, `action`, `result`, `observation`, or the store's words.
    pub message_type: String,
    /// When.
    pub time_record: TimeRecord,
    /// Facts.
    pub metadata: Map<String, Value>,
}

/// Content of a message: a payload wins over a text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageContent {
    /// Words.
    pub text: Option<String>,
    /// JSON text.
    pub json_payload: Option<String>,
}

/// One call of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmCallRecord {
    /// The call's id.
    pub call_id: String,
    /// `chat_completions`, `completions` or `responses`.
    pub api_type: String,
    /// The provider.
    pub provider: Option<String>,
    /// The model.
    pub model_name: String,
    /// `1.0`.
    pub schema_version: String,
    /// When it began.
    pub started_at: Option<String>,
    /// When it ended.
    pub completed_at: Option<String>,
    /// Duration.
    pub latency_ms: Option<i64>,
    /// What was asked for.
    pub request_params: LlmRequestParams,
    /// What went in.
    pub input_messages: Vec<LlmMessage>,
    /// What went in, as one text.
    pub input_text: Option<String>,
    /// How the model was to choose tools.
    pub tool_choice: Option<String>,
    /// What came out.
    pub output_messages: Vec<LlmMessage>,
    /// All choices, where there are several.
    pub outputs: Vec<LlmMessage>,
    /// What came out, as one text.
    pub output_text: Option<String>,
    /// Tools that the model asks for.
    pub output_tool_calls: Vec<ToolCallSpec>,
    /// Tokens.
    pub usage: Option<LlmUsage>,
    /// Why the model stopped.
    pub finish_reason: Option<String>,
    /// Which choice this is.
    pub choice_index: Option<i64>,
    /// What the tools gave back.
    pub tool_results: Vec<ToolCallResult>,
    /// Pieces of a stream.
    pub chunks: Option<Vec<LlmChunk>>,
    /// The request as sent.
    pub request_raw_json: Option<String>,
    /// The response as received.
    pub response_raw_json: Option<String>,
    /// The span.
    pub span_id: Option<String>,
    /// The trace.
    pub trace_id: Option<String>,
    /// The provider's id of the answer.
    pub provider_request_id: Option<String>,
    /// The provider's own times.
    pub request_server_timing: Option<Value>,
    /// Facts.
    pub metadata: Map<String, Value>,
    /// `success`, `error`, `timeout` or `cancelled`.
    pub outcome: Option<String>,
    /// `{code, message, type, raw}`.
    pub error: Option<Value>,
    /// Token ids and log probabilities.
    pub token_traces: Option<Vec<Value>>,
    /// What safety checks say.
    pub safety: Option<Value>,
    /// The model's refusal.
    pub refusal: Option<Value>,
    /// What was blacked out.
    pub redactions: Option<Vec<Value>>,
}

impl Default for LlmCallRecord {
    fn default() -> Self {
        Self {
            call_id: String::new(),
            api_type: String::new(),
            provider: None,
            model_name: String::new(),
            schema_version: "1.0".to_owned(),
            started_at: None,
            completed_at: None,
            latency_ms: None,
            request_params: LlmRequestParams::default(),
            input_messages: Vec::new(),
            input_text: None,
            tool_choice: None,
            output_messages: Vec::new(),
            outputs: Vec::new(),
            output_text: None,
            output_tool_calls: Vec::new(),
            usage: None,
            finish_reason: None,
            choice_index: None,
            tool_results: Vec::new(),
            chunks: None,
            request_raw_json: None,
            response_raw_json: None,
            span_id: None,
            trace_id: None,
            provider_request_id: None,
            request_server_timing: None,
            metadata: Map::new(),
            outcome: None,
            error: None,
            token_traces: None,
            safety: None,
            refusal: None,
            redactions: None,
        }
    }
}

/// What a caller asks of a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmRequestParams {
    /// Randomness.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Most tokens out.
    pub max_tokens: Option<i64>,
    /// Texts to stop at.
    pub stop: Option<Vec<String>>,
    /// Most likely tokens considered.
    pub top_k: Option<i64>,
    /// Penalty for what was said at all.
    pub presence_penalty: Option<f64>,
    /// Penalty for what was said often.
    pub frequency_penalty: Option<f64>,
    /// Penalty for repetition.
    pub repetition_penalty: Option<f64>,
    /// Seed of the randomness.
    pub seed: Option<i64>,
    /// How many choices.
    pub n: Option<i64>,
    /// Of how many the best.
    pub best_of: Option<i64>,
    /// Shape of the answer.
    pub response_format: Option<Value>,
    /// Whether the answer is to be JSON.
    pub json_mode: Option<bool>,
    /// The provider's tool settings.
    pub tool_config: Option<Value>,
    /// Everything else.
    pub raw_params: Map<String, Value>,
}

/// One chat message inside a call record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmMessage {
    /// `system`, `user`, `assistant`, `tool`, `function`, `developer`.
    pub role: String,
    /// What is said.
    pub parts: Vec<LlmContentPart>,
    /// The speaker's name.
    pub name: Option<String>,
    /// Which call a tool answers.
    pub tool_call_id: Option<String>,
    /// Facts.
    pub metadata: Map<String, Value>,
}

/// A piece of a chat message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmContentPart {
    /// `text`, `reasoning`, `image`, ...
    #[serde(rename = "type")]
    pub part_type: String,
    /// Words.
    pub text: Option<String>,
    /// Anything else.
    pub data: Option<Value>,
    /// For example `image/png`.
    pub mime_type: Option<String>,
    /// Where it is.
    pub uri: Option<String>,
    /// Its bytes.
    pub base64_data: Option<String>,
    /// How many bytes.
    pub size_bytes: Option<i64>,
    /// Their SHA-256.
    pub sha256: Option<String>,
    /// Pixels across.
    pub width: Option<i64>,
    /// Pixels down.
    pub height: Option<i64>,
    /// Length of a sound or film.
    pub duration_ms: Option<i64>,
    /// Samples a second.
    pub sample_rate: Option<i64>,
    /// Channels of a sound.
    pub channels: Option<i64>,
    /// Language of the words.
    pub language: Option<String>,
}

/// A tool that a model asks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolCallSpec {
    /// The tool.
    pub name: String,
    /// The arguments as sent: JSON text.
    pub arguments_json: String,
    /// The arguments, parsed.
    pub arguments: Option<Value>,
    /// The call's id.
    pub call_id: Option<String>,
    /// Its place among its siblings.
    pub index: Option<i64>,
    /// The call around it.
    pub parent_call_id: Option<String>,
    /// Facts.
    pub metadata: Map<String, Value>,
}

/// What a tool gave back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolCallResult {
    /// The call's id.
    pub call_id: Option<String>,
    /// The output.
    pub output_text: Option<String>,
    /// A process's exit code.
    pub exit_code: Option<i64>,
    /// `ok` or `error`.
    pub status: Option<String>,
    /// Why it failed.
    pub error_message: Option<String>,
    /// When it began.
    pub started_at: Option<String>,
    /// When it ended.
    pub completed_at: Option<String>,
    /// Duration.
    pub duration_ms: Option<i64>,
    /// Facts.
    pub metadata: Map<String, Value>,
}

/// Tokens of one call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmUsage {
    /// In.
    pub input_tokens: Option<i64>,
    /// Out.
    pub output_tokens: Option<i64>,
    /// In all.
    pub total_tokens: Option<i64>,
    /// For reasoning.
    pub reasoning_tokens: Option<i64>,
    /// For reasoning, in.
    pub reasoning_input_tokens: Option<i64>,
    /// For reasoning, out.
    pub reasoning_output_tokens: Option<i64>,
    /// Written to a cache.
    pub cache_write_tokens: Option<i64>,
    /// Read from a cache.
    pub cache_read_tokens: Option<i64>,
    /// Paid for, in.
    pub billable_input_tokens: Option<i64>,
    /// Paid for, out.
    pub billable_output_tokens: Option<i64>,
    /// Money.
    pub cost_usd: Option<f64>,
}

/// A piece of a stream.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmChunk {
    /// 0, 1, 2, ...
    pub sequence_index: i64,
    /// When it came.
    pub received_at: String,
    /// The provider's word.
    pub event_type: Option<String>,
    /// Which choice it belongs to.
    pub choice_index: Option<i64>,
    /// As received.
    pub raw_json: Option<String>,
    /// Its words.
    pub delta_text: Option<String>,
    /// Anything else.
    pub delta: Option<Value>,
    /// Facts.
    pub metadata: Map<String, Value>,
}

impl Event {
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
    pub fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        match self {
            Self::Runtime(event) => &mut event.metadata,
            Self::Environment(event) => &mut event.metadata,
            Self::Model(event) => &mut event.metadata,
        }
    }
}

impl<'de> Deserialize<'de> for Event {
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

fn null_as_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<LlmCallRecord>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
