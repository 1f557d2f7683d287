//! Documents of the hand-made cases, byte by byte, and the order of arrival, which no document may show.
//!
//! `UPDATE=1 cargo test --test formats` writes `<trace id>.<format>.json`, `<trace id>.<format>.losses.json` (where
//! something was lost) and `<trace id>.findings.json` (where something was odd) into each case folder. Read them before
//! you commit them; `tests/oracles/check_goldens.py` loads them in the formats' own packages.
#![expect(clippy::unwrap_used, reason = "a test")]

use crate::long_form::is_long_form;
use crate::support;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use spanbridge::documents::Vocabulary;
use spanbridge::formats::{FORMATS, Layout, Options};
use spanbridge::operation::Kind;
use spanbridge::run::Run;
use spanbridge::span::{LogRecord, Span, UnixNanos};
use support::{Case, Chance, cases, first_difference, on_all_cores};

/// Everything that is written of these runs, by file name.
fn written(runs: &[Run], options: &Options) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for run in runs {
        let trace = run.trace_id.to_string();
        if !run.findings.is_empty() {
            let findings: Vec<_> = run
                .findings
                .iter()
                .map(|finding| {
                    let span = finding.span_id.map(|id| id.to_string());
                    serde_json::json!({"span_id": span, "kind": finding.kind, "detail": finding.detail})
                })
                .collect();
            files.insert(
                format!("{trace}.findings.json"),
                serde_json::to_string_pretty(&findings).unwrap() + "\n",
            );
        }
        if !run.has_agent_work() {
            continue;
        }
        for format in FORMATS {
            for (index, assembled) in format
                .assemble(std::slice::from_ref(run), options, Layout::Indented)
                .into_iter()
                .enumerate()
            {
                let name = if index == 0 {
                    trace.clone()
                } else {
                    format!("{trace}.{}", index + 1)
                };
                files.insert(format!("{name}.{}.json", format.id), assembled.document + "\n");
                if !assembled.losses.is_empty() {
                    let losses = serde_json::to_string_pretty(&assembled.losses).unwrap() + "\n";
                    files.insert(format!("{name}.{}.losses.json", format.id), losses);
                }
            }
        }
    }
    files
}

/// Whether a file of a case folder is one that this test writes.
fn is_expected(name: &str) -> bool {
    name.ends_with(".losses.json")
        || name.ends_with(".findings.json")
        || FORMATS.iter().any(|format| name.ends_with(&format!(".{}.json", format.id)))
}

