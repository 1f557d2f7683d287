//! Joins a run that Harbor wrote to several files.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::formats::back::Beside;
use crate::transcript::NESTING_LIMIT;

/// The first version with embedded trajectories.
const EMBEDS: &str = "ATIF-v1.7";

/// Puts the files that a document refers to into it: steps of continuations after its own, trajectories of sub-agents into
/// `subagent_trajectories`. `read` returns a named document; references to others are kept.
pub(super) fn gather(document: &mut Value, read: &mut Beside<'_>) -> Gathered {
    let mut gathered = Gathered::default();
    inner(document, read, &mut gathered, 0);
    gathered
}

/// The files that a document refers to.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Files that were joined.
    pub(super) joined: Vec<String>,
    /// Files that were not, with the reason.
    pub(super) missing: Vec<(String, String)>,
    recorded: HashSet<String>,
}

impl Gathered {
    fn read(&mut self, name: &str, read: &mut Beside<'_>) -> Option<Value> {
        let found = read(name).and_then(|value| match value.is_object() {
            true => Ok(value),
            false => Err("it is not a trajectory: expected an object".to_owned()),
        });
        found.map_err(|reason| self.missing(name, reason)).ok()
    }

    fn missing(&mut self, name: &str, reason: String) {
        if self.recorded.insert(name.to_owned()) {
            self.missing.push((name.to_owned(), reason));
        }
    }
}

fn inner(document: &mut Value, read: &mut Beside<'_>, gathered: &mut Gathered, depth: usize) {
    let mut files: HashSet<String> = HashSet::new();
    while let Some(name) = document.get("continued_trajectory_ref").and_then(Value::as_str).map(str::to_owned) {
        if !files.insert(name.clone()) {
            gathered.missing(&name, "it continues itself".to_owned());
            break;
        }
        let Some(Value::Object(next)) = gathered.read(&name, read) else {
            break;
        };
        append(document, next);
        gathered.joined.push(name);
    }
    if depth < NESTING_LIMIT {
        embed(document, read, gathered, depth);
    }
}

/// Appends a continuation's steps, renumbered; the final metrics of the last file are those of the run.
fn append(document: &mut Value, mut next: Map<String, Value>) {
    let Some(map) = document.as_object_mut() else { return };
    let more = next.shift_remove("steps");
    if let (Some(Value::Array(steps)), Some(Value::Array(more))) = (map.get_mut("steps"), more) {
        for mut step in more {
            if let Some(number) = step.get_mut("step_id") {
                *number = (steps.len() + 1).into();
            }
            steps.push(step);
        }
    }
    if let Some(Value::Array(inner)) = next.shift_remove("subagent_trajectories") {
        add(map, inner);
    }
    map.shift_remove("continued_trajectory_ref");
    for key in ["final_metrics", "continued_trajectory_ref"] {
        if let Some(value) = next.shift_remove(key) {
            map.insert(key.to_owned(), value);
        }
    }
}

fn add(map: &mut Map<String, Value>, inner: Vec<Value>) {
    match map.get_mut("subagent_trajectories") {
        Some(Value::Array(list)) => list.extend(inner),
        _ => {
            map.insert("subagent_trajectories".to_owned(), inner.into());
        }
    }
}

/// Turns references to files into references to embedded trajectories.
fn embed(document: &mut Value, read: &mut Beside<'_>, gathered: &mut Gathered, depth: usize) {
    let mut taken: HashSet<String> = ids(document);
    let mut inside: Vec<Value> = Vec::new();
    let mut known: HashMap<String, String> = HashMap::new();
    let steps = document.get_mut("steps").and_then(Value::as_array_mut);
    for step in steps.into_iter().flatten() {
        let results = step.pointer_mut("/observation/results").and_then(Value::as_array_mut);
        for result in results.into_iter().flatten() {
            let references = result.get_mut("subagent_trajectory_ref").and_then(Value::as_array_mut);
            for reference in references.into_iter().flatten().filter_map(Value::as_object_mut) {
                let Some(name) = reference.get("trajectory_path").and_then(Value::as_str).map(str::to_owned) else {
                    continue;
                };
                let before = known.get(&name).cloned();
                let id = match before {
                    Some(id) => id,
                    None => {
                        let Some(mut child) = gathered.read(&name, read) else { continue };
                        inner(&mut child, read, gathered, depth + 1);
                        let id = name_child(&mut child, reference, &name, &mut taken);
                        inside.push(child);
                        gathered.joined.push(name.clone());
                        known.insert(name, id.clone());
                        id
                    }
                };
                reference.shift_remove("trajectory_path");
                reference.insert("trajectory_id".to_owned(), id.into());
            }
        }
    }
    let Some(map) = document.as_object_mut().filter(|_| !inside.is_empty()) else {
        return;
    };
    if let Some(version) = map
        .get_mut("schema_version")
        .filter(|version| version.as_str().is_some_and(|text| text < EMBEDS))
    {
        *version = EMBEDS.into();
    }
    add(map, inside);
}

