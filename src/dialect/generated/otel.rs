// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule {
        dialect: t("otel"),
        key: t("exception.message"),
        prefix: false,
        place: Place::Event(t("exception")),
        field: Field::FailureMessage,
        codec: Codec::Text,
        rank: 20,
        when: Condition::ALWAYS,
        paths: l(&[]),
        values: p(&[]),
    },
    Rule {
        dialect: t("otel"),
        key: t("exception.type"),
        prefix: false,
        place: Place::Event(t("exception")),
        field: Field::FailureType,
        codec: Codec::Text,
        rank: 20,
        when: Condition::ALWAYS,
        paths: l(&[]),
        values: p(&[]),
    },
    Rule {
        dialect: t("otel"),
        key: t("exception.stacktrace"),
        prefix: false,
        place: Place::Event(t("exception")),
        field: Field::FailureStacktrace,
        codec: Codec::Text,
        rank: 20,
        when: Condition::ALWAYS,
        paths: l(&[]),
        values: p(&[]),
    },
    Rule {
        dialect: t("otel"),
        key: t("tool"),
        prefix: false,
        place: Place::Name,
        field: Field::ToolName,
        codec: Codec::Text,
        rank: 903,
        when: Condition {
            scope: l(&[]),
            name: l(&[]),
            has: l(&[t("openinference.span.kind"), t("mcp.method.name")]),
            lacks: l(&[]),
            kinds: k(&[Kind::Tool]),
            attribute: p(&[]),
        },
        paths: l(&[]),
        values: p(&[]),
    },
];
