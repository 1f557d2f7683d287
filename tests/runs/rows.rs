//! What the model was given, over every recording: the rows have its system prompts, its tools, and the results as it read them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use spanbridge::formats::{Layout, Options, by_id};
use spanbridge::operation::{Kind, Message, Role};
use spanbridge::run::Run;

use crate::support::{Case, cases};

/// The rows of a run, and all that they lost.
pub(super) fn rows(run: &Run) -> (Vec<Value>, String) {
    let format = by_id("messages").unwrap();
    let assembled = format.assemble(std::slice::from_ref(run), &Options::default(), Layout::Indented);
    let losses: Vec<String> = assembled
        .iter()
        .flat_map(|one| &one.losses)
        .map(|loss| serde_json::to_string(loss).unwrap())
        .collect();
    let rows = assembled.iter().map(|one| serde_json::from_str(&one.document).unwrap());
    (rows.collect(), losses.join("\n"))
}

/// What each recording of the corpus has against `wrong`, by its name.
fn each(wrong: impl Fn(&Case, &Run, &[Value], &str) -> Vec<String>) -> BTreeMap<String, Vec<String>> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for case in cases(300, |name| !name.starts_with("made-")) {
        for run in case.runs().iter().filter(|run| run.has_agent_work()) {
            let (rows, losses) = rows(run);
            let found = wrong(&case, run, &rows, &losses);
            if !rows.is_empty() && !found.is_empty() {
                out.entry(case.name.clone()).or_default().extend(found);
            }
        }
    }
    out
}

fn words(message: &Value) -> String {
    squeezed(message["content"].as_str().unwrap_or_default())
}

pub(super) fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As a result is compared: JSON by its value, without the object that Gemini's API wants around any result, blocks by their texts.
pub(super) fn result(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(map)) if map.len() == 1 && map.keys().all(|key| key == "result" || key == "output") => {
            let inside = map.into_iter().next().unwrap().1;
            result(&inside.as_str().map_or_else(|| inside.to_string(), str::to_owned))
        }
        Ok(Value::Array(blocks)) if !blocks.is_empty() && blocks.iter().all(|block| block["text"].is_string()) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            squeezed(&texts.join(" "))
        }
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value.to_string(),
        Ok(Value::String(quoted)) => result(&quoted),
        _ => squeezed(text),
    }
}

fn inputs(run: &Run) -> impl Iterator<Item = &Message> {
    let calls = run.steps.iter().filter(|step| step.operation.kind == Kind::Llm);
    calls.flat_map(|step| step.operation.input_messages.iter().flatten())
}

#[test]
fn tools_that_were_recorded_are_in_a_row() {
    let wrong = each(|_, run, rows, _| {
        let offers = |kind: Kind| matches!(kind, Kind::Llm | Kind::Agent);
        let recorded: BTreeSet<&str> = run
            .steps
            .iter()
            .filter(|step| offers(step.operation.kind) && (step.operation.kind == Kind::Llm || step.called_by.is_none()))
            .flat_map(|step| &step.operation.tool_definitions)
            .map(|tool| tool.name.as_str())
            .collect();
        let has_tools = rows
            .iter()
            .any(|row| row["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
        match recorded.is_empty() || has_tools {
            true => Vec::new(),
            false => vec![format!("{recorded:?}")],
        }
    });
    assert!(wrong.is_empty(), "no row has tools, and these were recorded: {wrong:#?}");
}

#[test]
fn system_prompts_that_were_recorded_are_in_a_row() {
    let wrong = each(|_, run, rows, losses| {
        let messages = || rows.iter().flat_map(|row| row["messages"].as_array().into_iter().flatten());
        let said: Vec<String> = messages().map(words).collect();
        let prompts: BTreeSet<String> = inputs(run)
            .filter(|message| matches!(message.role, Role::System | Role::Developer))
            .map(|message| squeezed(&message.content()))
            .filter(|prompt| !prompt.is_empty())
            .collect();
        let is_lost = losses.contains("another system message over the same history");
        let lacks = |prompt: &String| !is_lost && !said.iter().any(|words| words.contains(prompt.as_str()));
        prompts.into_iter().filter(lacks).collect()
    });
    assert!(wrong.is_empty(), "no row has these system prompts: {wrong:#?}");
}

#[test]
fn results_in_rows_are_what_the_next_call_was_given() {
    let wrong = each(|_, run, rows, _| {
        let mut given: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for message in inputs(run).filter(|message| message.role == Role::Tool && !message.is_without_result() && !message.has_media()) {
            let Some(id) = message.tool_call_id.as_deref() else { continue };
            let value = message.result_value();
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            given.entry(id).or_default().insert(result(&text));
        }
        let messages = rows.iter().flat_map(|row| row["messages"].as_array().into_iter().flatten());
        let differ = messages.filter_map(|message| {
            // Google's clients number the calls of each turn: an id is that of several.
            let is_number = |id: &&str| {
                id.rsplit_once('_')
                    .is_some_and(|(_, end)| end.bytes().all(|byte| byte.is_ascii_digit()))
            };
            let id = message["tool_call_id"].as_str().filter(|id| !is_number(id))?;
            let (have, given) = (result(message["content"].as_str()?), given.get(id)?);
            (!given.contains(&have)).then(|| format!("{id}: {have:?}, given {given:?}"))
        });
        differ.collect()
    });
    assert!(wrong.is_empty(), "these results are not what the model read: {wrong:#?}");
}
