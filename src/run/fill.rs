//! Fills gaps in one span of an operation from another span of the same operation.

use serde_json::{Map, Value};

use super::inputs;
use crate::dialect::messages;
use crate::hash::{Distinct, HashMap};
use crate::operation::{Group as _, Kind, Message, Operation, Part, ToolCall, ToolCallId};

/// Fills what `kept` lacks from `other`. Nothing in `kept` is changed.
pub(super) fn fill(kept: &mut Operation, mut other: Operation) {
    if kept.kind == Kind::Llm
        && let Some(have) = &mut kept.input_messages
        && let Some(more) = other.input_messages.take()
    {
        // Shared inputs are complete.
        if have.shared_number().is_none() && more.shared_number().is_none() {
            let mut list = std::mem::take(have).into_vec();
            inputs::complete(&mut list, more.into_vec());
            *have = list.into();
        }
    }
    if let (Some(have), Some(more)) = (&mut kept.output_messages, &other.output_messages)
        && let (Some(first), Some(other)) = (have.first_mut(), more.first())
    {
        let _ = enrich(first, other);
    }
    if !other.tags.is_empty() {
        let all: Distinct<String> = std::mem::take(&mut kept.tags)
            .into_iter()
            .chain(std::mem::take(&mut other.tags))
            .collect();
        kept.tags = all.into_list().collect();
    }
    if let (Some(have), Some(more)) = (&mut kept.failure, other.failure.take()) {
        have.fill(more);
    }
    kept.fill(other);
}

fn or_copy<T: Clone>(slot: &mut Option<T>, other: Option<&T>) -> bool {
    let fills = slot.is_none() && other.is_some();
    if fills {
        *slot = other.cloned();
    }
    fills
}

/// Thoughts, calls and texts that only the other record of an answer has. Returns whether there were any.
pub(super) fn enrich(first: &mut Message, other: &Message) -> bool {
    let mut changed = first.tool_calls.is_empty() && !other.tool_calls.is_empty();
    if changed {
        first.tool_calls.clone_from(&other.tool_calls);
        messages::drop_printed_none(first);
    }
    let mut twins: HashMap<&ToolCallId, &ToolCall> = HashMap::default();
    for twin in &other.tool_calls {
        if let Some(id) = &twin.id {
            twins.entry(id).or_insert(twin);
        }
    }
    for call in &mut first.tool_calls {
        if let Some(twin) = call.id.as_ref().and_then(|id| twins.get(id)) {
            // A stream begins with an empty object, which a client may leave in place.
            let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
            if call.arguments.as_ref().is_some_and(is_empty)
                && twin
                    .arguments
                    .as_ref()
                    .is_some_and(|recorded| recorded.is_object() && !is_empty(recorded))
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
    if !first.has_words() && (first.tool_calls.is_empty() || !messages::says_printed_none(other)) {
        let before = first.parts.len();
        first
            .parts
            .extend(other.parts.iter().filter(|part| matches!(part, Part::Text(_))).cloned());
        changed |= first.parts.len() > before;
    }
    changed
}

/// The provider's data for thoughts, and thoughts without text, if only the other record has them.
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
    let recorded: String = other.parts.iter().map(words).collect();
    // The same thoughts: the other record is the complete one.
    let (own, recorded) = (own.trim(), recorded.trim());
    if !own.is_empty() && !recorded.is_empty() && own != recorded {
        return false;
    }
    let thoughts: Vec<Part> = match recorded.is_empty() {
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
    use crate::operation::{Document, Evaluation, Field, Memory, Role, Search, Slot, ToolDefinition};

    /// Puts some value there.
    fn set(slot: Slot<'_>) {
        match slot {
            Slot::Text(slot) => *slot = Some("words".to_owned()),
            Slot::Count(slot) => *slot = Some(3),
            Slot::Integer(slot) => *slot = Some(-3),
            Slot::Number(slot) => *slot = Some(0.5),
            Slot::Flag(slot) => *slot = Some(true),
            Slot::Value(slot) => *slot = Some(json!({"a": 1})),
            Slot::Texts(list) => list.push("words".to_owned()),
            Slot::Map(map) => map.extend([("a".to_owned(), json!(1))]),
            Slot::Recorded(slot) => *slot = json!(1).into(),
            Slot::Conversation(slot) => *slot = Some(vec![Message::text(Role::User, "words")].into()),
            Slot::Messages(slot) => *slot = Some(vec![Message::text(Role::Assistant, "words")]),
            Slot::Documents(slot) => *slot = Some(vec![Document::default()]),
            Slot::Tools(list) => list.push(ToolDefinition::default()),
            Slot::Evaluations(list) => list.push(Evaluation::default()),
        }
    }

    #[test]
    fn what_only_the_other_span_says_is_kept() {
        for field in Field::ALL {
            let mut other = Operation::default();
            let Some(slot) = field.slot(&mut other) else { continue };
            set(slot);
            assert!(field.value(&other).is_some(), "{field:?}");
            let mut kept = Operation::default();
            fill(&mut kept, other.clone());
            assert_eq!(kept, other, "{field:?}");
        }
    }

    #[test]
    fn what_both_say_stays() {
        let other = Operation {
            search: Some(Box::new(Search {
                query: Some("other".into()),
                top_k: Some(3),
                ..Search::default()
            })),
            memory: Some(Box::new(Memory {
                key: Some("k".to_owned()),
                ..Memory::default()
            })),
            tags: vec!["one".to_owned()],
            ..Operation::default()
        };
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
