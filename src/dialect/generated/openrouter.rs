// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "openrouter", key: "gen_ai.completion", prefix: false, location: Location::Span, field: Field::ToolDefinitions, codec: Codec::Json, rank: 4870, when: Condition { scope: &["openrouter"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &["rawRequest.tools", "tools"], values: &[] },
    Rule { dialect: "openrouter", key: "gen_ai.usage.input_tokens.cached", prefix: false, location: Location::Span, field: Field::UsageCacheRead, codec: Codec::Int, rank: 3870, when: Condition { scope: &["openrouter"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openrouter", key: "gen_ai.usage.input_tokens.cache_write", prefix: false, location: Location::Span, field: Field::UsageCacheWrite, codec: Codec::Int, rank: 3870, when: Condition { scope: &["openrouter"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openrouter", key: "gen_ai.usage.output_tokens.reasoning", prefix: false, location: Location::Span, field: Field::UsageReasoning, codec: Codec::Int, rank: 3870, when: Condition { scope: &["openrouter"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openrouter", key: "span.input", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2870, when: Condition { scope: &["openrouter"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openrouter", key: "span.output", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2870, when: Condition { scope: &["openrouter"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openrouter", key: "trace.input", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2870, when: Condition { scope: &["openrouter"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openrouter", key: "trace.output", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2870, when: Condition { scope: &["openrouter"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openrouter", key: "attempt", prefix: false, location: Location::Name, field: Field::Kind, codec: Codec::Text, rank: 1870, when: Condition { scope: &["openrouter"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("generation", "detail"), ("provider attempt *", "detail")] },
];
