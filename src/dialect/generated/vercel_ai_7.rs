// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[Rule {
    dialect: t("vercel_ai_7"),
    key: t("gen_ai.operation.name"),
    prefix: false,
    place: Place::Span,
    field: Field::Kind,
    codec: Codec::Text,
    rank: 120,
    when: Condition::ALWAYS,
    paths: l(&[]),
    values: p(&[(t("agent_step"), t("chain"))]),
}];
