// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[Rule {
    dialect: t("anthropic"),
    key: t("anthropic.message.stop_reason"),
    prefix: false,
    place: Place::Span,
    field: Field::FinishReason,
    codec: Codec::Text,
    rank: 80,
    when: Condition {
        scope: l(&[]),
        name: l(&[]),
        has: l(&[]),
        lacks: l(&[]),
        kinds: k(&[Kind::Llm, Kind::Detail]),
        attribute: p(&[]),
    },
    paths: l(&[]),
    values: p(&[]),
}];
