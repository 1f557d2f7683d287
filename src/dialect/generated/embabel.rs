// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "embabel", key: "gen_ai.operation.name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 3750, when: Condition { scope: &[], name: &[], has: &["embabel.*"], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("lifecycle", "chain"), ("planning", "chain"), ("replan", "chain"), ("replanning", "chain"), ("execute_action", "chain"), ("action", "chain"), ("tool_loop", "chain"), ("goal_achieved", "chain"), ("state_transition", "chain"), ("ranking", "chain"), ("rag", "retrieval")] },
    Rule { dialect: "embabel", key: "embabel.rag.query", prefix: false, location: Location::Span, field: Field::SearchQuery, codec: Codec::Text, rank: 2750, when: Condition { scope: &[], name: &[], has: &["embabel.*"], lacks: &[], kinds: &[Kind::Retrieval], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "embabel", key: "embabel.agent.name", prefix: false, location: Location::Span, field: Field::AgentName, codec: Codec::Text, rank: 3750, when: Condition { scope: &[], name: &[], has: &["embabel.*"], lacks: &[], kinds: &[Kind::Agent], attribute: &[] }, paths: &[], values: &[] },
];
