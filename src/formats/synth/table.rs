//! The package's classes with all their fields: `to_dict` writes every one.

use crate::document::records::{records, variants};
use crate::document::shape::Shape::{Any, Deferred, Flag, List, Maybe, Number, Object, Of, OneOf, StrictInt, Text, Time, Word};
use crate::document::source::Otherwise;

const UNKNOWN: &str = "the package cannot rebuild it; put it into `metadata`";

records! {
    SESSION "a session", only UNKNOWN {
        need session_id: Text;
        need created_at: Time;
        need session_time_steps: List(&Of(&STEP));
        need event_history: List(&Deferred(&Object, &OneOf(&EVENT)));
        need markov_blanket_message_history: List(&Of(&MESSAGE));
        need metadata: Object;
        need session_metadata: Maybe(&List(&Object));
    }
    STEP "a time step", only "the package cannot rebuild it; put it into `step_metadata`" {
        need step_id: Text;
        need step_index: StrictInt;
        need timestamp: Time;
        need turn_number: Maybe(&StrictInt);
        need events: List(&Deferred(&Object, &OneOf(&EVENT)));
        need markov_blanket_messages: List(&Of(&MESSAGE));
        need step_metadata: Object;
        need completed_at: Maybe(&Time);
    }
}

/// The documentation's message types, and those of the package's store.
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

records! {
    MESSAGE "a message", only UNKNOWN {
        need content: Of(&CONTENT);
        need message_type: Word(MESSAGE_TYPES);
        need time_record: Of(&TIME);
        need metadata: Object;
    }
    CONTENT "the content of a message", only "the package cannot rebuild it; put it into the message's `metadata`" {
        need text: Maybe(&Text);
        need json_payload: Maybe(&Text);
    }
    TIME "a time record", only "the package cannot rebuild it" {
        need event_time: Number;
        need message_time: Maybe(&StrictInt);
    }
}

variants! {
    /// The classes of events, which only differ in their fields.
    EVENT "an event" {} of {
        (has actions) => RUNTIME;
        (has reward) => ENVIRONMENT;
        (has call_records) => MODEL_CALL;
    }
}

