//! One call of a model, in the words of `synth_ai.tracing_v3`'s call records.

use serde::{Deserialize, Serialize};

use crate::document::json::{Json, Object, Text};

/// One call of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmCallRecord<'a> {
    /// The call's id.
    pub call_id: Text<'a>,
    /// `chat_completions`, `completions` or `responses`.
    pub api_type: Text<'a>,
    /// The provider.
    pub provider: Option<Text<'a>>,
    /// The model.
    pub model_name: Text<'a>,
    /// `1.0`.
    pub schema_version: Text<'a>,
    /// When it began.
    pub started_at: Option<Text<'a>>,
    /// When it ended.
    pub completed_at: Option<Text<'a>>,
    /// Duration.
    pub latency_ms: Option<i64>,
    /// What was asked for.
    pub request_params: LlmRequestParams<'a>,
    /// What went in.
    pub input_messages: Vec<LlmMessage<'a>>,
    /// What went in, as one text.
    pub input_text: Option<Text<'a>>,
    /// How the model was to choose tools.
    pub tool_choice: Option<Text<'a>>,
    /// What came out.
    pub output_messages: Vec<LlmMessage<'a>>,
    /// All choices, where there are several.
    pub outputs: Vec<LlmMessage<'a>>,
    /// What came out, as one text.
    pub output_text: Option<Text<'a>>,
    /// Tools that the model asks for.
    pub output_tool_calls: Vec<ToolCallSpec<'a>>,
    /// Tokens.
    pub usage: Option<LlmUsage>,
    /// Why the model stopped.
    pub finish_reason: Option<Text<'a>>,
    /// Which choice this is.
    pub choice_index: Option<i64>,
    /// What the tools gave back.
    pub tool_results: Vec<ToolCallResult<'a>>,
    /// Pieces of a stream.
    pub chunks: Option<Vec<LlmChunk<'a>>>,
    /// The request as sent.
    pub request_raw_json: Option<Text<'a>>,
    /// The response as received.
    pub response_raw_json: Option<Text<'a>>,
    /// The span.
    pub span_id: Option<Text<'a>>,
    /// The trace.
    pub trace_id: Option<Text<'a>>,
    /// The provider's id of the answer.
    pub provider_request_id: Option<Text<'a>>,
    /// The provider's own times.
    pub request_server_timing: Option<Json<'a>>,
    /// Facts.
    pub metadata: Object<'a>,
    /// `success`, `error`, `timeout` or `cancelled`.
    pub outcome: Option<Text<'a>>,
    /// `{code, message, type, raw}`.
    pub error: Option<Json<'a>>,
    /// Token ids and log probabilities.
    pub token_traces: Option<Vec<Json<'a>>>,
    /// What safety checks say.
    pub safety: Option<Json<'a>>,
    /// The model's refusal.
    pub refusal: Option<Json<'a>>,
    /// What was blacked out.
    pub redactions: Option<Vec<Json<'a>>>,
}

impl Default for LlmCallRecord<'_> {
    fn default() -> Self {
        Self {
            call_id: Text::default(),
            api_type: Text::default(),
            provider: None,
            model_name: Text::default(),
            schema_version: "1.0".into(),
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
            metadata: Object::new(),
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
pub struct LlmRequestParams<'a> {
    /// Randomness.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Most tokens out.
    pub max_tokens: Option<i64>,
    /// Texts to stop at.
    pub stop: Option<Vec<Text<'a>>>,
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
    pub response_format: Option<Json<'a>>,
    /// Whether the answer is to be JSON.
    pub json_mode: Option<bool>,
    /// The provider's tool settings.
    pub tool_config: Option<Json<'a>>,
    /// Everything else.
    pub raw_params: Object<'a>,
}

/// One chat message inside a call record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmMessage<'a> {
    /// `system`, `user`, `assistant`, `tool`, `function`, `developer`.
    pub role: Text<'a>,
    /// What is said.
    pub parts: Vec<LlmContentPart<'a>>,
    /// The speaker's name.
    pub name: Option<Text<'a>>,
    /// Which call a tool answers.
    pub tool_call_id: Option<Text<'a>>,
    /// Facts.
    pub metadata: Object<'a>,
}

/// A piece of a chat message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmContentPart<'a> {
    /// `text`, `reasoning`, `image`, ...
    #[serde(rename = "type")]
    pub part_type: Text<'a>,
    /// Words.
    pub text: Option<Text<'a>>,
    /// Anything else.
    pub data: Option<Json<'a>>,
    /// For example `image/png`.
    pub mime_type: Option<Text<'a>>,
    /// Where it is.
    pub uri: Option<Text<'a>>,
    /// Its bytes.
    pub base64_data: Option<Text<'a>>,
    /// How many bytes.
    pub size_bytes: Option<i64>,
    /// Their SHA-256.
    pub sha256: Option<Text<'a>>,
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
    pub language: Option<Text<'a>>,
}

/// A tool that a model asks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolCallSpec<'a> {
    /// The tool.
    pub name: Text<'a>,
    /// The arguments as sent: JSON text.
    pub arguments_json: Text<'a>,
    /// The arguments, parsed.
    pub arguments: Option<Json<'a>>,
    /// The call's id.
    pub call_id: Option<Text<'a>>,
    /// Its place among its siblings.
    pub index: Option<i64>,
    /// The call around it.
    pub parent_call_id: Option<Text<'a>>,
    /// Facts.
    pub metadata: Object<'a>,
}

/// What a tool gave back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolCallResult<'a> {
    /// The call's id.
    pub call_id: Option<Text<'a>>,
    /// The output.
    pub output_text: Option<Text<'a>>,
    /// A process's exit code.
    pub exit_code: Option<i64>,
    /// `ok` or `error`.
    pub status: Option<Text<'a>>,
    /// Why it failed.
    pub error_message: Option<Text<'a>>,
    /// When it began.
    pub started_at: Option<Text<'a>>,
    /// When it ended.
    pub completed_at: Option<Text<'a>>,
    /// Duration.
    pub duration_ms: Option<i64>,
    /// Facts.
    pub metadata: Object<'a>,
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
pub struct LlmChunk<'a> {
    /// 0, 1, 2, ...
    pub sequence_index: i64,
    /// When it came.
    pub received_at: Text<'a>,
    /// The provider's word.
    pub event_type: Option<Text<'a>>,
    /// Which choice it belongs to.
    pub choice_index: Option<i64>,
    /// As received.
    pub raw_json: Option<Text<'a>>,
    /// Its words.
    pub delta_text: Option<Text<'a>>,
    /// Anything else.
    pub delta: Option<Json<'a>>,
    /// Facts.
    pub metadata: Object<'a>,
}
