//! Data sets: which runs an expression selects, which runs are equal, and the files of a whole set.
#![cfg(feature = "server")]
#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr, reason = "a test")]

use crate::serving;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use serving::{Serving, spanbridge};
use spanbridge::dataset::{Expression, fingerprint};
use spanbridge::documents::Vocabulary;
use spanbridge::run::Run;
use spanbridge::span::json::Message;
use spanbridge::span::{AnyValue, LogRecord, Span, SpanId, TraceId, UnixNanos};

/// The cases whose runs expressions are asked of.
const CASES: [&str; 11] = [
    "made-evaluation-reward",
    "made-every-step",
    "made-failures",
    "made-no-content",
    "made-own-keys",
    "made-plain-spans",
    "made-running-root",
    "made-session",
    "made-two-subagents-same-call-ids",
    "oi-langchain-agent",
    "oi-langchain-toolerror",
];

/// Two recordings in which the same was said and done.
const EQUAL: [&str; 2] = ["oi-openai-stream", "oi-openai-tools"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(end));
    files.sort();
    files
}

/// What a case recorded.
fn recorded(case: &Path) -> (Vec<Span>, Vec<LogRecord>) {
    let (mut spans, mut logs) = (Vec::new(), Vec::new());
    for file in files(case, ".json") {
        let name = file.to_string_lossy();
        if name.ends_with(".traces.json") || name.ends_with(".logs.json") {
            let message = Message::parse(&fs::read(&file).expect("reads")).expect("OTLP");
            let (more, records) = message.into_parts();
            spans.extend(more.items);
            logs.extend(records.items);
        }
    }
    (spans, logs)
}

fn runs(spans: Vec<Span>, logs: Vec<LogRecord>) -> Vec<Run> {
    Vocabulary::built_in().runs(spans, logs)
}

/// Compares with a file, or writes it where `UPDATE` is set.
fn golden(file: &Path, found: &str) {
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, found).expect("writes");
    }
    let wanted = fs::read_to_string(file).unwrap_or_default();
    assert!(wanted == found, "{} differs; UPDATE=1 writes it anew", file.display());
}

#[test]
fn expressions_select_these_runs() {
    let mut known: Vec<(String, Run)> = Vec::new();
    for case in CASES {
        let (spans, logs) = recorded(&root().join("corpus").join(case));
        let all = runs(spans, logs);
        let many = all.len() > 1;
        known.extend(all.into_iter().enumerate().map(|(number, run)| {
            let name = if many { format!("{case}/{}", number + 1) } else { case.to_owned() };
            (name, run)
        }));
    }
    let moment = |text: &str| {
        let moment: jiff::Timestamp = text.parse().map_err(|_| "write 2026-11-21T10:00:00Z".to_owned())?;
        u64::try_from(moment.as_nanosecond()).map_err(|_| "later than 1970".to_owned())
    };
    let file = root().join("dataset/expressions.txt");
    let text = fs::read_to_string(&file).expect("reads");
    let mut found: String = text
        .lines()
        .take_while(|line| line.starts_with('#'))
        .map(|line| format!("{line}\n"))
        .collect();
    let mut selecting = 0;
    for expression in text.lines().filter_map(|line| line.strip_prefix("> ")) {
        let verdict = match Expression::parse(expression, &moment) {
            Ok(read) => {
                let held: Vec<&str> = known
                    .iter()
                    .filter(|(_, run)| read.matches(run))
                    .map(|(name, _)| name.as_str())
                    .collect();
                selecting += usize::from(!held.is_empty() && held.len() < known.len());
                if held.is_empty() { "none".to_owned() } else { held.join("\n") }
            }
            Err(error) => format!("error: {error}"),
        };
        let lines: String = verdict.lines().map(|line| format!("    {line}\n")).collect();
        found.push_str(&format!("\n> {expression}\n{lines}"));
    }
    assert!(selecting > 30, "{selecting} expressions tell runs apart");
    golden(&file, &found);
}

/// The same spans under other ids and at another time.
fn again(mut spans: Vec<Span>, mut logs: Vec<LogRecord>) -> (Vec<Span>, Vec<LogRecord>) {
    const LATER: u64 = 86_400_000_000_007;
    let trace = |id: TraceId| {
        let mut bytes = *id.bytes();
        bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
        TraceId::from_bytes(&bytes).expect("an id")
    };
    let span = |id: SpanId| {
        let mut bytes = *id.bytes();
        bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
        SpanId::from_bytes(&bytes).expect("an id")
    };
    let later = |at: &mut UnixNanos| at.0 = if at.0 == 0 { 0 } else { at.0 + LATER };
    for item in &mut spans {
        (item.trace_id, item.span_id) = (trace(item.trace_id), span(item.span_id));
        item.parent = item.parent.map(span);
        for (key, value) in &mut item.attributes.0 {
            if let ("spanbridge.continues.span_id" | "lk.input.base_span_id", AnyValue::String(id)) = (key.as_str(), &mut *value)
                && let Some(base) = SpanId::from_hex(id)
            {
                *id = span(base).to_string();
            }
        }
        later(&mut item.start);
        later(&mut item.end);
        item.events.iter_mut().for_each(|event| later(&mut event.time));
        item.links.clear();
    }
    for item in &mut logs {
        item.trace_id = item.trace_id.map(trace);
        item.span_id = item.span_id.map(span);
        item.time.iter_mut().chain(&mut item.observed_time).for_each(later);
    }
    (spans, logs)
}

