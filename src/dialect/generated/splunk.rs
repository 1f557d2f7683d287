// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "splunk", key: "gen_ai.step.type", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 5550, when: Condition::ALWAYS, paths: &[], values: &[("*", "chain")] },
    Rule { dialect: "splunk", key: "gen_ai.step.name", prefix: false, location: Location::Span, field: Field::GraphNode, codec: Codec::Text, rank: 2550, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "splunk", key: "gen_ai.step.objective", prefix: false, location: Location::Span, field: Field::TaskDescription, codec: Codec::Text, rank: 2550, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "splunk", key: "gen_ai.workflow.initial_input", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Json, rank: 2550, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "splunk", key: "gen_ai.workflow.final_output", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 2550, when: Condition::ALWAYS, paths: &[], values: &[] },
];
