// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "brokle", key: "brokle.span.type", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2700, when: Condition::ALWAYS, paths: &[], values: &[("generation", "llm"), ("tool", "tool"), ("agent", "agent"), ("chain", "chain"), ("workflow", "chain"), ("span", "chain"), ("retrieval", "retrieval"), ("embedding", "embedding"), ("rerank", "rerank"), ("evaluator", "evaluator"), ("guardrail", "guardrail"), ("event", "event")] },
    Rule { dialect: "brokle", key: "gen_ai.tool.name", prefix: false, location: Location::Span, field: Field::AgentName, codec: Codec::Text, rank: 3700, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[("brokle.span.type", "agent")] }, paths: &[], values: &[] },
    Rule { dialect: "brokle", key: "brokle.usage.total_tokens", prefix: false, location: Location::Span, field: Field::UsageTotal, codec: Codec::Int, rank: 2700, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "brokle", key: "brokle.usage.latency_ms", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2700, when: Condition::ALWAYS, paths: &[], values: &[] },
];
