// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "dify", key: "dify.workflow_id", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 5720, when: Condition { scope: &[], name: &[], has: &[], lacks: &["gen_ai.span.kind"], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "chain")] },
    Rule { dialect: "dify", key: "node.type", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 1720, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[("gen_ai.framework", "dify")] }, paths: &[], values: &[("agent", "agent")] },
    Rule { dialect: "dify", key: "retrieval.query", prefix: false, location: Location::Span, field: Field::SearchQuery, codec: Codec::Text, rank: 3720, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Retrieval], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "dify", key: "retrieval.document", prefix: false, location: Location::Span, field: Field::SearchDocuments, codec: Codec::Json, rank: 3720, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Retrieval], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "dify", key: "gen_ai.framework", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2720, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[("gen_ai.framework", "dify")] }, paths: &[], values: &[] },
];
