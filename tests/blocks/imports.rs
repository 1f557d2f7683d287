//! Documents that are imported over HTTP.

use serde_json::{Value, json};

use super::client::Client;
use crate::serving::Serving;

const CHAT: &str = r#"[{"role":"user","content":"hello?","metadata":{"seat":1}},{"role":"assistant","content":"hello."}]"#;

#[test]
fn documents_become_traces() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    let client = Client::new(&serving.api);
    let answer = client.post("/api/v1/import/invariant", CHAT);
    assert_eq!(answer.status, 200, "{}", answer.text);
    let told = answer.json();
    assert_eq!((&told["documents"], &told["spans"]["duplicates"]), (&json!(1), &json!(0)), "{told}");
    let trace = told["traces"][0].as_str().expect("an id").to_owned();
    let exported = client.get(&format!("/api/v1/traces/{trace}/invariant")).json();
    assert_eq!(exported, serde_json::from_str::<Value>(CHAT).expect("JSON"));
    // Again: nothing new. Without a format: recognised.
    let again = client.post("/api/v1/import", CHAT).json();
    assert_eq!(
        (&again["spans"]["stored"], &again["spans"]["duplicates"]),
        (&json!(0), &told["spans"]["stored"]),
        "{again}"
    );
    // Several documents, one a line.
    let lines = format!("{}\n{}\n", CHAT.replace("hello", "one"), CHAT.replace("hello", "two"));
    let several = client.try_post(
        "/api/v1/import/invariant",
        &[("content-type", "application/x-ndjson")],
        lines.as_bytes(),
    );
    assert_eq!(several.expect("an answer").json()["documents"], 2);
    for (path, body, status, code) in [
        ("/api/v1/import/parquet", CHAT, 404, "NOT_FOUND"),
        ("/api/v1/import/invariant", "[{", 400, "INVALID"),
        ("/api/v1/import/invariant", "", 400, "INVALID"),
        ("/api/v1/import/invariant", r#"[{"content":"nobody"}]"#, 422, "VALIDATION"),
        ("/api/v1/import", "{}", 422, "VALIDATION"),
    ] {
        let answer = client.post(path, body);
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{path} {body}: {}",
            answer.text
        );
    }
    let place = client
        .post(
            "/api/v1/import/openreward",
            r#"[{"block_type":"ACT","sub_type":"MESSAGE","payload":{}}]"#,
        )
        .json();
    assert_eq!(place["error"]["details"]["path"], "$[0].block_type", "{place}");
    serving.stop();
}

#[test]
fn an_imported_trace_of_blocks_is_read_as_it_was() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    let client = Client::new(&serving.api);
    let document = r#"[{"id":"tb_1","trace_id":"tr_abc","block_type":"MESSAGE","sub_type":"MESSAGE","payload":{"role":"user","content":"a"},"lane":7,"created_at":"2026-01-01T10:00:00Z"}]"#;
    assert_eq!(client.post("/api/v1/import/openreward", document).status, 200);
    let path = "/v1/organizations/default/traces/tr_abc/blocks";
    assert_eq!(client.get(path).json(), serde_json::from_str::<Value>(document).expect("JSON"));
    assert_eq!(client.get(&format!("{path}.stitched")).json()["messages"][0]["lane"], 7);
    let answer = client.post(
        path,
        r#"{"block_type":"MESSAGE","sub_type":"MESSAGE","payload":{"role":"user","content":"b"}}"#,
    );
    assert_eq!((answer.status, answer.code().as_str()), (409, "TRACE_RECORDED"));
    serving.stop();
}
