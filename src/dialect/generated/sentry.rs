// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "sentry", key: "gen_ai.request.messages", prefix: false, location: Location::Span, field: Field::InputMessages, codec: Codec::Json, rank: 3731, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "gen_ai.request.messages", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Json, rank: 3731, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent, Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "gen_ai.response.", prefix: true, location: Location::Span, field: Field::OutputMessages, codec: Codec::ResponseMembers, rank: 3731, when: Condition { scope: &[], name: &[], has: &["gen_ai.response.text", "gen_ai.response.tool_calls"], lacks: &["gen_ai.output.messages"], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "gen_ai.response.text", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 3731, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent, Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "gen_ai.response.tool_calls", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2730, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "sentry", key: "gen_ai.request.available_tools", prefix: false, location: Location::Span, field: Field::ToolDefinitions, codec: Codec::Json, rank: 3731, when: Condition::ALWAYS, paths: &[], values: &[] },
];
