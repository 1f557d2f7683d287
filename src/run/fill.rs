//! What one span of an operation lacks, taken from another span of the same operation.

use serde_json::{Map, Value};

use super::inputs;
use crate::hash::{Distinct, HashMap};
use crate::operation::{
    Agent, ContentType, Cost, Evaluation, Failure, Interrupt, Kind, Memory, Message, Model, Operation, Part, Prompt, ResourceImpact,
    Search, StateChange, Task, TokenCount, ToolCall, ToolCallId, ToolUse, Training,
};

fn or<T>(slot: &mut Option<T>, other: Option<T>) {
    if slot.is_none() {
        *slot = other;
    }
}

/// Each member by name: a new one does not compile until it stands here.
macro_rules! or_each {
    ($kept:expr, $other:expr, $type:ident { $($name:ident),* $(,)? }) => {{
        let $type { $($name),* } = $other;
        $(or(&mut $kept.$name, $name);)*
    }};
}

/// As [`or_each`], where both may say nothing.
macro_rules! or_boxed {
    ($kept:expr, $other:expr, $type:ident $members:tt) => {
        match (&mut $kept, $other) {
            (Some(have), Some(more)) => or_each!(have, *more, $type $members),
            (slot, more) => or(slot, more),
        }
    };
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
        content_type,
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
        has_unread_words,
    } = other;
    or_each!(
        kept.agent,
        agent,
        Agent {
            name,
            id,
            description,
            version,
            framework
        }
    );
    or_each!(
        kept.model,
        model,
        Model {
            requested,
            response,
            provider
        }
    );
    match (&mut kept.input_messages, input_messages) {
        (Some(have), Some(more)) if kept.kind == Kind::Llm => {
            // What several calls share is whole.
            if have.shared_number().is_none() && more.shared_number().is_none() {
                let mut list = std::mem::take(have).into_vec();
                inputs::complete(&mut list, more.into_vec());
                *have = list.into();
            }
        }
        (slot, more) => or(slot, more),
    }
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
    or_each!(
        kept.usage,
        usage,
        TokenCount {
            input,
            output,
            total,
            cache_read,
            cache_write,
            reasoning
        }
    );
    or_each!(kept.cost, cost, Cost { total, input, output });
    or_boxed!(
        kept.tool,
        tool,
        ToolUse {
            name,
            call_id,
            arguments,
            result,
            description,
            parameters,
            mcp_server
        }
    );
    or_boxed!(
        kept.search,
        search,
        Search {
            query,
            documents,
            top_k,
            match_count
        }
    );
    or_list(&mut kept.embedded_texts, embedded_texts);
    or(&mut kept.vector_count, vector_count);
    or_boxed!(
        kept.memory,
        memory,
        Memory {
            entity_type,
            entity_id,
            namespace,
            key,
            operation,
            data,
            changes,
            query,
            results,
            scores,
            total_available
        }
    );
    or_boxed!(
        kept.state,
        state,
        StateChange {
            key,
            old_value,
            new_value,
            reason
        }
    );
    or_boxed!(kept.interrupt, interrupt, Interrupt { prompt, response, wait_ms });
    Evaluation::add(&mut kept.evaluations, evaluations);
    if let Some(content_type) = content_type.into_inner() {
        or_each!(kept.content_type, content_type, ContentType { input, output });
    }
    if let Some(training) = training.into_inner() {
        or_each!(
            kept.training,
            training,
            Training {
                reward,
                terminated,
                truncated,
                prompt_token_ids,
                completion_token_ids,
                logprobs,
                optimize,
                ideal,
                step
            }
        );
    }
    if let Some(prompt) = prompt.into_inner() {
        or_each!(
            kept.prompt,
            prompt,
            Prompt {
                id,
                version,
                template,
                variables
            }
        );
    }
    or_boxed!(kept.resource_impact, resource_impact, ResourceImpact { amount, unit, breakdown });
    if let Some(task) = task.into_inner() {
        or_each!(kept.task, task, Task { description, goal, input });
    }
    or(&mut kept.session_id, session_id);
    or(&mut kept.user_id, user_id);
    or(&mut kept.workflow, workflow);
    or(&mut kept.graph_node, graph_node);
    if !tags.is_empty() {
        let all: Distinct<String> = std::mem::take(&mut kept.tags).into_iter().chain(tags).collect();
        kept.tags = all.into_list().collect();
    }
    or_members(&mut kept.metadata, metadata);
    if let Some(kept) = &mut kept.failure
        && let Some(more) = failure
    {
        or_each!(
            kept,
            more,
            Failure {
                message,
                error_type,
                stacktrace
            }
        );
    }
    or_members(&mut kept.format_extras, format_extras);
    or_members(&mut kept.unmapped, unmapped);
    kept.has_unread_words |= has_unread_words;
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
    let mut twins: HashMap<&ToolCallId, &ToolCall> = HashMap::default();
    for twin in &other.tool_calls {
        if let Some(id) = &twin.id {
            twins.entry(id).or_insert(twin);
        }
    }
    for call in &mut first.tool_calls {
        if let Some(twin) = call.id.as_ref().and_then(|id| twins.get(id)) {
            // A stream begins with an empty object, and a client may leave it there.
            let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
            if call.arguments.as_ref().is_some_and(is_empty)
                && twin.arguments.as_ref().is_some_and(|told| told.is_object() && !is_empty(told))
            {
                (call.arguments, call.arguments_text) = (None, None);
            }
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
    changed |= enrich_opaque(first, other);
    if !first.has_words() {
        let before = first.parts.len();
        first
            .parts
            .extend(other.parts.iter().filter(|part| matches!(part, Part::Text(_))).cloned());
        changed |= first.parts.len() > before;
    }
    changed
}

/// What a provider gives beside thoughts, and thoughts without words, where only the other telling has them.
fn enrich_opaque(first: &mut Message, other: &Message) -> bool {
    let has_opaque = |part: &Part| matches!(part, Part::Reasoning { opaque, .. } if !opaque.is_empty());
    if first.parts.iter().any(has_opaque) || !other.parts.iter().any(has_opaque) {
        return false;
    }
    let is_thought = |part: &Part| matches!(part, Part::Reasoning { .. });
    let words = |part: &Part| match part {
        Part::Reasoning { text, .. } => text.clone().unwrap_or_default(),
        _ => String::new(),
    };
    let own: String = first.parts.iter().map(words).collect();
    let told: String = other.parts.iter().map(words).collect();
    // The same thoughts: the other telling is the whole one.
    let (own, told) = (own.trim(), told.trim());
    if !own.is_empty() && !told.is_empty() && own != told {
        return false;
    }
    let thoughts: Vec<Part> = match told.is_empty() {
        false => {
            first.parts.retain(|part| !is_thought(part));
            other.parts.iter().filter(|part| is_thought(part)).cloned().collect()
        }
        true => other.parts.iter().filter(|part| has_opaque(part)).cloned().collect(),
    };
    let _ = first.parts.splice(0..0, thoughts);
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
            memory: Some(Box::new(Memory {
                entity_id: Some("e".to_owned()),
                ..Memory::default()
            })),
            tags: vec!["two".to_owned(), "one".to_owned()],
            ..Operation::default()
        };
        fill(&mut known, other);
        assert_eq!(known.tags, ["two", "one"]);
        let memory = known.memory.expect("a memory");
        assert_eq!((memory.entity_id.as_deref(), memory.key.as_deref()), (Some("e"), Some("k")));
        let search = known.search.expect("a search");
        assert_eq!((search.query, search.top_k), (Some("fares".into()), Some(3)));
    }
}
