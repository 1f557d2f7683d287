// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "anthropic", key: "anthropic.message.stop_reason", prefix: false, location: Location::Span, field: Field::FinishReason, codec: Codec::Text, rank: 2270, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm, Kind::Detail], attribute: &[] }, paths: &[], values: &[] },
];
