// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "eino", key: "gen_ai.prompt.0.content", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::JsonText, rank: 2740, when: Condition { scope: &["*cloudwego/eino*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "eino", key: "gen_ai.completion.0.content", prefix: false, location: Location::Span, field: Field::ToolResult, codec: Codec::Json, rank: 2740, when: Condition { scope: &["*cloudwego/eino*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "eino", key: "gen_ai.input", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Json, rank: 2740, when: Condition { scope: &["*cloudwego/eino*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent, Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "eino", key: "gen_ai.output", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 2740, when: Condition { scope: &["*cloudwego/eino*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent, Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "eino", key: "runinfo.name", prefix: false, location: Location::Span, field: Field::ToolName, codec: Codec::Text, rank: 3740, when: Condition { scope: &["*cloudwego/eino*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
];
