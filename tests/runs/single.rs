//! Each span of every recording, read alone and in its run: what the whole lost, doubled, or gave to another.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;
use spanbridge::documents::Vocabulary;
use spanbridge::operation::{Kind, Message, Role};
use spanbridge::run::{EntryKind, Run, Step};
use spanbridge::span::{Span, SpanId};

use super::rows::{result, rows, squeezed};
use crate::support::cases;

/// What one span says when nothing else is known.
#[derive(Default)]
struct Alone {
    /// What models said in words.
    said: Vec<String>,
    /// Ids and names of calls that models asked for.
    asked: Vec<(String, String)>,
    /// The id and the result of a tool.
    results: Vec<(String, String)>,
    /// Names of parameters of a model call.
    parameters: BTreeSet<String>,
}

fn alone(span: &Span) -> Alone {
    let mut out = Alone::default();
    for run in Vocabulary::built_in().runs(vec![span.clone()], Vec::new()) {
        for entry in run.scopes.iter().flat_map(|scope| &scope.conversation) {
            // Turns of a call that has its own span.
            let is_call = |step: &Step| step.operation.kind == Kind::Llm && step.span_id == Some(span.span_id);
            let is_own = entry.step.and_then(|step| run.steps.get(step)).is_some_and(is_call);
            if let EntryKind::Turn(message) = &entry.kind
                && is_own
            {
                out.said.push(squeezed(&message.content()));
                let with_ids = message.tool_calls.iter().filter_map(|call| Some((call.recorded_id()?, &call.name)));
                out.asked.extend(with_ids.map(|(id, name)| (id.to_owned(), name.clone())));
            }
        }
        for step in run.steps.iter().filter(|step| step.span_id == Some(span.span_id)) {
            let operation = &step.operation;
            if operation.kind == Kind::Llm {
                out.parameters.extend(operation.parameters.keys().cloned());
            }
            if let (Kind::Tool, Some(tool)) = (operation.kind, &operation.tool)
                && let (Some(id), Some(value)) = (&tool.call_id, &tool.result)
            {
                out.results.push((id.clone(), text(value)));
            }
        }
    }
    out.said.retain(|words| !words.is_empty());
    out
}

fn text(value: &Value) -> String {
    result(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// The step of each span of a run, be it a part of the step's operation.
fn steps(run: &Run) -> HashMap<SpanId, &Step> {
    let of_step = |step| {
        let step: &Step = step;
        step.span_id
            .into_iter()
            .chain(step.evidence.iter().copied())
            .map(move |span| (span, step))
    };
    run.steps.iter().flat_map(of_step).collect()
}

/// What each recording has against `wrong`, which gets a run with its spans.
fn each(wrong: impl Fn(&Run, &[(&Span, Alone)]) -> Vec<String>) -> BTreeMap<String, Vec<String>> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for case in cases(300, |name| !name.starts_with("made-")) {
        // Log records have what their spans lack.
        if !case.logs.is_empty() {
            continue;
        }
        for run in case.runs().iter().filter(|run| run.has_agent_work()) {
            let of_run = case.spans.iter().filter(|span| span.trace_id == run.trace_id);
            let spans: Vec<(&Span, Alone)> = of_run.map(|span| (span, alone(span))).collect();
            let found = wrong(run, &spans);
            if !found.is_empty() {
                out.entry(case.name.clone()).or_default().extend(found);
            }
        }
    }
    out
}

#[test]
fn what_models_said_is_in_the_rows_and_as_often_as_spans_say_it() {
    let wrong = each(|run, spans| {
        let (rows, losses) = rows(run);
        let messages = |row: &Value| -> Vec<String> {
            let messages = row["messages"].as_array().into_iter().flatten();
            let of_model = messages.filter(|message| message["role"] == "assistant");
            of_model
                .map(|message| squeezed(message["content"].as_str().unwrap_or_default()))
                .collect()
        };
        let written: Vec<Vec<String>> = rows.iter().map(messages).collect();
        let mut found = Vec::new();
        let is_left_out = losses.contains("other choices");
        // The piece of an answer that broke off stays with the call that failed.
        let steps = steps(run);
        let stands = |span: &Span| steps.get(&span.span_id).is_none_or(|step| step.operation.failure.is_none());
        let mut told: BTreeMap<&str, usize> = BTreeMap::new();
        for words in spans.iter().filter(|(span, _)| stands(span)).flat_map(|(_, alone)| &alone.said) {
            *told.entry(words).or_default() += 1;
        }
        // A session's earlier traces are in the history.
        let in_history = |words: &str| {
            let inputs = run.steps.iter().filter_map(|step| step.operation.input_messages.as_ref());
            let of_model = |message: &&Message| message.role == Role::Assistant && squeezed(&message.content()) == words;
            inputs.map(|input| input.iter().filter(of_model).count()).max().unwrap_or_default()
        };
        for (words, times) in told {
            let has = |row: &Vec<String>| row.iter().filter(|said| said.contains(words)).count();
            let most = written.iter().map(has).max().unwrap_or_default();
            if most == 0 && !is_left_out && !rows.is_empty() {
                found.push(format!("lost: {words:?}"));
            }
            let exact = |row: &Vec<String>| row.iter().filter(|said| *said == words).count();
            let most = written.iter().map(exact).max().unwrap_or_default();
            if most > times && most > times + in_history(words) {
                found.push(format!("{most} times, and {times} spans say it: {words:?}"));
            }
        }
        found
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn calls_and_results_stay_with_their_ids() {
    let wrong = each(|run, spans| {
        let steps = steps(run);
        let mut found = Vec::new();
        let asked: BTreeSet<&str> = run
            .scopes
            .iter()
            .flat_map(|scope| &scope.conversation)
            .filter_map(|entry| match &entry.kind {
                EntryKind::Turn(message) => Some(message),
                _ => None,
            })
            .flat_map(|message| message.tool_calls.iter().filter_map(|call| call.recorded_id()))
            .collect();
        // One response's items may have two ids: the one that the result names counts.
        let names: BTreeSet<&str> = run
            .steps
            .iter()
            .filter_map(|step| step.operation.tool.as_ref()?.name.as_deref())
            .collect();
        for (span, alone) in spans {
            let is_kept = |id: &str, name: &str| asked.contains(id) || id.starts_with("fc_") && names.contains(name);
            let lost = alone.asked.iter().filter(|(id, name)| !is_kept(id, name));
            found.extend(lost.map(|(id, name)| format!("{}: no turn asks for {name} {id}", span.span_id)));
            for (id, value) in &alone.results {
                let tool = steps.get(&span.span_id).and_then(|step| step.operation.tool.as_deref());
                let has_id = tool.is_some_and(|tool| tool.call_id.as_deref() == Some(id));
                let has = tool.and_then(|tool| tool.result.as_ref()).map(text);
                if !has_id || has.as_ref() != Some(value) {
                    found.push(format!("{}: {id} gave {value:?}, and the run has {has:?}", span.span_id));
                }
            }
        }
        found
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn parameters_of_a_model_call_stay_with_it() {
    let wrong = each(|run, spans| {
        let steps = steps(run);
        let mut found = Vec::new();
        for (span, alone) in spans {
            let Some(step) = steps.get(&span.span_id).filter(|step| step.operation.kind == Kind::Llm) else {
                continue;
            };
            let lost = alone
                .parameters
                .iter()
                .filter(|name| !step.operation.parameters.contains_key(*name));
            found.extend(lost.map(|name| format!("{}: {name}", span.span_id)));
        }
        found
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}
