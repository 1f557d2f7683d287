// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "openllmetry_old", key: "gen_ai.usage.prompt_tokens", prefix: false, location: Location::Span, field: Field::UsageInput, codec: Codec::Int, rank: 2240, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "openllmetry_old", key: "gen_ai.usage.completion_tokens", prefix: false, location: Location::Span, field: Field::UsageOutput, codec: Codec::Int, rank: 2240, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "openllmetry_old", key: "llm.usage.total_tokens", prefix: false, location: Location::Span, field: Field::UsageTotal, codec: Codec::Int, rank: 2240, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "openllmetry_old", key: "gen_ai.usage.cache_read_input_tokens", prefix: false, location: Location::Span, field: Field::UsageCacheRead, codec: Codec::Int, rank: 2240, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "openllmetry_old", key: "gen_ai.usage.cache_creation_input_tokens", prefix: false, location: Location::Span, field: Field::UsageCacheWrite, codec: Codec::Int, rank: 2240, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "openllmetry_old", key: "llm.usage.reasoning_tokens", prefix: false, location: Location::Span, field: Field::UsageReasoning, codec: Codec::Int, rank: 2240, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "openllmetry_old", key: "llm.request.type", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 3240, when: Condition::ALWAYS, paths: &[], values: &[("chat", "llm"), ("completion", "llm"), ("response", "llm"), ("responses", "llm"), ("rerank", "rerank"), ("embedding", "embedding")] },
    Rule { dialect: "openllmetry_old", key: "gen_ai.prompt.", prefix: true, location: Location::Span, field: Field::InputMessages, codec: Codec::Flat, rank: 2240, when: Condition { scope: &[], name: &[], has: &[], lacks: &["gen_ai.prompt.name"], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openllmetry_old", key: "gen_ai.prompt.", prefix: true, location: Location::Span, field: Field::EmbeddedTexts, codec: Codec::Flat, rank: 2240, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Embedding], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openllmetry_old", key: "gen_ai.completion.", prefix: true, location: Location::Span, field: Field::OutputMessages, codec: Codec::Flat, rank: 2240, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openllmetry_old", key: "llm.frequency_penalty", prefix: false, location: Location::Span, field: Field::Parameter, codec: Codec::Json, rank: 2240, when: Condition::ALWAYS, paths: &[], values: &[("llm.frequency_penalty", "frequency_penalty")] },
    Rule { dialect: "openllmetry_old", key: "llm.presence_penalty", prefix: false, location: Location::Span, field: Field::Parameter, codec: Codec::Json, rank: 2240, when: Condition::ALWAYS, paths: &[], values: &[("llm.presence_penalty", "presence_penalty")] },
    Rule { dialect: "openllmetry_old", key: "llm.top_k", prefix: false, location: Location::Span, field: Field::Parameter, codec: Codec::Json, rank: 2240, when: Condition::ALWAYS, paths: &[], values: &[("llm.top_k", "top_k")] },
    Rule { dialect: "openllmetry_old", key: "llm.chat.stop_sequences", prefix: false, location: Location::Span, field: Field::Parameter, codec: Codec::Json, rank: 2240, when: Condition::ALWAYS, paths: &[], values: &[("llm.chat.stop_sequences", "stop")] },
    Rule { dialect: "openllmetry_old", key: "gen_ai.completion.0.finish_reason", prefix: false, location: Location::Span, field: Field::FinishReason, codec: Codec::Text, rank: 2240, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openllmetry_old", key: "llm.request.functions.", prefix: true, location: Location::Span, field: Field::ToolDefinitions, codec: Codec::Flat, rank: 2240, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "openllmetry_old", key: "", prefix: false, location: Location::Event("llm.content.completion.chunk"), field: Field::FirstTokenTime, codec: Codec::Time, rank: 2240, when: Condition::ALWAYS, paths: &[], values: &[] },
];
