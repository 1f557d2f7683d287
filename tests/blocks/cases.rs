//! Every rule of the page with its code and body: the cases stand in `cases.json`.

use std::process::Command;

use serde_json::{Value, json};

use super::client::{Client, blocks};
use crate::serving::Serving;

#[test]
fn every_rule_has_its_code() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("cases.json")).expect("JSON");
    let mut small = Command::new("env");
    small.args([
        "LIMIT_MSG_BYTES=6",
        "LIMIT_TOOL_ARGS_BYTES=7",
        "LIMIT_THINK_BYTES=8",
        "LIMIT_TOOL_RESULT_BYTES=9",
    ]);
    let directories = [tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory")];
    let with_limits = Serving::start_by(small, directories[0].path());
    let serving = Serving::start(directories[1].path());
    for (number, case) in cases.iter().enumerate() {
        let name = case["name"].as_str().expect("a name");
        let api = if name.contains("limits") { &with_limits.api } else { &serving.api };
        let client = Client::new(api);
        let path = blocks(&format!("tr_{number}"));
        let mut written = Vec::new();
        for step in case["steps"].as_array().expect("steps") {
            let answer = client.post(&path, &step["post"].to_string());
            let what = format!("{name}: {} answered {}", step["post"], answer.text);
            assert_eq!(json!(answer.status), step["status"], "{what}");
            if answer.status == 201 {
                let list = if step["post"].is_array() {
                    answer.json()
                } else {
                    json!([answer.json()])
                };
                written.extend(list.as_array().expect("a list").clone());
                continue;
            }
            let error = &answer.json()["error"];
            assert_eq!((&error["code"], &error["http_status"]), (&step["code"], &step["status"]), "{what}");
            assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{what}");
            assert!(error["details"].is_object(), "{what}");
            if let Some(message) = step.get("message") {
                assert_eq!(&error["message"], message, "{what}");
            }
            for (key, value) in step["details"].as_object().into_iter().flatten() {
                assert_eq!(&error["details"][key], value, "{what}");
            }
            if step["status"] == 413 {
                assert_eq!(error["details"], step["details"], "all of the details: {what}");
            }
        }
        let stored = client.get(&path);
        if written.is_empty() {
            assert_eq!((stored.status, stored.code().as_str()), (404, "NOT_FOUND"), "{name}");
            continue;
        }
        assert_eq!(stored.json(), json!(written), "{name}: what was answered is what is stored");
        let ids: Vec<&Value> = written.iter().map(|block| &block["id"]).collect();
        assert_eq!(json!(ids), case["stored"], "{name}");
        let tree = client.get(&format!("{path}.stitched")).json();
        assert_eq!(tree["orphans"], json!({"tool_calls": [], "tool_results": []}), "{name}");
        if let Some(results) = case.get("results") {
            let found = tree["messages"][0]["tool_calls"][0]["tool_results"].as_array().expect("results");
            let ids: Vec<&Value> = found.iter().map(|block| &block["id"]).collect();
            assert_eq!(json!(ids), *results, "{name}");
        }
    }
    serving.stop();
    with_limits.stop();
}

#[test]
fn what_is_no_request_is_refused_in_words() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    let client = Client::new(&serving.api);
    let good = r#"{"block_type":"MESSAGE","sub_type":"MESSAGE","payload":{"role":"user","content":"a"}}"#;
    let path = blocks("tr_1");
    for (path, headers, body, status, code) in [
        (path.as_str(), &[][..], &b"{"[..], 400, "INVALID"),
        (&path, &[], b"", 400, "INVALID"),
        (&path, &[], b"\xff", 400, "INVALID"),
        (&path, &[], b"[1,", 400, "INVALID"),
        (
            &path,
            &[("content-type", "text/csv")],
            good.as_bytes(),
            415,
            "UNSUPPORTED_MEDIA_TYPE",
        ),
        (&path, &[("content-encoding", "br")], good.as_bytes(), 415, "UNSUPPORTED_MEDIA_TYPE"),
        (&path, &[("origin", "https://page.example")], good.as_bytes(), 403, "FORBIDDEN"),
        (&blocks("1"), &[], good.as_bytes(), 422, "VALIDATION"),
        (&blocks("tr_"), &[], good.as_bytes(), 422, "VALIDATION"),
        (&blocks(&format!("tr_{}", "a".repeat(254))), &[], good.as_bytes(), 422, "VALIDATION"),
        ("/v1/organizations/other/traces/tr_1/blocks", &[], good.as_bytes(), 404, "NOT_FOUND"),
        (
            "/v1/organizations/default/traces/tr_1/blocks.stitched",
            &[],
            good.as_bytes(),
            405,
            "METHOD_NOT_ALLOWED",
        ),
        ("/api/v1/traces", &[], good.as_bytes(), 405, "METHOD_NOT_ALLOWED"),
    ] {
        let answer = client.try_post(path, headers, body).expect("an answer");
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path}: {}", answer.text);
    }
    let deep = format!(
        r#"{{"block_type":"MESSAGE","sub_type":"MESSAGE","payload":{{"role":"user","content":{}1{}}}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(client.post(&path, &deep).status, 400);
    assert_eq!(client.get(&path).status, 404, "nothing was stored");
    assert_eq!(client.post(&path, good).status, 201);
    serving.stop();
}
