//! OpenReward blocks to spans.
//!
//! | blocks | span |
//! |---|---|
//! | THINKs, TOOL_CALLs and an assistant MESSAGE between inputs, or with the same `metadata.span_id` | one model call |
//! | system and user MESSAGEs | input of the following model calls; after the last one, user input |
//! | TOOL_RESULT | the execution of its call; `delta`s are joined by `seq`; several `output`s are attempts |
//! | TOOL_CALL with `metadata.kind` | the operation of that kind, not a model's call |
//! | `metadata.subagent`, `.around`, `.run` | an agent inside the tool, sibling operations, the root |
//!
//! The parent of a block does not determine its model call (in the spec's own example, calls are children of the user's
//! message); its position does.

mod blocks;
mod facts;

use serde_json::{Value, json};

use crate::blocks::limits::Limits;
use crate::blocks::rules;
use crate::document::choice::Options;
use crate::formats::back::{At, Result, TraceBuilder, trace_id};
use crate::hash::Keyed;
use crate::span::TraceId;

/// The traces of a list of blocks.
pub(in crate::formats) fn read(at: &At<'_>) -> Result<Vec<TraceBuilder>> {
    let (list, _) = list_of(at)?;
    let blocks = list.items()?;
    let values: Vec<Value> = blocks.iter().map(|block| block.value.clone()).collect();
    let limits = Limits::from_options(&Options::default());
    if let Some((index, refusal)) = rules::check_all(&values, &limits).into_iter().next() {
        let field = refusal.details.get("field").and_then(Value::as_str).map(str::to_owned);
        let block = blocks.get(index).unwrap_or(&list);
        let mut place = block.clone();
        for key in field.iter().flat_map(|field| field.split('.')) {
            place = place.get(key).unwrap_or(place);
        }
        return Err(place.refuse(refusal.message));
    }
    read_checked(at)
}

fn list_of<'a>(at: &At<'a>) -> Result<(At<'a>, bool)> {
    let wrapped = at.value.is_object();
    let list = if wrapped { at.need("blocks")? } else { at.clone() };
    Ok((list, wrapped))
}

/// Reads blocks that were already checked, with other limits.
pub(in crate::formats) fn read_checked(at: &At<'_>) -> Result<Vec<TraceBuilder>> {
    let (list, wrapped) = list_of(at)?;
    let blocks = list.items()?;
    let mut traces: Keyed<Option<&str>, Vec<At<'_>>> = Keyed::default();
    for block in blocks {
        let trace = block.value.get("trace_id").and_then(Value::as_str);
        traces.get_or_insert_with(&trace, Vec::new).push(block);
    }
    let traces = traces.into_list();
    if traces.is_empty() {
        return Err(list.refuse("a list without blocks has no trace"));
    }
    let builders = traces.into_iter().enumerate();
    builders
        .map(|(number, (trace, blocks))| one(at, wrapped, (number == 0, trace), blocks))
        .collect()
}

/// Reads one trace. Members next to the list of blocks go with the first trace.
fn one(at: &At<'_>, wrapped: bool, (is_first, trace): (bool, Option<&str>), mut blocks: Vec<At<'_>>) -> Result<TraceBuilder> {
    let values = || -> Vec<Value> { blocks.iter().map(|block| block.value.clone()).collect() };
    // Blocks without a trace are only distinguished by their content.
    let own = || trace.map_or_else(|| json!(values()).to_string(), str::to_owned);
    let recorded = trace.and_then(|trace| TraceId::from_hex(trace.strip_prefix("tr_")?));
    let id = recorded.unwrap_or_else(|| trace_id("openreward", &own()));
    // The document may hold several traces; this is one of them.
    let all = if wrapped { at.value.get("blocks") } else { Some(at.value) };
    let is_part = all.and_then(Value::as_array).is_none_or(|all| all.len() != blocks.len());
    let document = is_part.then(|| {
        if !wrapped {
            return values().into();
        }
        let beside = at.value.as_object().filter(|_| is_first).into_iter().flatten();
        let beside = beside.filter(|(key, _)| *key != "blocks");
        let beside = beside.map(|(key, value)| (key.clone(), value.clone()));
        Value::Object([("blocks".to_owned(), values().into())].into_iter().chain(beside).collect())
    });
    for (index, block) in blocks.iter_mut().enumerate() {
        block.own = format!("$[{index}]");
        block.pointer = if wrapped { format!("/blocks/{index}") } else { format!("/{index}") };
    }
    let mut builder = TraceBuilder::new("openreward", id, document);
    builder.wrap = wrapped.then_some("blocks");
    blocks::BlockReader::new(&mut builder).read(&blocks, 0, 0)?;
    Ok(builder)
}
