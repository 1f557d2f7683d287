// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "eve", key: "agent.action.kind", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 1760, when: Condition { scope: &[], name: &[], has: &[], lacks: &["gen_ai.operation.name"], kinds: &[], attribute: &[] }, paths: &[], values: &[("tool-call", "chain"), ("tool", "chain"), ("load-skill", "tool"), ("subagent-call", "tool"), ("remote-agent-call", "tool")] },
    Rule { dialect: "eve", key: "agent.action.name", prefix: false, location: Location::Span, field: Field::ToolName, codec: Codec::Text, rank: 3760, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "eve", key: "agent.action.name", prefix: false, location: Location::Span, field: Field::InterruptPrompt, codec: Codec::Text, rank: 5760, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Interrupt], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "eve", key: "agent.action.call_id", prefix: false, location: Location::Span, field: Field::ToolCallId, codec: Codec::Text, rank: 3760, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "eve", key: "agent.action.outcome", prefix: false, location: Location::Span, field: Field::FailureFlag, codec: Codec::Text, rank: 2760, when: Condition::ALWAYS, paths: &[], values: &[("failed", "error"), ("rejected", "error")] },
    Rule { dialect: "eve", key: "agent.approval.kind", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2760, when: Condition::ALWAYS, paths: &[], values: &[("*", "interrupt")] },
    Rule { dialect: "eve", key: "agent.approval.request", prefix: false, location: Location::Span, field: Field::InterruptPrompt, codec: Codec::Json, rank: 2760, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Interrupt], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "eve", key: "agent.approval.response", prefix: false, location: Location::Span, field: Field::InterruptResponse, codec: Codec::Json, rank: 2760, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Interrupt], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "eve", key: "agent.approval.outcome", prefix: false, location: Location::Span, field: Field::InterruptResponse, codec: Codec::Text, rank: 3760, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Interrupt], attribute: &[] }, paths: &[], values: &[] },
];
