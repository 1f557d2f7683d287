// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "koog", key: "system_instructions", prefix: false, location: Location::Span, field: Field::System, codec: Codec::Json, rank: 2220, when: Condition { scope: &[], name: &[], has: &["koog.event.id"], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "koog", key: "gen_ai.agent.id", prefix: false, location: Location::Span, field: Field::AgentName, codec: Codec::Text, rank: 2220, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "koog", key: "koog.node.input", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Json, rank: 2220, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "koog", key: "koog.node.output", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 2220, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "koog", key: "koog.strategy.name", prefix: false, location: Location::Span, field: Field::Workflow, codec: Codec::Text, rank: 2220, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "koog", key: "koog.strategy.name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 5220, when: Condition { scope: &[], name: &[], has: &[], lacks: &["gen_ai.operation.name"], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "chain")] },
    Rule { dialect: "koog", key: "koog.node.id", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 5220, when: Condition { scope: &[], name: &[], has: &[], lacks: &["gen_ai.operation.name"], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "chain")] },
    Rule { dialect: "koog", key: "koog.node.id", prefix: false, location: Location::Span, field: Field::GraphNode, codec: Codec::Text, rank: 2220, when: Condition::ALWAYS, paths: &[], values: &[] },
];
