//! Invariant documents to spans.
//!
//! | event | span |
//! |---|---|
//! | `assistant` | a model call: its input is everything before it, its output the event; `timestamp` is its end |
//! | `tool` | the execution of the call that it answers |
//! | other roles | input of the next model call; after the last one, user input |
//! | `assistant` with `metadata.synthesized` | no span: the call of the operation whose output follows |
//! | bare call | a message with that call in the next model call's input |
//! | `tools` | tools offered to the model calls that follow |
//! | `metadata.subagent`, `.operations`, `.earlier_results` | spans inside, around and before |
//! | annotations | evaluations of the event that the address refers to, else of the whole run |

mod annotations;
mod beside;
mod content;
mod list;

use serde_json::{Map, Value, json};

use crate::formats::back::{At, Result, TraceBuilder, read_run_facts, trace_id};
use crate::span::TraceId;

/// The traces of a document: one, or one per list of a push request.
pub(in crate::formats) fn read(at: &At<'_>) -> Result<Vec<TraceBuilder>> {
    if at.value.is_array() {
        return Ok(vec![trace(at, at, None, None, None)?]);
    }
    at.object()?;
    let messages = at.need("messages")?;
    let lists = messages.items()?;
    if !lists.first().is_some_and(|first| first.value.is_array()) {
        let annotations = at.some("annotations");
        let mut builder = trace(at, &messages, at.some("metadata"), annotations, None)?;
        builder.options.push(("invariant.container".to_owned(), "jsonl".to_owned()));
        return Ok(vec![builder]);
    }
    let one = |key: &str, index: usize| -> Result<Option<At<'_>>> {
        let Some(list) = at.some(key) else { return Ok(None) };
        let items = list.items()?;
        if items.len() != lists.len() {
            return Err(list.refuse(format!("{} members for {} traces", items.len(), lists.len())));
        }
        Ok(items.into_iter().nth(index))
    };
    let mut out = Vec::new();
    for (index, list) in lists.iter().enumerate() {
        let mut document = at.value.clone();
        for key in ["messages", "annotations", "metadata"] {
            if let Some(Value::Array(all)) = document.get_mut(key) {
                *all = all.get(index).cloned().into_iter().collect();
            }
        }
        // Paths of coerced values refer to the only list of this document.
        let mut here = list.clone();
        here.pointer = "/messages/0".to_owned();
        let mut builder = trace(at, &here, one("metadata", index)?, one("annotations", index)?, Some(document))?;
        builder.options.push(("invariant.container".to_owned(), "push".to_owned()));
        if let Some(name) = at.text_of("dataset")?.filter(|name| !name.trim().is_empty()) {
            builder.options.push(("invariant.dataset".to_owned(), name.to_owned()));
        }
        out.push(builder);
    }
    Ok(out)
}

fn trace(
    whole: &At<'_>,
    events: &At<'_>,
    metadata: Option<At<'_>>,
    annotations: Option<At<'_>>,
    document: Option<Value>,
) -> Result<TraceBuilder> {
    let about: Map<String, Value> = match &metadata {
        Some(metadata) => metadata.object()?.clone(),
        None => Map::new(),
    };
    let recorded = about.get("otel.trace_id").and_then(Value::as_str).and_then(TraceId::from_hex);
    // An array of events has no id: only its content distinguishes it from others.
    let own = || json!([events.value, whole.value.get("dataset"), about]).to_string();
    let id = recorded.unwrap_or_else(|| trace_id("invariant", &own()));
    let mut builder = TraceBuilder::new("invariant", id, document);
    // The same events become the same spans in a container and on their own.
    let mut events = events.clone();
    "$".clone_into(&mut events.own);
    let mut reader = list::EventReader::new(&mut builder);
    let spans_of_events = reader.list(&events.items()?, 0, 0)?;
    read_run_facts(about, &mut builder);
    if let Some(annotations) = annotations {
        annotations::read(&annotations, &spans_of_events, &mut builder)?;
    }
    Ok(builder)
}
