// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "codex", key: "model", prefix: false, place: Place::Span, field: Field::ModelRequested, codec: Codec::Text, rank: 2280, when: Condition { scope: &["codex*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "codex", key: "input_token_count", prefix: false, place: Place::Log("codex.sse_event"), field: Field::UsageInput, codec: Codec::Text, rank: 2280, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "codex", key: "output_token_count", prefix: false, place: Place::Log("codex.sse_event"), field: Field::UsageOutput, codec: Codec::Text, rank: 2280, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "codex", key: "cached_token_count", prefix: false, place: Place::Log("codex.sse_event"), field: Field::UsageCacheRead, codec: Codec::Int, rank: 2280, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "codex", key: "duration_ms", prefix: false, place: Place::Log("codex.turn_ttft"), field: Field::FirstTokenMillis, codec: Codec::Float, rank: 2280, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "codex", key: "codex.turn.token_usage.cache_write_input_tokens", prefix: false, place: Place::Span, field: Field::UsageCacheWrite, codec: Codec::Int, rank: 2280, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "codex", key: "codex.usage.reasoning_output_tokens", prefix: false, place: Place::Span, field: Field::UsageReasoning, codec: Codec::Int, rank: 2280, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "codex", key: "tool_name", prefix: false, place: Place::Span, field: Field::ToolName, codec: Codec::Text, rank: 2280, when: Condition { scope: &["codex*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff, Kind::Detail], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "codex", key: "call_id", prefix: false, place: Place::Span, field: Field::ToolCallId, codec: Codec::Text, rank: 2280, when: Condition { scope: &["codex*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff, Kind::Detail], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "codex", key: "arguments", prefix: false, place: Place::LogNear("codex.tool_result"), field: Field::ToolArguments, codec: Codec::Json, rank: 2280, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "codex", key: "output", prefix: false, place: Place::LogNear("codex.tool_result"), field: Field::ToolResult, codec: Codec::Text, rank: 2280, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "codex", key: "agent_name", prefix: false, place: Place::Log("codex.tool_result"), field: Field::AgentName, codec: Codec::Text, rank: 2280, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "codex", key: "conversation.id", prefix: false, place: Place::Span, field: Field::SessionId, codec: Codec::Text, rank: 2280, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "codex", key: "success", prefix: false, place: Place::Span, field: Field::FailureFlag, codec: Codec::Text, rank: 2280, when: Condition { scope: &["codex*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("false", "error")] },
    Rule { dialect: "codex", key: "mcp_server", prefix: false, place: Place::Log("codex.tool_result"), field: Field::McpServer, codec: Codec::Text, rank: 2280, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "codex", key: "prompt", prefix: false, place: Place::LogNear("codex.user_prompt"), field: Field::InputMessages, codec: Codec::Text, rank: 2280, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "codex", key: "codex", prefix: false, place: Place::Name, field: Field::Kind, codec: Codec::Text, rank: 5280, when: Condition { scope: &["codex*"], name: &[], has: &["gen_ai.usage.input_tokens"], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("handle_responses", "llm")] },
    Rule { dialect: "codex", key: "codex", prefix: false, place: Place::Name, field: Field::Kind, codec: Codec::Text, rank: 5280, when: Condition { scope: &["codex*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[("codex.tool.phase", "dispatch")] }, paths: &[], values: &[("*", "tool")] },
];
