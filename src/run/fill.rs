//! What one span of an operation lacks, taken from another span of the same operation.

use serde_json::{Map, Value};

use crate::operation::{Message, Operation, Part, ToolUse, Training};

fn or<T>(slot: &mut Option<T>, other: Option<T>) {
    if slot.is_none() {
        *slot = other;
    }
}

fn or_list<T>(list: &mut Vec<T>, other: Vec<T>) {
    if list.is_empty() {
        *list = other;
    }
}

fn or_members(map: &mut Map<String, Value>, other: Map<String, Value>) {
    for (name, value) in other {
        let _ = map.entry(name).or_insert(value);
    }
}

/// Fills what `kept` lacks from `other`. Nothing that `kept` says is changed.
pub(super) fn fill(kept: &mut Operation, other: Operation) {
    // Each field by name: a new one has to say here how it is filled.
    let Operation {
        kind: _,
        name: _,
        agent,
        model,
        input_messages,
        output_messages,
        input,
        output,
        raw_response,
        response_id,
        finish_reason,
        parameters,
        tool_definitions,
        usage,
        cost,
        time_to_first_token,
        tool,
        search,
        embedded_texts,
        vector_count,
        memory,
        state,
        interrupt,
        evaluations,
        training,
        prompt,
        resource_impact,
        task,
        session_id,
        user_id,
        workflow,
        graph_node,
        tags,
        metadata,
        failure,
        format_extras,
        unmapped,
    } = other;
    or(&mut kept.agent.name, agent.name);
    or(&mut kept.agent.id, agent.id);
    or(&mut kept.agent.description, agent.description);
    or(&mut kept.model.requested, model.requested);
    or(&mut kept.model.response, model.response);
    or(&mut kept.model.provider, model.provider);
    or(&mut kept.input_messages, input_messages);
    match (&mut kept.output_messages, output_messages) {
        (Some(have), Some(more)) => {
            if let (Some(first), Some(other)) = (have.first_mut(), more.first()) {
                let _ = enrich(first, other);
            }
        }
        (slot, more) => or(slot, more),
    }
    for (kept, other) in [(&mut kept.input, input), (&mut kept.output, output)] {
        if kept.is_none() {
            *kept = other;
        }
    }
    or(&mut kept.raw_response, raw_response);
    or(&mut kept.response_id, response_id);
    or(&mut kept.finish_reason, finish_reason);
    or(&mut kept.time_to_first_token, time_to_first_token);
    or_members(&mut kept.parameters, parameters);
    or_list(&mut kept.tool_definitions, tool_definitions);
    or(&mut kept.usage.input, usage.input);
    or(&mut kept.usage.output, usage.output);
    or(&mut kept.usage.total, usage.total);
    or(&mut kept.usage.cache_read, usage.cache_read);
    or(&mut kept.usage.cache_write, usage.cache_write);
    or(&mut kept.usage.reasoning, usage.reasoning);
    or(&mut kept.cost.total, cost.total);
    or(&mut kept.cost.input, cost.input);
    or(&mut kept.cost.output, cost.output);
    match (&mut kept.tool, tool) {
        (Some(have), Some(more)) => fill_tool(have, *more),
        (slot, more) => or(slot, more),
    }
    match (&mut kept.search, search) {
        (Some(have), Some(more)) => {
            or(&mut have.query, more.query);
            or(&mut have.documents, more.documents);
            or(&mut have.top_k, more.top_k);
            or(&mut have.match_count, more.match_count);
        }
        (slot, more) => or(slot, more),
    }
    or_list(&mut kept.embedded_texts, embedded_texts);
    or(&mut kept.vector_count, vector_count);
    or(&mut kept.memory, memory);
    or(&mut kept.state, state);
    or(&mut kept.interrupt, interrupt);
    kept.evaluations.extend(evaluations);
    if let Some(training) = training.into_inner() {
        fill_training(&mut kept.training, training);
    }
    if let Some(prompt) = prompt.into_inner() {
        or(&mut kept.prompt.id, prompt.id);
        or(&mut kept.prompt.version, prompt.version);
        or(&mut kept.prompt.template, prompt.template);
        or(&mut kept.prompt.variables, prompt.variables);
    }
    or(&mut kept.resource_impact, resource_impact);
    if let Some(task) = task.into_inner() {
        or(&mut kept.task.description, task.description);
        or(&mut kept.task.goal, task.goal);
        or(&mut kept.task.input, task.input);
    }
    or(&mut kept.session_id, session_id);
    or(&mut kept.user_id, user_id);
    or(&mut kept.workflow, workflow);
    or(&mut kept.graph_node, graph_node);
    for tag in tags {
        if !kept.tags.contains(&tag) {
            kept.tags.push(tag);
        }
    }
    or_members(&mut kept.metadata, metadata);
    if let Some(kept) = &mut kept.failure
        && let Some(more) = failure
    {
        or(&mut kept.message, more.message);
        or(&mut kept.error_type, more.error_type);
        or(&mut kept.stacktrace, more.stacktrace);
    }
    or_members(&mut kept.format_extras, format_extras);
    or_members(&mut kept.unmapped, unmapped);
}

fn fill_training(kept: &mut Training, other: Training) {
    or(&mut kept.reward, other.reward);
    or(&mut kept.terminated, other.terminated);
    or(&mut kept.truncated, other.truncated);
    or(&mut kept.prompt_token_ids, other.prompt_token_ids);
    or(&mut kept.completion_token_ids, other.completion_token_ids);
    or(&mut kept.logprobs, other.logprobs);
    or(&mut kept.optimize, other.optimize);
    or(&mut kept.ideal, other.ideal);
    or(&mut kept.step, other.step);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::operation::{Interrupt, Memory, Prompt, ResourceImpact, Search, StateChange, Task};

    #[test]
    fn what_only_the_other_span_says_is_kept() {
        let other = Operation {
            search: Some(Box::new(Search {
                top_k: Some(3),
                ..Search::default()
            })),
            embedded_texts: vec!["text".to_owned()],
            vector_count: Some(1),
            memory: Some(Box::new(Memory {
                key: Some("k".to_owned()),
                ..Memory::default()
            })),
            state: Some(Box::new(StateChange {
                reason: Some("why".to_owned()),
                ..StateChange::default()
            })),
            interrupt: Some(Box::new(Interrupt {
                wait_ms: Some(1),
                ..Interrupt::default()
            })),
            training: Training {
                reward: Some(0.5),
                step: Some(2),
                ..Training::default()
            }
            .into(),
            prompt: Prompt {
                template: Some("Say {it}.".to_owned()),
                ..Prompt::default()
            }
            .into(),
            resource_impact: Some(Box::new(ResourceImpact {
                amount: Some(1.0),
                ..ResourceImpact::default()
            })),
            task: Task {
                goal: Some("done".to_owned()),
                ..Task::default()
            }
            .into(),
            tags: vec!["one".to_owned()],
            format_extras: Map::from_iter([("synth".to_owned(), json!({"a": 1}))]),
            ..Operation::default()
        };
        let mut kept = Operation::default();
        fill(&mut kept, other.clone());
        assert_eq!(kept, other);
        let mut known = Operation {
            search: Some(Box::new(Search {
                query: Some("fares".into()),
                ..Search::default()
            })),
            tags: vec!["two".to_owned(), "one".to_owned()],
            ..Operation::default()
        };
        fill(&mut known, other);
        assert_eq!(known.tags, ["two", "one"]);
        let search = known.search.expect("a search");
        assert_eq!((search.query, search.top_k), (Some("fares".into()), Some(3)));
    }
}
