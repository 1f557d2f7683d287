//! The page's rules, and what the package's loader refuses or drops.

use std::borrow::Cow;
use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::document::ALIASES;
use super::read::known_type;
use crate::document::shape::Shape::{self, Any, Deferred, Either, Int, List, Maybe, Number, Object, Of, OneOf, Text, Time, Word};
use crate::document::shape::{Field, Record, Tag, Variants, cycles, may, need, repeated, time};
use crate::document::violations::{JsonPath, Violations};

const DROPPED: &str = "readers drop it; put it into `metadata`";

static RUN: Record = Record {
    what: "a run",
    fields: &[
        need("run_id", Text),
        need("started_at", Time),
        may("ended_at", Maybe(&Time)),
        need("agent_info", Of(&AGENT)),
        may("task_info", Maybe(&Of(&TASK))),
        need("steps", List(&Deferred(&Object, &OneOf(&STEPS)))),
        may("metadata", Maybe(&Object)),
    ],
    others: Some(DROPPED),
};

static AGENT: Record = Record {
    what: "agent_info",
    fields: &[
        need("name", Text),
        may("version", Maybe(&Text)),
        may("framework", Maybe(&Text)),
        may("framework_version", Maybe(&Text)),
    ],
    others: Some(DROPPED),
};

static TASK: Record = Record {
    what: "task_info",
    fields: &[
        may("description", Maybe(&Text)),
        may("goal", Maybe(&Text)),
        may("input", Maybe(&Object)),
    ],
    others: Some(DROPPED),
};

static IMPACT: Record = Record {
    what: "resource_impact",
    fields: &[need("amount", Number), need("unit", Text), may("breakdown", Maybe(&Object))],
    others: None,
};

static RESULT: Record = Record {
    what: "a result of a retrieval",
    fields: &[need("content", Text), may("score", Maybe(&Number)), may("metadata", Maybe(&Object))],
    others: Some("readers drop it; put it into the result's `metadata`"),
};

static CHANGE: Record = Record {
    what: "a change",
    fields: &[need("path", Text), may("old_value", Any), may("new_value", Any)],
    others: None,
};

/// The steps, each with its own fields.
static STEPS: Variants = Variants {
    common: Record {
        what: "a step",
        fields: &[
            need("step_id", Text),
            need("step_type", Text),
            need("timestamp", Time),
            may("parent_step_id", Maybe(&Text)),
            may("metadata", Maybe(&Object)),
        ],
        others: Some(DROPPED),
    },
    of: &[
        (
            Tag::Is("step_type", &["user_input"]),
            &step(&[need("content", Text), may("input_type", Maybe(&Text))]),
        ),
        (
            Tag::Is("step_type", &["llm_call"]),
            &step(&[
                need("model", Text),
                need("input", Either(&[Text, List(&Object)])),
                need("output", Either(&[Text, Object])),
                may("tokens_in", Maybe(&Int)),
                may("tokens_out", Maybe(&Int)),
                may("tokens_total", Maybe(&Int)),
                may("latency_ms", Maybe(&Int)),
                may("cost_estimate", Maybe(&Number)),
                may("provider", Maybe(&Text)),
            ]),
        ),
        (
            Tag::Is("step_type", &["tool_call"]),
            &step(&[
                need("tool_name", Text),
                need("arguments", Object),
                may("result", Any),
                may("latency_ms", Maybe(&Int)),
                may("success", Maybe(&Shape::Flag)),
                may("error", Maybe(&Text)),
                may("resource_impact", Maybe(&Of(&IMPACT))),
            ]),
        ),
        (
            Tag::Is("step_type", &["retrieval"]),
            &step(&[
                need("query", Text),
                need("results", List(&Of(&RESULT))),
                need("match_count", Int),
                may("latency_ms", Maybe(&Int)),
            ]),
        ),
        (
            Tag::Is("step_type", &["memory_read"]),
            &step(&[
                need("query", Either(&[Text, Object])),
                need("results", List(&Any)),
                need("match_count", Int),
                may("relevance_scores", Maybe(&List(&Number))),
                may("total_available", Maybe(&Int)),
            ]),
        ),
        (
            Tag::Is("step_type", &["memory_write"]),
            &step(&[
                need("operation", Word(&["add", "update", "delete", "put"])),
                need("data", Object),
                may("entity_type", Maybe(&Text)),
                may("entity_id", Maybe(&Text)),
                may("namespace", Maybe(&List(&Text))),
                may("key", Maybe(&Text)),
                may("changes", Maybe(&List(&Of(&CHANGE)))),
                may("triggered_by_step_id", Maybe(&Text)),
            ]),
        ),
        (
            Tag::Is("step_type", &["state_change"]),
            &step(&[
                need("state_key", Text),
                need("new_value", Any),
                may("old_value", Any),
                may("reason", Maybe(&Text)),
            ]),
        ),
        (
            Tag::Is("step_type", &["interrupt"]),
            &step(&[
                need("prompt", Text),
                need("response", Either(&[Text, Object])),
                need("wait_duration_ms", Int),
            ]),
        ),
        (
            Tag::Is("step_type", &["final_output"]),
            &step(&[need("content", Any), may("format", Maybe(&Text))]),
        ),
    ],
};