fn ids(document: &Value) -> HashSet<String> {
    let list = document.get("subagent_trajectories").and_then(Value::as_array);
    let ids = list.into_iter().flatten();
    ids.filter_map(|inner| inner.get("trajectory_id")?.as_str().map(str::to_owned))
        .collect()
}

/// The id of an embedded trajectory: its own, else its session's, else its file's name.
fn name_child(child: &mut Value, reference: &Map<String, Value>, file: &str, taken: &mut HashSet<String>) -> String {
    let word = |value: Option<&Value>| value.and_then(Value::as_str).filter(|id| !id.is_empty()).map(str::to_owned);
    let own = word(child.get("trajectory_id"));
    let of_session = || word(child.get("session_id")).or_else(|| word(reference.get("session_id")));
    let mut id = own.or_else(of_session).unwrap_or_else(|| file.to_owned());
    if !taken.insert(id.clone()) {
        id = format!("{id} {file}");
        taken.insert(id.clone());
    }
    if let Some(map) = child.as_object_mut() {
        map.insert("trajectory_id".to_owned(), id.as_str().into());
        if let Some(version) = map
            .get_mut("schema_version")
            .filter(|version| version.as_str().is_some_and(|text| text < EMBEDS))
        {
            *version = EMBEDS.into();
        }
    }
    id
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests stop where data is not as expected")]

    use serde_json::json;

    use super::*;

    fn part(step: &Value) -> Value {
        json!({"schema_version": "ATIF-v1.6", "session_id": "s-child", "agent": {"name": "a", "version": "1"}, "steps": [step]})
    }

    #[test]
    fn continuations_and_sub_agents_become_one_document() {
        let reference = json!([{"session_id": "x", "trajectory_path": "trajectory.child.json"}]);
        let step =
            json!({"step_id": 1, "source": "system", "message": "", "observation": {"results": [{"subagent_trajectory_ref": reference}]}});
        let mut document = part(&step);
        document["continued_trajectory_ref"] = "trajectory.cont-1.json".into();
        let mut read = |name: &str| match name {
            "trajectory.cont-1.json" => {
                let mut next = part(&step);
                next["final_metrics"] = json!({"total_prompt_tokens": 3});
                next["continued_trajectory_ref"] = "missing.json".into();
                Ok(next)
            }
            "trajectory.child.json" => Ok(part(&json!({"step_id": 1, "source": "agent", "message": "inside"}))),
            _ => Err("no such file".to_owned()),
        };
        let Gathered { joined, missing, .. } = gather(&mut document, &mut read);
        assert_eq!(missing, [("missing.json".to_owned(), "no such file".to_owned())]);
        assert_eq!(joined, ["trajectory.cont-1.json", "trajectory.child.json"]);
        assert_eq!(document["schema_version"], "ATIF-v1.7");
        assert_eq!(document["steps"][1]["step_id"], 2);
        assert_eq!(document["final_metrics"]["total_prompt_tokens"], 3);
        // What cannot be read stays a name.
        assert_eq!(document["continued_trajectory_ref"], "missing.json");
        let inner = document["subagent_trajectories"].as_array().unwrap();
        assert_eq!((inner.len(), &inner[0]["trajectory_id"]), (1, &json!("s-child")));
        for step in document["steps"].as_array().unwrap() {
            let reference = &step["observation"]["results"][0]["subagent_trajectory_ref"][0];
            assert_eq!(reference, &json!({"session_id": "x", "trajectory_id": "s-child"}));
        }
    }

    #[test]
    fn files_that_name_one_another_end() {
        let reference = json!([{"trajectory_path": "self.json"}]);
        let mut document = part(
            &json!({"step_id": 1, "source": "agent", "message": "", "observation": {"results": [{"subagent_trajectory_ref": reference}]}}),
        );
        document["continued_trajectory_ref"] = "self.json".into();
        let whole = document.clone();
        let gathered = gather(&mut document, &mut |_| Ok(whole.clone()));
        assert!(gathered.joined.len() < 100, "{}", gathered.joined.len());
    }
}
