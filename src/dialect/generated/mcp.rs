// Made from semconv/ by `UPDATE=1 cargo test --test semconv`. DO NOT EDIT.

#[allow(clippy::wildcard_imports, unused_imports, reason = "generated")]
use super::prelude::*;

pub(super) static RULES: &[Rule] = &[
    Rule { dialect: "mcp", key: "mcp.method.name", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 2320, when: Condition::ALWAYS, paths: &[], values: &[("tools/call", "tool"), ("tools/list", "detail"), ("prompts/get", "prompt"), ("resources/read", "retrieval"), ("elicitation/create", "interrupt"), ("*", "detail")] },
    Rule { dialect: "mcp", key: "rpc.method", prefix: false, location: Location::Span, field: Field::Kind, codec: Codec::Text, rank: 6320, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[], attribute: &[("rpc.system", "jsonrpc")] }, paths: &[], values: &[("initialize", "detail"), ("ping", "detail"), ("tools/list", "detail"), ("prompts/list", "detail"), ("resources/list", "detail")] },
    Rule { dialect: "mcp", key: "mcp.server.name", prefix: false, location: Location::Span, field: Field::McpServer, codec: Codec::Text, rank: 2320, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "mcp", key: "mcp.tool.name", prefix: false, location: Location::Span, field: Field::ToolName, codec: Codec::Text, rank: 2320, when: Condition { scope: &[], name: &[], has: &["mcp.method.name"], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "mcp", key: "mcp.request.argument.", prefix: true, location: Location::Span, field: Field::ToolArguments, codec: Codec::Flat, rank: 2320, when: Condition { scope: &[], name: &[], has: &["mcp.tool.name"], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "mcp", key: "result.", prefix: true, location: Location::Span, field: Field::ToolResult, codec: Codec::Flat, rank: 2320, when: Condition { scope: &[], name: &[], has: &["mcp.tool.name"], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "mcp", key: "result.", prefix: true, location: Location::Span, field: Field::ToolResult, codec: Codec::Flat, rank: 2320, when: Condition { scope: &[], name: &["*.execute_tool_call"], has: &["gen_ai.tool.name"], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "mcp", key: "tool_args", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::Json, rank: 2320, when: Condition { scope: &[], name: &["*.execute_tool_call"], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "mcp", key: "mcp.request.argument", prefix: false, location: Location::Span, field: Field::ToolName, codec: Codec::Json, rank: 2320, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &["params.name", "name"], values: &[] },
    Rule { dialect: "mcp", key: "mcp.request.argument", prefix: false, location: Location::Span, field: Field::ToolArguments, codec: Codec::Json, rank: 2320, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &["params.arguments", "arguments"], values: &[] },
    Rule { dialect: "mcp", key: "mcp.request.argument", prefix: false, location: Location::Span, field: Field::Input, codec: Codec::Json, rank: 2320, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "mcp", key: "mcp.response.value", prefix: false, location: Location::Span, field: Field::ToolResult, codec: Codec::Json, rank: 2320, when: Condition { scope: &[], name: &[], has: &[], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
    Rule { dialect: "mcp", key: "mcp.response.value", prefix: false, location: Location::Span, field: Field::Output, codec: Codec::Json, rank: 2320, when: Condition::ALWAYS, paths: &[], values: &[] },
    Rule { dialect: "mcp", key: "handled_request", prefix: false, location: Location::Name, field: Field::Kind, codec: Codec::Text, rank: 2320, when: Condition { scope: &[], name: &[], has: &["logfire.msg_template"], lacks: &[], kinds: &[], attribute: &[] }, paths: &[], values: &[("MCP server handle request: initialize", "detail"), ("MCP server handle request: ping", "detail"), ("MCP server handle request: tools/list", "detail"), ("MCP server handle request: prompts/list", "detail"), ("MCP server handle request: resources/*", "detail")] },
    Rule { dialect: "mcp", key: "tools_call", prefix: false, location: Location::Name, field: Field::ToolName, codec: Codec::LastWord, rank: 5320, when: Condition { scope: &[], name: &[], has: &["mcp.method.name"], lacks: &[], kinds: &[Kind::Tool], attribute: &[] }, paths: &[], values: &[] },
];

pub(super) static INVERSE_RULES: &[InverseRule] = &[
    InverseRule { dialect: "mcp", key: "mcp.server.name", prefix: false, field: Field::McpServer, codec: Codec::Text, kinds: &[], words: &[] },
];
