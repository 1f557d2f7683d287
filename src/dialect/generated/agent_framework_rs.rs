// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "agent_framework_rs", key: "otel.status_message", prefix: false, location: Location::Span, field: Field::FailureMessage, codec: Codec::Text, rank: 2360, when: Condition::ALWAYS, paths: &[], values: &[] },
];
