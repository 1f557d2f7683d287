//! Reflex documents to spans: one span per node, with the node's id.
//!
//! | node | operation |
//! |---|---|
//! | `reason` | a model call; input and output become messages if they are in that form |
//! | `tool` | a tool; `metadata.tool_call_id` names its call |
//! | `retrieve` | a retrieval; a memory read if `metadata.memory` is present |
//! | `agent` | an agent; a handoff if `metadata.state` is present |
//! | `other` | what its metadata describe (memory, state, a question to a user, a prompt, `kind`), else a chain |
//! | `tokens` | the total, unless the metadata have its parts |
//!
//! A single node without a parent is the root; several of them get a new root.

mod node;

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::check;
use crate::document::rules::Items;
use crate::document::shape::kind_of;
use crate::document::violations::{JsonPath, Violations};
use crate::formats::back::{
    At, NoteKind, Result, TraceBuilder, milliseconds, read_evaluation, read_facts, read_operations, read_run_facts, seconds, trace_id,
};
use crate::operation::Kind;
use crate::span::{TraceId, UnixNanos};

/// A node with its id and parent.
struct ListedNode<'a> {
    at: At<'a>,
    id: String,
    parent: Option<&'a str>,
}

/// The trace of a document.
pub(in crate::formats) fn read(at: &At<'_>) -> Result<Vec<TraceBuilder>> {
    at.object()?;
    let list = at.need("nodes")?;
    let nodes = listed(&list)?;
    let metadata = at.object_of("metadata")?;
    let recorded = metadata.get("otel.trace_id").and_then(Value::as_str).and_then(TraceId::from_hex);
    let id = recorded.unwrap_or_else(|| trace_id("reflex", &at.value.to_string()));
    let mut builder = TraceBuilder::new("reflex", id, None);
    order_document(&nodes, &list, &mut builder);
    let places = add(&nodes, &mut builder)?;
    in_order(&nodes, &mut builder);
    about_run(metadata, &places, &mut builder);
    if let Some(ideal) = at.some("ideal") {
        let text = ideal.text()?;
        if let Some(root) = builder.operation(0) {
            root.training.ideal = Some(text.into());
        }
    }
    Ok(vec![builder])
}

/// The nodes with their ids; refuses the document if it breaks a rule of the tree.
fn listed<'a>(list: &At<'a>) -> Result<Vec<ListedNode<'a>>> {
    let items = list.items()?;
    let nodes = items.iter().map(At::object).collect::<Result<Vec<_>>>()?;
    let (root, mut found) = (JsonPath::of_document(None), Violations::default());
    let place = root.key("nodes");
    check::tree(Items { place, word: "node" }, &nodes, &mut found);
    list.refuse_first(found)?;
    let ids = check::ids(&nodes).into_iter().map(Cow::into_owned);
    let with_ids = items.iter().zip(ids).map(|(at, id)| {
        let parent = at.text_of("parent_id")?;
        Ok(ListedNode {
            at: at.clone(),
            id,
            parent,
        })
    });
    with_ids.collect()
}

