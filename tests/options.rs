//! Options of formats, wherever they are given: the command line, the environment, the configuration, a request.
#![cfg(feature = "server")]
#![expect(clippy::expect_used, reason = "a test")]

use crate::serving;

use std::fs;
use std::path::Path;

use serde_json::Value;
use serving::{Serving, spanbridge};

/// A trace with sub-agents, whose OpenReward blocks stand otherwise where `openreward.subagents=inline`.
const CASE: &str = "made-two-subagents-same-call-ids";

fn payload() -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/corpus")
        .join(CASE)
        .join("001.traces.json");
    fs::read(file).expect("reads")
}

fn serving(directory: &Path, config: &str, variables: &[&str]) -> Serving {
    let file = directory.join("spanbridge.toml");
    fs::write(&file, config).expect("writes");
    let mut starter = std::process::Command::new("env");
    starter.arg(format!("SPANBRIDGE_CONFIG={}", file.display())).args(variables);
    let serving = Serving::start_by(starter, &directory.join("data"));
    let sent = ureq::post(format!("{}/v1/traces", serving.http))
        .header("content-type", "application/json")
        .send(&payload()[..]);
    assert_eq!(sent.expect("taken").status(), 200);
    serving
}

fn answer(serving: &Serving, query: &str) -> (u16, String) {
    let traces = answer_to(&format!("{}/api/v1/traces", serving.api)).1;
    let traces: Value = serde_json::from_str(&traces).expect("JSON");
    let id = traces.pointer("/traces/0/trace_id").and_then(Value::as_str).expect("a trace");
    answer_to(&format!("{}/api/v1/traces/{id}/openreward{query}", serving.api))
}

fn document(serving: &Serving, query: &str) -> Value {
    let (status, text) = answer(serving, query);
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).expect("JSON")
}

fn answer_to(url: &str) -> (u16, String) {
    let request = ureq::get(url).config().http_status_as_error(false).build();
    let mut answer = request.call().expect("an answer");
    (
        answer.status().as_u16(),
        answer.body_mut().read_to_string().expect("text").trim_end().to_owned(),
    )
}

fn converted(options: &[&str]) -> Value {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), payload()).expect("writes");
    let mut arguments = vec!["convert", "--to", "openreward", file.path().to_str().expect("text")];
    arguments.extend(options.iter().flat_map(|option| ["--option", option]));
    let output = spanbridge(&arguments);
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn the_configuration_chooses_and_a_variable_and_a_request_go_before_it() {
    let (nested, inline) = (converted(&[]), converted(&["openreward.subagents=inline"]));
    assert_ne!(nested, inline);
    let directory = tempfile::tempdir().expect("a directory");
    let config = "option = [\"openreward.subagents=inline\"]\n";
    let bridge = serving(directory.path(), config, &[]);
    assert_eq!(document(&bridge, ""), inline);
    assert_eq!(document(&bridge, "?openreward.subagents=nested"), nested);
    bridge.stop();
    let directory = tempfile::tempdir().expect("a directory");
    let bridge = serving(directory.path(), config, &["SPANBRIDGE_OPTION=openreward.subagents=nested"]);
    assert_eq!(document(&bridge, ""), nested);
    bridge.stop();
}

#[test]
fn unknown_names_and_values_are_refused_everywhere() {
    let directory = tempfile::tempdir().expect("a directory");
    let bridge = serving(directory.path(), "", &[]);
    for (query, words) in [
        ("?openreward.subagents=outline", "nested or inline"),
        ("?openreward.subagent=inline", "openreward.subagent"),
        ("?openreward.limit_msg_bytes=0", "1 or more"),
    ] {
        let (status, said) = answer(&bridge, query);
        assert!(status == 400 && said.contains(words), "{query}: {status} {said}");
    }
    bridge.stop();
    for option in [
        "openreward.subagents=outline",
        "openreward.subagent=inline",
        "openreward.limit_msg_bytes=0",
    ] {
        let file = directory.path().join("wrong.toml");
        fs::write(&file, format!("option = [\"{option}\"]\n")).expect("writes");
        let file = file.to_str().expect("text");
        for arguments in [
            &["convert", "--to", "openreward", "--option", option, "-"][..],
            &["serve", "--config", file, "--data-dir", "/nonexistent"],
            &["serve", "--option", option, "--data-dir", "/nonexistent"],
        ] {
            let output = spanbridge(arguments);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.code() == Some(2) && said.contains("openreward"),
                "{arguments:?}: {said}"
            );
        }
    }
}
