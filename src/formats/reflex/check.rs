//! The published schema's rules, and what the package's readers need to show every node.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::table::{DOCUMENT, METADATA, NODE};
use crate::document::rules::{Items, not_before};
use crate::document::violations::{JsonPath, Violations};
use crate::formats::back::seconds as time_of_seconds;

pub(super) fn check(place: JsonPath<'_>, document: &Value, found: &mut Violations) {
    DOCUMENT.check(document, place, found);
    let Some(trace) = document.as_object() else { return };
    let Some(all) = trace.get("nodes").and_then(Value::as_array) else {
        return;
    };
    let nodes: Vec<&Map<String, Value>> = all.iter().filter_map(Value::as_object).collect();
    if nodes.len() != all.len() {
        return;
    }
    let place = place.key("nodes");
    for (index, node) in nodes.iter().enumerate() {
        one_node(place.item(index), node, found);
    }
    let items = Items { place, word: "node" };
    tree(items, &nodes, found);
    let starts = nodes.iter().map(|node| node.get("started_at").and_then(Value::as_f64));
    let early = "it is earlier than a node before it: put nodes in the order in which they began";
    items.ascending("started_at", starts, early, found);
    prompts(place, &nodes, found);
}

fn text<'a>(node: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    node.get(name).and_then(Value::as_str)
}

fn one_node(place: JsonPath<'_>, node: &Map<String, Value>, found: &mut Violations) {
    NODE.check(node, place, found);
    if let Some(metadata) = node.get("metadata").and_then(Value::as_object) {
        METADATA.check(metadata, place.key("metadata"), found);
    }
    let number = |name: &str| node.get(name).and_then(Value::as_f64);
    for name in ["started_at", "ended_at"] {
        if number(name).is_some_and(|seconds| seconds <= 0.0 || time_of_seconds(seconds).is_none()) {
            let message = "it is not in seconds since 1970: divide milliseconds by 1e3, nanoseconds by 1e9";
            found.add(place.key(name), message);
        }
    }
    let late = "it is before `started_at`: put the time of the end there, or null";
    not_before(place.key("ended_at"), (number("started_at"), number("ended_at")), late, found);
    for name in ["prompt_id", "error"] {
        if text(node, name) == Some("") {
            found.add(place.key(name), "an empty text has no meaning: put null there");
        }
    }
    if node.get("optimize") == Some(&Value::Bool(true)) && text(node, "prompt_id").is_none_or(str::is_empty) {
        let message = "a node without `prompt_id` is never optimized: name its prompt, or put false there";
        found.add(place.key("optimize"), message);
    }
}

/// The ids of nodes. The package names a node without an id by its position.
pub(super) fn ids<'a>(nodes: &[&'a Map<String, Value>]) -> Vec<Cow<'a, str>> {
    let own = nodes.iter().map(|node| text(node, "id").filter(|id| !id.is_empty()));
    own.enumerate()
        .map(|(index, id)| id.map_or_else(|| format!("n{index}").into(), Cow::from))
        .collect()
}

/// Ids are unique, and parents are nodes.
pub(super) fn tree(items: Items<'_>, nodes: &[&Map<String, Value>], found: &mut Violations) {
    let ids = ids(nodes);
    let ids = || ids.iter().map(|id| &**id).enumerate();
    items.unique("id", ids(), found);
    let unknown = "no node has this id, so readers drop the node and all below it: name a node of the trace, or put null there";
    items.tree("parent_id", ids(), nodes.iter().map(|node| text(node, "parent_id")), unknown, found);
}

fn prompts(place: JsonPath<'_>, nodes: &[&Map<String, Value>], found: &mut Violations) {
    let mut known: HashMap<&str, bool> = HashMap::new();
    let mut optimized: Option<&str> = None;
    for (index, node) in nodes.iter().enumerate() {
        let Some(prompt) = text(node, "prompt_id").filter(|prompt| !prompt.is_empty()) else {
            continue;
        };
        let optimize = node.get("optimize") == Some(&Value::Bool(true));
        if *known.entry(prompt).or_insert(optimize) != optimize {
            let message = format!("another node of the prompt {prompt:?} differs: all nodes of a prompt must agree");
            found.add(place.item(index).key("optimize"), message);
        }
        if optimize && *optimized.get_or_insert(prompt) != prompt {
            let message = "another prompt is optimized already: there is at most one in a trace";
            found.add(place.item(index).key("optimize"), message);
        }
    }
}