#[test]
fn made_cases_give_the_expected_documents() {
    let update = std::env::var_os("UPDATE").is_some_and(|value| value == "1");
    let mut wrong = Vec::new();
    for case in cases(30, |name| name.starts_with("made-")) {
        let files = written(&case.runs(), &case.options);
        let mut stale: Vec<String> = fs::read_dir(&case.folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| is_expected(name) && !files.contains_key(name))
            .collect();
        stale.sort();
        for name in stale {
            if update {
                fs::remove_file(case.folder.join(&name)).unwrap();
            } else {
                wrong.push(format!("{}/{name}: expected, but nothing comes", case.name));
            }
        }
        for (name, have) in files {
            let path = case.folder.join(&name);
            match fs::read_to_string(&path) {
                Ok(want) if want == have => {}
                _ if update => fs::write(&path, have).unwrap(),
                Ok(want) => wrong.push(format!("{}/{name}, {}", case.name, first_difference(&want, &have))),
                Err(_) => wrong.push(format!("{}/{name}: comes, but is not expected (no such file)", case.name)),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} files differ; UPDATE=1 rewrites them\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn only_made_plain_spans_gives_no_document() {
    for case in cases(30, |name| name.starts_with("made-")) {
        let documents = written(&case.runs(), &case.options)
            .into_keys()
            .filter(|name| name.ends_with(".reflex.json"))
            .count();
        assert_eq!(
            documents == 0,
            case.name == "made-plain-spans",
            "{}: {documents} documents",
            case.name
        );
    }
}

/// The places in a new order, where those of one time stay in the old one: nothing else tells which of them was first.
fn ties_kept<T: Clone, K: Ord>(items: &[(usize, T)], time: impl Fn(&T) -> K) -> Vec<T> {
    let mut of_time: BTreeMap<K, Vec<&(usize, T)>> = BTreeMap::new();
    for item in items {
        of_time.entry(time(&item.1)).or_default().push(item);
    }
    for same in of_time.values_mut() {
        // Taken from the end.
        same.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    }
    let next = |(_, item): &(usize, T)| of_time.get_mut(&time(item))?.pop().map(|(_, item)| item.clone());
    items.iter().filter_map(next).collect()
}

/// The same spans as they may arrive: each with a resource and a scope of its own, in any order but that of the same times, some
/// more than once.
fn rearranged(case: &Case, chance: &mut Chance, repeat: bool) -> (Vec<Span>, Vec<LogRecord>) {
    let mut spans: Vec<(usize, Span)> = case.spans.iter().cloned().enumerate().collect();
    let mut logs: Vec<(usize, LogRecord)> = case.logs.iter().cloned().enumerate().collect();
    for (_, span) in &mut spans {
        span.resource = Arc::new((*span.resource).clone());
        span.scope = Arc::new((*span.scope).clone());
    }
    if repeat {
        for at in 0..spans.len() {
            if chance.below(2) == 0 {
                spans.push(spans.get(at).unwrap().clone());
            }
        }
        for at in 0..logs.len() {
            if chance.below(2) == 0 {
                logs.push(logs.get(at).unwrap().clone());
            }
        }
    }
    chance.shuffle(&mut spans);
    chance.shuffle(&mut logs);
    (ties_kept(&spans, times), ties_kept(&logs, LogRecord::when))
}

fn times(span: &Span) -> (UnixNanos, UnixNanos) {
    (span.start, span.end)
}

fn arrival_does_not_matter(at_least: usize, rounds: u64, wanted: impl Fn(&str) -> bool) {
    let wrong = on_all_cores(&cases(at_least, wanted), |case| {
        let mut wrong = Vec::new();
        let want = written(&sorted(case.runs()), &case.options);
        let mut backwards: Vec<(usize, Span)> = case.spans.iter().cloned().enumerate().collect();
        backwards.reverse();
        let backwards = ties_kept(&backwards, times);
        let mut arrivals = vec![("backwards".to_owned(), backwards, case.logs.clone())];
        for round in 0..rounds {
            let mut chance = Chance::new(round + 1);
            let (spans, logs) = rearranged(case, &mut chance, round % 2 == 1);
            arrivals.push((format!("seed {}", round + 1), spans, logs));
        }
        for (how, spans, logs) in arrivals {
            let have = written(&sorted(Vocabulary::built_in().runs(spans, logs)), &case.options);
            if have == want {
                continue;
            }
            let names: std::collections::BTreeSet<&String> = want.keys().chain(have.keys()).collect();
            for name in names.into_iter().filter(|name| want.get(*name) != have.get(*name)) {
                let text = |files: &BTreeMap<String, String>| files.get(name).cloned().unwrap_or_default();
                wrong.push(format!(
                    "{}, {how}: {name}, {}",
                    case.name,
                    first_difference(&text(&want), &text(&have))
                ));
            }
            break; // one arrival a case tells enough
        }
        wrong
    });
    let wrong = wrong.concat();
    assert!(
        wrong.is_empty(),
        "{} documents depend on the order of arrival:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// By trace: the order of the list of runs is not what is asked here.
fn sorted(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_by_key(|run| run.trace_id.to_string());
    runs
}

#[test]
fn made_cases_do_not_depend_on_the_order_of_arrival() {
    arrival_does_not_matter(30, if is_long_form() { 12 } else { 4 }, |name| name.starts_with("made-"));
}

#[test]
fn recorded_cases_do_not_depend_on_the_order_of_arrival() {
    arrival_does_not_matter(110, if is_long_form() { 4 } else { 2 }, |name| !name.starts_with("made-"));
}

/// Clients of which each model call and each tool run has a span of its own, told by the client's own words.
const CLIENTS: &[&str] = &[
    "agentops-openai-tools",
    "agentsagentops-tools",
    "agentslogfire-tools",
    "agentssplunk-tools",
    "axjs-tools",
    "genkitjs-tools",
    "haystack-tools",
    "judgeval-openai-tools",
    "langwatch-langchain-agent",
    "langwatch-openai-tools",
    "langwatchjs-tools",
    "litrace-tools",
    "lmnr-langchain-agent",
    "lmnr-openai-tools",
    "lmnrjs-tools",
    "mastra-tools",
    "mlfdspy-cot",
    "netra-openai-tools",
    "oiprocol-openai-tools",
    "splunk-langchain-agent",
    "traceai-langchain-agent",
    "traceai-openai-tools",
];

#[test]
fn each_model_call_and_tool_run_of_these_clients_is_one_step() {
    for case in cases(CLIENTS.len(), |name| CLIENTS.contains(&name)) {
        let meta: serde_json::Value = serde_json::from_slice(&fs::read(case.folder.join("meta.json")).unwrap()).unwrap();
        let told = |what: &str| meta.get(what).and_then(serde_json::Value::as_array).map_or(0, Vec::len);
        let runs = case.runs();
        let steps = |kind: Kind| {
            runs.iter()
                .flat_map(|run| &run.steps)
                .filter(|step| step.operation.kind == kind)
                .count()
        };
        assert_eq!(
            (steps(Kind::Llm), steps(Kind::Tool)),
            (told("llm_calls"), told("tool_executions")),
            "model calls and tool runs of {}",
            case.name
        );
    }
}

#[test]
fn the_first_difference_is_named() {
    assert_eq!(first_difference("a\nb\n", "a\nc\n"), "line 2:\n    expected b\n    but have c");
    assert_eq!(first_difference("a\n", "a\nc\n"), "line 2:\n    expected the end\n    but have c");
}
