//! One call of a model, as a call record of `synth_ai.tracing_v3`.

use serde::{Deserialize, Serialize};

use crate::document::json::{Json, Object, Text};

/// One call of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LlmCallRecord<'a> {
    /// The call's id.
    pub(crate) call_id: Text<'a>,
    /// `chat_completions`, `completions` or `responses`.
    pub(crate) api_type: Text<'a>,
    /// The provider.
    pub(crate) provider: Option<Text<'a>>,
    /// The model.
    pub(crate) model_name: Text<'a>,
    /// `1.0`.
    pub(crate) schema_version: Text<'a>,
    /// When it began.
    pub(crate) started_at: Option<Text<'a>>,
    /// When it ended.
    pub(crate) completed_at: Option<Text<'a>>,
    /// Duration.
    pub(crate) latency_ms: Option<i64>,
    /// What was asked for.
    pub(crate) request_params: LlmRequestParams<'a>,
    /// What went in.
    pub(crate) input_messages: Vec<LlmMessage<'a>>,
    /// What went in, as one text.
    pub(crate) input_text: Option<Text<'a>>,
    /// How the model was to choose tools.
    pub(crate) tool_choice: Option<Text<'a>>,
    /// What came out.
    pub(crate) output_messages: Vec<LlmMessage<'a>>,
    /// All choices, where there are several.
    pub(crate) outputs: Vec<LlmMessage<'a>>,
    /// What came out, as one text.
    pub(crate) output_text: Option<Text<'a>>,
    /// Tools that the model asks for.
    pub(crate) output_tool_calls: Vec<ToolCallSpec<'a>>,
    /// Tokens.
    pub(crate) usage: Option<LlmUsage>,
    /// Why the model stopped.
    pub(crate) finish_reason: Option<Text<'a>>,
    /// Which choice this is.
    pub(crate) choice_index: Option<i64>,
    /// What the tools gave back.
    pub(crate) tool_results: Vec<ToolCallResult<'a>>,
    /// Pieces of a stream.
    pub(crate) chunks: Option<Vec<LlmChunk<'a>>>,
    /// The request as sent.
    pub(crate) request_raw_json: Option<Text<'a>>,
    /// The response as received.
    pub(crate) response_raw_json: Option<Text<'a>>,
    /// The span.
    pub(crate) span_id: Option<Text<'a>>,
    /// The trace.
    pub(crate) trace_id: Option<Text<'a>>,
    /// The provider's id of the answer.
    pub(crate) provider_request_id: Option<Text<'a>>,
    /// The provider's own times.
    pub(crate) request_server_timing: Option<Json<'a>>,
    /// Facts.
    pub(crate) metadata: Object<'a>,
    /// `success`, `error`, `timeout` or `cancelled`.
    pub(crate) outcome: Option<Text<'a>>,
    /// `{code, message, type, raw}`.
    pub(crate) error: Option<Json<'a>>,
    /// Token ids and log probabilities.
    pub(crate) token_traces: Option<Vec<Json<'a>>>,
    /// Results of safety checks.
    pub(crate) safety: Option<Json<'a>>,
    /// The model's refusal.
    pub(crate) refusal: Option<Json<'a>>,
    /// What was blacked out.
    pub(crate) redactions: Option<Vec<Json<'a>>>,
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
pub(crate) struct LlmRequestParams<'a> {
    /// Randomness.
    pub(crate) temperature: Option<f64>,
    /// Nucleus sampling.
    pub(crate) top_p: Option<f64>,
    /// Most tokens out.
    pub(crate) max_tokens: Option<i64>,
    /// Texts to stop at.
    pub(crate) stop: Option<Vec<Text<'a>>>,
    /// Most likely tokens considered.
    pub(crate) top_k: Option<i64>,
    /// Penalty for tokens that occurred.
    pub(crate) presence_penalty: Option<f64>,
    /// Penalty for tokens that occurred often.
    pub(crate) frequency_penalty: Option<f64>,
    /// Penalty for repetition.
    pub(crate) repetition_penalty: Option<f64>,
    /// Seed of the randomness.
    pub(crate) seed: Option<i64>,
    /// How many choices.
    pub(crate) n: Option<i64>,
    /// Of how many the best.
    pub(crate) best_of: Option<i64>,
    /// Shape of the answer.
    pub(crate) response_format: Option<Json<'a>>,
    /// Whether the answer is to be JSON.
    pub(crate) json_mode: Option<bool>,
    /// The provider's tool settings.
    pub(crate) tool_config: Option<Json<'a>>,
    /// Everything else.
    pub(crate) raw_params: Object<'a>,
}

