// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "rig", key: "gen_ai.prompt", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Text, rank: 2150, when: Condition { scope: &[], name: &["invoke_agent"], has: &[], lacks: &[], kinds: &[], attribute: &[("gen_ai.operation.name", "invoke_agent")] }, paths: &[], values: &[] },
    Rule { dialect: "rig", key: "gen_ai.completion", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Text, rank: 2150, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[("gen_ai.operation.name", "invoke_agent")] }, paths: &[], values: &[] },
    Rule { dialect: "rig", key: "agent_name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 5150, when: Condition { scope: &[], name: &["chat"], has: &[], lacks: &["gen_ai.operation.name"], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "agent")] },
    Rule { dialect: "rig", key: "gen_ai.tool.call.outcome", prefix: false, location: Location::Span, field: Field::FailureFlag, codec: Codec::Text, rank: 2150, when: Condition::ALWAYS, paths: &[], values: &[("error", "error")] },
    Rule { dialect: "rig", key: "gen_ai.tool.error.type", prefix: false, location: Location::Span, field: Field::FailureType, codec: Codec::Text, rank: 2150, when: Condition::ALWAYS, paths: &[], values: &[] },
];
