//! Rules of the published schema, and what the package's readers need to show every node.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::document::shape::Shape::{self, Any, Count, Deferred, Flag, Int, List, Maybe, Number, Object, Of, Open, Text, Word};
use crate::document::shape::{Record, cycles, may, need, repeated};
use crate::document::violations::{JsonPath, Violations};
use crate::formats::back::seconds as time_of_seconds;

const REFUSED: &str = "the published schema refuses it; put it into `metadata`";

static TRACE: Record = Record {
    what: "a trace",
    fields: &[
        need("nodes", List(&Deferred(&Object, &Of(&NODE)))),
        may("ideal", Maybe(&Text)),
        may("metadata", Object),
    ],
    others: Some("the published schema refuses it (readers count `tokens` themselves); leave it out"),
};

static NODE: Record = Record {
    what: "a node",
    fields: &[
        need("name", Text),
        may("input", Any),
        may("output", Any),
        may("id", Text),
        may("parent_id", Maybe(&Text)),
        may("kind", Word(&["reason", "tool", "retrieve", "agent", "other"])),
        may("prompt_id", Maybe(&Text)),
        may("step", Maybe(&Int)),
        may("optimize", Flag),
        may("tokens", Count),
        may("started_at", Maybe(&Number)),
        may("ended_at", Maybe(&Number)),
        may("error", Maybe(&Text)),
        may("metadata", Deferred(&Object, &Open(&METADATA))),
    ],
    others: Some(REFUSED),
};

static METADATA: Record = Record {
    what: "the metadata of a node",
    fields: &[
        may("mcp_server", Text),
        may("tool_call_id", Text),
        may("error_code", Text),
        may("latency_ms", Number),
    ],
    others: None,
};

/// A document.
pub(super) const DOCUMENT: Shape = Of(&TRACE);

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
    tree(place, &nodes, found);
    order(place, &nodes, found);
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
            found.add(
                place.key(name),
                "it is not in seconds since 1970: divide milliseconds by 1e3, nanoseconds by 1e9",
            );
        }
    }
    if let (Some(started), Some(ended)) = (number("started_at"), number("ended_at"))
        && ended < started
    {
        found.add(
            place.key("ended_at"),
            "it is before `started_at`: put the time of the end there, or null",
        );
    }
    for name in ["prompt_id", "error"] {
        if text(node, name) == Some("") {
            found.add(place.key(name), "an empty text has no meaning: put null there");
        }
    }
    if node.get("optimize") == Some(&Value::Bool(true)) && text(node, "prompt_id").is_none_or(str::is_empty) {
        found.add(
            place.key("optimize"),
            "a node without `prompt_id` is never optimized: name its prompt, or put false there",
        );
    }
}

fn tree(place: JsonPath<'_>, nodes: &[&Map<String, Value>], found: &mut Violations) {
    // A node without an id is called by its place.
    let derived: Vec<String> = (0..nodes.len()).map(|index| format!("n{index}")).collect();
    let ids: Vec<&str> = nodes
        .iter()
        .zip(&derived)
        .map(|(node, derived)| text(node, "id").filter(|id| !id.is_empty()).unwrap_or(derived))
        .collect();
    for (index, id) in repeated(ids.iter().copied().enumerate()) {
        found.add(
            place.item(index).key("id"),
            format!("a node before has the id {id:?}: every node needs an id of its own"),
        );
    }
    let places: HashMap<&str, usize> = ids.iter().enumerate().map(|(index, id)| (*id, index)).collect();
    let parent = |node: &Map<String, Value>| text(node, "parent_id").map(|parent| places.get(parent).copied());
    for (index, node) in nodes.iter().enumerate() {
        if parent(node) == Some(None) {
            let message = "no node has this id, so readers drop the node and all below it: name a node of the trace, or put null there";
            found.add(place.item(index).key("parent_id"), message);
        }
    }
    let parents: Vec<Option<usize>> = nodes.iter().map(|node| parent(node).flatten()).collect();
    for index in cycles(&parents) {
        found.add(
            place.item(index).key("parent_id"),
            "the node is its own ancestor: parents must not go round",
        );
    }
}

fn order(place: JsonPath<'_>, nodes: &[&Map<String, Value>], found: &mut Violations) {
    let mut last = f64::MIN;
    for (index, node) in nodes.iter().enumerate() {
        let Some(started) = node.get("started_at").and_then(Value::as_f64) else {
            continue;
        };
        if started < last {
            found.add(
                place.item(index).key("started_at"),
                "it is earlier than a node before it: put nodes in the order in which they began",
            );
        }
        last = last.max(started);
    }
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
            found.add(
                place.item(index).key("optimize"),
                format!("another node of the prompt {prompt:?} differs: all nodes of a prompt must agree"),
            );
        }
        if optimize && *optimized.get_or_insert(prompt) != prompt {
            found.add(
                place.item(index).key("optimize"),
                "another prompt is optimized already: there is at most one in a trace",
            );
        }
    }
}
