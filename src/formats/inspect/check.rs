//! Checks the types that Inspect's reader requires, and the order of events.

use std::collections::HashSet;

use serde_json::Value;

use crate::document::records::{records, variants};
use crate::document::rules::own_ids;
use crate::document::shape::Shape::{
    self, Any, Count, Deferred, Either, Flag, Int, List, Maybe, Number, Object, Of, OneOf, Text, Time, Word,
};
use crate::document::source::Otherwise::{EmptyList, EmptyObject};
use crate::document::violations::{JsonPath, Violations};

records! {
    LOG "an eval log" {
        may version: Int;
        may status: Word(&["started", "success", "cancelled", "error"]);
        need eval: Of(&SPEC);
        may plan: Object;
        may results: Maybe(&Object);
        may stats: Of(&STATS);
        may error: Maybe(&Of(&ERROR));
        may samples: Maybe(&List(&Of(&SAMPLE)));
    }
    SPEC "an eval" {
        may eval_id: Text;
        may run_id: Text;
        need created: Time;
        need task: Text;
        may task_id: Text;
        may task_version: Either(&[Int, Text]);
        need dataset: Object;
        need model: Text;
        need config: Object;
        may packages: Object;
        may metadata: Maybe(&Object);
    }
    STATS "stats" {
        may started_at: Text;
        may completed_at: Text;
        may model_usage: Object;
    }
    ERROR "an error" {
        need message: Text;
        need traceback: Text;
        need traceback_ansi: Text;
    }
    SAMPLE "a sample" {
        need id: Either(&[Int, Text]);
        need epoch: Int;
        need input: Either(&[Text, List(&Of(&MESSAGE))]);
        need target: Either(&[Text, List(&Text)]);
        may messages: List(&Of(&MESSAGE)), usually(EmptyList);
        may output: Of(&OUTPUT);
        may scores: Maybe(&Object);
        may metadata: Object;
        may events: List(&Deferred(&Object, &OneOf(&EVENTS))), usually(EmptyList);
        may model_usage: Object, usually(EmptyObject);
        may started_at: Maybe(&Time);
        may completed_at: Maybe(&Time);
        may total_time: Maybe(&Number);
        may uuid: Maybe(&Text);
        may error: Maybe(&Of(&ERROR));
        may events_data: Maybe(&Of(&POOL));
    }
    POOL "pooled data" {
        need messages: List(&Of(&MESSAGE));
        need calls: List(&Any);
    }
    MESSAGE "a message" {
        need role: Word(&["system", "user", "assistant", "tool"]);
        need content: Either(&[Text, List(&PART)]);
        may id: Maybe(&Text);
        may source: Maybe(&Word(&["input", "generate", "operator"]));
        may metadata: Maybe(&Object);
        may tool_calls: Maybe(&List(&Of(&CALL)));
        may model: Maybe(&Text);
        may tool_call_id: Maybe(&Text);
        may function: Maybe(&Text);
        may error: Maybe(&Of(&TOOL_ERROR));
    }
}

const PART: Shape = Deferred(&Of(&ANY_PART), &OneOf(&PARTS));

records! {
    ANY_PART "a part" {
        need type: Word(&["text", "reasoning", "image", "audio", "video", "data", "tool_use", "document"]);
    }
}

variants! {
    /// Parts by their type.
    PARTS "a part" { may internal: Any; } of {
        (type = "text") "a text part" { need text: Text; }
        (type = "reasoning") "a part of reasoning" { need reasoning: Text; may signature: Maybe(&Text); may redacted: Flag; }
        (type = "image") "an image" { need image: Text; }
        (type = "audio") "a sound" { need audio: Text; need format: Text; }
        (type = "data") "a part of data" { need data: Object; }
        // Parts that other writers use.
        (type = "video" | "tool_use" | "document") "another part" {}
    }
}

records! {
    CALL "a tool call" {
        need id: Text;
        need function: Text;
        need arguments: Object;
    }
    TOOL_ERROR "a tool's error" {
        need type: Word(&["parsing", "timeout", "unicode_decode", "permission", "file_not_found", "is_a_directory", "limit", "approval", "cancelled", "sandbox_unavailable", "unknown", "output_limit"]);
        need message: Text;
    }
    OUTPUT "an output" {
        may model: Text;
        may choices: List(&Of(&CHOICE));
        may usage: Maybe(&Of(&USAGE));
        may time: Maybe(&Number);
        may error: Maybe(&Text);
    }
    CHOICE "a choice" {
        need message: Of(&MESSAGE);
        may stop_reason: Word(&["stop", "max_tokens", "model_length", "tool_calls", "content_filter", "unknown"]);
    }
    USAGE "usage" {
        may input_tokens: Int;
        may output_tokens: Int;
        may total_tokens: Int;
        may input_tokens_cache_write: Maybe(&Int);
        may input_tokens_cache_read: Maybe(&Int);
        may reasoning_tokens: Maybe(&Int);
        may total_cost: Maybe(&Number);
    }
}

