// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "pydantic_ai_1", key: "events", prefix: false, location: Location::Span, field: Field::InputMessages, codec: Codec::EventList, rank: 2080, when: Condition { scope: &["pydantic-ai"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pydantic_ai_1", key: "events", prefix: false, location: Location::Span, field: Field::OutputMessages, codec: Codec::EventList, rank: 2080, when: Condition { scope: &["pydantic-ai"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pydantic_ai_1", key: "tool_arguments", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::Json, rank: 2080, when: Condition { scope: &["pydantic-ai"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pydantic_ai_1", key: "tool_response", prefix: false, location: Location::Span, field: Field::ToolResult, codec: Codec::Text, rank: 2080, when: Condition { scope: &["pydantic-ai"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Handoff], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pydantic_ai_1", key: "agent_name", prefix: false, location: Location::Span, field: Field::AgentName, codec: Codec::Text, rank: 2080, when: Condition { scope: &["pydantic-ai"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pydantic_ai_1", key: "agent_name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 5081, when: Condition { scope: &["pydantic-ai"], name: &[], has: &[], lacks: &["gen_ai.operation.name"], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "agent")] },
    Rule { dialect: "pydantic_ai_1", key: "all_messages_events", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Json, rank: 2080, when: Condition { scope: &["pydantic-ai"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pydantic_ai_1", key: "gen_ai.tool.name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 5080, when: Condition { scope: &["pydantic-ai"], name: &["running tool"], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "tool")] },
    Rule { dialect: "pydantic_ai_1", key: "running tools", prefix: false, location: Location::Name, field: Field::Kind, codec: Codec::Text, rank: 5082, when: Condition { scope: &["pydantic-ai"], name: &[], has: &[], lacks: &["gen_ai.operation.name"], kinds: &[], attribute: &[] }, paths: &[], values: &[("running tools", "chain")] },
];
