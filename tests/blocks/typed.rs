//! The Rust client against the server.

use serde_json::json;
use spanbridge::client::{Client, ClientError, Code, Role};

use super::client::{Client as Plain, blocks};
use crate::serving::Serving;

fn code<T: std::fmt::Debug>(result: Result<T, ClientError>) -> Code {
    result.expect_err("rejected").code().expect("by the server").clone()
}

#[test]
fn the_example_of_the_page_is_stored_block_by_block() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    let trace = Client::new(&serving.api).trace("tr_typed ü/1");
    let raw = json!({"id": "msg_1"});
    let question = trace
        .log_message(Role::User, "Weather in Oslo?")
        .raw(raw.clone())
        .send()
        .expect("stored");
    let thought = trace.log_think(&question, "A tool knows.").send().expect("stored");
    let call = trace
        .log_act(&question, "call_1", "weather", json!({"city": "Oslo"}))
        .extra("attempt", 1)
        .send()
        .expect("stored");
    let result = trace.log_observe(&call, json!({"celsius": -3})).reward(0.5).send().expect("stored");
    let piece = trace.log_observe_delta(&call, "-3", 0).send().expect("stored");
    let parts = json!([{"type": "text", "text": "-3 °C"}]);
    let answer = trace.log_message(Role::Assistant, parts).id("tb_mine").send().expect("stored");

    assert_eq!(question.raw, Some(raw));
    assert_eq!(result.extra, Some(json!({"reward": 0.5})));
    assert_eq!(result.payload, json!({"call_id": "call_1", "output": {"celsius": -3}}));
    assert_eq!(result.parent_block_id.as_deref(), Some(call.id.as_str()));
    assert_eq!(answer.id, "tb_mine");
    let all = trace.blocks().expect("read");
    let stored = [&*question, &*thought, &*call, &*result, &*piece, &*answer];
    assert_eq!(all.iter().collect::<Vec<_>>(), stored);
    let plain = Plain::new(&serving.api).get(&format!("{}.stitched", blocks("tr_typed%20%C3%BC%2F1")));
    assert_eq!(plain.json()["orphans"], json!({"tool_calls": [], "tool_results": []}));
    serving.stop();
}

#[test]
fn errors_have_the_code_of_the_service() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    let client = Client::new(&serving.api);
    let (trace, other) = (client.trace("tr_1"), client.trace("tr_2"));
    let message = trace.log_message(Role::User, "a").id("tb_a").send().expect("stored");
    let call = trace.log_act(&message, "c", "f", json!({})).send().expect("stored");
    trace.log_observe_delta(&call, "x", 1).send().expect("stored");

    assert_eq!(code(trace.log_message(Role::User, " ").send()), Code::Validation);
    assert_eq!(code(trace.log_message(Role::User, "a").id("tb_a").send()), Code::Validation);
    assert_eq!(code(other.log_think(&message, "of another trace").send()), Code::Validation);
    assert_eq!(code(trace.log_act(&message, "c", "f", json!({})).send()), Code::DuplicateCallId);
    assert_eq!(code(trace.log_observe_delta(&call, "y", 1).send()), Code::DuplicateResultSeq);
    assert_eq!(code(client.trace("tr_none").blocks()), Code::NotFound);
    assert_eq!(
        code(client.clone().with_organization("other").trace("tr_1").blocks()),
        Code::NotFound
    );
    let Err(ClientError::Refused { code, status, details, .. }) = trace.log_think(&message, "x".repeat(32_769)).send() else {
        panic!("too long");
    };
    assert_eq!(
        (code, status, &details["actual_bytes"]),
        (Code::PayloadTooLarge, 413, &json!(32_769))
    );

    serving.stop();
    let broken = trace.blocks().expect_err("no server");
    assert!(matches!(broken, ClientError::Transport { .. }), "{broken}");
}
