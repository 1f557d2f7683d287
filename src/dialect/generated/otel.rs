// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "otel", key: "exception.message", prefix: false, location: Location::Event("exception"), field: Field::FailureMessage, codec: Codec::Text, rank: 2330, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "otel", key: "exception.type", prefix: false, location: Location::Event("exception"), field: Field::FailureType, codec: Codec::Text, rank: 2330, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "otel", key: "exception.stacktrace", prefix: false, location: Location::Event("exception"), field: Field::FailureStacktrace, codec: Codec::Text, rank: 2330, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "otel", key: "tool", prefix: false, location: Location::Name, field: Field::ToolName, codec: Codec::Text, rank: 5330, when: Condition { scope: &[], name: &[], has: &["openinference.span.kind", "mcp.method.name"], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
];
