// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "quarkus_langchain4j", key: "gen_ai.prompt", prefix: false, location: Location::Span, field: Field::InputMessages, codec: Codec::PlainText, rank: 2310, when: Condition { scope: &["io.quarkus.opentelemetry"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "quarkus_langchain4j", key: "gen_ai.completion", prefix: false, location: Location::Span, field: Field::OutputMessages, codec: Codec::PlainText, rank: 2310, when: Condition { scope: &["io.quarkus.opentelemetry"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "quarkus_langchain4j", key: "gen_ai.client.estimated_cost", prefix: false, location: Location::Span, field: Field::CostTotal, codec: Codec::Money, rank: 2310, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "quarkus_langchain4j", key: "quarkus_langchain4j", prefix: false, location: Location::Name, field: Field::Kind, codec: Codec::Text, rank: 5310, when: Condition { scope: &["io.quarkus.opentelemetry"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("completion *", "llm"), ("langchain4j.aiservices.*", "agent")] },
    Rule { dialect: "quarkus_langchain4j", key: "class", prefix: false, location: Location::Name, field: Field::AgentName, codec: Codec::ClassOfMethod, rank: 5310, when: Condition { scope: &["io.quarkus.opentelemetry"], name: &["langchain4j.aiservices.*"], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
];
