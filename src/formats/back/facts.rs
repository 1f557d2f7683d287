//! Metadata that our own documents write beside an event, read into operations again: the other direction of
//! `transcript/facts.rs`.

use serde_json::{Map, Value};

use super::at::At;
use super::error::DisassembleError;
use crate::dialect::messages::{self, Direction};
use crate::operation::{Cost, Evaluation, Failure, Kind, Operation, TokenCount, ToolDefinition, Training};
use crate::transcript::content;
use crate::transcript::fact_groups::FactGroup;

/// Reads what it knows; what it does not know, or what has another type, stays in the map.
pub(in crate::formats) fn read(facts: &mut Map<String, Value>, operation: &mut Operation) {
    let is_tool = operation.kind == Kind::Tool;
    facts.retain(|key, value| !known(key, value, operation, is_tool));
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn put<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    let fits = value.is_some();
    if fits {
        *slot = value;
    }
    fits
}

/// Whether the operation now says this.
fn known(key: &str, value: &Value, operation: &mut Operation, is_tool: bool) -> bool {
    match key {
        "agent" => put(&mut operation.agent.name, text(value)),
        "agent_id" => put(&mut operation.agent.id, text(value)),
        "agent_description" => put(&mut operation.agent.description, text(value)),
        "agent_version" => put(&mut operation.agent.version, text(value)),
        "framework" => put(&mut operation.agent.framework, text(value)),
        "session_id" => put(&mut operation.session_id, text(value)),
        "user_id" => put(&mut operation.user_id, text(value)),
        "model" => put(&mut operation.model.response, text(value)),
        "requested_model" => put(&mut operation.model.requested, text(value)),
        "provider" => put(&mut operation.model.provider, text(value)),
        "response_id" => put(&mut operation.response_id, text(value)),
        "finish_reason" => put(&mut operation.finish_reason, text(value)),
        "input_type" => put(&mut operation.content_type.input, text(value)),
        "format" => put(&mut operation.content_type.output, text(value)),
        "workflow" => put(&mut operation.workflow, text(value)),
        "graph_node" => put(&mut operation.graph_node, text(value)),
        "time_to_first_token" => put(&mut operation.time_to_first_token, value.as_f64()),
        "vector_count" => put(&mut operation.vector_count, value.as_u64()),
        "parameters" => map_into(&mut operation.parameters, value),
        "metadata" => map_into(&mut operation.metadata, value),
        "spanbridge" => map_into(&mut operation.format_extras, value),
        "attributes" => map_into(&mut operation.unmapped, value),
        "tags" => match texts(value) {
            Some(tags) => {
                operation.tags = tags;
                true
            }
            None => false,
        },
        "usage" | "tokens" => usage(value, operation),
        "cost" => cost(value, operation),
        "tool_definitions" => match value
            .as_array()
            .and_then(|list| list.iter().map(definition).collect::<Option<Vec<_>>>())
        {
            Some(tools) => {
                operation.tool_definitions = tools;
                true
            }
            None => false,
        },
        "tool_description" if value.is_string() => put(&mut operation.tool.get_or_insert_default().description, text(value)),
        "tool_parameters" => put(&mut operation.tool.get_or_insert_default().parameters, Some(value.clone())),
        "mcp_server" if value.is_string() => put(&mut operation.tool.get_or_insert_default().mcp_server, text(value)),
        "server" if is_tool => put(&mut operation.tool.get_or_insert_default().mcp_server, text(value)),
        "input_messages" if !content::has_messages_for_input(operation.kind) => match messages::read(value, Direction::Input) {
            Some(list) => put(&mut operation.input_messages, Some(list.into())),
            None => false,
        },
        "output_messages" if !content::has_messages_for_output(operation.kind) => {
            put(&mut operation.output_messages, messages::read(value, Direction::Output))
        }
        "evaluations" => match value.as_array().map(|list| list.iter().map(evaluation).collect::<Vec<_>>()) {
            Some(list) => {
                operation.evaluations = list;
                true
            }
            None => false,
        },
        "error" => failure(value, operation),
        "error_type" => put(&mut operation.failure.get_or_insert_default().error_type, text(value)),
        "stacktrace" => put(&mut operation.failure.get_or_insert_default().stacktrace, text(value)),
        _ => rare(key, value, operation),
    }
}

