// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "nemo_agent_toolkit", key: "output.value", prefix: false, location: Location::Span, field: Field::OutputMessages, codec: Codec::WordsThenCalls, rank: 1420, when: Condition { scope: &[], name: &[], has: &["nat.span.kind"], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "nemo_agent_toolkit", key: "nat.metadata", prefix: false, location: Location::Span, field: Field::OutputMessages, codec: Codec::Python, rank: 1421, when: Condition { scope: &[], name: &[], has: &["nat.span.kind"], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &["chat_responses.0.message"], values: &[] },
    Rule { dialect: "nemo_agent_toolkit", key: "nat.metadata", prefix: false, location: Location::Span, field: Field::ToolDefinitions, codec: Codec::Python, rank: 2420, when: Condition { scope: &[], name: &[], has: &["nat.span.kind"], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &["tools_schema"], values: &[] },
    Rule { dialect: "nemo_agent_toolkit", key: "nat.metadata", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2420, when: Condition { scope: &[], name: &[], has: &["nat.span.kind"], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "nemo_agent_toolkit", key: "nat.conversation.id", prefix: false, location: Location::Span, field: Field::SessionId, codec: Codec::KnownText, rank: 2420, when: Condition { scope: &[], name: &[], has: &["nat.span.kind"], lacks: &[], kinds: &[Kind::Llm, Kind::Tool, Kind::Agent, Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "nemo_agent_toolkit", key: "nat.user.id", prefix: false, location: Location::Span, field: Field::UserId, codec: Codec::KnownText, rank: 2420, when: Condition { scope: &[], name: &[], has: &["nat.span.kind"], lacks: &[], kinds: &[Kind::Llm, Kind::Tool, Kind::Agent, Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "nemo_agent_toolkit", key: "nat.subspan.name", prefix: false, location: Location::Span, field: Field::ToolName, codec: Codec::Text, rank: 2420, when: Condition { scope: &[], name: &[], has: &["nat.span.kind"], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
];
