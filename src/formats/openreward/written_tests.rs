#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use serde_json::json;

use super::*;
use crate::dialect::Registry;
use crate::run;

fn block(id: &str, sub_type: SubType, parent: Option<&str>, payload: &Value, micros: u64) -> Span {
    let trace = "tr_talk";
    let mut value = json!({"block_type": sub_type.block_type(), "sub_type": sub_type.name(), "payload": payload});
    if let Some(parent) = parent {
        value["parent_block_id"] = parent.into();
    }
    let text = value.to_string();
    let sent: Sent<'_> = serde_json::from_str(&text).unwrap();
    let created = UnixNanos(1_767_261_600_000_000_000 + micros * 1_000);
    let text = sent.stored(id, trace, created);
    let facts = Facts::of(&text).unwrap();
    span_of(trace_id_of(trace), &facts, created, text.clone(), &scope())
}

fn talk() -> Vec<Span> {
    vec![
        block("tb_1", SubType::Message, None, &json!({"role": "user", "content": "hello?"}), 1),
        block(
            "tb_2",
            SubType::ToolCall,
            Some("tb_1"),
            &json!({"call_id": "c", "name": "f", "arguments": {}}),
            2,
        ),
        block("tb_3", SubType::ToolResult, Some("tb_2"), &json!({"call_id": "c", "output": 7}), 3),
    ]
}

fn texts(spans: &[Span]) -> Vec<String> {
    in_order(spans.iter().map(|span| (span.start, text_of(span).unwrap().to_owned())).collect())
}

#[test]
fn blocks_come_back_in_the_order_of_insertion_and_once() {
    let spans = talk();
    let forward = texts(&spans);
    let mut backward = spans.clone();
    backward.reverse();
    backward.extend(spans);
    assert_eq!(texts(&backward), forward);
}

#[test]
fn what_lost_its_parent_is_an_orphan() {
    let spans = talk();
    let tree: Value = serde_json::from_str(&stitched(&texts(spans.get(1..).unwrap()))).unwrap();
    assert_eq!(tree["messages"], json!([]));
    assert_eq!(tree["orphans"]["tool_calls"][0]["id"], "tb_2");
    assert_eq!(tree["orphans"]["tool_results"], json!([]), "its call is there");
    let tree: Value = serde_json::from_str(&stitched(&texts(spans.get(2..).unwrap()))).unwrap();
    assert_eq!(tree["orphans"]["tool_results"][0]["id"], "tb_3");
}

#[test]
fn blocks_become_the_spans_of_their_conversation() {
    let written = as_conversations(talk());
    assert!(written.iter().all(|span| text_of(span).is_none()));
    assert!(written.iter().all(|span| span.trace_id == trace_id_of("tr_talk")));
    assert!(written.iter().any(|span| span.name.contains('f') && span.parent.is_some()));
    // Spans of other traces stay, and so does a block whose parent is missing.
    let other = Span::new(
        TraceId::from_bytes(&[1; 16]).unwrap(),
        SpanId::from_bytes(&[1; 8]).unwrap(),
        "other",
    );
    let mut spans = talk();
    spans.remove(1);
    spans.push(other.clone());
    let written = as_conversations(spans);
    assert!(written.contains(&other));
    assert_eq!(written.iter().filter_map(text_of).count(), 1, "the result without its call");
}

#[test]
fn a_result_is_not_another_after_a_restart() {
    let span = block(
        "tb_3",
        SubType::ToolResult,
        Some("tb_2"),
        &json!({"call_id": "c", "delta": "x", "seq": 3}),
        3,
    );
    let accepted = Facts::of(text_of(&span).unwrap()).unwrap().accepted().unwrap();
    assert_eq!((accepted.seq, accepted.known.call_id.as_deref()), (Some(3), Some("c")));
    // Of other blocks such fields mean nothing.
    let odd = json!({"role": "user", "content": "a", "call_id": 7, "seq": "x"});
    let span = block("tb_1", SubType::Message, None, &odd, 1);
    let accepted = Facts::of(text_of(&span).unwrap()).unwrap().accepted().unwrap();
    assert_eq!((accepted.seq, accepted.known.call_id), (None, None));
}

#[test]
fn what_model_calls_repeat_is_known_from_their_blocks() {
    let message = |role: &str, text: &str| (SubType::Message, None, json!({"role": role, "content": text}));
    let think = |text: &str| (SubType::Think, Some("tb_0"), json!({"text": text}));
    let call = |id: &str| {
        (
            SubType::ToolCall,
            Some("tb_0"),
            json!({"call_id": id, "name": "find", "arguments": {"a": [1]}}),
        )
    };
    let result = |id: &str, parent| (SubType::ToolResult, Some(parent), json!({"call_id": id, "output": "found"}));
    let written = [
        message("user", "one"),
        think("hm"),
        message("assistant", "two"),
        call("c1"),
        call("c2"),
        result("c1", "tb_3"),
        result("c2", "tb_4"),
        message("assistant", "three"),
        message("assistant", "four"),
        message("user", "five"),
        call("c3"),
    ];
    let mut spans = Vec::new();
    for (at, (sub_type, parent, payload)) in written.iter().enumerate() {
        let span = block(&format!("tb_{at}"), *sub_type, *parent, payload, at as u64 + 1);
        spans.push(span);
    }
    let runs = run::from_batch(as_conversations(spans), Vec::new(), Registry::built_in());
    let steps = runs.iter().flat_map(|run| &run.steps);
    let lengths: Vec<usize> = steps
        .filter_map(|step| step.operation.input_messages.as_ref().map(|messages| messages.len()))
        .collect();
    assert_eq!(lengths, [1, 4, 5, 7]);
}