/// Facts of few operations.
fn rare(key: &str, value: &Value, operation: &mut Operation) -> bool {
    match key {
        "top_k" => put(&mut operation.search.get_or_insert_default().top_k, value.as_u64()),
        "match_count" => put(&mut operation.search.get_or_insert_default().match_count, value.as_u64()),
        "embedded_texts" => match texts(value) {
            Some(texts) => {
                operation.embedded_texts = texts;
                true
            }
            None => false,
        },
        name if Training::NAMES.contains(&name) => operation.training.read_fact(name, value),
        _ if !value.is_object() => false,
        "prompt" => told(&mut *operation.prompt, value),
        "task" => told(&mut *operation.task, value),
        "resource_impact" => told(operation.resource_impact.get_or_insert_default().as_mut(), value),
        "state" => told(operation.state.get_or_insert_default().as_mut(), value),
        "interrupt" => told(operation.interrupt.get_or_insert_default().as_mut(), value),
        "memory" => told(operation.memory.get_or_insert_default().as_mut(), value),
        _ => false,
    }
}

fn told(group: &mut impl FactGroup, said: &Value) -> bool {
    group.read_facts(said);
    true
}

fn map_into(slot: &mut Map<String, Value>, value: &Value) -> bool {
    let Some(map) = value.as_object() else { return false };
    slot.extend(map.iter().map(|(key, value)| (key.clone(), value.clone())));
    true
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(text).collect()
}

fn usage(value: &Value, operation: &mut Operation) -> bool {
    let Some(map) = value.as_object() else { return false };
    let is_count = |(key, count): (&String, &Value)| TokenCount::NAMES.contains(&key.as_str()) && count.is_u64();
    map.iter().all(is_count) && told(&mut operation.usage, value)
}

fn cost(value: &Value, operation: &mut Operation) -> bool {
    operation.cost.read_facts(value);
    value.is_object() && operation.cost != Cost::default()
}

/// Tools in OpenAI's function form, or bare.
pub(in crate::formats) fn definitions(at: &At<'_>) -> Result<Vec<ToolDefinition>, DisassembleError> {
    let mut out = Vec::new();
    for tool in at.items()? {
        let map = tool.object()?;
        let function = map.get("function").unwrap_or(tool.value);
        let Some(mut definition) = definition(function) else {
            continue;
        };
        definition.description = definition.description.filter(|text| !text.is_empty());
        out.push(definition);
    }
    Ok(out)
}

/// A tool as `{name, description, parameters}`, or in the shape of MCP's `tools/list`.
pub(in crate::formats) fn definition(value: &Value) -> Option<ToolDefinition> {
    let schema = value.get("parameters").or_else(|| value.get("inputSchema"));
    Some(ToolDefinition {
        name: value.get("name")?.as_str()?.to_owned(),
        description: value.get("description").and_then(text),
        parameters: schema.filter(|schema| !schema.is_null()).cloned(),
    })
}

fn evaluation(value: &Value) -> Evaluation {
    let mut evaluation = Evaluation::default();
    evaluation.read_facts(value);
    evaluation
}

/// A failure as text, or as `{type, message, stacktrace}`.
fn failure(value: &Value, operation: &mut Operation) -> bool {
    match value {
        Value::String(message) => {
            operation.failure.get_or_insert_default().message = Some(message.clone());
            true
        }
        Value::Object(_) => {
            operation.failure = Some(failure_of(value));
            true
        }
        _ => false,
    }
}

/// A failure as `{type, message, stacktrace}`; a text is its message.
pub(in crate::formats) fn failure_of(value: &Value) -> Failure {
    let word = |name: &str| value.get(name).and_then(text);
    Failure {
        message: word("message").or_else(|| text(value)),
        error_type: word("type"),
        stacktrace: word("stacktrace"),
    }
}
