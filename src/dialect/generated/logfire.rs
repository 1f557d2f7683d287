// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "logfire", key: "request_data", prefix: false, place: Place::Span, field: Field::Kind, codec: Codec::Text, rank: 5400, when: Condition { scope: &["logfire.openai"], name: &["Embedding Creation with*"], has: &[], lacks: &["gen_ai.operation.name"], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "embedding")] },
    Rule { dialect: "logfire", key: "request_data", prefix: false, place: Place::Span, field: Field::Kind, codec: Codec::Text, rank: 5400, when: Condition { scope: &["logfire.openai", "logfire.anthropic"], name: &[], has: &[], lacks: &["gen_ai.operation.name"], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "llm")] },
    Rule { dialect: "logfire", key: "request_data", prefix: false, place: Place::Span, field: Field::InputMessages, codec: Codec::Json, rank: 4400, when: Condition { scope: &["logfire.openai", "logfire.anthropic"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "logfire", key: "request_data", prefix: false, place: Place::Span, field: Field::ModelRequested, codec: Codec::Json, rank: 4400, when: Condition { scope: &["logfire.openai", "logfire.anthropic"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &["model"], values: &[] },
    Rule { dialect: "logfire", key: "request_data", prefix: false, place: Place::Span, field: Field::ToolDefinitions, codec: Codec::Json, rank: 2400, when: Condition { scope: &["logfire.openai", "logfire.anthropic"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &["tools"], values: &[] },
    Rule { dialect: "logfire", key: "request_data", prefix: false, place: Place::Span, field: Field::EmbeddedTexts, codec: Codec::Json, rank: 2400, when: Condition { scope: &["logfire.openai"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Embedding], attribute: &[] }, paths: &["input"], values: &[] },
    Rule { dialect: "logfire", key: "response_data", prefix: false, place: Place::Span, field: Field::OutputMessages, codec: Codec::Json, rank: 4400, when: Condition { scope: &["logfire.openai", "logfire.anthropic"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &["message", "combined_chunk_content"], values: &[] },
    Rule { dialect: "logfire", key: "response_data", prefix: false, place: Place::Span, field: Field::UsageInput, codec: Codec::Json, rank: 2400, when: Condition { scope: &["logfire.openai", "logfire.anthropic"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &["usage.prompt_tokens", "usage.input_tokens"], values: &[] },
    Rule { dialect: "logfire", key: "response_data", prefix: false, place: Place::Span, field: Field::UsageOutput, codec: Codec::Json, rank: 2400, when: Condition { scope: &["logfire.openai", "logfire.anthropic"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &["usage.completion_tokens", "usage.output_tokens"], values: &[] },
];
