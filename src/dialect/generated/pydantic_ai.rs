// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "pydantic_ai", key: "gen_ai.usage.details.cache_read_tokens", prefix: false, location: Location::Span, field: Field::UsageCacheRead, codec: Codec::Int, rank: 2280, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "pydantic_ai", key: "gen_ai.usage.details.reasoning_tokens", prefix: false, location: Location::Span, field: Field::UsageReasoning, codec: Codec::Int, rank: 2280, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "pydantic_ai", key: "operation.cost", prefix: false, location: Location::Span, field: Field::CostTotal, codec: Codec::Float, rank: 2280, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "pydantic_ai", key: "model_request_parameters", prefix: false, location: Location::Span, field: Field::ToolDefinitions, codec: Codec::Json, rank: 2280, when: Condition::ALWAYS, paths: &["function_tools"], values: &[] },
    Rule { dialect: "pydantic_ai", key: "model_request_parameters", prefix: false, location: Location::Span, field: Field::Parameters, codec: Codec::Json, rank: 2280, when: Condition { scope: &["pydantic-ai"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pydantic_ai", key: "gen_ai.agent.call.id", prefix: false, location: Location::Span, field: Field::AgentId, codec: Codec::Text, rank: 2280, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "pydantic_ai", key: "pydantic_ai.all_messages", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Json, rank: 2280, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "pydantic_ai", key: "model_name", prefix: false, location: Location::Span, field: Field::ModelRequested, codec: Codec::Text, rank: 2280, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pydantic_ai", key: "final_result", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 2280, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "pydantic_ai", key: "pydantic_ai.tool.deferral.name", prefix: false, location: Location::Span, field: Field::FailureFlag, codec: Codec::Text, rank: 3280, when: Condition::ALWAYS, paths: &[], values: &[("ApprovalRequired", "interrupts"), ("CallDeferred", "interrupts")] },
    Rule { dialect: "pydantic_ai", key: "exception.type", prefix: false, location: Location::Event("exception"), field: Field::FailureFlag, codec: Codec::Text, rank: 3280, when: Condition::ALWAYS, paths: &[], values: &[("ApprovalRequired", "interrupts"), ("*.ApprovalRequired", "interrupts"), ("CallDeferred", "interrupts"), ("*.CallDeferred", "interrupts")] },
];