variants! {
    /// Events by their name.
    EVENTS "an event" {
        may uuid: Maybe(&Text);
        may span_id: Maybe(&Text);
        may timestamp: Time;
        may working_start: Number;
        may completed: Maybe(&Time);
        may metadata: Maybe(&Object);
        may pending: Maybe(&Flag);
    } of {
        (event = "model") "a model event" {
            need model: Text;
            need input: List(&Of(&MESSAGE));
            may input_refs: Maybe(&List(&List(&Count)));
            need tools: List(&Of(&TOOL));
            need tool_choice: TOOL_CHOICE;
            need config: Object;
            need output: Of(&OUTPUT);
            may working_time: Maybe(&Number);
            may error: Maybe(&Text);
        }
        (event = "tool") "a tool event" {
            need id: Text;
            need function: Text;
            need arguments: Object;
            may result: RESULT;
            may working_time: Maybe(&Number);
            may message_id: Maybe(&Text);
            may agent: Maybe(&Text);
            may error: Maybe(&Of(&TOOL_ERROR));
            may failed: Maybe(&Flag);
            may agent_span_id: Maybe(&Text);
        }
        (event = "span_begin") "the beginning of a span" {
            need id: Text;
            may parent_id: Maybe(&Text);
            may type: Maybe(&Text);
            need name: Text;
        }
        (event = "span_end") "the end of a span" { need id: Text; }
        (event = "info") "an info event" { may source: Maybe(&Text); need data: Any; }
        (event = "score") "a score event" {
            need score: Object;
            may scorer: Maybe(&Text);
            may intermediate: Flag;
        }
        (event = "error") "an error event" { need error: Of(&ERROR); }
        // Events that other writers use.
        (event = "sample_init" | "sample_limit" | "sandbox" | "state" | "store" | "anchor" | "approval" | "branch" | "checkpoint" | "compaction"
            | "input" | "interrupt" | "score_edit" | "logger" | "step" | "subtask") "another event" {}
    }
}

records! {
    TOOL "a tool" {
        need name: Text;
        need description: Text;
        may parameters: Object;
    }
}

/// What a tool returned: a value, or parts.
const RESULT: Shape = Either(&[Text, Number, Flag, PART, List(&PART)]);

const TOOL_CHOICE: Shape = Either(&[Text, Object]);

pub(super) const DOCUMENT: Shape = Of(&LOG);

pub(super) fn check(place: JsonPath<'_>, document: &Value, found: &mut Violations) {
    DOCUMENT.check(document, place, found);
    let Some(log) = document.as_object() else { return };
    if log.get("version").and_then(Value::as_f64).is_some_and(|version| version > 2.0) {
        found.add(place.key("version"), "readers know versions up to 2: write 2");
    }
    let samples = place.key("samples");
    let list = log.get("samples").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut known: HashSet<(String, String)> = HashSet::new();
    for (index, sample) in list.iter().enumerate() {
        let place = samples.item(index);
        let name = |key: &str| sample.get(key).map(Value::to_string);
        if let (Some(id), Some(epoch)) = (name("id"), name("epoch"))
            && !known.insert((id.clone(), epoch.clone()))
        {
            let message = format!("a sample before has the id {id} in epoch {epoch}: every sample of an epoch needs an id of its own");
            found.add(place.key("id"), message);
        }
        let messages = place.key("messages");
        for (index, message) in sample.get("messages").and_then(Value::as_array).into_iter().flatten().enumerate() {
            if let Some(calls) = message.get("tool_calls").and_then(Value::as_array) {
                let message = messages.item(index);
                own_ids(message.key("tool_calls"), calls, "id", "tool call of the message", found);
            }
        }
        let pool = sample.get("events_data").and_then(|data| data.get("messages")?.as_array());
        let all = place.key("events");
        let events = sample.get("events").and_then(Value::as_array);
        let mut open: HashSet<&str> = HashSet::new();
        for (index, event) in events.into_iter().flatten().enumerate() {
            one_event(all.item(index), event, pool.map_or(0, Vec::len), &mut open, found);
        }
    }
}

fn one_event<'v>(place: JsonPath<'_>, event: &'v Value, pool: usize, open: &mut HashSet<&'v str>, found: &mut Violations) {
    let Some(map) = event.as_object() else { return };
    EVENTS.check(map, place, found);
    let kind = map.get("event").and_then(Value::as_str).unwrap_or_default();
    if EVENTS.kind(map).is_none() {
        found.add(place.key("event"), format!("readers know no event of the kind {kind:?}"));
    }
    let refs = map.get("input_refs").and_then(Value::as_array);
    for (index, range) in refs.into_iter().flatten().enumerate() {
        let bounds: Vec<u64> = range.as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        let fits = matches!(bounds.as_slice(), [from, to] if from < to && usize::try_from(*to).is_ok_and(|to| to <= pool));
        if !fits {
            let message = format!("expected a first and an end place among the {pool} messages of `events_data`");
            found.add(place.key("input_refs").item(index), message);
        }
    }
    let id = map.get("id").and_then(Value::as_str);
    match (kind, id) {
        ("span_begin", Some(id)) if !open.insert(id) => found.add(place.key("id"), "a span of this id began before"),
        ("span_end", Some(id)) if !open.contains(id) => found.add(place.key("id"), "no span of this id began before"),
        _ => {}
    }
}
