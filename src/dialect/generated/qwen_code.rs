// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "qwen_code", key: "new_context", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::MarkedJson, rank: 2900, when: Condition { scope: &["qwen-code*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent, Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "qwen_code", key: "response.model_output", prefix: false, location: Location::Span, field: Field::OutputMessages, codec: Codec::PlainText, rank: 3900, when: Condition { scope: &["qwen-code*"], name: &[], has: &[], lacks: &["gen_ai.output.messages"], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "qwen_code", key: "system_prompt", prefix: false, location: Location::Span, field: Field::System, codec: Codec::PlainText, rank: 3900, when: Condition { scope: &["qwen-code*"], name: &[], has: &[], lacks: &["gen_ai.system_instructions"], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "qwen_code", key: "tool_input", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::MarkedJson, rank: 3900, when: Condition { scope: &["qwen-code*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "qwen_code", key: "tool_result", prefix: false, location: Location::Span, field: Field::ToolResult, codec: Codec::MarkedJson, rank: 3900, when: Condition { scope: &["qwen-code*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "qwen_code", key: "thoughts_token_count", prefix: false, location: Location::Span, field: Field::UsageReasoning, codec: Codec::Int, rank: 3900, when: Condition { scope: &["qwen-code*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "qwen_code", key: "ttft_ms", prefix: false, location: Location::Span, field: Field::FirstTokenMillis, codec: Codec::Float, rank: 3900, when: Condition { scope: &["qwen-code*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
];
