// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "gemini_cli", key: "input_token_count", prefix: false, place: Place::Log("gemini_cli.api_response"), field: Field::UsageInput, codec: Codec::Int, rank: 2170, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "gemini_cli", key: "output_token_count", prefix: false, place: Place::Log("gemini_cli.api_response"), field: Field::UsageOutput, codec: Codec::Int, rank: 2170, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "gemini_cli", key: "total_token_count", prefix: false, place: Place::Log("gemini_cli.api_response"), field: Field::UsageTotal, codec: Codec::Int, rank: 2170, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "gemini_cli", key: "cached_content_token_count", prefix: false, place: Place::Log("gemini_cli.api_response"), field: Field::UsageCacheRead, codec: Codec::Int, rank: 2170, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "gemini_cli", key: "thoughts_token_count", prefix: false, place: Place::Log("gemini_cli.api_response"), field: Field::UsageReasoning, codec: Codec::Int, rank: 2170, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "gemini_cli", key: "function_name", prefix: false, place: Place::Log("gemini_cli.tool_call"), field: Field::ToolName, codec: Codec::Text, rank: 2170, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff, Kind::Detail], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "gemini_cli", key: "gen_ai.tool.call_id", prefix: false, place: Place::Span, field: Field::ToolCallId, codec: Codec::Text, rank: 2170, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff, Kind::Detail], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "gemini_cli", key: "gen_ai.input.messages", prefix: false, place: Place::Span, field: Field::ToolArguments, codec: Codec::Json, rank: 2170, when: Condition { scope: &["gemini-cli*", "gemini_cli*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &["args"], values: &[] },
    Rule { dialect: "gemini_cli", key: "gen_ai.output.messages", prefix: false, place: Place::Span, field: Field::ToolResult, codec: Codec::Json, rank: 2170, when: Condition { scope: &["gemini-cli*", "gemini_cli*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &["response.responseParts"], values: &[] },
    Rule { dialect: "gemini_cli", key: "gen_ai.operation.name", prefix: false, place: Place::Span, field: Field::Kind, codec: Codec::Text, rank: 3170, when: Condition::ALWAYS, paths: &[], values: &[("llm_call", "llm"), ("tool_call", "tool"), ("agent_call", "agent"), ("schedule_tool_calls", "plain"), ("user_prompt", "user_input"), ("system_prompt", "detail")] },
    Rule { dialect: "gemini_cli", key: "mcp_server_name", prefix: false, place: Place::Log("gemini_cli.tool_call"), field: Field::McpServer, codec: Codec::Text, rank: 2170, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "gemini_cli", key: "request_text", prefix: false, place: Place::Log("gemini_cli.api_request"), field: Field::InputMessages, codec: Codec::Json, rank: 2170, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "gemini_cli", key: "response_text", prefix: false, place: Place::Log("gemini_cli.api_response"), field: Field::OutputMessages, codec: Codec::Json, rank: 2170, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
];
