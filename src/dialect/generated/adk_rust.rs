// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "adk_rust", key: "gcp.vertex.agent.llm_request", prefix: false, place: Place::Span, field: Field::ModelRequested, codec: Codec::Json, rank: 2250, when: Condition::ALWAYS, paths: &["model"], values: &[] },
    Rule { dialect: "adk_rust", key: "model.name", prefix: false, place: Place::Span, field: Field::ModelRequested, codec: Codec::Text, rank: 2250, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[("target", "adk_*")] }, paths: &[], values: &[] },
    Rule { dialect: "adk_rust", key: "gen_ai.usage.cache_read_tokens", prefix: false, place: Place::Span, field: Field::UsageCacheRead, codec: Codec::Int, rank: 2250, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "adk_rust", key: "gen_ai.usage.thinking_tokens", prefix: false, place: Place::Span, field: Field::UsageReasoning, codec: Codec::Int, rank: 2250, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "adk_rust", key: "function_call.id", prefix: false, place: Place::Span, field: Field::ToolCallId, codec: Codec::Text, rank: 2250, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff, Kind::Detail], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "adk_rust", key: "tool.args", prefix: false, place: Place::Event("tool_call"), field: Field::ToolArguments, codec: Codec::Json, rank: 2250, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "adk_rust", key: "tool.result", prefix: false, place: Place::Event("tool_result"), field: Field::ToolResult, codec: Codec::Json, rank: 2250, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "adk_rust", key: "agent.description", prefix: false, place: Place::Span, field: Field::AgentDescription, codec: Codec::Text, rank: 2250, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "adk_rust", key: "adk.user_id", prefix: false, place: Place::Span, field: Field::UserId, codec: Codec::Text, rank: 2250, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "adk_rust", key: "", prefix: false, place: Place::Event("tool_result"), field: Field::ToolResultOfChild, codec: Codec::Json, rank: 2250, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[("target", "adk_*")] }, paths: &[], values: &[] },
    Rule { dialect: "adk_rust", key: "", prefix: false, place: Place::Event("tool_error"), field: Field::ToolResultOfChild, codec: Codec::Json, rank: 2251, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[("target", "adk_*")] }, paths: &[], values: &[] },
    Rule { dialect: "adk_rust", key: "adk_rust", prefix: false, place: Place::Name, field: Field::Kind, codec: Codec::Text, rank: 5250, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[("target", "adk_*")] }, paths: &[], values: &[("agent.execute", "agent"), ("execute_tool *", "tool"), ("execute", "detail"), ("run", "detail"), ("model.generate_content", "detail"), ("gen_ai.generate", "detail")] },
    Rule { dialect: "adk_rust", key: "adk_rust", prefix: false, place: Place::Name, field: Field::Kind, codec: Codec::Text, rank: 5250, when: Condition { scope: &[], name: &[], has: &["gcp.vertex.agent.*"], lacks: &["gen_ai.operation.name"], kinds: &[], attribute: &[] }, paths: &[], values: &[("agent.execute", "agent"), ("execute_tool *", "tool"), ("execute", "detail"), ("run", "detail"), ("model.generate_content", "detail"), ("gen_ai.generate", "detail")] },
];
