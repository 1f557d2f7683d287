//! The types that verifiers' reader demands, and the structure of the graph.

use serde_json::Value;

use crate::document::rules::own_ids;
use crate::document::shape::Shape::{self, Count, Deferred, Either, Flag, Int, List, Maybe, Number, Object, Of, OneOf, Text, Word};
use crate::document::shape::{Field, Record, Tag, Variants, need, record, records};
use crate::document::violations::{JsonPath, Violations};

records! {
    EPISODE "an episode" {
        may id: Text;
        may env: Object;
        need task: Of(&TASK);
        may ok: Flag;
        may errors: List(&Of(&ERROR));
        need traces: List(&Of(&TRACE));
    }
    TASK "a task" {
        need type: Text;
        need data: Object;
    }
    ERROR "an error" {
        need type: Text;
        need message: Text;
        may traceback: Maybe(&Text);
    }
    TRACE "a trace" {
        may version: Int;
        may id: Text;
        may verifiers: Object;
        need task: Of(&TASK);
        need agent: Of(&AGENT);
        may tools: List(&Of(&TOOL));
        may nodes: List(&Of(&NODE));
        may calls: List(&Of(&CALL));
        may rewards: Object;
        may metrics: Object;
        may info: Object;
        may root_reply: Maybe(&Text);
        may is_completed: Flag;
        may ok: Flag;
        may stop_condition: Maybe(&Text);
        may errors: List(&Of(&ERROR));
        may timing: Object;
    }
    AGENT "an agent" {
        need config: Object;
        may name: Text;
    }
    TOOL "a tool" {
        need name: Text;
        may description: Text;
        may parameters: Object;
    }
    NODE "a node" {
        may parent: Maybe(&Count);
        may tools: List(&Of(&TOOL));
        may semantic_parents: List(&Of(&LINK));
        need message: Deferred(&Object, &OneOf(&MESSAGES));
        may sampled: Flag;
        may timestamp: Number;
        may token_ids: List(&Int);
        may mask: List(&Flag);
        may logprobs: List(&Number);
    }
    LINK "a link", only "readers refuse the link for it" {
        need node: Count;
        need type: Text;
    }
    CALL "a model call" {
        may node: Maybe(&Count);
        may model: Maybe(&Text);
        may sampling: Maybe(&Object);
        may finish_reason: Maybe(&Word(&["stop", "length", "tool_calls"]));
        may usage: Maybe(&Of(&USAGE));
        may time: Of(&TIME);
        may error: Maybe(&Of(&ERROR));
    }
    USAGE "usage" {
        need prompt_tokens: Int;
        need completion_tokens: Int;
        may cached_input_tokens: Maybe(&Int);
        may reasoning_tokens: Maybe(&Int);
        may cost: Maybe(&Number);
    }
    TIME "a time" {
        may start: Number;
        may end: Number;
    }
}

const PARTS: Shape = Either(&[Text, List(&Of(&PART))]);

records! {
    PART "a part" {
        need type: Word(&["text", "image_url"]);
        may text: Text;
        may image_url: Object;
    }
}

/// Messages by their role.
static MESSAGES: Variants = Variants {
    common: record! { "a message" {} },
    of: &[
        (Tag::Is("role", &["system"]), &words_of("a system message")),
        (Tag::Is("role", &["user"]), &words_of("a user message")),
        (
            Tag::Is("role", &["assistant"]),
            &record! { "an assistant message" {
                may content: Maybe(&Text);
                may reasoning_content: Maybe(&Text);
                may tool_calls: Maybe(&List(&Of(&TOOL_CALL)));
                may provider_state: Maybe(&List(&Object));
            } },
        ),
        (
            Tag::Is("role", &["tool"]),
            &record! { "a tool message" {
                need tool_call_id: Text;
                need content: PARTS;
                may name: Maybe(&Text);
            } },
        ),
    ],
};

const SAID: &[Field] = &[need("content", PARTS)];

const fn words_of(what: &'static str) -> Record {
    Record {
        what,
        fields: SAID,
        others: None,
    }
}

records! {
    TOOL_CALL "a tool call" {
        need id: Text;
        may type: Word(&["function", "custom"]);
        need name: Text;
        need arguments: Text;
    }
}

/// A document.
pub(super) const DOCUMENT: Shape = Of(&EPISODE);

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
        found.add(
            place.key("role"),
            format!("expected system, user, assistant or tool, found {role:?}"),
        );
    }
}
