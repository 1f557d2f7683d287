// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "vllm", key: "gen_ai.latency.e2e", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 3950, when: Condition { scope: &[], name: &[], has: &["gen_ai.usage.completion_tokens", "gen_ai.usage.output_tokens", "gen_ai.response.model"], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "llm")] },
    Rule { dialect: "vllm", key: "gen_ai.latency.e2e", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2950, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "vllm", key: "gen_ai.latency.time_to_first_token", prefix: false, location: Location::Span, field: Field::FirstTokenSeconds, codec: Codec::Float, rank: 2950, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "vllm", key: "gen_ai.request.id", prefix: false, location: Location::Span, field: Field::ResponseId, codec: Codec::Text, rank: 3952, when: Condition { scope: &[], name: &[], has: &["gen_ai.latency.e2e"], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "vllm", key: "gen_ai.request.n", prefix: false, location: Location::Span, field: Field::Parameter, codec: Codec::Int, rank: 2950, when: Condition::ALWAYS, paths: &[], values: &[("gen_ai.request.n", "n")] },
];
