//! What was written is read back as it was, and is a trace as any other.

use serde_json::{Value, json};
use spanbridge::otlp::encode;
use spanbridge::span::{Span, SpanId, TraceId, UnixNanos};

use super::client::{Client, blocks};
use crate::serving::{Serving, spanbridge};

const TALK: &str = r#"[
  {"id":"tb_1","block_type":"MESSAGE","sub_type":"MESSAGE","payload":{"role":"user","content":"How warm is it?"}},
  {"id":"tb_2","block_type":"ACT","sub_type":"THINK","payload":{"text":"I need a thermometer."},"parent_block_id":"tb_1"},
  {"id":"tb_3","block_type":"ACT","sub_type":"TOOL_CALL","payload":{"call_id":"call_9","name":"thermometer","arguments":{"unit":"C"}},"parent_block_id":"tb_1"},
  {"id":"tb_4","block_type":"OBSERVE","sub_type":"TOOL_RESULT","payload":{"call_id":"call_9","delta":"twenty","seq":0},"parent_block_id":"tb_3"},
  {"id":"tb_5","block_type":"OBSERVE","sub_type":"TOOL_RESULT","payload":{"call_id":"call_9","delta":"-two","seq":1},"parent_block_id":"tb_3","extra":{"reward":1}},
  {"id":"tb_6","block_type":"MESSAGE","sub_type":"MESSAGE","payload":{"role":"assistant","content":"It is 22 degrees."}}
]"#;

#[test]
fn the_text_of_a_block_never_changes() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    let client = Client::new(&serving.api);
    let path = blocks("tr_exact words");
    let path = path.replace(' ', "%20");
    // Numbers beyond a double, a key twice, escapes, blanks, unknown fields, a client's own times.
    let sent = r#"{ "raw" : {"big":123456789012345678901234567890,"exact":0.10000000000000000000001,"e":1E5} , "payload":{"role":"user","content":"\u00e9 \/ 👋",
      "x":1, "x":2}, "block_type":"MESSAGE","sub_type":"MESSAGE","lane":[1, 2],"created_at":"1999-01-01T00:00:00Z","metadata":null}"#;
    let written = client.post(&path, sent);
    assert_eq!(written.status, 201, "{}", written.text);
    for part in [
        r#"{"big":123456789012345678901234567890,"exact":0.10000000000000000000001,"e":1E5}"#,
        r#""content":"\u00e9 \/ 👋""#,
        r#""lane":[1, 2]"#,
        r#""metadata":null"#,
        r#""trace_id":"tr_exact words""#,
    ] {
        assert!(written.text.contains(part), "{part} in {}", written.text);
    }
    assert!(!written.text.contains("1999"), "times are the server's: {}", written.text);
    assert_eq!(client.get(&path).text, format!("[{}]", written.text));
    let tree = client.get(&format!("{path}.stitched")).text;
    let open = written.text.strip_suffix('}').expect("an object");
    assert!(tree.contains(open), "{tree}");

    // A process later.
    drop(client);
    serving.stop();
    let serving = Serving::start(directory.path());
    let client = Client::new(&serving.api);
    assert_eq!(client.get(&path).text, format!("[{}]", written.text));
    let id = written.json()["id"].clone();
    let again = client.post(
        &path,
        &json!({"id": id, "block_type": "MESSAGE", "sub_type": "MESSAGE", "payload": {"role": "user", "content": "b"}}).to_string(),
    );
    assert_eq!(
        (again.status, again.code().as_str()),
        (422, "VALIDATION"),
        "its id is known after a restart"
    );
    let next = client.post(&path, sent).json();
    assert!(next["created_at"].as_str() > written.json()["created_at"].as_str());
    assert_ne!(next["id"], id);
    serving.stop();
}

