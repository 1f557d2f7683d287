// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "pydantic_evals", key: "scores", prefix: false, location: Location::Span, field: Field::Evaluations, codec: Codec::Json, rank: 2630, when: Condition { scope: &["pydantic-evals"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pydantic_evals", key: "labels", prefix: false, location: Location::Span, field: Field::Evaluations, codec: Codec::Json, rank: 2630, when: Condition { scope: &["pydantic-evals"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pydantic_evals", key: "assertions", prefix: false, location: Location::Span, field: Field::Evaluations, codec: Codec::Json, rank: 2630, when: Condition { scope: &["pydantic-evals"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pydantic_evals", key: "inputs", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Json, rank: 2630, when: Condition { scope: &["pydantic-evals"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pydantic_evals", key: "output", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 2630, when: Condition { scope: &["pydantic-evals"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pydantic_evals", key: "expected_output", prefix: false, location: Location::Span, field: Field::Ideal, codec: Codec::Json, rank: 2630, when: Condition { scope: &["pydantic-evals"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Chain], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "pydantic_evals", key: "case", prefix: false, location: Location::Name, field: Field::Kind, codec: Codec::Text, rank: 2630, when: Condition { scope: &["pydantic-evals"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("evaluate *", "chain"), ("case: *", "chain"), ("execute *", "chain")] },
];