#[test]
fn a_run_is_equal_to_itself_under_other_ids_and_to_no_other() {
    let (mut checked, mut differ) = (0, Vec::new());
    let mut known: BTreeMap<fingerprint::Fingerprint, String> = BTreeMap::new();
    let mut equal = BTreeSet::new();
    let cases = files(&root().join("corpus"), "").into_iter().filter(|case| case.is_dir());
    for case in cases.filter(|case| case.to_string_lossy().contains("/made-") || case.to_string_lossy().contains("/oi-")) {
        let (mut spans, logs) = recorded(&case);
        spans.iter_mut().for_each(|span| span.links.clear());
        let name = case.file_name().expect("a name").to_string_lossy().into_owned();
        let prints = |spans, logs| runs(spans, logs).iter().map(fingerprint::of).collect::<Vec<_>>();
        let before = prints(spans.clone(), logs.clone());
        let (spans, logs) = again(spans, logs);
        let sorted = |mut list: Vec<Option<fingerprint::Fingerprint>>| {
            list.sort();
            list
        };
        if sorted(before.clone()) != sorted(prints(spans, logs)) {
            differ.push(name.clone());
        }
        checked += before.len();
        for print in before.into_iter().flatten() {
            if let Some(other) = known.insert(print, name.clone()) {
                equal.insert(format!("{other} = {name}"));
            }
        }
    }
    assert_eq!(differ, Vec::<String>::new());
    assert!(checked > 100, "{checked} runs");
    let equal: String = equal.iter().map(|pair| format!("{pair}\n")).collect();
    golden(&root().join("dataset/equal.txt"), &equal);
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The data set of the golden folder.
const SET: [&str; 13] = [
    "--to",
    "messages",
    "--where",
    "not status = running and (tool_calls > 0 or has(session))",
    "--dedup",
    "--split",
    "train:0.6,test:0.4",
    "--redact",
    r#"[{ name = "Paris", value = "Paris", action = "mask" }]"#,
    "--jsonl",
    "--losses",
    "LOSSES",
    "--output",
];

fn payloads() -> Vec<String> {
    let cases = [CASES.as_slice(), &EQUAL].concat();
    let payloads = cases
        .iter()
        .flat_map(|case| files(&root().join("corpus").join(case), ".traces.json"));
    payloads.map(|file| file.to_string_lossy().into_owned()).collect()
}

/// The arguments with these in place of the losses' file and behind.
fn arguments<'a>(command: &'a str, losses: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let set = SET.iter().map(|word| if *word == "LOSSES" { losses } else { word });
    [command].into_iter().chain(set).chain(more.iter().copied()).collect()
}