#[test]
fn a_written_trace_is_a_run_in_every_format() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    let client = Client::new(&serving.api);
    let trace = "tr_0af7651916cd43dd8448eb211c80319c";
    let written = client.post(&blocks(trace), TALK);
    assert_eq!(written.status, 201, "{}", written.text);
    let hex = trace.trim_start_matches("tr_");
    let of = |format: &str| client.get(&format!("/api/v1/traces/{hex}/{format}")).json();
    assert_eq!(of("openreward"), written.json(), "its own format gives the blocks");
    let said = of("messages").to_string();
    for words in [
        "How warm is it?",
        "I need a thermometer.",
        "thermometer",
        "twenty-two",
        "It is 22 degrees.",
    ] {
        assert!(said.contains(words), "{words} in {said}");
    }
    for format in [
        "contextforge",
        "reflex",
        "synth",
        "invariant",
        "atif",
        "inspect",
        "verifiers",
        "deepeval",
        "adk",
    ] {
        assert!(of(format).to_string().contains("twenty-two"), "{format}: {}", of(format));
    }
    let listed = client.get("/api/v1/traces").json();
    assert_eq!(listed["traces"][0]["trace_id"], hex, "{listed}");
    assert_eq!(listed["traces"][0]["model_calls"], 2, "{listed}");
    let data = directory.path().to_str().expect("text");
    let shown = spanbridge(&["show", "--data-dir", data, hex]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("thermometer"), "{shown}");
    let exported = spanbridge(&["export", "--data-dir", data, "--to", "openreward"]);
    let exported: Value = serde_json::from_slice(&exported.stdout).expect("JSON");
    assert_eq!(exported, written.json());
    serving.stop();
}

#[test]
fn blocks_are_not_added_to_recorded_spans() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    let client = Client::new(&serving.api);
    let id = TraceId::from_bytes(&[7; 16]).expect("an id");
    let mut span = Span::new(id, SpanId::from_bytes(&[1; 8]).expect("an id"), "chat");
    (span.start, span.end) = (UnixNanos(1), UnixNanos(2));
    span.attributes.push("gen_ai.operation.name", "chat");
    span.attributes.push(
        "gen_ai.input.messages",
        r#"[{"role":"user","parts":[{"type":"text","content":"hello"}]}]"#,
    );
    let sent = Client::new(&serving.http).try_post(
        "/v1/traces",
        &[("content-type", "application/x-protobuf")],
        &encode::traces(std::slice::from_ref(&span)),
    );
    assert_eq!(sent.map(|sent| sent.status), Some(200));
    let good = r#"{"block_type":"MESSAGE","sub_type":"MESSAGE","payload":{"role":"user","content":"a"}}"#;
    let answer = client.post(&blocks(&format!("tr_{id}")), good);
    assert_eq!((answer.status, answer.code().as_str()), (409, "TRACE_RECORDED"));
    assert_eq!(client.get(&blocks(&format!("tr_{id}"))).json()[0]["payload"]["content"], "hello");

    // Nor once spans came for a trace that was written to before.
    let id = TraceId::from_bytes(&[8; 16]).expect("an id");
    let path = blocks(&format!("tr_{id}"));
    assert_eq!(client.post(&path, good).status, 201);
    span.trace_id = id;
    let sent = Client::new(&serving.http).try_post(
        "/v1/traces",
        &[("content-type", "application/x-protobuf")],
        &encode::traces(std::slice::from_ref(&span)),
    );
    assert_eq!(sent.map(|sent| sent.status), Some(200));
    let answer = client.post(&path, good);
    assert_eq!((answer.status, answer.code().as_str()), (409, "TRACE_RECORDED"));

    // A written trace has one name to write by.
    let written = client.post(&blocks("tr_named"), good);
    assert_eq!(written.status, 201);
    let listed = client.get("/api/v1/traces").json();
    let ids = listed["traces"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| row["trace_id"].as_str().expect("an id").to_owned());
    let recorded = [[7; 16], [8; 16]].map(|id| TraceId::from_bytes(&id).expect("an id").to_string());
    let other = ids.into_iter().find(|listed| !recorded.contains(listed)).expect("listed");
    let answer = client.post(&blocks(&format!("tr_{other}")), good);
    assert_eq!((answer.status, answer.code().as_str()), (409, "TRACE_RECORDED"));
    assert!(answer.text.contains("tr_named"), "{}", answer.text);
    assert_eq!(client.get(&blocks(&other)).text, client.get(&blocks("tr_named")).text);
    serving.stop();
}
