// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "voltagent", key: "llm.messages", prefix: false, place: Place::Span, field: Field::InputMessages, codec: Codec::Json, rank: 190, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "voltagent", key: "usage.prompt_tokens", prefix: false, place: Place::Span, field: Field::UsageInput, codec: Codec::Int, rank: 140, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "voltagent", key: "llm.usage.prompt_tokens", prefix: false, place: Place::Span, field: Field::UsageInput, codec: Codec::Int, rank: 141, when: Condition::ALWAYS, paths: &[], values: &[] },
];