records! {
    RUNTIME "a RuntimeEvent", only UNKNOWN {
        need system_instance_id: Text;
        need time_record: Of(&TIME);
        need metadata: Object;
        need event_metadata: Maybe(&List(&Any));
        need actions: List(&StrictInt);
    }
    ENVIRONMENT "an EnvironmentEvent", only UNKNOWN {
        need system_instance_id: Text;
        need time_record: Of(&TIME);
        need metadata: Object;
        need event_metadata: Maybe(&List(&Any));
        need reward: Number;
        need terminated: Flag;
        need truncated: Flag;
        need system_state_before: Maybe(&Object);
        need system_state_after: Maybe(&Object);
    }
    MODEL_CALL "an LMCAISEvent", only UNKNOWN {
        need system_instance_id: Text;
        need time_record: Of(&TIME);
        need metadata: Object;
        need event_metadata: Maybe(&List(&Any));
        need model_name: Text;
        need provider: Maybe(&Text);
        need input_tokens: Maybe(&StrictInt);
        need output_tokens: Maybe(&StrictInt);
        need total_tokens: Maybe(&StrictInt);
        need cost_usd: Maybe(&Number);
        need latency_ms: Maybe(&StrictInt);
        need span_id: Maybe(&Text);
        need trace_id: Maybe(&Text);
        need system_state_before: Maybe(&Object);
        need system_state_after: Maybe(&Object);
        need call_records: List(&Of(&RECORD));
    }
    RECORD "a call record", only UNKNOWN {
        need call_id: Text;
        need api_type: Text;
        need provider: Maybe(&Text);
        need model_name: Text;
        need schema_version: Text, usually(Otherwise::Text("1.0"));
        need started_at: Maybe(&Time);
        need completed_at: Maybe(&Time);
        need latency_ms: Maybe(&StrictInt);
        need request_params: Of(&PARAMS);
        need input_messages: List(&Of(&CHAT));
        need input_text: Maybe(&Text);
        need tool_choice: Maybe(&Text);
        need output_messages: List(&Of(&CHAT));
        need outputs: List(&Of(&CHAT));
        need output_text: Maybe(&Text);
        need output_tool_calls: List(&Of(&CALL));
        need usage: Maybe(&Of(&USAGE));
        need finish_reason: Maybe(&Text);
        need choice_index: Maybe(&StrictInt);
        need tool_results: List(&Of(&RESULT));
        need chunks: Maybe(&List(&Of(&CHUNK)));
        need request_raw_json: Maybe(&Text);
        need response_raw_json: Maybe(&Text);
        need span_id: Maybe(&Text);
        need trace_id: Maybe(&Text);
        need provider_request_id: Maybe(&Text);
        need request_server_timing: Maybe(&Object);
        need metadata: Object;
        need outcome: Maybe(&Word(&["success", "error", "timeout", "cancelled"]));
        need error: Maybe(&Object);
        need token_traces: Maybe(&List(&Object));
        need safety: Maybe(&Object);
        need refusal: Maybe(&Object);
        need redactions: Maybe(&List(&Object));
    }
    PARAMS "request_params", only "the package cannot rebuild it; put it into `raw_params`" {
        need temperature: Maybe(&Number);
        need top_p: Maybe(&Number);
        need max_tokens: Maybe(&StrictInt);
        need stop: Maybe(&List(&Text));
        need top_k: Maybe(&StrictInt);
        need presence_penalty: Maybe(&Number);
        need frequency_penalty: Maybe(&Number);
        need repetition_penalty: Maybe(&Number);
        need seed: Maybe(&StrictInt);
        need n: Maybe(&StrictInt);
        need best_of: Maybe(&StrictInt);
        need response_format: Maybe(&Object);
        need json_mode: Maybe(&Flag);
        need tool_config: Maybe(&Object);
        need raw_params: Object;
    }
    CHAT "a message of a call", only UNKNOWN {
        need role: Text;
        need parts: List(&Of(&PART));
        need name: Maybe(&Text);
        need tool_call_id: Maybe(&Text);
        need metadata: Object;
    }
    PART "a part", only "the package cannot rebuild it; put it into `data`" {
        need type: Text;
        need text: Maybe(&Text);
        need data: Maybe(&Object);
        need mime_type: Maybe(&Text);
        need uri: Maybe(&Text);
        need base64_data: Maybe(&Text);
        need size_bytes: Maybe(&StrictInt);
        need sha256: Maybe(&Text);
        need width: Maybe(&StrictInt);
        need height: Maybe(&StrictInt);
        need duration_ms: Maybe(&StrictInt);
        need sample_rate: Maybe(&StrictInt);
        need channels: Maybe(&StrictInt);
        need language: Maybe(&Text);
    }
    CALL "a tool call", only UNKNOWN {
        need name: Text;
        need arguments_json: Text;
        need arguments: Maybe(&Object);
        need call_id: Maybe(&Text);
        need index: Maybe(&StrictInt);
        need parent_call_id: Maybe(&Text);
        need metadata: Object;
    }
    RESULT "a tool result", only UNKNOWN {
        need call_id: Maybe(&Text);
        need output_text: Maybe(&Text);
        need exit_code: Maybe(&StrictInt);
        need status: Maybe(&Word(&["ok", "error"]));
        need error_message: Maybe(&Text);
        need started_at: Maybe(&Time);
        need completed_at: Maybe(&Time);
        need duration_ms: Maybe(&StrictInt);
        need metadata: Object;
    }
    USAGE "usage", only "the package cannot rebuild it; put it into the record's `metadata`" {
        need input_tokens: Maybe(&StrictInt);
        need output_tokens: Maybe(&StrictInt);
        need total_tokens: Maybe(&StrictInt);
        need reasoning_tokens: Maybe(&StrictInt);
        need reasoning_input_tokens: Maybe(&StrictInt);
        need reasoning_output_tokens: Maybe(&StrictInt);
        need cache_write_tokens: Maybe(&StrictInt);
        need cache_read_tokens: Maybe(&StrictInt);
        need billable_input_tokens: Maybe(&StrictInt);
        need billable_output_tokens: Maybe(&StrictInt);
        need cost_usd: Maybe(&Number);
    }
    CHUNK "a chunk", only UNKNOWN {
        need sequence_index: StrictInt;
        need received_at: Time;
        need event_type: Maybe(&Text);
        need choice_index: Maybe(&StrictInt);
        need raw_json: Maybe(&Text);
        need delta_text: Maybe(&Text);
        need delta: Maybe(&Object);
        need metadata: Object;
    }
}
