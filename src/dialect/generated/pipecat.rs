// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "pipecat", key: "input", prefix: false, location: Location::Span, field: Field::InputMessages, codec: Codec::Json, rank: 2610, when: Condition { scope: &["pipecat", "pipecat.*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pipecat", key: "output", prefix: false, location: Location::Span, field: Field::OutputMessages, codec: Codec::Json, rank: 2610, when: Condition { scope: &["pipecat", "pipecat.*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pipecat", key: "tools", prefix: false, location: Location::Span, field: Field::ToolDefinitions, codec: Codec::Json, rank: 2610, when: Condition { scope: &["pipecat", "pipecat.*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pipecat", key: "conversation.id", prefix: false, location: Location::Span, field: Field::SessionId, codec: Codec::Text, rank: 2610, when: Condition { scope: &["pipecat", "pipecat.*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pipecat", key: "metrics.ttfb", prefix: false, location: Location::Span, field: Field::FirstTokenSeconds, codec: Codec::Float, rank: 2610, when: Condition { scope: &["pipecat", "pipecat.*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pipecat", key: "turn.number", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2610, when: Condition { scope: &["pipecat", "pipecat.*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "chain")] },
    Rule { dialect: "pipecat", key: "conversation.type", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2610, when: Condition { scope: &["pipecat", "pipecat.*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "chain")] },
    Rule { dialect: "pipecat", key: "tool.function_name", prefix: false, location: Location::Span, field: Field::ToolName, codec: Codec::Text, rank: 2610, when: Condition { scope: &["pipecat", "pipecat.*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pipecat", key: "tool.call_id", prefix: false, location: Location::Span, field: Field::ToolCallId, codec: Codec::Text, rank: 2610, when: Condition { scope: &["pipecat", "pipecat.*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pipecat", key: "tool.arguments", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::Json, rank: 2610, when: Condition { scope: &["pipecat", "pipecat.*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pipecat", key: "tool.result", prefix: false, location: Location::Span, field: Field::ToolResult, codec: Codec::Json, rank: 2610, when: Condition { scope: &["pipecat", "pipecat.*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
];
