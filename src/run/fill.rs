//! What one span of an operation lacks, taken from another span of the same operation.

use crate::operation::{Message, Operation, Part, ToolUse};

fn or<T>(slot: &mut Option<T>, other: Option<T>) {
    if slot.is_none() {
        *slot = other;
    }
}

/// Fills what `kept` lacks from `other`. Nothing that `kept` says is changed.
pub(super) fn fill(kept: &mut Operation, other: Operation) {
    or(&mut kept.agent.name, other.agent.name);
    or(&mut kept.agent.id, other.agent.id);
    or(&mut kept.agent.description, other.agent.description);
    or(&mut kept.model.requested, other.model.requested);
    or(&mut kept.model.response, other.model.response);
    or(&mut kept.model.provider, other.model.provider);
    or(&mut kept.input_messages, other.input_messages);
    match (&mut kept.output_messages, other.output_messages) {
        (Some(have), Some(more)) => {
            if let (Some(first), Some(other)) = (have.first_mut(), more.first()) {
                let _ = enrich(first, other);
            }
        }
        (slot, more) => or(slot, more),
    }
    for (kept, other) in [(&mut kept.input, other.input), (&mut kept.output, other.output)] {
        if kept.is_none() {
            *kept = other;
        }
    }
    or(&mut kept.raw_response, other.raw_response);
    or(&mut kept.response_id, other.response_id);
    or(&mut kept.finish_reason, other.finish_reason);
    or(&mut kept.time_to_first_token, other.time_to_first_token);
    for (name, value) in other.parameters {
        let _ = kept.parameters.entry(name).or_insert(value);
    }
    if kept.tool_definitions.is_empty() {
        kept.tool_definitions = other.tool_definitions;
    }
    or(&mut kept.usage.input, other.usage.input);
    or(&mut kept.usage.output, other.usage.output);
    or(&mut kept.usage.total, other.usage.total);
    or(&mut kept.usage.cache_read, other.usage.cache_read);
    or(&mut kept.usage.cache_write, other.usage.cache_write);
    or(&mut kept.usage.reasoning, other.usage.reasoning);
    or(&mut kept.cost.total, other.cost.total);
    or(&mut kept.cost.input, other.cost.input);
    or(&mut kept.cost.output, other.cost.output);
    match (&mut kept.tool, other.tool) {
        (Some(have), Some(more)) => fill_tool(have, more),
        (slot, more) => or(slot, more),
    }
    or(&mut kept.search, other.search);
    or(&mut kept.session_id, other.session_id);
    or(&mut kept.user_id, other.user_id);
    or(&mut kept.prompt.id, other.prompt.id);
    or(&mut kept.workflow, other.workflow);
    or(&mut kept.graph_node, other.graph_node);
    for (name, value) in other.metadata {
        let _ = kept.metadata.entry(name).or_insert(value);
    }
    for (name, value) in other.unmapped {
        let _ = kept.unmapped.entry(name).or_insert(value);
    }
    kept.evaluations.extend(other.evaluations);
    if let Some(failure) = &mut kept.failure
        && let Some(more) = other.failure
    {
        or(&mut failure.message, more.message);
        or(&mut failure.error_type, more.error_type);
        or(&mut failure.stacktrace, more.stacktrace);
    }
}

fn fill_tool(kept: &mut ToolUse, other: ToolUse) {
    or(&mut kept.name, other.name);
    or(&mut kept.call_id, other.call_id);
    or(&mut kept.arguments, other.arguments);
    or(&mut kept.result, other.result);
    or(&mut kept.description, other.description);
    or(&mut kept.parameters, other.parameters);
    or(&mut kept.mcp_server, other.mcp_server);
}

fn or_copy<T: Clone>(slot: &mut Option<T>, other: Option<&T>) -> bool {
    let fills = slot.is_none() && other.is_some();
    if fills {
        *slot = other.cloned();
    }
    fills
}

/// Thoughts, calls and texts that only the other telling of an answer holds. Whether there were any.
pub(super) fn enrich(first: &mut Message, other: &Message) -> bool {
    let mut changed = first.tool_calls.is_empty() && !other.tool_calls.is_empty();
    if changed {
        first.tool_calls.clone_from(&other.tool_calls);
    }
    for call in &mut first.tool_calls {
        let twin = other.tool_calls.iter().find(|twin| twin.id.is_some() && twin.id == call.id);
        if let Some(twin) = twin {
            changed |= or_copy(&mut call.arguments, twin.arguments.as_ref());
            changed |= or_copy(&mut call.arguments_text, twin.arguments_text.as_ref());
        }
    }
    if !first.has_thoughts() {
        let thoughts: Vec<Part> = other
            .parts
            .iter()
            .filter(|part| matches!(part, Part::Reasoning { text: Some(_), .. }))
            .cloned()
            .collect();
        changed |= !thoughts.is_empty();
        let _ = first.parts.splice(0..0, thoughts);
    }
    if !first.has_words() {
        let before = first.parts.len();
        first
            .parts
            .extend(other.parts.iter().filter(|part| matches!(part, Part::Text(_))).cloned());
        changed |= first.parts.len() > before;
    }
    changed
}
