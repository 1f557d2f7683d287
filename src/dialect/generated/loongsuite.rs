// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "loongsuite", key: "gen_ai.session.id", prefix: false, location: Location::Span, field: Field::SessionId, codec: Codec::Text, rank: 3811, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "loongsuite", key: "gen_ai.user.id", prefix: false, location: Location::Span, field: Field::UserId, codec: Codec::Text, rank: 3811, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "loongsuite", key: "gen_ai.model_name", prefix: false, location: Location::Span, field: Field::ModelRequested, codec: Codec::Text, rank: 3812, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "loongsuite", key: "gen_ai.react.round", prefix: false, location: Location::Span, field: Field::Step, codec: Codec::Int, rank: 2810, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "loongsuite", key: "gen_ai.react.finish_reason", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2810, when: Condition::ALWAYS, paths: &[], values: &[] },
];
