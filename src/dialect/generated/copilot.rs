// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "copilot", key: "copilot_chat.user_request", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::PlainText, rank: 3610, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "copilot", key: "copilot_chat.response", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::PlainText, rank: 3610, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "copilot", key: "copilot_chat.session_id", prefix: false, location: Location::Span, field: Field::SessionId, codec: Codec::Text, rank: 3611, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "copilot", key: "copilot_chat.chat_session_id", prefix: false, location: Location::Span, field: Field::SessionId, codec: Codec::Text, rank: 3611, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "copilot", key: "copilot_chat.time_to_first_token", prefix: false, location: Location::Span, field: Field::FirstTokenMillis, codec: Codec::Float, rank: 2610, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "copilot", key: "copilot_chat.tool.arguments", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::Json, rank: 3610, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "copilot", key: "copilot_chat.tool.result", prefix: false, location: Location::Span, field: Field::ToolResult, codec: Codec::Json, rank: 3610, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "copilot", key: "gen_ai.operation.name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 3611, when: Condition::ALWAYS, paths: &[], values: &[("execute_hook", "chain"), ("content_event", "detail"), ("core_event", "detail"), ("run_in_terminal", "tool"), ("tool_call", "tool"), ("model_call", "llm"), ("agent_run", "agent"), ("execute_agent", "agent"), ("call_llm", "llm"), ("generate", "llm"), ("inference", "llm"), ("agent", "agent"), ("run_agent", "agent"), ("subagent", "agent")] },
];
