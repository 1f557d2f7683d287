// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "spring_ai", key: "spring.ai.tool.definition.name", prefix: false, location: Location::Span, field: Field::ToolName, codec: Codec::Text, rank: 2190, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff, Kind::Detail], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "spring_ai", key: "spring.ai.tool.definition.description", prefix: false, location: Location::Span, field: Field::ToolDescription, codec: Codec::Text, rank: 2190, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "spring_ai", key: "spring.ai.tool.definition.schema", prefix: false, location: Location::Span, field: Field::ToolParameters, codec: Codec::Json, rank: 2190, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "spring_ai", key: "spring.ai.tool.call.id", prefix: false, location: Location::Span, field: Field::ToolCallId, codec: Codec::Text, rank: 2190, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff, Kind::Detail], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "spring_ai", key: "spring.ai.tool.call.arguments", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::Json, rank: 2190, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "spring_ai", key: "spring.ai.tool.call.result", prefix: false, location: Location::Span, field: Field::ToolResult, codec: Codec::Json, rank: 2190, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "spring_ai", key: "spring.ai.model.request.tool.names", prefix: false, location: Location::Span, field: Field::ToolDefinitions, codec: Codec::Json, rank: 2190, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "spring_ai", key: "spring.ai.chat.client.conversation.id", prefix: false, location: Location::Span, field: Field::SessionId, codec: Codec::Text, rank: 2190, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "spring_ai", key: "spring.ai.kind", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2190, when: Condition::ALWAYS, paths: &[], values: &[("chat_client", "agent"), ("advisor", "chain"), ("tool_call", "tool"), ("vector_store", "retrieval")] },
    Rule { dialect: "spring_ai", key: "gen_ai.operation.name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 3190, when: Condition::ALWAYS, paths: &[], values: &[("framework", "chain")] },
    Rule { dialect: "spring_ai", key: "gen_ai.operation.name", prefix: false, location: Location::Span, field: Field::UsageRunningSum, codec: Codec::Text, rank: 2190, when: Condition { scope: &[], name: &[], has: &["spring.ai.tool.definition.name"], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("framework", "yes")] },
    Rule { dialect: "spring_ai", key: "body", prefix: false, location: Location::LogScope("*ChatModelPromptContentObservationHandler"), field: Field::InputMessages, codec: Codec::BracketedTexts, rank: 2190, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "spring_ai", key: "body", prefix: false, location: Location::LogScope("*ChatModelCompletionObservationHandler"), field: Field::OutputMessages, codec: Codec::BracketedTexts, rank: 2190, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
];
