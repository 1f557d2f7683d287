//! The spec's rules about several fields, and what the package's loader rejects or drops.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::table::{DOCUMENT, STEPS, plain};
use crate::document::rules::{Items, is_uuid_v4, not_before};
use crate::document::shape::time;
use crate::document::violations::{JsonPath, Violations};

pub(super) fn check(place: JsonPath<'_>, document: &Value, found: &mut Violations) {
    DOCUMENT.check(document, place, found);
    let Some(run) = document.as_object() else { return };
    if let Some(id) = run.get("run_id").and_then(Value::as_str).filter(|id| !is_uuid_v4(id)) {
        let message = format!("{id:?} is not a UUID v4 in its usual form (small letters, version 4): 5b8efff7-9803-4103-9269-b633813fc60c");
        found.add(place.key("run_id"), message);
    }
    let late = "it is before `started_at`: put the run's end there, or null while the run goes on";
    let at = |name: &str| run.get(name).and_then(time);
    not_before(place.key("ended_at"), (at("started_at"), at("ended_at")), late, found);
    let Some(all) = run.get("steps").and_then(Value::as_array) else {
        return;
    };
    let steps: Vec<&Map<String, Value>> = all.iter().filter_map(Value::as_object).collect();
    if all.len() == steps.len() {
        let is_over = run.get("ended_at").is_some_and(|end| !end.is_null());
        all_steps(place.key("steps"), &steps, is_over, found);
    }
}

fn all_steps(place: JsonPath<'_>, steps: &[&Map<String, Value>], is_over: bool, found: &mut Violations) {
    for (index, step) in steps.iter().enumerate() {
        let step = plain(step).map_or(Cow::Borrowed(*step), Cow::Owned);
        one_step(place.item(index), &step, found);
        if let Some((name, needed)) = lacking(&step, is_over || index + 1 < steps.len()) {
            found.add(place.item(index), format!("`{name}` is missing: {needed}"));
        }
    }
    let items = Items { place, word: "step" };
    tree(items, steps, found);
    let times = steps.iter().map(|step| step.get("timestamp").and_then(time));
    let early = "it is earlier than the step before it: put steps in the order of their times";
    items.ascending("timestamp", times, early, found);
}

/// Ids are unique, and parents are steps.
pub(super) fn tree(items: Items<'_>, steps: &[&Map<String, Value>], found: &mut Violations) {
    let texts = |name: &'static str| steps.iter().map(move |step| step.get(name).and_then(Value::as_str));
    let ids = || texts("step_id").enumerate().filter_map(|(index, id)| Some((index, id?)));
    items.unique("step_id", ids(), found);
    let unknown = "no step of this run has this id: name a step of the run, or leave the field out";
    items.tree("parent_step_id", ids(), texts("parent_step_id"), unknown, found);
}

/// What the spec requires and the package leaves out if empty: the result of a tool that did not fail, and the entity of
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

fn one_step(place: JsonPath<'_>, step: &Map<String, Value>, found: &mut Violations) {
    let Some(step_type) = step.get("step_type").and_then(Value::as_str) else {
        STEPS.common.check(step, place, found);
        return;
    };
    if STEPS.kind(step).is_none() {
        let words: Vec<&str> = STEPS.words().collect();
        let message = format!("expected one of {}, found {step_type:?}", words.join(", "));
        found.add(place.key("step_type"), message);
        return;
    }
    STEPS.check(step, place, found);
    // The package omits null fields on writing, and then cannot load the document again.
    let never_null = match step_type {
        "state_change" => Some("new_value"),
        "final_output" => Some("content"),
        _ => None,
    };
    if let Some(name) = never_null.filter(|name| step.get(*name).is_some_and(Value::is_null)) {
        let message = "null is lost when the document is written again: put \"\" there, or leave the step out";
        found.add(place.key(name), message);
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
            let message = format!("there are {} results: it must be at least that", results.len());
            found.add(place.key("match_count"), message);
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
