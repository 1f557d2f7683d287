//! The classes of the package with all their fields: `to_dict` writes every one.

use crate::document::shape::Shape::{Any, Deferred, Flag, List, Maybe, Number, Object, Of, OneOf, StrictInt, Text, Time, Word};
use crate::document::shape::{Record, Tag, Variants, need};

const UNKNOWN: &str = "the package cannot rebuild it; put it into `metadata`";

pub(super) static SESSION: Record = Record {
    what: "a session",
    fields: &[
        need("session_id", Text),
        need("created_at", Time),
        need("session_time_steps", List(&Of(&STEP))),
        need("event_history", List(&Deferred(&Object, &OneOf(&EVENT)))),
        need("markov_blanket_message_history", List(&Of(&MESSAGE))),
        need("metadata", Object),
        need("session_metadata", Maybe(&List(&Object))),
    ],
    others: Some(UNKNOWN),
};

static STEP: Record = Record {
    what: "a time step",
    fields: &[
        need("step_id", Text),
        need("step_index", StrictInt),
        need("timestamp", Time),
        need("turn_number", Maybe(&StrictInt)),
        need("events", List(&Deferred(&Object, &OneOf(&EVENT)))),
        need("markov_blanket_messages", List(&Of(&MESSAGE))),
        need("step_metadata", Object),
        need("completed_at", Maybe(&Time)),
    ],
    others: Some("the package cannot rebuild it; put it into `step_metadata`"),
};

/// The page's words, and those of the package's store.
const MESSAGE_TYPES: &[&str] = &[
    "user_input",
    "agent_response",
    "action",
    "result",
    "observation",
    "user",
    "assistant",
    "system",
    "tool_use",
    "tool_result",
];

static MESSAGE: Record = Record {
    what: "a message",
    fields: &[
        need("content", Of(&CONTENT)),
        need("message_type", Word(MESSAGE_TYPES)),
        need("time_record", Of(&TIME)),
        need("metadata", Object),
    ],
    others: Some(UNKNOWN),
};

static CONTENT: Record = Record {
    what: "the content of a message",
    fields: &[need("text", Maybe(&Text)), need("json_payload", Maybe(&Text))],
    others: Some("the package cannot rebuild it; put it into the message's `metadata`"),
};

static TIME: Record = Record {
    what: "a time record",
    fields: &[need("event_time", Number), need("message_time", Maybe(&StrictInt))],
    others: Some("the package cannot rebuild it"),
};

/// The classes of events: only the fields of an event determine its class.
pub(super) static EVENT: Variants = Variants {
    common: Record {
        what: "an event",
        fields: &[],
        others: None,
    },
    of: &[
        (Tag::Has("actions"), &RUNTIME),
        (Tag::Has("reward"), &ENVIRONMENT),
        (Tag::Has("call_records"), &MODEL_CALL),
    ],
};

static RUNTIME: Record = Record {
    what: "a RuntimeEvent",
    fields: &[
        need("system_instance_id", Text),
        need("time_record", Of(&TIME)),
        need("metadata", Object),
        need("event_metadata", Maybe(&List(&Any))),
        need("actions", List(&StrictInt)),
    ],
    others: Some(UNKNOWN),
};

static ENVIRONMENT: Record = Record {
    what: "an EnvironmentEvent",
    fields: &[
        need("system_instance_id", Text),
        need("time_record", Of(&TIME)),
        need("metadata", Object),
        need("event_metadata", Maybe(&List(&Any))),
        need("reward", Number),
        need("terminated", Flag),
        need("truncated", Flag),
        need("system_state_before", Maybe(&Object)),
        need("system_state_after", Maybe(&Object)),
    ],
    others: Some(UNKNOWN),
};

static MODEL_CALL: Record = Record {
    what: "an LMCAISEvent",
    fields: &[
        need("system_instance_id", Text),
        need("time_record", Of(&TIME)),
        need("metadata", Object),
        need("event_metadata", Maybe(&List(&Any))),
        need("model_name", Text),
        need("provider", Maybe(&Text)),
        need("input_tokens", Maybe(&StrictInt)),
        need("output_tokens", Maybe(&StrictInt)),
        need("total_tokens", Maybe(&StrictInt)),
        need("cost_usd", Maybe(&Number)),
        need("latency_ms", Maybe(&StrictInt)),
        need("span_id", Maybe(&Text)),
        need("trace_id", Maybe(&Text)),
        need("system_state_before", Maybe(&Object)),
        need("system_state_after", Maybe(&Object)),
        need("call_records", List(&Of(&RECORD))),
    ],
    others: Some(UNKNOWN),
};

