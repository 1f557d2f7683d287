// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "strands", key: "gen_ai.usage.cache_write_input_tokens", prefix: false, location: Location::Span, field: Field::UsageCacheWrite, codec: Codec::Int, rank: 2130, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "strands", key: "gen_ai.tool.json_schema", prefix: false, location: Location::Span, field: Field::ToolParameters, codec: Codec::Json, rank: 2130, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "strands", key: "gen_ai.input.messages", prefix: false, location: Location::Event("gen_ai.client.inference.operation.details"), field: Field::ToolArguments, codec: Codec::Json, rank: 2130, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &["0.parts.0.arguments"], values: &[] },
    Rule { dialect: "strands", key: "gen_ai.output.messages", prefix: false, location: Location::Event("gen_ai.client.inference.operation.details"), field: Field::ToolResult, codec: Codec::Json, rank: 2130, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &["0.parts.0.response", "0.parts.0.result"], values: &[] },
    Rule { dialect: "strands", key: "gen_ai.agent.tools", prefix: false, location: Location::Span, field: Field::ToolDefinitions, codec: Codec::Json, rank: 2130, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "strands", key: "gen_ai.agent.tools", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Json, rank: 2130, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "strands", key: "gen_ai.operation.name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 3130, when: Condition::ALWAYS, paths: &[], values: &[("execute_event_loop_cycle", "chain"), ("execute_structured_output", "llm")] },
    Rule { dialect: "strands", key: "gen_ai.server.time_to_first_token", prefix: false, location: Location::Span, field: Field::FirstTokenMillis, codec: Codec::Float, rank: 2130, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "strands", key: "gen_ai.tool.status", prefix: false, location: Location::Span, field: Field::FailureFlag, codec: Codec::Text, rank: 2130, when: Condition::ALWAYS, paths: &[], values: &[("error", "error")] },
    Rule { dialect: "strands", key: "system_prompt", prefix: false, location: Location::Span, field: Field::System, codec: Codec::Json, rank: 2130, when: Condition { scope: &["strands.*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent], attribute: &[] }, paths: &[], values: &[] },
];
