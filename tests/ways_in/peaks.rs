//! The memory of the real processes.

use std::io::Write as _;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::documents::document;
use crate::serving::{Serving, measured};
use crate::support::Chance;

const MB: usize = 1 << 20;
/// A server that does nothing, with its threads, but without its program.
const IDLE: usize = 14 * MB;
const BLOCKS: &str = "/v1/organizations/default/traces/tr_x/blocks";

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain).expect("memory");
    encoder.finish().expect("memory")
}

/// Status and words of an answer.
fn post(server: &Serving, path: &str, body: &[u8]) -> (u16, String) {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
    let request = agent.post(format!("{}{path}", server.api));
    let request = request
        .header("content-type", "application/json")
        .header("content-encoding", "gzip");
    let mut answer = request.send(&gzip(body)).expect("an answer");
    (answer.status().as_u16(), answer.body_mut().read_to_string().expect("text"))
}

fn peak(server: &Serving) -> usize {
    let whole = server.peak_memory().expect("a peak");
    usize::try_from(whole - server.program_memory().expect("a size")).expect("small")
}

fn list(item: &str, bytes: usize) -> String {
    vec![item; bytes / (item.len() + 1)].join(",")
}

#[test]
fn scalars_are_counted_in_documents_and_blocks() {
    let directory = TempDir::new().expect("a directory");
    let server = Serving::start(directory.path());
    let zeros = list("0", 6 * MB);
    let document = format!(r#"{{"messages":[{zeros}]}}"#);
    let block = format!(
        r#"{{"block_type":"TOOL","sub_type":"TOOL_CALL","payload":{{"call_id":"c","tool_name":"t","arguments":{{"a":[{zeros}]}}}}}}"#
    );
    for (path, body) in [
        ("/api/v1/import", &document),
        ("/api/v1/import/messages", &document),
        (BLOCKS, &block),
        (BLOCKS, &format!("[{block}]")),
    ] {
        let (status, said) = post(&server, path, body.as_bytes());
        assert_eq!(status, 413, "{path}: {said:.300}");
        assert!(
            said.contains("consist of so many values") && said.contains("send less in one request"),
            "{said:.500}"
        );
        let most = 8 * body.len() + 64 * MB + IDLE;
        assert!(
            peak(&server) <= most,
            "{path}: {} bytes of memory for {}",
            peak(&server),
            body.len()
        );
    }
    // A long answer with its token ids is no such thing.
    let tokens: Vec<usize> = (0..20_000).map(|number| number * 7 % 100_000).collect();
    let trajectory = json!({"schema_version": "ATIF-v1.6", "session_id": "s", "agent": {"name": "a", "version": "1"}, "steps": [
        {"step_id": 1, "source": "agent", "message": "m", "metrics": {"completion_token_ids": tokens}}]});
    let (status, said) = post(&server, "/api/v1/import", trajectory.to_string().as_bytes());
    assert_eq!(status, 200, "{said:.300}");
}

/// A person and a model in turn, with a tool now and then.
fn chat(count: usize, with_tools: bool) -> String {
    let message = |number: usize| match number % 6 {
        3 if with_tools => json!({"role": "assistant", "content": "", "tool_calls": [{"id": format!("c{number}"), "type": "function",
            "function": {"name": "look", "arguments": {"at": number}}}]}),
        4 if with_tools => json!({"role": "tool", "tool_call_id": format!("c{}", number - 1), "content": "found"}),
        1 | 3 | 5 => json!({"role": "assistant", "content": format!("answer {number}")}),
        _ => json!({"role": "user", "content": "go on"}),
    };
    json!({ "messages": (0..count).map(message).collect::<Vec<_>>() }).to_string()
}

#[test]
fn ten_thousand_messages_are_taken() {
    for with_tools in [false, true] {
        let directory = TempDir::new().expect("a directory");
        let server = Serving::start(directory.path());
        let document = chat(10_000, with_tools);
        let (status, said) = post(&server, "/api/v1/import", document.as_bytes());
        assert_eq!(status, 200, "tools {with_tools}: {said:.500}");
        let (peak, most) = (peak(&server), 8 * document.len() + 64 * MB + IDLE);
        assert!(peak <= most, "tools {with_tools}: {peak} bytes of memory for {}", document.len());
        let file = directory.path().join("chat.json");
        std::fs::write(&file, &document).expect("writes");
        let data = directory.path().join("imported");
        let (taken, code, said) = run(&["import", "--data-dir", data.to_str().expect("text"), file.to_str().expect("text")]);
        assert_eq!(code, Some(0), "{said}");
        assert!(taken <= most, "tools {with_tools}: {taken} bytes of memory for {}", document.len());
    }
}

#[test]
fn small_requests_that_become_large_are_refused() {
    let directory = TempDir::new().expect("a directory");
    let server = Serving::start(directory.path());
    for item in ["0", "{}", "[0]", r#"{"role":"user"}"#, r#"{"role":"assistant","content":"a"}"#] {
        let document = format!(r#"{{"messages":[{}]}}"#, list(item, 62_000_000));
        let (status, said) = post(&server, "/api/v1/import", document.as_bytes());
        assert_eq!(status, 413, "{item}: {said:.300}");
        let (peak, most) = (peak(&server), 8 * document.len() + 64 * MB + IDLE);
        assert!(peak <= most, "{item}: {peak} bytes of memory for {}", document.len());
        server.forget_peak_memory();
    }
}

#[test]
fn documents_made_at_random_hold_the_memory_of_the_server() {
    let directory = TempDir::new().expect("a directory");
    let server = Serving::start(directory.path());
    let (rounds, sizes) = if crate::long_form::is_long_form() { (400, 11) } else { (24, 7) };
    let mut taken = 0;
    for seed in 0..rounds {
        let mut chance = Chance::new(seed + 1_000);
        let size = 10_000 << chance.below(sizes);
        let made = document(&mut chance, size);
        let path = if made.format == "openreward" && made.text.starts_with('[') && chance.below(2) == 0 {
            BLOCKS.to_owned()
        } else {
            format!("/api/v1/import/{}", made.format)
        };
        let (status, said) = post(&server, &path, made.text.as_bytes());
        assert!(
            [200, 201, 409, 413, 422, 400, 503].contains(&status),
            "{status}: {said:.300}: {}",
            made.of
        );
        taken += usize::from(status < 300);
        let most = 8 * made.text.len() + 64 * MB + IDLE;
        let peak = peak(&server);
        assert!(
            peak <= most,
            "{peak} bytes of memory for {} ({status}): {}",
            made.text.len(),
            made.of
        );
        server.forget_peak_memory();
    }
    assert!(taken * 4 >= usize::try_from(rounds).unwrap(), "only {taken} of {rounds} were taken");
}

/// Runs a command: its largest memory without its program, and what it said.
fn run(arguments: &[&str]) -> (usize, Option<i32>, String) {
    let measured = measured(arguments);
    (usize::try_from(measured.memory).expect("small"), measured.code, measured.said)
}

#[test]
fn commands_refuse_files_that_take_too_much() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("zeros.json");
    let file = path.to_str().expect("text");
    let data = directory.path().join("data");
    let zeros = |bytes: usize| {
        let text = format!(r#"{{"messages":[{}]}}"#, list("0", bytes));
        std::fs::write(&path, &text).expect("writes");
        text.len()
    };
    let refused = |arguments: &[&str], bytes: usize| {
        let (most, code, said) = run(arguments);
        assert_eq!(code, Some(1), "{arguments:?}: {said}");
        assert!(
            said.contains("consist of very many values") && said.contains("--max-memory"),
            "{said}"
        );
        assert!(most <= 8 * bytes + 64 * MB, "{arguments:?}: {most} bytes of memory");
    };
    refused(&["check", "--format", "messages", file], zeros(20 * MB));
    let bytes = zeros(3 * MB);
    for arguments in [
        vec!["check", file],
        vec!["convert", "--to", "reflex", file],
        vec!["convert", "--from", "messages", "--to", "reflex", file],
        vec!["import", "--data-dir", data.to_str().expect("text"), file],
    ] {
        refused(&[arguments.as_slice(), &["--max-memory", "100000000"]].concat(), bytes);
    }
    // With less, and told to.
    zeros(MB);
    let (_, _, said) = run(&["check", "--max-memory", "50000000", file]);
    assert!(said.contains("the limit is 50000000"), "{said}");
    let (most, _, said) = run(&["check", file]);
    assert!(said.contains("1 document checked"), "{said}");
    assert!(most <= 8 * MB + 256 * MB, "{most}");
}

#[test]
fn redaction_of_a_large_request_holds_its_memory() {
    let directory = TempDir::new().expect("a directory");
    let config = directory.path().join("spanbridge.toml");
    let rules = "[[redact]]\nname = \"digits\"\nvalue = '[0-9]'\naction = \"mask\"\n[[redact]]\nname = \"mail\"\nvalue = 'a@b'\naction = \"mask\"\n";
    std::fs::write(&config, rules).expect("writes");
    let data = directory.path().join("data");
    let server = Serving::start_with(&data, &["--config", config.to_str().expect("text")]);
    let megabytes = if crate::long_form::is_long_form() { 50 } else { 4 };
    for text in [
        format!("[{}]", list("1", megabytes * MB)),
        list("\\n", megabytes * MB),
        Value::from(format!("[{}]", list("\"\\n a@b\"", megabytes * MB / 2))).to_string(),
        list("words without anything", megabytes * MB),
    ] {
        let body = json!({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "01".repeat(16), "spanId": "02".repeat(8), "name": "s",
            "startTimeUnixNano": "1", "endTimeUnixNano": "2", "attributes": [{"key": "k", "value": {"stringValue": text}}]}]}]}]});
        let body = body.to_string();
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
        let request = agent
            .post(format!("{}/v1/traces", server.http))
            .header("content-type", "application/json");
        let mut answer = request.send(body.as_bytes()).expect("an answer");
        let status = answer.status().as_u16();
        assert!(
            [200, 413].contains(&status),
            "{}",
            answer.body_mut().read_to_string().expect("text")
        );
        let (peak, most) = (peak(&server), 8 * body.len() + 64 * MB + IDLE);
        assert!(peak <= most, "{peak} bytes of memory for {} ({status}) of {text:.40}", body.len());
        server.forget_peak_memory();
    }
}