static RECORD: Record = Record {
    what: "a call record",
    fields: &[
        need("call_id", Text),
        need("api_type", Text),
        need("provider", Maybe(&Text)),
        need("model_name", Text),
        need("schema_version", Text),
        need("started_at", Maybe(&Time)),
        need("completed_at", Maybe(&Time)),
        need("latency_ms", Maybe(&StrictInt)),
        need("request_params", Of(&PARAMS)),
        need("input_messages", List(&Of(&CHAT))),
        need("input_text", Maybe(&Text)),
        need("tool_choice", Maybe(&Text)),
        need("output_messages", List(&Of(&CHAT))),
        need("outputs", List(&Of(&CHAT))),
        need("output_text", Maybe(&Text)),
        need("output_tool_calls", List(&Of(&CALL))),
        need("usage", Maybe(&Of(&USAGE))),
        need("finish_reason", Maybe(&Text)),
        need("choice_index", Maybe(&StrictInt)),
        need("tool_results", List(&Of(&RESULT))),
        need("chunks", Maybe(&List(&Of(&CHUNK)))),
        need("request_raw_json", Maybe(&Text)),
        need("response_raw_json", Maybe(&Text)),
        need("span_id", Maybe(&Text)),
        need("trace_id", Maybe(&Text)),
        need("provider_request_id", Maybe(&Text)),
        need("request_server_timing", Maybe(&Object)),
        need("metadata", Object),
        need("outcome", Maybe(&Word(&["success", "error", "timeout", "cancelled"]))),
        need("error", Maybe(&Object)),
        need("token_traces", Maybe(&List(&Object))),
        need("safety", Maybe(&Object)),
        need("refusal", Maybe(&Object)),
        need("redactions", Maybe(&List(&Object))),
    ],
    others: Some(UNKNOWN),
};

static PARAMS: Record = Record {
    what: "request_params",
    fields: &[
        need("temperature", Maybe(&Number)),
        need("top_p", Maybe(&Number)),
        need("max_tokens", Maybe(&StrictInt)),
        need("stop", Maybe(&List(&Text))),
        need("top_k", Maybe(&StrictInt)),
        need("presence_penalty", Maybe(&Number)),
        need("frequency_penalty", Maybe(&Number)),
        need("repetition_penalty", Maybe(&Number)),
        need("seed", Maybe(&StrictInt)),
        need("n", Maybe(&StrictInt)),
        need("best_of", Maybe(&StrictInt)),
        need("response_format", Maybe(&Object)),
        need("json_mode", Maybe(&Flag)),
        need("tool_config", Maybe(&Object)),
        need("raw_params", Object),
    ],
    others: Some("the package cannot rebuild it; put it into `raw_params`"),
};

static CHAT: Record = Record {
    what: "a message of a call",
    fields: &[
        need("role", Text),
        need("parts", List(&Of(&PART))),
        need("name", Maybe(&Text)),
        need("tool_call_id", Maybe(&Text)),
        need("metadata", Object),
    ],
    others: Some(UNKNOWN),
};

static PART: Record = Record {
    what: "a part",
    fields: &[
        need("type", Text),
        need("text", Maybe(&Text)),
        need("data", Maybe(&Object)),
        need("mime_type", Maybe(&Text)),
        need("uri", Maybe(&Text)),
        need("base64_data", Maybe(&Text)),
        need("size_bytes", Maybe(&StrictInt)),
        need("sha256", Maybe(&Text)),
        need("width", Maybe(&StrictInt)),
        need("height", Maybe(&StrictInt)),
        need("duration_ms", Maybe(&StrictInt)),
        need("sample_rate", Maybe(&StrictInt)),
        need("channels", Maybe(&StrictInt)),
        need("language", Maybe(&Text)),
    ],
    others: Some("the package cannot rebuild it; put it into `data`"),
};

static CALL: Record = Record {
    what: "a tool call",
    fields: &[
        need("name", Text),
        need("arguments_json", Text),
        need("arguments", Maybe(&Object)),
        need("call_id", Maybe(&Text)),
        need("index", Maybe(&StrictInt)),
        need("parent_call_id", Maybe(&Text)),
        need("metadata", Object),
    ],
    others: Some(UNKNOWN),
};

static RESULT: Record = Record {
    what: "a tool result",
    fields: &[
        need("call_id", Maybe(&Text)),
        need("output_text", Maybe(&Text)),
        need("exit_code", Maybe(&StrictInt)),
        need("status", Maybe(&Word(&["ok", "error"]))),
        need("error_message", Maybe(&Text)),
        need("started_at", Maybe(&Time)),
        need("completed_at", Maybe(&Time)),
        need("duration_ms", Maybe(&StrictInt)),
        need("metadata", Object),
    ],
    others: Some(UNKNOWN),
};

static USAGE: Record = Record {
    what: "usage",
    fields: &[
        need("input_tokens", Maybe(&StrictInt)),
        need("output_tokens", Maybe(&StrictInt)),
        need("total_tokens", Maybe(&StrictInt)),
        need("reasoning_tokens", Maybe(&StrictInt)),
        need("reasoning_input_tokens", Maybe(&StrictInt)),
        need("reasoning_output_tokens", Maybe(&StrictInt)),
        need("cache_write_tokens", Maybe(&StrictInt)),
        need("cache_read_tokens", Maybe(&StrictInt)),
        need("billable_input_tokens", Maybe(&StrictInt)),
        need("billable_output_tokens", Maybe(&StrictInt)),
        need("cost_usd", Maybe(&Number)),
    ],
    others: Some("the package cannot rebuild it; put it into the record's `metadata`"),
};

static CHUNK: Record = Record {
    what: "a chunk",
    fields: &[
        need("sequence_index", StrictInt),
        need("received_at", Time),
        need("event_type", Maybe(&Text)),
        need("choice_index", Maybe(&StrictInt)),
        need("raw_json", Maybe(&Text)),
        need("delta_text", Maybe(&Text)),
        need("delta", Maybe(&Object)),
        need("metadata", Object),
    ],
    others: Some(UNKNOWN),
};
