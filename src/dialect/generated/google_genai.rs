// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "google_genai", key: "code.function.parameters.", prefix: true, location: Location::Span, field: Field::ToolArguments, codec: Codec::Flat, rank: 3240, when: Condition { scope: &[], name: &[], has: &["gen_ai.operation.name", "gen_ai.system", "gen_ai.tool.name"], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "google_genai", key: "code.function.return.value", prefix: false, location: Location::Span, field: Field::ToolResult, codec: Codec::Json, rank: 3240, when: Condition { scope: &[], name: &[], has: &["gen_ai.operation.name", "gen_ai.system", "gen_ai.tool.name"], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "google_genai", key: "code.function.return.type", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2240, when: Condition { scope: &[], name: &[], has: &["gen_ai.operation.name", "gen_ai.system", "gen_ai.tool.name"], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "google_genai", key: "code.function.name", prefix: false, location: Location::Span, field: Field::ToolName, codec: Codec::Text, rank: 3240, when: Condition { scope: &[], name: &[], has: &["gen_ai.operation.name", "gen_ai.system", "gen_ai.tool.name"], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
];
