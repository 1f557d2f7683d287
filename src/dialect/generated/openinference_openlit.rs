// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "openinference_openlit", key: "gen_ai.operation.name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 1560, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[("openinference.span.kind", "TOOL")] }, paths: &[], values: &[("chat", "llm"), ("text_completion", "llm"), ("generate_content", "llm")] },
    Rule { dialect: "openinference_openlit", key: "gen_ai.tool.name", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2560, when: Condition { scope: &[], name: &[], has: &["gen_ai.output.messages"], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
];
