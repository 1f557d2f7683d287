// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "llm_tracekit", key: "type", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2800, when: Condition { scope: &["llm_tracekit.openai_agents.*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("function", "tool"), ("agent", "agent"), ("handoff", "handoff"), ("guardrail", "guardrail")] },
    Rule { dialect: "llm_tracekit", key: "name", prefix: false, location: Location::Span, field: Field::ToolName, codec: Codec::Text, rank: 2800, when: Condition { scope: &["llm_tracekit.openai_agents.*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "llm_tracekit", key: "input", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::Json, rank: 2800, when: Condition { scope: &["llm_tracekit.openai_agents.*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "llm_tracekit", key: "output", prefix: false, location: Location::Span, field: Field::ToolResult, codec: Codec::Json, rank: 2800, when: Condition { scope: &["llm_tracekit.openai_agents.*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "llm_tracekit", key: "agent_name", prefix: false, location: Location::Span, field: Field::AgentName, codec: Codec::Text, rank: 2800, when: Condition { scope: &["llm_tracekit.openai_agents.*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "llm_tracekit", key: "from_agent", prefix: false, location: Location::Span, field: Field::HandoffFrom, codec: Codec::Text, rank: 2800, when: Condition { scope: &["llm_tracekit.openai_agents.*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "llm_tracekit", key: "to_agent", prefix: false, location: Location::Span, field: Field::HandoffTo, codec: Codec::Text, rank: 2800, when: Condition { scope: &["llm_tracekit.openai_agents.*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
];