/// One chat message inside a call record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LlmMessage<'a> {
    /// `system`, `user`, `assistant`, `tool`, `function`, `developer`.
    pub(crate) role: Text<'a>,
    /// The content.
    pub(crate) parts: Vec<LlmContentPart<'a>>,
    /// The speaker's name.
    pub(crate) name: Option<Text<'a>>,
    /// Which call a tool answers.
    pub(crate) tool_call_id: Option<Text<'a>>,
    /// Facts.
    pub(crate) metadata: Object<'a>,
}

/// A piece of a chat message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LlmContentPart<'a> {
    /// `text`, `reasoning`, `image`, ...
    #[serde(rename = "type")]
    pub(crate) part_type: Text<'a>,
    /// Words.
    pub(crate) text: Option<Text<'a>>,
    /// Anything else.
    pub(crate) data: Option<Json<'a>>,
    /// For example `image/png`.
    pub(crate) mime_type: Option<Text<'a>>,
    /// Where it is.
    pub(crate) uri: Option<Text<'a>>,
    /// Its bytes.
    pub(crate) base64_data: Option<Text<'a>>,
    /// How many bytes.
    pub(crate) size_bytes: Option<i64>,
    /// Their SHA-256.
    pub(crate) sha256: Option<Text<'a>>,
    /// Pixels across.
    pub(crate) width: Option<i64>,
    /// Pixels down.
    pub(crate) height: Option<i64>,
    /// Length of a sound or film.
    pub(crate) duration_ms: Option<i64>,
    /// Samples a second.
    pub(crate) sample_rate: Option<i64>,
    /// Channels of a sound.
    pub(crate) channels: Option<i64>,
    /// Language of the words.
    pub(crate) language: Option<Text<'a>>,
}

/// A tool that a model asks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ToolCallSpec<'a> {
    /// The tool.
    pub(crate) name: Text<'a>,
    /// The arguments as sent: JSON text.
    pub(crate) arguments_json: Text<'a>,
    /// The arguments, parsed.
    pub(crate) arguments: Option<Json<'a>>,
    /// The call's id.
    pub(crate) call_id: Option<Text<'a>>,
    /// Its place among its siblings.
    pub(crate) index: Option<i64>,
    /// The call around it.
    pub(crate) parent_call_id: Option<Text<'a>>,
    /// Facts.
    pub(crate) metadata: Object<'a>,
}

/// What a tool gave back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ToolCallResult<'a> {
    /// The call's id.
    pub(crate) call_id: Option<Text<'a>>,
    /// The output.
    pub(crate) output_text: Option<Text<'a>>,
    /// A process's exit code.
    pub(crate) exit_code: Option<i64>,
    /// `ok` or `error`.
    pub(crate) status: Option<Text<'a>>,
    /// Why it failed.
    pub(crate) error_message: Option<Text<'a>>,
    /// When it began.
    pub(crate) started_at: Option<Text<'a>>,
    /// When it ended.
    pub(crate) completed_at: Option<Text<'a>>,
    /// Duration.
    pub(crate) duration_ms: Option<i64>,
    /// Facts.
    pub(crate) metadata: Object<'a>,
}

/// Tokens of one call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LlmUsage {
    /// In.
    pub(crate) input_tokens: Option<i64>,
    /// Out.
    pub(crate) output_tokens: Option<i64>,
    /// In all.
    pub(crate) total_tokens: Option<i64>,
    /// For reasoning.
    pub(crate) reasoning_tokens: Option<i64>,
    /// For reasoning, in.
    pub(crate) reasoning_input_tokens: Option<i64>,
    /// For reasoning, out.
    pub(crate) reasoning_output_tokens: Option<i64>,
    /// Written to a cache.
    pub(crate) cache_write_tokens: Option<i64>,
    /// Read from a cache.
    pub(crate) cache_read_tokens: Option<i64>,
    /// Paid for, in.
    pub(crate) billable_input_tokens: Option<i64>,
    /// Paid for, out.
    pub(crate) billable_output_tokens: Option<i64>,
    /// Money.
    pub(crate) cost_usd: Option<f64>,
}

/// A piece of a stream.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LlmChunk<'a> {
    /// 0, 1, 2, ...
    pub(crate) sequence_index: i64,
    /// When it came.
    pub(crate) received_at: Text<'a>,
    /// The provider's word.
    pub(crate) event_type: Option<Text<'a>>,
    /// Which choice it belongs to.
    pub(crate) choice_index: Option<i64>,
    /// As received.
    pub(crate) raw_json: Option<Text<'a>>,
    /// Its words.
    pub(crate) delta_text: Option<Text<'a>>,
    /// Anything else.
    pub(crate) delta: Option<Json<'a>>,
    /// Facts.
    pub(crate) metadata: Object<'a>,
}
