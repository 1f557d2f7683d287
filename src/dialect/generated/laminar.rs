// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "laminar", key: "lmnr.span.input", prefix: false, place: Place::Span, field: Field::InputMessages, codec: Codec::Json, rank: 180, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.span.input", prefix: false, place: Place::Span, field: Field::Input, codec: Codec::Json, rank: 110, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.association.properties.session_id", prefix: false, place: Place::Span, field: Field::SessionId, codec: Codec::Text, rank: 100, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.span.output", prefix: false, place: Place::Span, field: Field::Output, codec: Codec::Json, rank: 110, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "laminar", key: "lmnr.span.type", prefix: false, place: Place::Span, field: Field::Kind, codec: Codec::Text, rank: 90, when: Condition::ALWAYS, paths: &[], values: &[("LLM", "llm"), ("TOOL", "tool"), ("DEFAULT", "chain"), ("PIPELINE", "chain"), ("EXECUTOR", "agent"), ("EVALUATOR", "evaluator"), ("HUMAN_EVALUATOR", "evaluator"), ("EVALUATION", "evaluator"), ("CACHED", "llm")] },
];
