// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "agentscope", key: "gen_ai.operation.name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2680, when: Condition { scope: &[], name: &[], has: &["agentscope.function.name"], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("format", "chain"), ("formatter", "chain"), ("invoke_generic_function", "chain")] },
    Rule { dialect: "agentscope", key: "agentscope.function.input", prefix: false, location: Location::Span, field: Field::InputMessages, codec: Codec::Json, rank: 3680, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &["kwargs.messages", "args.0"], values: &[] },
    Rule { dialect: "agentscope", key: "agentscope.function.input", prefix: false, location: Location::Span, field: Field::ToolDefinitions, codec: Codec::Json, rank: 3680, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &["kwargs.tools"], values: &[] },
    Rule { dialect: "agentscope", key: "agentscope.function.input", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Json, rank: 2680, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "agentscope", key: "agentscope.function.output", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 2680, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "agentscope", key: "agentscope.usage.cache_input_tokens", prefix: false, location: Location::Span, field: Field::UsageCacheRead, codec: Codec::Int, rank: 3680, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "agentscope", key: "agentscope.usage.cache_creation_input_tokens", prefix: false, location: Location::Span, field: Field::UsageCacheWrite, codec: Codec::Int, rank: 3680, when: Condition::ALWAYS, paths: &[], values: &[] },
];
