//! The rules that all readers of ATIF share, apart from the types of their models: the order of steps, and what belongs together.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::table::DOCUMENT;
use crate::document::rules::own_ids;
use crate::document::violations::{JsonPath, Violations};
use crate::formats::back::time;

/// Fields that only agent steps have.
const OF_AGENTS: [&str; 5] = ["model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"];

const IMAGES: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Canonical types of audio, and the aliases that readers accept.
const AUDIO: &[&str] = &[
    "audio/wav",
    "audio/mpeg",
    "audio/mp4",
    "audio/aac",
    "audio/ogg",
    "audio/flac",
    "audio/webm",
    "audio/aiff",
    "audio/mp3",
    "audio/mpga",
    "audio/x-mpeg",
    "audio/x-wav",
    "audio/wave",
    "audio/vnd.wave",
    "audio/x-m4a",
    "audio/m4a",
    "audio/x-aac",
    "audio/x-flac",
    "audio/x-aiff",
];

pub(super) fn check(place: JsonPath<'_>, document: &Value, found: &mut Violations) {
    DOCUMENT.check(document, place, found);
    let Some(trajectory) = document.as_object() else { return };
    let version = trajectory.get("schema_version").and_then(Value::as_str);
    if version.is_some_and(|version| !version.starts_with("ATIF-v1.")) {
        found.add(place.key("schema_version"), "expected ATIF-v1.0 to ATIF-v1.8; write ATIF-v1.7");
    }
    let steps = trajectory.get("steps").and_then(Value::as_array);
    if steps.is_some_and(Vec::is_empty) {
        found.add(place.key("steps"), "a trajectory needs at least one step");
    }
    let all = place.key("steps");
    for (index, step) in steps.into_iter().flatten().enumerate() {
        if let Some(step) = step.as_object() {
            one_step(all.item(index), index, step, found);
        }
    }
    let inner = trajectory.get("subagent_trajectories").and_then(Value::as_array);
    let inner = inner.map_or(&[][..], Vec::as_slice);
    let list = place.key("subagent_trajectories");
    own_ids(list, inner, "trajectory_id", "trajectory", found);
    for (index, inner) in inner.iter().enumerate() {
        let place = list.item(index);
        if !inner.get("trajectory_id").is_some_and(Value::is_string) {
            found.add(place, "`trajectory_id` is missing: an embedded trajectory needs it");
        }
        check(place, inner, found);
    }
}

fn one_step(place: JsonPath<'_>, index: usize, step: &Map<String, Value>, found: &mut Violations) {
    let set = |name: &str| step.get(name).filter(|value| !value.is_null());
    let number = index as f64 + 1.0;
    if step.get("step_id").and_then(Value::as_f64).is_some_and(|id| id != number) {
        let message = format!("expected {number}: steps are counted 1, 2, 3 without a gap");
        found.add(place.key("step_id"), message);
    }
    if let Some(text) = set("timestamp").and_then(Value::as_str).filter(|text| !is_iso_8601(text)) {
        let message = format!("expected a time in ISO 8601 such as 2026-01-01T10:00:00.000000Z, found {text:?}");
        found.add(place.key("timestamp"), message);
    }
    let source = step.get("source").and_then(Value::as_str);
    if matches!(source, Some("system" | "user")) {
        for name in OF_AGENTS.into_iter().filter(|name| set(name).is_some()) {
            found.add(place.key(name), "only steps with `source` \"agent\" have it: leave it out");
        }
    }
    if source == Some("agent") && set("llm_call_count").and_then(Value::as_f64) == Some(0.0) {
        for name in ["metrics", "reasoning_content"].into_iter().filter(|name| set(name).is_some()) {
            found.add(place.key(name), "a step with `llm_call_count` 0 has no model call: leave it out");
        }
    }
    if let Some(message) = step.get("message") {
        parts(place.key("message"), message, found);
    }
    let results = set("observation").and_then(|observation| observation.get("results")?.as_array());
    let calls = set("tool_calls").and_then(Value::as_array);
    if let Some(calls) = calls {
        own_ids(place.key("tool_calls"), calls, "tool_call_id", "tool call of the step", found);
    }
    let ids: Option<HashSet<&str>> = calls.map(|calls| calls.iter().filter_map(|call| call.get("tool_call_id")?.as_str()).collect());
    let observation = place.key("observation");
    let all = observation.key("results");
    for (index, result) in results.into_iter().flatten().enumerate() {
        let place = all.item(index);
        let call = result.get("source_call_id").and_then(Value::as_str);
        if let (Some(ids), Some(call)) = (&ids, call)
            && !ids.contains(call)
        {
            let message = "no tool call of this step has this id: a result belongs in the step of its call, whenever it came";
            found.add(place.key("source_call_id"), message);
        }
        if let Some(content) = result.get("content") {
            parts(place.key("content"), content, found);
        }
        let references = result.get("subagent_trajectory_ref").and_then(Value::as_array);
        for (index, reference) in references.into_iter().flatten().enumerate() {
            let has = |name: &str| reference.get(name).is_some_and(|value| !value.is_null());
            if reference.is_object() && !has("trajectory_id") && !has("trajectory_path") {
                let message = "it names no trajectory: set `trajectory_id` or `trajectory_path`";
                found.add(place.key("subagent_trajectory_ref").item(index), message);
            }
        }
    }
}

fn parts(place: JsonPath<'_>, content: &Value, found: &mut Violations) {
    for (index, part) in content.as_array().into_iter().flatten().enumerate() {
        let place = place.item(index);
        let has = |name: &str| part.get(name).is_some_and(|value| !value.is_null());
        let Some(kind) = part.get("type").and_then(Value::as_str) else {
            continue;
        };
        let (wanted, other) = if kind == "text" { ("text", "source") } else { ("source", "text") };
        if !has(wanted) {
            found.add(place, format!("`{wanted}` is missing: a part of type {kind:?} needs it"));
        }
        if has(other) {
            found.add(place.key(other), format!("a part of type {kind:?} has no `{other}`: leave it out"));
        }
        let media = part.get("source").and_then(|source| source.get("media_type")?.as_str());
        let known = match kind {
            "image" => IMAGES,
            "audio" => AUDIO,
            _ => continue,
        };
        if let Some(media) = media.filter(|media| !known.contains(&media.trim().to_ascii_lowercase().as_str())) {
            let message = format!("readers know {} only, found {media:?}", known.get(..8).unwrap_or(known).join(", "));
            found.add(place.key("source").key("media_type"), message);
        }
    }
}

/// Whether a text is a date or a time, with or without a zone, as the reader accepts it.
fn is_iso_8601(text: &str) -> bool {
    time(text).or_else(|| time(&format!("{text}T00:00:00"))).is_some()
}
