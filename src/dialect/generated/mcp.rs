// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule {
        dialect: t("mcp"),
        key: t("mcp.method.name"),
        prefix: false,
        place: Place::Span,
        field: Field::Kind,
        codec: Codec::Text,
        rank: 100,
        when: Condition::ALWAYS,
        paths: l(&[]),
        values: p(&[
            (t("tools/call"), t("tool")),
            (t("tools/list"), t("detail")),
            (t("prompts/get"), t("prompt")),
            (t("resources/read"), t("retrieval")),
            (t("*"), t("detail")),
        ]),
    },
    Rule {
        dialect: t("mcp"),
        key: t("mcp.server.name"),
        prefix: false,
        place: Place::Span,
        field: Field::McpServer,
        codec: Codec::Text,
        rank: 30,
        when: Condition::ALWAYS,
        paths: l(&[]),
        values: p(&[]),
    },
];
