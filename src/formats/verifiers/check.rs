//! Checks the types that verifiers' reader requires, and the structure of the graph.

use serde_json::Value;

use super::table::{DOCUMENT, MESSAGES};
use crate::document::rules::own_ids;
use crate::document::violations::{JsonPath, Violations};

pub(super) fn check(place: JsonPath<'_>, document: &Value, found: &mut Violations) {
    DOCUMENT.check(document, place, found);
    let Some(episode) = document.as_object() else { return };
    let traces = place.key("traces");
    let list = episode.get("traces").and_then(Value::as_array);
    for (index, trace) in list.into_iter().flatten().enumerate() {
        one_trace(traces.item(index), trace, found);
    }
}

fn one_trace(place: JsonPath<'_>, trace: &Value, found: &mut Violations) {
    if trace.get("version").and_then(Value::as_f64).is_some_and(|version| version != 1.0) {
        found.add(place.key("version"), "readers know version 1");
    }
    let list = |name: &str| trace.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let all = place.key("nodes");
    let nodes = list("nodes");
    let is_node = |value: &Value, below: usize| {
        value
            .as_u64()
            .is_some_and(|index| usize::try_from(index).is_ok_and(|index| index < below))
    };
    for (index, node) in nodes.iter().enumerate() {
        let place = all.item(index);
        if node
            .get("parent")
            .is_some_and(|parent| !parent.is_null() && !is_node(parent, index))
        {
            found.add(place.key("parent"), "expected the place of a node before this one");
        }
        for (at, link) in node
            .get("semantic_parents")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .enumerate()
        {
            if link.get("node").is_some_and(|linked| !is_node(linked, nodes.len())) {
                found.add(place.key("semantic_parents").item(at), "there is no such node");
            }
        }
        let count = |name: &str| node.get(name).and_then(Value::as_array).map_or(0, Vec::len);
        let sampled = node.get("mask").and_then(Value::as_array).into_iter().flatten();
        let sampled = sampled.filter(|sampled| **sampled == Value::Bool(true)).count();
        if count("mask") != count("token_ids") {
            found.add(place.key("mask"), "expected one for each of `token_ids`");
        }
        if count("logprobs") != 0 && count("logprobs") != sampled {
            found.add(place.key("logprobs"), "expected one for each token that the model made");
        }
        if let Some(message) = node.get("message").and_then(Value::as_object) {
            one_message(place.key("message"), message, found);
        }
    }
    for (index, call) in list("calls").iter().enumerate() {
        if call.get("node").is_some_and(|node| !node.is_null() && !is_node(node, nodes.len())) {
            found.add(place.key("calls").item(index), "there is no such node");
        }
    }
}

fn one_message(place: JsonPath<'_>, message: &serde_json::Map<String, Value>, found: &mut Violations) {
    MESSAGES.check(message, place, found);
    if let Some(calls) = message.get("tool_calls").and_then(Value::as_array) {
        own_ids(place.key("tool_calls"), calls, "id", "tool call of the message", found);
    }
    if MESSAGES.kind(message).is_none() {
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        let message = format!("expected system, user, assistant or tool, found {role:?}");
        found.add(place.key("role"), message);
    }
}
