// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "tanstack", key: "tanstack.ai.iterations", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2390, when: Condition { scope: &["tanstack-ai"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "agent")] },
    Rule { dialect: "tanstack", key: "tanstack.ai.tool.outcome", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2390, when: Condition { scope: &["tanstack-ai"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "tool")] },
    Rule { dialect: "tanstack", key: "tanstack.ai.tool.outcome", prefix: false, location: Location::Span, field: Field::FailureFlag, codec: Codec::Text, rank: 2390, when: Condition { scope: &["tanstack-ai"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[("error", "error"), ("failure", "error"), ("failed", "error")] },
    Rule { dialect: "tanstack", key: "gen_ai.input.messages", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::Json, rank: 1390, when: Condition { scope: &["tanstack-ai"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &["0.content"], values: &[] },
    Rule { dialect: "tanstack", key: "gen_ai.output.messages", prefix: false, location: Location::Span, field: Field::ToolResult, codec: Codec::Json, rank: 1390, when: Condition { scope: &["tanstack-ai"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &["0.content"], values: &[] },
    Rule { dialect: "tanstack", key: "langfuse.observation.input", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Json, rank: 2390, when: Condition { scope: &["tanstack-ai"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "tanstack", key: "langfuse.observation.input", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2390, when: Condition { scope: &["tanstack-ai"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "tanstack", key: "langfuse.observation.output", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 2390, when: Condition { scope: &["tanstack-ai"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Agent], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "tanstack", key: "langfuse.observation.output", prefix: false, location: Location::Span, field: Field::Beside, codec: Codec::Text, rank: 2390, when: Condition { scope: &["tanstack-ai"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool, Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
];
