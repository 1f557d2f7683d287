// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "openinference_beeai", key: "input.value", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::ByMime, rank: 4040, when: Condition { scope: &["openinference.instrumentation.beeai"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &["input"], values: &[] },
    Rule { dialect: "openinference_beeai", key: "openinference.span.kind", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 1040, when: Condition { scope: &["openinference.instrumentation.beeai"], name: &["error"], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("TOOL", "detail")] },
    Rule { dialect: "openinference_beeai", key: "tool.parameters", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::Json, rank: 4040, when: Condition { scope: &["openinference.instrumentation.beeai"], name: &["tool.*"], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openinference_beeai", key: "backend.", prefix: true, location: Location::Name, field: Field::EventGroup, codec: Codec::EventSpan, rank: 2040, when: Condition { scope: &["openinference.instrumentation.beeai"], name: &["backend.*", "tool.*"], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openinference_beeai", key: "backend.", prefix: true, location: Location::Name, field: Field::ToolName, codec: Codec::EventSpan, rank: 2040, when: Condition { scope: &["openinference.instrumentation.beeai"], name: &["tool.*"], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "openinference_beeai", key: "backend.", prefix: true, location: Location::Name, field: Field::Kind, codec: Codec::Text, rank: 1040, when: Condition { scope: &["openinference.instrumentation.beeai"], name: &["agent.*"], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "chain")] },
];
