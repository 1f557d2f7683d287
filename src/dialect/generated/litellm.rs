// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "litellm", key: "litellm.guardrail.name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 3790, when: Condition::ALWAYS, paths: &[], values: &[("*", "guardrail")] },
    Rule { dialect: "litellm", key: "litellm.guardrail.response", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 3790, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Guardrail], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "litellm", key: "litellm.guardrail.status", prefix: false, location: Location::Span, field: Field::FailureFlag, codec: Codec::Text, rank: 2790, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Guardrail], attribute: &[] }, paths: &[], values: &[("guardrail_failed_to_respond", "error"), ("failure", "error")] },
];
