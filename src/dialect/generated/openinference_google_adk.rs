// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "openinference_google_adk", key: "output.value", prefix: false, location: Location::Span, field: Field::OutputMessages, codec: Codec::ByMime, rank: 1020, when: Condition { scope: &["gcp.vertex.agent"], name: &["invoke_agent *"], has: &["openinference.span.kind"], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &["content"], values: &[] },
    Rule { dialect: "openinference_google_adk", key: "execute_tool (merged)", prefix: false, location: Location::Name, field: Field::Kind, codec: Codec::Text, rank: 1020, when: Condition { scope: &["openinference.instrumentation.google_adk"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("execute_tool (merged*", "detail")] },
];
