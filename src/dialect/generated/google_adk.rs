// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "google_adk", key: "execute_tool (merged)", prefix: false, location: Location::Name, field: Field::Kind, codec: Codec::Text, rank: 1230, when: Condition { scope: &["gcp.vertex.agent"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("execute_tool (merged*", "detail")] },
    Rule { dialect: "google_adk", key: "agent_run", prefix: false, location: Location::Name, field: Field::Kind, codec: Codec::Text, rank: 5230, when: Condition { scope: &["gcp.vertex.agent"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("agent_run [*", "agent")] },
];
