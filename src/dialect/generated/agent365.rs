// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "agent365", key: "gen_ai.operation.name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2650, when: Condition::ALWAYS, paths: &[], values: &[("Chat", "llm"), ("TextCompletion", "llm"), ("GenerateContent", "llm")] },
    Rule { dialect: "agent365", key: "gen_ai.operation.name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2650, when: Condition { scope: &["microsoft_agents_a365*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("output_messages", "detail")] },
    Rule { dialect: "agent365", key: "gen_ai.input.messages", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2650, when: Condition { scope: &["microsoft_agents_a365*"], name: &[], has: &[], lacks: &["gen_ai.operation.name"], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "chain")] },
    Rule { dialect: "agent365", key: "gen_ai.input.messages", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Json, rank: 2650, when: Condition { scope: &["microsoft_agents_a365*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Chain, Kind::Agent], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "agent365", key: "gen_ai.output.messages", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 2650, when: Condition { scope: &["microsoft_agents_a365*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Chain, Kind::Agent], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "agent365", key: "microsoft.session.id", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 5650, when: Condition { scope: &["microsoft_agents_a365*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "chain")] },
    Rule { dialect: "agent365", key: "microsoft.session.id", prefix: false, location: Location::Span, field: Field::SessionId, codec: Codec::Text, rank: 2650, when: Condition { scope: &["microsoft_agents_a365*"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm, Kind::Tool, Kind::Agent, Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "agent365", key: "failed_model_call", prefix: false, location: Location::Name, field: Field::Kind, codec: Codec::Text, rank: 5650, when: Condition { scope: &["microsoft_agents_a365*"], name: &[], has: &[], lacks: &["gen_ai.*"], kinds: &[], attribute: &[] }, paths: &[], values: &[("Chat*", "llm"), ("AzureChat*", "llm")] },
];
