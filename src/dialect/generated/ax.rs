// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "ax", key: "signature_name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 5530, when: Condition { scope: &["ax"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "agent")] },
    Rule { dialect: "ax", key: "signature_name", prefix: false, location: Location::Span, field: Field::Workflow, codec: Codec::Text, rank: 2530, when: Condition { scope: &["ax"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "ax", key: "function.id", prefix: false, location: Location::Span, field: Field::ToolCallId, codec: Codec::Text, rank: 2530, when: Condition { scope: &["ax"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "ax", key: "provided_functions", prefix: false, location: Location::Span, field: Field::ToolDefinitions, codec: Codec::CommaSeparated, rank: 2530, when: Condition { scope: &["ax"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "ax", key: "gen_ai.request.llm_is_streaming", prefix: false, location: Location::Span, field: Field::Parameter, codec: Codec::Bool, rank: 2530, when: Condition { scope: &["ax"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("gen_ai.request.llm_is_streaming", "stream")] },
    Rule { dialect: "ax", key: "gen_ai.usage.input_tokens", prefix: false, location: Location::Event("gen_ai.usage"), field: Field::UsageInput, codec: Codec::Int, rank: 2530, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "ax", key: "gen_ai.usage.output_tokens", prefix: false, location: Location::Event("gen_ai.usage"), field: Field::UsageOutput, codec: Codec::Int, rank: 2530, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "ax", key: "gen_ai.usage.thoughts_tokens", prefix: false, location: Location::Event("gen_ai.usage"), field: Field::UsageReasoning, codec: Codec::Int, rank: 2530, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "ax", key: "finish_reason", prefix: false, location: Location::Event("gen_ai.choice"), field: Field::FinishReason, codec: Codec::Text, rank: 2530, when: Condition { scope: &["ax"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "ax", key: "message", prefix: false, location: Location::Event("function.error"), field: Field::FailureMessage, codec: Codec::Text, rank: 2530, when: Condition { scope: &["ax"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "ax", key: "name", prefix: false, location: Location::Event("function.error"), field: Field::FailureFlag, codec: Codec::Text, rank: 2530, when: Condition { scope: &["ax"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[("*", "error")] },
    Rule { dialect: "ax", key: "ax", prefix: false, location: Location::Name, field: Field::Kind, codec: Codec::Text, rank: 5530, when: Condition { scope: &["ax"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("Tool: *", "tool"), ("AxGen", "agent"), ("AxAgent", "agent"), ("AxFlow", "chain"), ("MCP *", "detail")] },
];
