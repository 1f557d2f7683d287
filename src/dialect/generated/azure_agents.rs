// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "azure_agents", key: "gen_ai.operation.name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2680, when: Condition { scope: &[], name: &[], has: &["gen_ai.thread.id"], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("process_thread_run", "agent"), ("start_thread_run", "agent"), ("create_thread_run", "agent"), ("create_thread", "chain"), ("create_message", "chain"), ("list_messages", "chain"), ("list_run_steps", "chain"), ("submit_tool_outputs", "chain"), ("get_thread_run", "chain")] },
    Rule { dialect: "azure_agents", key: "gen_ai.thread.id", prefix: false, location: Location::Span, field: Field::SessionId, codec: Codec::Text, rank: 3681, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "azure_agents", key: "gen_ai.thread.run.id", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2680, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "azure_agents", key: "gen_ai.thread.run.status", prefix: false, location: Location::Span, field: Field::FailureFlag, codec: Codec::Text, rank: 2680, when: Condition::ALWAYS, paths: &[], values: &[("failed", "error"), ("expired", "error"), ("incomplete", "error")] },
    Rule { dialect: "azure_agents", key: "gen_ai.thread.run.status", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2680, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "azure_agents", key: "gen_ai.message.id", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2680, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "azure_agents", key: "gen_ai.event.content", prefix: false, location: Location::Event("gen_ai.user.message"), field: Field::Input, codec: Codec::Json, rank: 2680, when: Condition { scope: &[], name: &[], has: &["gen_ai.thread.id"], lacks: &[], kinds: &[Kind::Chain], attribute: &[] }, paths: &["content"], values: &[] },
    Rule { dialect: "azure_agents", key: "gen_ai.event.content", prefix: false, location: Location::Event("gen_ai.assistant.message"), field: Field::Output, codec: Codec::Json, rank: 2680, when: Condition { scope: &[], name: &[], has: &["gen_ai.thread.id"], lacks: &[], kinds: &[Kind::Agent], attribute: &[] }, paths: &["content.text.value", "content"], values: &[] },
    Rule { dialect: "azure_agents", key: "", prefix: false, location: Location::Event("gen_ai.assistant.message"), field: Field::OutputMessages, codec: Codec::MessageEvent, rank: 2680, when: Condition { scope: &[], name: &[], has: &["gen_ai.thread.id"], lacks: &[], kinds: &[Kind::Agent], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "azure_agents", key: "", prefix: false, location: Location::Event("gen_ai.tool.message"), field: Field::OutputMessages, codec: Codec::MessageEvent, rank: 2680, when: Condition { scope: &[], name: &[], has: &["gen_ai.thread.id"], lacks: &[], kinds: &[Kind::Agent], attribute: &[] }, paths: &[], values: &[] },
];
