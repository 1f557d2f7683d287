// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "openlit", key: "gen_ai.prompt", prefix: false, location: Location::Event("gen_ai.content.prompt"), field: Field::InputMessages, codec: Codec::RoleLines, rank: 1860, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[("telemetry.sdk.name", "openlit")] }, paths: &[], values: &[] },
    Rule { dialect: "openlit", key: "gen_ai.prompt", prefix: false, location: Location::Event("gen_ai.content.prompt"), field: Field::InputMessages, codec: Codec::RoleLines, rank: 1860, when: Condition { scope: &["openlit.otel.tracing"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openlit", key: "gen_ai.server.time_to_first_token", prefix: false, location: Location::Span, field: Field::FirstTokenSeconds, codec: Codec::Float, rank: 1860, when: Condition { scope: &["openlit.*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openlit", key: "gen_ai.workflow.input", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Json, rank: 3861, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent, Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openlit", key: "gen_ai.workflow.output", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 3861, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent, Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openlit", key: "gen_ai.workflow.type", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2860, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "openlit", key: "gen_ai.agent.task", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Text, rank: 3860, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent, Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openlit", key: "gen_ai.agent.actual_output", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 3860, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent, Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
];
