// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "ag2", key: "ag2.span.type", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2640, when: Condition::ALWAYS, paths: &[], values: &[("llm", "llm"), ("tool", "tool"), ("agent", "agent"), ("conversation", "chain"), ("multi_conversation", "chain"), ("group_chat", "chain"), ("speaker_selection", "chain"), ("code_execution", "tool"), ("human_input", "interrupt")] },
    Rule { dialect: "ag2", key: "ag2.span.type", prefix: false, location: Location::Span, field: Field::ToolName, codec: Codec::Text, rank: 2640, when: Condition::ALWAYS, paths: &[], values: &[("code_execution", "execute_code")] },
    Rule { dialect: "ag2", key: "ag2.code_execution.output", prefix: false, location: Location::Span, field: Field::ToolResult, codec: Codec::Text, rank: 2640, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "ag2", key: "ag2.code_execution.exit_code", prefix: false, location: Location::Span, field: Field::FailureFlag, codec: Codec::Text, rank: 2640, when: Condition::ALWAYS, paths: &[], values: &[("1*", "error"), ("2*", "error"), ("3*", "error"), ("4*", "error"), ("5*", "error"), ("6*", "error"), ("7*", "error"), ("8*", "error"), ("9*", "error"), ("-*", "error")] },
    Rule { dialect: "ag2", key: "ag2.human_input.prompt", prefix: false, location: Location::Span, field: Field::InterruptPrompt, codec: Codec::Text, rank: 2640, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "ag2", key: "ag2.human_input.response", prefix: false, location: Location::Span, field: Field::InterruptResponse, codec: Codec::Text, rank: 2640, when: Condition::ALWAYS, paths: &[], values: &[] },
];
