// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "tmam", key: "gen_ai.prompt", prefix: false, location: Location::Event("gen_ai.content.prompt"), field: Field::InputMessages, codec: Codec::RoleLines, rank: 1930, when: Condition { scope: &["tmam.otel.tracing"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "tmam", key: "gen_ai.response.tool_calls", prefix: false, location: Location::Span, field: Field::OutputCalls, codec: Codec::Python, rank: 2930, when: Condition { scope: &["tmam.otel.tracing"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Llm], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "tmam", key: "gen_ai.server.time_to_first_token", prefix: false, location: Location::Span, field: Field::FirstTokenSeconds, codec: Codec::Float, rank: 1930, when: Condition { scope: &["tmam.*"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "tmam", key: "ai.span.kind", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2930, when: Condition { scope: &["tmam"], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("function", "chain")] },
    Rule { dialect: "tmam", key: "code.function", prefix: false, location: Location::Span, field: Field::ToolName, codec: Codec::Text, rank: 2930, when: Condition { scope: &["tmam"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "tmam", key: "function.kwargs", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::Python, rank: 2930, when: Condition { scope: &["tmam", "openlit"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "tmam", key: "function.args", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Python, rank: 2930, when: Condition { scope: &["tmam", "openlit"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Chain, Kind::Agent], attribute: &[] }, paths: &["0"], values: &[] },
    Rule { dialect: "tmam", key: "ai.result", prefix: false, location: Location::Span, field: Field::ToolResult, codec: Codec::Json, rank: 2930, when: Condition { scope: &["tmam"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "tmam", key: "ai.result", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 2930, when: Condition { scope: &["tmam"], name: &[], has: &[], lacks: &[], kinds: &[Kind::Chain, Kind::Agent], attribute: &[] }, paths: &[], values: &[] },
];
