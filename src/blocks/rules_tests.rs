//! Each rule of the page, broken once.

use serde_json::{Value, json};

use super::*;

fn first(blocks: &[Value]) -> Option<(usize, Code)> {
    check_all(blocks, &Limits::default())
        .into_iter()
        .map(|(index, refusal)| (index, refusal.code))
        .next()
}

fn message(id: &str) -> Value {
    json!({"id": id, "trace_id": "tr_1", "block_type": "MESSAGE", "sub_type": "MESSAGE", "payload": {"role": "user", "content": "hi"}})
}

fn call(id: &str, parent: &str, call_id: &str) -> Value {
    json!({"id": id, "trace_id": "tr_1", "block_type": "ACT", "sub_type": "TOOL_CALL", "parent_block_id": parent,
        "payload": {"call_id": call_id, "name": "f", "arguments": {}}})
}

fn result(parent: &str, payload: Value) -> Value {
    json!({"trace_id": "tr_1", "block_type": "OBSERVE", "sub_type": "TOOL_RESULT", "parent_block_id": parent, "payload": payload})
}

fn with(mut block: Value, path: &str, value: Value) -> Value {
    if let Some(place) = block.pointer_mut(path) {
        *place = value;
    }
    block
}

#[test]
fn a_valid_trace_has_no_refusal() {
    let blocks = [
        message("tb_1"),
        call("tb_2", "tb_1", "c"),
        result("tb_2", json!({"call_id": "c", "delta": "a", "seq": 0})),
        result("tb_2", json!({"call_id": "c", "delta": "b", "seq": 1})),
        result("tb_2", json!({"call_id": "c", "output": null})),
        result("tb_2", json!({"call_id": "c", "output": null})),
    ];
    assert_eq!(first(&blocks), None);
}

#[test]
fn each_rule() {
    let invalid = [
        json!(3),
        with(message("tb_1"), "/sub_type", json!("NOTE")),
        with(message("tb_1"), "/block_type", json!("ACT")),
        with(message("tb_1"), "/id", json!("b_1")),
        with(message("tb_1"), "/payload/role", json!("tool")),
        with(message("tb_1"), "/payload/content", json!(" \n")),
        with(message("tb_1"), "/payload", json!([])),
        call("tb_2", "tb_9", "c"),
    ];
    for block in invalid {
        assert_eq!(first(std::slice::from_ref(&block)), Some((0, Code::Validation)), "{block}");
    }
    let after_message = [
        (with(call("tb_2", "tb_1", "c"), "/payload/name", json!(" ")), Code::Validation),
        (with(call("tb_2", "tb_1", "c"), "/payload/arguments", json!("{")), Code::Validation),
        (with(call("tb_2", "tb_1", "c"), "/payload/arguments", json!([])), Code::Validation),
        (with(call("tb_2", "tb_1", "c"), "/trace_id", json!("tr_2")), Code::Validation),
        (with(call("tb_2", "tb_1", "c"), "/parent_block_id", Value::Null), Code::Validation),
        (result("tb_1", json!({"call_id": "c", "output": 1})), Code::ParentSubtypeMismatch),
    ];
    for (block, code) in after_message {
        assert_eq!(first(&[message("tb_1"), block.clone()]), Some((1, code)), "{block}");
    }
    let after_call = [
        (call("tb_3", "tb_1", "c"), Code::DuplicateCallId),
        (call("tb_3", "tb_2", "d"), Code::ParentSubtypeMismatch),
        (result("tb_2", json!({"call_id": "c"})), Code::Validation),
        (result("tb_2", json!({"call_id": "c", "output": 1, "delta": 1})), Code::Validation),
        (result("tb_2", json!({"call_id": "d", "output": 1})), Code::Validation),
        (result("tb_2", json!({"call_id": "c", "output": 1, "seq": -1})), Code::Validation),
        (
            result("tb_2", json!({"call_id": "c", "output": 1, "seq": 0})),
            Code::DuplicateResultSeq,
        ),
    ];
    for (block, code) in after_call {
        let before = [
            message("tb_1"),
            call("tb_2", "tb_1", "c"),
            result("tb_2", json!({"call_id": "c", "output": 1, "seq": 0})),
        ];
        let mut blocks = before.to_vec();
        blocks.push(block.clone());
        assert_eq!(first(&blocks), Some((3, code)), "{block}");
    }
}

#[test]
fn arguments_may_be_json_text() {
    let block = with(call("tb_2", "tb_1", "c"), "/payload/arguments", json!("{\"a\": 1}"));
    assert_eq!(first(&[message("tb_1"), block]), None);
}

#[test]
fn too_large_says_by_how_much() {
    let limits = Limits {
        message: 4,
        ..Limits::default()
    };
    assert!(check_all(&[with(message("tb_1"), "/payload/content", json!("éé"))], &limits).is_empty());
    let refused = check_all(&[with(message("tb_1"), "/payload/content", json!("ééa"))], &limits);
    let body = refused.first().map(|(_, refusal)| refusal.body());
    assert_eq!(
        body,
        Some(
            json!({"error": {"code": "PAYLOAD_TOO_LARGE", "http_status": 413, "message": "message content exceeds 4 bytes limit",
            "details": {"sub_type": "MESSAGE", "field": "content", "limit_bytes": 4, "actual_bytes": 5, "trace_id": "tr_1",
                "parent_block_id": null}}})
        )
    );
}