const fn step(fields: &'static [Field]) -> Record {
    Record {
        what: "a step",
        fields,
        others: Some(DROPPED),
    }
}

/// A document.
pub(super) const DOCUMENT: Shape = Of(&RUN);

pub(super) fn check(place: JsonPath<'_>, document: &Value, found: &mut Violations) {
    DOCUMENT.check(document, place, found);
    let Some(run) = document.as_object() else { return };
    if let Some(id) = run.get("run_id").and_then(Value::as_str).filter(|id| !is_uuid_v4(id)) {
        let message = format!("{id:?} is not a UUID v4 in its usual form (small letters, version 4): 5b8efff7-9803-4103-9269-b633813fc60c");
        found.add(place.key("run_id"), message);
    }
    let at = |name: &str| run.get(name).and_then(time);
    if let (Some(started), Some(ended)) = (at("started_at"), at("ended_at"))
        && ended < started
    {
        found.add(
            place.key("ended_at"),
            "it is before `started_at`: put the run's end there, or null while the run goes on",
        );
    }
    let steps = run.get("steps").and_then(Value::as_array);
    let steps: Vec<&Map<String, Value>> = steps.into_iter().flatten().filter_map(Value::as_object).collect();
    if run
        .get("steps")
        .and_then(Value::as_array)
        .is_some_and(|all| all.len() == steps.len())
    {
        let is_over = run.get("ended_at").is_some_and(|end| !end.is_null());
        all_steps(place.key("steps"), &steps, is_over, found);
    }
}

fn all_steps(place: JsonPath<'_>, steps: &[&Map<String, Value>], is_over: bool, found: &mut Violations) {
    fn text<'a>(step: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
        step.get(name).and_then(Value::as_str)
    }
    for (index, step) in steps.iter().enumerate() {
        let step = with_plain_names(step);
        one_step(place.item(index), &step, found);
        if let Some((name, needed)) = lacking(&step, is_over || index + 1 < steps.len()) {
            found.add(place.item(index), format!("`{name}` is missing: {needed}"));
        }
    }
    let ids = || {
        steps
            .iter()
            .enumerate()
            .filter_map(|(index, step)| Some((index, text(step, "step_id")?)))
    };
    for (index, id) in repeated(ids()) {
        found.add(
            place.item(index).key("step_id"),
            format!("a step before has the id {id:?}: every step needs an id of its own"),
        );
    }
    let places: HashMap<&str, usize> = ids().map(|(index, id)| (id, index)).collect();
    let parent = |step: &&Map<String, Value>| text(step, "parent_step_id").map(|parent| places.get(parent).copied());
    for (index, step) in steps.iter().enumerate() {
        if parent(step) == Some(None) {
            let message = "no step of this run has this id: name a step of the run, or leave the field out";
            found.add(place.item(index).key("parent_step_id"), message);
        }
    }
    let parents: Vec<Option<usize>> = steps.iter().map(|step| parent(step).flatten()).collect();
    for index in cycles(&parents) {
        found.add(
            place.item(index).key("parent_step_id"),
            "the step is its own ancestor: parents must not go round",
        );
    }
    let mut last: Option<Timestamp> = None;
    for (index, step) in steps.iter().enumerate() {
        let Some(when) = step.get("timestamp").and_then(time) else {
            continue;
        };
        if last.is_some_and(|last| when < last) {
            found.add(
                place.item(index).key("timestamp"),
                "it is earlier than the step before it: put steps in the order of their times",
            );
        }
        last = last.max(Some(when));
    }
}

