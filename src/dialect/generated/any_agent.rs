// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "any_agent", key: "gen_ai.output", prefix: false, location: Location::Span, field: Field::OutputMessages, codec: Codec::Json, rank: 2430, when: Condition { scope: &["any_agent"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "any_agent", key: "gen_ai.output", prefix: false, location: Location::Span, field: Field::ToolResult, codec: Codec::Json, rank: 2430, when: Condition { scope: &["any_agent"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "any_agent", key: "gen_ai.output", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 2430, when: Condition { scope: &["any_agent"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "any_agent", key: "gen_ai.tool.args", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::Json, rank: 2430, when: Condition { scope: &["any_agent"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "any_agent", key: "gen_ai.usage.input_cost", prefix: false, location: Location::Span, field: Field::CostInput, codec: Codec::Float, rank: 2430, when: Condition { scope: &["any_agent"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "any_agent", key: "gen_ai.usage.output_cost", prefix: false, location: Location::Span, field: Field::CostOutput, codec: Codec::Float, rank: 2430, when: Condition { scope: &["any_agent"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
];
