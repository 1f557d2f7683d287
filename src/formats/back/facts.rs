//! Metadata that our own documents write beside an event, read into operations again: the other direction of
//! `formats/facts.rs`.

use serde_json::{Map, Value};

use super::at::At;
use super::error::DisassembleError;
use crate::operation::{
    Cost, Evaluation, Failure, Interrupt, Kind, Memory, Operation, Prompt, ResourceImpact, StateChange, Task, ToolDefinition,
};

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
        "tool_description" if is_tool => put(&mut operation.tool.get_or_insert_default().description, text(value)),
        "tool_parameters" if is_tool => put(&mut operation.tool.get_or_insert_default().parameters, Some(value.clone())),
        "server" if is_tool => put(&mut operation.tool.get_or_insert_default().mcp_server, text(value)),
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
    let word = |name: &str| value.get(name).and_then(text);
    let any = |name: &str| value.get(name).cloned();
    match key {
        "top_k" => put(&mut operation.search.get_or_insert_default().top_k, value.as_u64()),
        "reward" => put(&mut operation.training.reward, value.as_f64()),
        "terminated" => put(&mut operation.training.terminated, value.as_bool()),
        "truncated" => put(&mut operation.training.truncated, value.as_bool()),
        "prompt_token_ids" => put(&mut operation.training.prompt_token_ids, Some(value.clone())),
        "completion_token_ids" => put(&mut operation.training.completion_token_ids, Some(value.clone())),
        "logprobs" => put(&mut operation.training.logprobs, Some(value.clone())),
        "optimize" => put(&mut operation.training.optimize, value.as_bool()),
        "ideal" => put(&mut operation.training.ideal, Some(value.clone())),
        "step" => put(&mut operation.training.step, value.as_i64()),
        _ if !value.is_object() => false,
        "prompt" => {
            let prompt: &mut Prompt = &mut operation.prompt;
            fill(&mut prompt.id, word("id"));
            fill(&mut prompt.version, word("version"));
            fill(&mut prompt.template, word("template"));
            fill(&mut prompt.variables, any("variables"));
            true
        }
        "task" => {
            operation.task = Task {
                description: word("description"),
                goal: word("goal"),
                input: any("input"),
            }
            .into();
            true
        }
        "resource_impact" => {
            let impact: &mut ResourceImpact = operation.resource_impact.get_or_insert_default();
            fill(&mut impact.amount, value.get("amount").and_then(Value::as_f64));
            fill(&mut impact.unit, word("unit"));
            fill(&mut impact.breakdown, any("breakdown"));
            true
        }
        "state" => {
            operation.state = Some(Box::new(StateChange {
                key: word("key"),
                old_value: any("old_value"),
                new_value: any("new_value"),
                reason: word("reason"),
            }));
            true
        }
        "interrupt" => {
            let asked: &mut Interrupt = operation.interrupt.get_or_insert_default();
            fill(&mut asked.prompt, word("prompt"));
            fill(&mut asked.response, any("response"));
            fill(&mut asked.wait_ms, value.get("wait_ms").and_then(Value::as_u64));
            true
        }
        "memory" => {
            let memory: &mut Memory = operation.memory.get_or_insert_default();
            fill(&mut memory.entity_type, word("entity_type"));
            fill(&mut memory.entity_id, word("entity_id"));
            fill(&mut memory.namespace, any("namespace"));
            fill(&mut memory.key, word("key"));
            fill(&mut memory.operation, word("operation"));
            fill(&mut memory.data, any("data"));
            fill(&mut memory.changes, any("changes"));
            fill(&mut memory.query, any("query"));
            fill(&mut memory.results, any("results"));
            fill(&mut memory.scores, any("scores"));
            fill(&mut memory.total_available, value.get("total_available").and_then(Value::as_i64));
            true
        }
        _ => false,
    }
}

/// What was said before stays where this says nothing.
fn fill<T>(slot: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *slot = value;
    }
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
    const NAMES: [&str; 6] = ["input", "output", "total", "cache_read", "cache_write", "reasoning"];
    let Some(map) = value.as_object() else { return false };
    if !map.iter().all(|(key, count)| NAMES.contains(&key.as_str()) && count.is_u64()) {
        return false;
    }
    let count = |name: &str| map.get(name).and_then(Value::as_u64);
    let usage = &mut operation.usage;
    fill(&mut usage.input, count("input"));
    fill(&mut usage.output, count("output"));
    fill(&mut usage.total, count("total"));
    fill(&mut usage.cache_read, count("cache_read"));
    fill(&mut usage.cache_write, count("cache_write"));
    fill(&mut usage.reasoning, count("reasoning"));
    true
}

fn cost(value: &Value, operation: &mut Operation) -> bool {
    let Some(map) = value.as_object() else { return false };
    let money = |name: &str| map.get(name).and_then(Value::as_f64);
    fill(&mut operation.cost.total, money("total"));
    fill(&mut operation.cost.input, money("input"));
    fill(&mut operation.cost.output, money("output"));
    operation.cost != Cost::default()
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
    let word = |name: &str| value.get(name).and_then(text);
    Evaluation {
        name: word("name"),
        score: value.get("score").and_then(Value::as_f64),
        label: word("label"),
        explanation: word("explanation"),
        annotator_kind: word("annotator_kind"),
    }
}

/// A failure as text, or as `{type, message, stacktrace}`.
fn failure(value: &Value, operation: &mut Operation) -> bool {
    match value {
        Value::String(message) => {
            operation.failure.get_or_insert_default().message = Some(message.clone());
            true
        }
        Value::Object(_) => {
            let word = |name: &str| value.get(name).and_then(text);
            operation.failure = Some(Failure {
                message: word("message"),
                error_type: word("type"),
                stacktrace: word("stacktrace"),
            });
            true
        }
        _ => false,
    }
}
