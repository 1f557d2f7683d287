// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule {
        dialect: t("openinference_vercel"),
        key: t("metadata.sessionId"),
        prefix: false,
        place: Place::Span,
        field: Field::SessionId,
        codec: Codec::Text,
        rank: 90,
        when: Condition::ALWAYS,
        paths: l(&[]),
        values: p(&[]),
    },
    Rule {
        dialect: t("openinference_vercel"),
        key: t("tool.parameters"),
        prefix: false,
        place: Place::Span,
        field: Field::ToolArguments,
        codec: Codec::Json,
        rank: 65,
        when: Condition {
            scope: l(&[]),
            name: l(&[]),
            has: l(&[]),
            lacks: l(&[]),
            kinds: k(&[Kind::Tool]),
            attribute: p(&[]),
        },
        paths: l(&[]),
        values: p(&[]),
    },
    Rule {
        dialect: t("openinference_vercel"),
        key: t("metadata."),
        prefix: true,
        place: Place::Span,
        field: Field::Metadata,
        codec: Codec::Map,
        rank: 20,
        when: Condition::ALWAYS,
        paths: l(&[]),
        values: p(&[]),
    },
];
