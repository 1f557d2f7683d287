// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "openinference_vercel", key: "metadata.sessionId", prefix: false, location: Location::Span, field: Field::SessionId, codec: Codec::Text, rank: 4100, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "openinference_vercel", key: "tool.parameters", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::NotSchema, rank: 4100, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openinference_vercel", key: "metadata.", prefix: true, location: Location::Span, field: Field::Metadata, codec: Codec::Map, rank: 2100, when: Condition::ALWAYS, paths: &[], values: &[] },
];
