// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "sentry", key: "gen_ai.request.messages", prefix: false, location: Location::Span, field: Field::InputMessages, codec: Codec::Json, rank: 3861, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "gen_ai.request.messages", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Json, rank: 3861, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent, Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "gen_ai.response.", prefix: true, location: Location::Span, field: Field::OutputMessages, codec: Codec::ResponseMembers, rank: 3861, when: Condition { scope: &[], name: &[], has: &["gen_ai.response.text", "gen_ai.response.tool_calls"], lacks: &["gen_ai.output.messages"], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "gen_ai.response.text", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 3861, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent, Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "gen_ai.response.tool_calls", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2860, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "gen_ai.request.available_tools", prefix: false, location: Location::Span, field: Field::ToolDefinitions, codec: Codec::Json, rank: 3861, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "ai.input_messages", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 3860, when: Condition::ALWAYS, paths: &[], values: &[("*", "llm")] },
    Rule { dialect: "sentry", key: "ai.input_messages", prefix: false, location: Location::Span, field: Field::InputMessages, codec: Codec::Json, rank: 3862, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "ai.responses", prefix: false, location: Location::Span, field: Field::OutputMessages, codec: Codec::Json, rank: 3862, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "ai.model_id", prefix: false, location: Location::Span, field: Field::ModelRequested, codec: Codec::Text, rank: 3860, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "ai.prompt_tokens.used", prefix: false, location: Location::Span, field: Field::UsageInput, codec: Codec::Int, rank: 3860, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "ai.completion_tokens.used", prefix: false, location: Location::Span, field: Field::UsageOutput, codec: Codec::Int, rank: 3860, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "ai.total_tokens.used", prefix: false, location: Location::Span, field: Field::UsageTotal, codec: Codec::Int, rank: 3860, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "mcp.tool.name", prefix: false, location: Location::Span, field: Field::ToolName, codec: Codec::Text, rank: 2860, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "mcp.request.argument.", prefix: true, location: Location::Span, field: Field::ToolArguments, codec: Codec::MapOfJsonText, rank: 2860, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "mcp.tool.result.content", prefix: false, location: Location::Span, field: Field::ToolResult, codec: Codec::Json, rank: 2860, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "mcp.tool.result.is_error", prefix: false, location: Location::Span, field: Field::FailureFlag, codec: Codec::Bool, rank: 2860, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[("true", "error")] },
    Rule { dialect: "sentry", key: "mcp.tool.result.content_count", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2860, when: Condition::ALWAYS, paths: &[], values: &[] },
];
