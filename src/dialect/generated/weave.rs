// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "weave", key: "wandb.thread_id", prefix: false, location: Location::Span, field: Field::SessionId, codec: Codec::Text, rank: 2960, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "weave", key: "wandb.is_turn", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2960, when: Condition::ALWAYS, paths: &[], values: &[] },
];
