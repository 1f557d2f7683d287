// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[Rule {
    dialect: t("anthropic_go"),
    key: t("anthropic.tool_result.content"),
    prefix: false,
    place: Place::Span,
    field: Field::ToolResult,
    codec: Codec::Json,
    rank: 160,
    when: Condition {
        scope: l(&[]),
        name: l(&[]),
        has: l(&[]),
        lacks: l(&[]),
        kinds: k(&[Kind::Tool, Kind::Handoff]),
        attribute: p(&[]),
    },
    paths: l(&[]),
    values: p(&[]),
}];