#[test]
fn convert_writes_this_data_set() {
    let directory = tempfile::tempdir().expect("a directory");
    let (losses, set) = (directory.path().join("losses.ndjson"), directory.path().join("set"));
    let (losses, set) = (losses.to_str().expect("text"), set.to_str().expect("text"));
    let payloads = payloads();
    let payloads: Vec<&str> = payloads.iter().map(String::as_str).collect();
    let output = spanbridge(&[arguments("convert", losses, &[set]), payloads.clone()].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    for file in ["manifest.json", "train.jsonl", "test.jsonl"] {
        let found = fs::read_to_string(Path::new(set).join(file)).expect("reads");
        golden(&root().join("dataset/set").join(file), &found);
    }
    // Nothing is left out in silence.
    let manifest: Value = serde_json::from_str(&fs::read_to_string(Path::new(set).join("manifest.json")).expect("reads")).expect("JSON");
    let skipped: u64 = manifest["runs"]["skipped"]
        .as_object()
        .expect("reasons")
        .values()
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!(
        manifest["runs"]["read"].as_u64(),
        manifest["runs"]["selected"].as_u64().map(|selected| selected + skipped)
    );
    let told = fs::read_to_string(losses).expect("reads");
    let told = told.lines().filter(|line| {
        ["left_out", "no_agent_work", "no_document"]
            .iter()
            .any(|kind| line.contains(&format!(r#""kind":"{kind}""#)))
    });
    assert_eq!(told.count() as u64, skipped);
    // Every run twice, the second time under other ids and later: without duplicates the rows stay.
    let again_file = directory.path().join("again.json");
    let mut all = Vec::new();
    for payload in &payloads {
        let message = Message::parse(&fs::read(payload).expect("reads")).expect("OTLP");
        all.extend(message.into_parts().0.items);
    }
    fs::write(&again_file, spanbridge::otlp::encode::traces(&again(all, Vec::new()).0)).expect("writes");
    let twice = directory.path().join("twice");
    let twice = twice.to_str().expect("text");
    let output = spanbridge(&[arguments("convert", losses, &[twice, again_file.to_str().expect("text")]), payloads].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let rows = |set: &str| {
        let rows: BTreeSet<String> = ["train.jsonl", "test.jsonl"]
            .iter()
            .flat_map(|file| {
                fs::read_to_string(Path::new(set).join(file))
                    .unwrap_or_default()
                    .lines()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect();
        rows
    };
    assert_eq!(rows(twice), rows(set));
}

#[test]
fn export_writes_the_rows_that_convert_writes() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(&directory.path().join("data"));
    let payloads = payloads();
    for payload in &payloads {
        let sent = ureq::post(format!("{}/v1/traces", serving.http)).header("content-type", "application/json");
        assert_eq!(sent.send(&fs::read(payload).expect("reads")[..]).expect("taken").status(), 200);
    }
    let path = |name: &str| directory.path().join(name).to_str().expect("text").to_owned();
    let (losses, exported) = (path("losses"), path("exported"));
    let output = spanbridge(&arguments("export", &losses, &[&exported, "--server", &serving.api]));
    assert!(output.status.success(), "{}", stderr(&output));
    for file in ["train.jsonl", "test.jsonl"] {
        let found = fs::read_to_string(Path::new(&exported).join(file)).expect("reads");
        let wanted = fs::read_to_string(root().join("dataset/set").join(file)).expect("reads");
        assert!(found == wanted, "{file} of export differs from convert's");
    }
    // Sides without --jsonl are folders.
    let folders = path("folders");
    let split = [
        "--split",
        "train:0.5,test:0.5",
        "--split-by",
        "trace",
        "--output",
        &folders,
        "--server",
        &serving.api,
    ];
    let output = spanbridge(&[&["export", "--to", "atif"][..], &split].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let count = |side: &str| files(&Path::new(&folders).join(side), ".atif.json").len() as u64;
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(Path::new(&folders).join("manifest.json")).expect("reads")).expect("JSON");
    assert!(count("train") > 0 && count("test") > 0);
    for side in ["train", "test"] {
        assert_eq!(manifest["splits"][side]["documents"].as_u64(), Some(count(side)), "{side}");
    }
    let output = spanbridge(&["export", "--to", "reflex", "--session", "x", "--dedup", "--server", &serving.api]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn wrong_flags_are_told_before_anything_is_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let set = directory.path().join("set");
    let set = set.to_str().expect("text");
    let payload = payloads().remove(0);
    for (flags, words) in [
        (
            &["--where", "stauts = ok"][..],
            "did you mean `status`?\n  stauts = ok\n  ^^^^^^\nThe fields are status, agent,",
        ),
        (&["--split", "train:0.9,test:0.2"], "the ratios add up to 1.1, not to 1"),
        (&["--split-by", "trace"], "--split"),
        (
            &["--redact", "[{ value = '(' , action = 'mask' }]"],
            "redaction rule 1 has a value that is not a regular expression",
        ),
        (&["--redact", "[{ value = 'x' , action = 'hash' }]"], "redact_hash_key"),
        (&["--redact", "no/such/file.toml"], "cannot read no/such/file.toml"),
    ] {
        let output = spanbridge(&[&["convert", "--to", "messages", "--output", set, &payload][..], flags].concat());
        assert!(!output.status.success(), "{flags:?}");
        assert!(stderr(&output).contains(words), "{flags:?}: {}", stderr(&output));
        assert!(
            !Path::new(set).exists() || fs::read_dir(set).expect("a folder").next().is_none(),
            "{flags:?}"
        );
    }
    let output = spanbridge(&["convert", "--to", "messages", "--jsonl", &payload]);
    assert!(stderr(&output).contains("--output"), "{}", stderr(&output));
    let output = spanbridge(&["convert", "--to", "atif", "--parquet", "--output", set, &payload]);
    let words = if cfg!(feature = "parquet") {
        "only `messages` has columns"
    } else {
        "--features parquet"
    };
    assert!(stderr(&output).contains(words), "{}", stderr(&output));
}

/// A data set for the Hub, of these payloads.
fn for_hub(folder: &Path, flags: &[&str], payloads: &[&str]) -> Output {
    let folder = folder.to_str().expect("text");
    spanbridge(&[&["convert", "--to", "messages", "--hub", folder][..], flags, payloads].concat())
}

#[test]
fn a_folder_for_the_hub_has_a_card_and_no_secrets() {
    let directory = tempfile::tempdir().expect("a directory");
    let set = directory.path().join("set");
    let payloads = payloads();
    let payloads: Vec<&str> = payloads.iter().map(String::as_str).collect();
    let output = for_hub(&set, &["--dedup", "--split", "train:0.6,test:0.4"], &payloads);
    assert!(output.status.success(), "{}", stderr(&output));
    let card = fs::read_to_string(set.join("README.md")).expect("a card");
    golden(&root().join("dataset/hub.md"), &card);

    // A token that was never valid, in parts: scanners look through this file, too.
    let secret = ["ghp_", "abcdefghijklmnopqrstuvwxyz0123456789"].concat();
    let leak = directory.path().join("leak.json");
    let question = format!("Push with {secret}.");
    let row = serde_json::json!({"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": "Done."}]});
    fs::write(&leak, row.to_string()).expect("writes");
    let leak = [leak.to_str().expect("text")];
    let set = directory.path().join("leak");
    let output = for_hub(&set, &[], &leak);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("github-token: 1, the first in run "),
        "{}",
        stderr(&output)
    );
    assert!(!stderr(&output).contains(&secret));
    assert_eq!(fs::read_dir(&set).expect("a folder").count(), 0, "no rows are left");
    for (flags, is_there) in [(["--allow-secret", "github-token"], true), (["--redact", "secrets"], false)] {
        let output = for_hub(&set, &flags, &leak);
        assert!(output.status.success(), "{flags:?}: {}", stderr(&output));
        let rows = fs::read_to_string(set.join("train.jsonl")).expect("rows");
        assert_eq!(rows.contains(&secret), is_there, "{flags:?}");
        let card = fs::read_to_string(set.join("README.md")).expect("a card");
        assert!(
            card.contains(if is_there {
                "1 github-token are in the rows"
            } else {
                "github-token 1."
            }),
            "{card}"
        );
    }
    // A refusal leaves no card of the export before it.
    let output = for_hub(&set, &[], &leak);
    assert_eq!(output.status.code(), Some(1));
    assert!(!set.join("README.md").exists() && !set.join("train.jsonl").exists());
    let own = directory.path().join("own");
    fs::create_dir(&own).expect("a folder");
    fs::write(own.join("README.md"), "# My project\n").expect("writes");
    let output = for_hub(&own, &[], &payloads);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("has a README.md that spanbridge did not write"),
        "{}",
        stderr(&output)
    );
    assert_eq!(fs::read_to_string(own.join("README.md")).expect("reads"), "# My project\n");
    let output = for_hub(&set, &["--allow-secret", "git"], &leak);
    assert!(
        stderr(&output).contains("there is no form `git`; the forms are private-key,"),
        "{}",
        stderr(&output)
    );
}

/// `tests/dataset/load.py`, if there is a Python with the package.
#[test]
fn trainers_load_the_rows() {
    let python = std::env::var("SPANBRIDGE_DATASETS_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let directory = tempfile::tempdir().expect("a directory");
    let hub = directory.path().join("hub");
    let payloads_of_hub = payloads();
    let payloads_of_hub: Vec<&str> = payloads_of_hub.iter().map(String::as_str).collect();
    let output = for_hub(&hub, &["--split", "train:0.6,test:0.4"], &payloads_of_hub);
    assert!(output.status.success(), "{}", stderr(&output));
    let mut sets = vec![root().join("dataset/set"), hub];
    if cfg!(feature = "parquet") {
        for (name, flags) in [("trl", &[][..]), ("openai", &["--option", "messages.flavour=openai"])] {
            let set = directory.path().join(name);
            let payloads = payloads();
            let payloads: Vec<&str> = payloads.iter().map(String::as_str).collect();
            let path = set.to_str().expect("text");
            let first = [
                "convert",
                "--to",
                "messages",
                "--split",
                "train:0.6,test:0.4",
                "--jsonl",
                "--parquet",
                "--output",
                path,
            ];
            let output = spanbridge(&[&first[..], flags, &payloads].concat());
            assert!(output.status.success(), "{}", stderr(&output));
            sets.push(set);
        }
    }
    for set in sets {
        let Ok(output) = Command::new(&python).arg(root().join("dataset/load.py")).arg(&set).output() else {
            eprintln!("did not run: there is no {python}");
            return;
        };
        eprintln!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
        assert!(output.status.success(), "{}", set.display());
    }
}
