// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "google_adk_java", key: "gcp.vertex.agent.llm_request", prefix: false, place: Place::Span, field: Field::ModelRequested, codec: Codec::Json, rank: 2180, when: Condition::ALWAYS, paths: &["model"], values: &[] },
    Rule { dialect: "google_adk_java", key: "gcp.vertex.agent.llm_request", prefix: false, place: Place::Span, field: Field::InputMessages, codec: Codec::Json, rank: 2180, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &["contents"], values: &[] },
    Rule { dialect: "google_adk_java", key: "gcp.vertex.agent.llm_request", prefix: false, place: Place::Span, field: Field::System, codec: Codec::Json, rank: 2180, when: Condition::ALWAYS, paths: &["config.systemInstruction.parts"], values: &[] },
    Rule { dialect: "google_adk_java", key: "gcp.vertex.agent.llm_request", prefix: false, place: Place::Span, field: Field::ToolDefinitions, codec: Codec::Json, rank: 2180, when: Condition::ALWAYS, paths: &["config.tools"], values: &[] },
    Rule { dialect: "google_adk_java", key: "gcp.vertex.agent.llm_response", prefix: false, place: Place::Span, field: Field::ModelResponse, codec: Codec::Json, rank: 2180, when: Condition::ALWAYS, paths: &["modelVersion"], values: &[] },
    Rule { dialect: "google_adk_java", key: "gcp.vertex.agent.llm_response", prefix: false, place: Place::Span, field: Field::OutputMessages, codec: Codec::Json, rank: 2180, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &["content", "."], values: &[] },
    Rule { dialect: "google_adk_java", key: "gen_ai.tool_call.id", prefix: false, place: Place::Span, field: Field::ToolCallId, codec: Codec::Text, rank: 2180, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff, Kind::Detail], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "google_adk_java", key: "gcp.vertex.agent.tool_call_args", prefix: false, place: Place::Span, field: Field::ToolArguments, codec: Codec::Json, rank: 2180, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "google_adk_java", key: "gcp.vertex.agent.tool_response", prefix: false, place: Place::Span, field: Field::ToolResult, codec: Codec::Json, rank: 2180, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &["result", "."], values: &[] },
    Rule { dialect: "google_adk_java", key: "gcp.vertex.agent.session_id", prefix: false, place: Place::Span, field: Field::SessionId, codec: Codec::Text, rank: 3180, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "google_adk_java", key: "gen_ai.operation.name", prefix: false, place: Place::Span, field: Field::Kind, codec: Codec::Text, rank: 3180, when: Condition::ALWAYS, paths: &[], values: &[("call_llm", "llm")] },
    Rule { dialect: "google_adk_java", key: "call_llm", prefix: false, place: Place::Name, field: Field::Kind, codec: Codec::Text, rank: 5180, when: Condition { scope: &["gcp.vertex.agent"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("call_llm", "llm")] },
    Rule { dialect: "google_adk_java", key: "call_llm", prefix: false, place: Place::Name, field: Field::Kind, codec: Codec::Text, rank: 5180, when: Condition { scope: &[], name: &[], has: &["gcp.vertex.agent.*"], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("call_llm", "llm")] },
    Rule { dialect: "google_adk_java", key: "call_llm", prefix: false, place: Place::Name, field: Field::Kind, codec: Codec::Text, rank: 5180, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[("target", "adk_*")] }, paths: &[], values: &[("call_llm", "llm")] },
];
