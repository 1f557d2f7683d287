// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "cloudflare_agents", key: "cloudflare.agents.operation.name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 1710, when: Condition::ALWAYS, paths: &[], values: &[("tool.approval", "interrupt")] },
    Rule { dialect: "cloudflare_agents", key: "cloudflare.agents.tool.approval.state", prefix: false, location: Location::Span, field: Field::InterruptResponse, codec: Codec::Text, rank: 2710, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Interrupt], attribute: &[] }, paths: &[], values: &[("approved", "approved"), ("denied", "denied")] },
];