/// What the page demands and the package leaves out if empty: the result of a tool that did not fail, and the entity of
/// a write without the newer fields.
fn lacking(step: &Map<String, Value>, is_over: bool) -> Option<(&'static str, &'static str)> {
    let has = |name: &str| step.get(name).is_some_and(|value| !value.is_null());
    match step.get("step_type").and_then(Value::as_str)? {
        "tool_call" if is_over && !step.contains_key("result") && !has("error") => {
            Some(("result", "a tool call that did not fail needs it (any value, null too)"))
        }
        "memory_write" if !has("entity_type") && !["namespace", "key", "changes"].into_iter().any(has) => {
            Some(("entity_type", "a write without `namespace` and `key` needs it (text)"))
        }
        _ => None,
    }
}

/// The step with its aliases replaced by field names.
fn with_plain_names(step: &Map<String, Value>) -> Cow<'_, Map<String, Value>> {
    if !ALIASES.iter().any(|(alias, _)| step.contains_key(*alias)) {
        return Cow::Borrowed(step);
    }
    let mut plain = step.clone();
    for (alias, field) in ALIASES {
        let Some(value) = plain.shift_remove(alias) else { continue };
        let value = match value.as_str().map(known_type) {
            Some(word) if field == "step_type" && !word.is_empty() => word.into(),
            _ => value,
        };
        plain.entry(field).or_insert(value);
    }
    Cow::Owned(plain)
}

fn one_step(place: JsonPath<'_>, step: &Map<String, Value>, found: &mut Violations) {
    let Some(step_type) = step.get("step_type").and_then(Value::as_str) else {
        STEPS.common.check(step, place, found);
        return;
    };
    if STEPS.kind(step).is_none() {
        let words: Vec<&str> = STEPS.words().collect();
        found.add(
            place.key("step_type"),
            format!("expected one of {}, found {step_type:?}", words.join(", ")),
        );
        return;
    }
    STEPS.check(step, place, found);
    // Null fields are left out where the package writes, and then the document cannot be loaded again.
    let never_null = match step_type {
        "state_change" => Some("new_value"),
        "final_output" => Some("content"),
        _ => None,
    };
    if let Some(name) = never_null.filter(|name| step.get(*name).is_some_and(Value::is_null)) {
        found.add(
            place.key(name),
            "null is lost when the document is written again: put \"\" there, or leave the step out",
        );
    }
    let is_set = |name: &str| {
        step.get(name)
            .is_some_and(|value| value.as_str().is_some_and(|text| !text.is_empty()))
    };
    if step_type == "tool_call" && is_set("error") && step.get("success") != Some(&Value::Bool(false)) {
        found.add(place.key("success"), "it must be false where `error` is set");
    }
    if step_type == "retrieval" {
        let results = step.get("results").and_then(Value::as_array);
        let count = step.get("match_count").and_then(Value::as_f64);
        if let (Some(results), Some(count)) = (results, count)
            && (results.len() as f64) > count
        {
            found.add(
                place.key("match_count"),
                format!("there are {} results: it must be at least that", results.len()),
            );
        }
        for (index, result) in results.into_iter().flatten().enumerate() {
            if result
                .get("score")
                .and_then(Value::as_f64)
                .is_some_and(|score| !(0.0..=1.0).contains(&score))
            {
                let message = "a score is between 0 and 1: put other measures into the result's `metadata`";
                found.add(place.key("results").item(index).key("score"), message);
            }
        }
    }
}

/// `8-4-4-4-12` small hexadecimal digits, version 4, variant 10.
fn is_uuid_v4(id: &str) -> bool {
    let is_hex = |letter: u8| letter.is_ascii_digit() || (b'a'..=b'f').contains(&letter);
    id.len() == 36
        && id.bytes().enumerate().all(|(at, letter)| match at {
            8 | 13 | 18 | 23 => letter == b'-',
            14 => letter == b'4',
            19 => matches!(letter, b'8' | b'9' | b'a' | b'b'),
            _ => is_hex(letter),
        })
}