/// Makes an export reproduce the nodes in order of start, as the schema requires. The package's runtime writes a node
/// when it ends.
fn order_document(nodes: &[ListedNode<'_>], list: &At<'_>, builder: &mut TraceBuilder) {
    let start = |node: &ListedNode<'_>| node.at.value.get("started_at").and_then(Value::as_f64);
    let starts: Vec<f64> = nodes.iter().filter_map(start).collect();
    if starts.is_sorted() || starts.len() < nodes.len() {
        return;
    }
    let mut sorted: Vec<(f64, &Value)> = starts.into_iter().zip(nodes.iter().map(|node| node.at.value)).collect();
    sorted.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let sorted: Vec<Value> = sorted.into_iter().map(|(_, node)| node.clone()).collect();
    builder.note(&list.path, NoteKind::ByPosition, "the nodes were put in order of their start");
    builder.mend(&list.pointer, sorted.into());
}

/// Adds the nodes to the builder; returns their indices by id.
fn add(nodes: &[ListedNode<'_>], builder: &mut TraceBuilder) -> Result<HashMap<String, usize>> {
    let mut roots = nodes.iter().filter(|node| node.parent.is_none());
    let only_root = roots.next().filter(|_| roots.next().is_none()).map(|node| node.id.as_str());
    if let Some(root) = builder.operation(0).filter(|_| only_root.is_none()) {
        root.kind = Kind::Chain;
    }
    let mut places = HashMap::new();
    for node in nodes {
        let mut operation = node::read(&node.at)?;
        let mut metadata = node.at.object_of("metadata")?;
        node::about(&mut metadata, &mut operation);
        read_facts(&mut metadata, &mut operation);
        operation.metadata.extend(metadata);
        if let Some(kind) = node::own_kind(&node.at)? {
            let detail = format!("the kind `{kind}` is read as `other`, and kept in the metadata");
            builder.note(&format!("{}.kind", node.at.path), NoteKind::Coerced, detail);
            let _ = operation.metadata.entry("kind").or_insert_with(|| kind.into());
        }
        let (start, end) = (time(&node.at, "started_at", builder)?, time(&node.at, "ended_at", builder)?);
        if let (Some(start), Some(end)) = (start, end)
            && end < start
        {
            return Err(node.at.need("ended_at")?.refuse("`ended_at` is before `started_at`"));
        }
        let latency = node.at.value.pointer("/metadata/latency_ms").and_then(Value::as_f64);
        let took = latency.filter(|latency| (0.0..1e12).contains(latency)).map(milliseconds);
        let end = end.or_else(|| Some(UnixNanos(start?.0.saturating_add(took?))));
        let index = if only_root == Some(node.id.as_str()) {
            builder.set_root(Some(&node.id), operation)
        } else {
            let id = builder.id(Some(&node.id), &format!("nodes.{}", node.id));
            builder.add(id, 0, operation)
        };
        builder.times(index, start, end);
        builder.took(index, took);
        places.insert(node.id.clone(), index);
    }
    for node in nodes {
        let parent = node.parent.and_then(|parent| places.get(parent).copied());
        let draft = places.get(&node.id).and_then(|index| builder.drafts.get_mut(*index));
        if let (Some(parent), Some(draft)) = (parent, draft.filter(|draft| draft.parent.is_some())) {
            draft.parent = Some(parent);
        }
    }
    Ok(places)
}

/// Orders nodes that start at the same time as in the list, by nanoseconds, which seconds in `f64` do not show.
fn in_order(nodes: &[ListedNode<'_>], builder: &mut TraceBuilder) {
    let first = builder.drafts.len() - nodes.len().min(builder.drafts.len());
    let mut last: Option<UnixNanos> = None;
    for draft in builder.drafts.iter_mut().skip(first) {
        let Some(start) = &mut draft.start else { continue };
        if let Some(last) = last.filter(|last| last.0 >= start.0 && last.0 - start.0 < 100) {
            *start = UnixNanos(last.0.saturating_add(1));
        }
        last = Some(*start);
        draft.end = draft.end.map(|end| end.max(*start));
    }
}

/// Reads facts of the whole run; rewards and evaluations go to the nodes that they name.
fn about_run(mut metadata: Map<String, Value>, places: &HashMap<String, usize>, builder: &mut TraceBuilder) {
    let place = |entry: &Value| entry.get("node").and_then(Value::as_str).and_then(|node| places.get(node).copied());
    if let Some(Value::Array(rewards)) = metadata.get("rewards") {
        let mut left = Vec::new();
        for entry in rewards {
            let reward = entry.get("reward").and_then(Value::as_f64);
            match (place(entry).and_then(|place| builder.operation(place)), reward) {
                (Some(operation), Some(reward)) => operation.training.reward = Some(reward),
                _ => left.push(entry.clone()),
            }
        }
        metadata.shift_remove("rewards");
        if !left.is_empty() {
            metadata.insert("rewards".to_owned(), left.into());
        }
    }
    if let Some(Value::Array(list)) = metadata.shift_remove("evaluations") {
        for entry in list {
            let index = place(&entry).unwrap_or(0);
            if let Some(operation) = builder.operation(index) {
                operation.evaluations.push(read_evaluation(&entry));
            }
        }
    }
    read_operations(metadata.shift_remove("evaluators").as_ref(), 0, 0, builder);
    read_run_facts(metadata, builder);
}

/// The time in a member, in seconds since 1970.
fn time(at: &At<'_>, key: &str, builder: &mut TraceBuilder) -> Result<Option<UnixNanos>> {
    let Some(at) = at.some(key) else { return Ok(None) };
    let number = at.value.as_f64();
    match number.and_then(seconds) {
        Some(time) => Ok(Some(time)),
        None if number.is_some_and(|number| number > 0.0) => {
            builder.note(&at.path, NoteKind::TimeUnknown, "no time in seconds since 1970 that spans can hold");
            Ok(None)
        }
        None if number.is_some() => Err(at.refuse("no time in seconds since 1970")),
        None => Err(at.refuse(format!("a number of seconds is wanted, found {}", kind_of(at.value)))),
    }
}
