// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "effect", key: "tool", prefix: false, location: Location::Span, field: Field::ToolName, codec: Codec::Text, rank: 2730, when: Condition { scope: &[], name: &["Toolkit.handle"], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "effect", key: "parameters", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::Json, rank: 2730, when: Condition { scope: &[], name: &["Toolkit.handle"], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "effect", key: "toolkit_handle", prefix: false, location: Location::Name, field: Field::Kind, codec: Codec::Text, rank: 2730, when: Condition { scope: &[], name: &["Toolkit.handle"], has: &["tool"], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("*", "tool")] },
];
