// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "laminar", key: "lmnr.association.properties.metadata.tool_call_id", prefix: false, location: Location::Span, field: Field::ToolCallId, codec: Codec::Text, rank: 2340, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.span.type", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2340, when: Condition::ALWAYS, paths: &[], values: &[("LLM", "llm"), ("TOOL", "tool"), ("DEFAULT", "chain"), ("PIPELINE", "chain"), ("EXECUTOR", "agent"), ("EVALUATOR", "evaluator"), ("HUMAN_EVALUATOR", "evaluator"), ("EVALUATION", "evaluator"), ("CACHED", "llm"), ("EVENT", "detail")] },
    Rule { dialect: "laminar", key: "lmnr.span.input", prefix: false, location: Location::Span, field: Field::InputMessages, codec: Codec::Json, rank: 4340, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.span.input", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::Json, rank: 2340, when: Condition { scope: &[], name: &[], has: &["lmnr.association.properties.metadata.tool_call_id"], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &["action", "."], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.span.input", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::Json, rank: 2340, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.span.input", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Json, rank: 2340, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.span.output", prefix: false, location: Location::Span, field: Field::OutputMessages, codec: Codec::Json, rank: 4340, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.span.output", prefix: false, location: Location::Span, field: Field::ToolResult, codec: Codec::Json, rank: 2340, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.span.output", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 2340, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.association.properties.session_id", prefix: false, location: Location::Span, field: Field::SessionId, codec: Codec::Text, rank: 2340, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.association.properties.user_id", prefix: false, location: Location::Span, field: Field::UserId, codec: Codec::Text, rank: 2340, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.association.properties.tags", prefix: false, location: Location::Span, field: Field::Tags, codec: Codec::Texts, rank: 2340, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.association.properties.metadata.", prefix: true, location: Location::Span, field: Field::Metadata, codec: Codec::MapOfJson, rank: 2340, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "gen_ai.usage.cost", prefix: false, location: Location::Span, field: Field::CostTotal, codec: Codec::Float, rank: 2340, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "gen_ai.usage.input_cost", prefix: false, location: Location::Span, field: Field::CostInput, codec: Codec::Float, rank: 2340, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "gen_ai.usage.output_cost", prefix: false, location: Location::Span, field: Field::CostOutput, codec: Codec::Float, rank: 2340, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.span.path", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Texts, rank: 2340, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.span.ids_path", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Texts, rank: 2340, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "agent", prefix: false, location: Location::Name, field: Field::AgentName, codec: Codec::Text, rank: 5340, when: Condition { scope: &[], name: &[], has: &["lmnr.span.type"], lacks: &[], kinds: &[Kind::Agent], attribute: &[] }, paths: &[], values: &[] },
];
