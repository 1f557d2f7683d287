//! Runs built by hand, as blocks.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod whole;

use serde_json::{Value, json};

use super::OpenReward;
use crate::blocks::document::Document;
use crate::blocks::limits::{Limits, size};
use crate::blocks::rules::check_all;
use crate::formats::testing_blocks::*;
use crate::formats::{Assembled, Format, LossReason};
use crate::operation::message::Media;
use crate::operation::{Evaluation, Kind, Message, Part, Role};
use crate::run::{EntryKind, Id, Run, ScopeId, StepId};

fn blocks(run: &Run) -> (Vec<Value>, Vec<LossReason>) {
    with(run, &[])
}

/// The blocks, which hold every rule, and the reasons of the losses.
fn with(run: &Run, pairs: &[(&str, &str)]) -> (Vec<Value>, Vec<LossReason>) {
    let options = options(pairs);
    let mut documents = OpenReward::assemble(std::slice::from_ref(run), &options);
    assert_eq!(documents.len(), 1);
    let Assembled { document, losses } = documents.remove(0);
    let value = checked(&document, &Limits::from_options(&options));
    (value, losses.into_iter().map(|loss| loss.reason).collect())
}

fn checked(document: &Document, limits: &Limits) -> Vec<Value> {
    let value = serde_json::to_value(document).unwrap();
    let list = value.as_array().unwrap().clone();
    assert_eq!(check_all(&list, limits), []);
    let times: Vec<&str> = list.iter().map(|block| block["created_at"].as_str().unwrap()).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    list
}

fn short(blocks: &[Value]) -> Vec<String> {
    let place = |id: &Value| blocks.iter().position(|block| block["id"] == *id);
    blocks
        .iter()
        .map(|block| {
            let payload = &block["payload"];
            let parent = place(&block["parent_block_id"])
                .map(|place| format!(" <{place}"))
                .unwrap_or_default();
            let text = match block["sub_type"].as_str().unwrap() {
                "MESSAGE" => format!("{}: {}", payload["role"].as_str().unwrap(), payload["content"].as_str().unwrap()),
                "THINK" => format!("think: {}", payload["text"].as_str().unwrap()),
                "TOOL_CALL" => format!(
                    "call {} {} {}",
                    payload["call_id"],
                    payload["name"].as_str().unwrap(),
                    payload["arguments"]
                ),
                _ => {
                    let seq = payload.get("seq").map(|seq| format!(" #{seq}")).unwrap_or_default();
                    let value = payload.get("output").or(payload.get("delta")).unwrap();
                    format!("result {}{seq} {value}", payload["call_id"])
                }
            };
            format!("{text}{parent}")
        })
        .collect()
}

#[test]
fn an_empty_list_of_blocks_is_json() {
    let document = Document {
        blocks: Vec::new(),
        wrapped: false,
    };
    let mut text = Vec::new();
    OpenReward::write(&document, &mut text).unwrap();
    assert_eq!(String::from_utf8(text).as_deref(), Ok("[]"));
    assert_eq!(serde_json::to_string_pretty(&document).ok().as_deref(), Some("[]"));
}

#[test]
fn the_example_run() {
    let (blocks, losses) = blocks(&example());
    assert_eq!(
        short(&blocks),
        [
            "system: You plan trips.",
            "user: Weather in Bogotá and a flight on Friday?",
            "think: Both calls are independent. <1",
            "call \"call_1\" get_weather {\"city\":\"Bogotá\"} <1",
            "call \"call_2\" search_flights {\"to\":\"BOG\",\"day\":\"Friday\"} <1",
            "result \"call_1\" {\"forecast\":\"22 °C cloudy\"} <3",
            "result \"call_2\" {\"error\":\"timeout after 1000 ms\"} <4",
            "assistant: 22 °C, cloudy. No flights found.",
        ]
    );
    assert_eq!(losses, []);
    assert_eq!(blocks[2]["metadata"]["parent_reason"], "assistant turn without text");
    assert_eq!(blocks[3]["metadata"]["span_id"], "eee19b7ec3c1b175");
    assert_eq!(blocks[6]["extra"], json!({"status": "error"}));
    assert_eq!(blocks[0]["created_at"], "2026-01-01T10:00:00.000000Z");
    assert_eq!(blocks[1]["created_at"], "2026-01-01T10:00:00.000001Z");
    assert_eq!(blocks[5]["created_at"], "2026-01-01T10:00:01.800000Z");
    write("example", &blocks);
}

/// For other readers: with `SPANBRIDGE_TEST_OUTPUT` set, the documents of these tests are kept there.
fn write(name: &str, blocks: &[Value]) {
    if let Some(folder) = std::env::var_os("SPANBRIDGE_TEST_OUTPUT") {
        let path = std::path::Path::new(&folder).join(format!("{name}.openreward.json"));
        std::fs::write(path, serde_json::to_string(blocks).unwrap()).unwrap();
    }
}

#[test]
fn sub_agents_stand_in_their_result() {
    let (blocks, losses) = blocks(&sub_agents());
    assert_eq!(
        short(&blocks),
        [
            "user: Compare x and y.",
            "call \"a\" research {\"topic\":\"x\"} <0",
            "call \"b\" research {\"topic\":\"y\"} <0",
            "result \"a\" \"x is fine\" <1",
            "result \"b\" \"y is fine\" <2",
            "assistant: Both are fine.",
        ]
    );
    assert_eq!(losses, []);
    for place in [3, 4] {
        let inner = &blocks[place]["metadata"]["subagent"];
        assert_eq!(inner["agent"], "researcher");
        let list = inner["blocks"].as_array().unwrap();
        assert_eq!(check_all(list, &Limits::default()), []);
        assert_eq!(list.len(), 4);
        assert_eq!(list[1]["payload"]["call_id"], "c");
    }
    write("sub_agents", &blocks);
}

#[test]
fn sub_agents_after_the_turn() {
    let (blocks, _) = with(&sub_agents(), &[("openreward.subagents", "inline")]);
    let short = short(&blocks);
    assert_eq!(short.len(), 14);
    assert_eq!(short[5], "user: Research x.");
    assert_eq!(short[6], "call \"c\" search {\"q\":\"x\"} <5");
    assert_eq!(short[9], "user: Research y.");
    assert_eq!(short[10], "call \"researcher/c\" search {\"q\":\"y\"} <9");
    assert_eq!(short[11], "result \"researcher/c\" [\"hit\",\"y\"] <10");
    assert_eq!(short[13], "assistant: Both are fine.");
    assert_eq!(blocks[10]["metadata"]["call_id"], "c");
    write("sub_agents_inline", &blocks);
}

fn one_turn(message: Message, results: impl IntoIterator<Item = crate::run::Entry>) -> Run {
    let mut run = agent_run();
    run.steps.push(llm(0x200, 10, 100));
    run.scopes[0].conversation = vec![input(user("go"), 1, 10), turn(message, 1, 100)];
    run.scopes[0].conversation.extend(results);
    run
}

#[test]
fn retries_are_numbered() {
    let mut again = result("c", None, json!("ok"), 300);
    if let EntryKind::Result(entry) = &mut again.kind {
        entry.attempt = 1;
    }
    let run = one_turn(asks(vec![call("c", "f", json!({}))]), [failed("c", None, "503", 200), again]);
    let (blocks, _) = blocks(&run);
    assert_eq!(
        short(&blocks)[2..],
        ["result \"c\" #0 {\"error\":\"503\"} <1", "result \"c\" #1 \"ok\" <1"]
    );
    write("retries", &blocks);
}

#[test]
fn the_same_id_again_in_a_conversation() {
    let mut run = one_turn(asks(vec![call("c", "f", json!({}))]), [result("c", None, json!(1), 200)]);
    run.steps.push(llm(0x201, 300, 400));
    run.steps.push(llm(0x202, 600, 700));
    run.scopes[0].conversation.extend([
        turn(asks(vec![call("c", "f", json!({"other": 1}))]), 2, 400),
        result("c", None, json!(2), 500),
        turn(asks(vec![call("c", "f", json!({"other": 1}))]), 3, 700),
        result("c", None, json!(3), 800),
    ]);
    let (blocks, losses) = blocks(&run);
    assert_eq!(
        short(&blocks)[1..],
        [
            "call \"c\" f {} <0",
            "result \"c\" 1 <1",
            "call \"eee19b7ec3c1b201/c\" f {\"other\":1} <0",
            "result \"eee19b7ec3c1b201/c\" #0 2 <3",
            "result \"eee19b7ec3c1b201/c\" #1 3 <3",
        ]
    );
    assert!(losses.contains(&LossReason::Ambiguous));
}

#[test]
fn odd_calls() {
    let mut calls = vec![
        call("", "f", json!("just text")),
        call("x", "", json!({})),
        call("y", "g", json!([1])),
    ];
    calls[2].arguments_text = Some("[ 1 ]".into());
    let mut run = one_turn(asks(calls), []);
    let mut ran = tool(0x201, 110, 120, "f", "other", json!("just text"), json!(null));
    ran.dispatched_by = Some(StepId::new(1));
    ran.call_index = Some(0);
    run.steps.push(ran);
    run.scopes[0].conversation.push(result("other", Some(2), json!({"n": 1}), 120));
    run.scopes[0].conversation.push(result("nobody's", None, json!(7), 130));
    let (blocks, losses) = blocks(&run);
    assert_eq!(
        short(&blocks)[1..],
        [
            "call \"eee19b7ec3c1b200:0\" f {\"input\":\"just text\"} <0",
            "call \"x\" unknown {} <0",
            "call \"y\" g {\"input\":[1]} <0",
            "result \"eee19b7ec3c1b200:0\" {\"n\":1} <1",
        ]
    );
    assert_eq!(losses.iter().filter(|loss| **loss == LossReason::Coerced).count(), 2);
    assert_eq!(losses.iter().filter(|loss| **loss == LossReason::Synthesized).count(), 2);
    assert_eq!(blocks[1]["metadata"]["call_id_derived"], true);
    assert_eq!(blocks[3]["raw"], json!({"arguments": "[ 1 ]"}));
}

#[test]
fn content_that_is_missing_or_no_text() {
    let mut run = agent_run();
    run.steps.push(llm(0x200, 10, 100));
    run.scopes[0].conversation = vec![turn(thinks("hm", asks(vec![call("c", "f", json!({}))])), 1, 100)];
    let (list, losses) = blocks(&run);
    assert_eq!(
        short(&list),
        ["assistant: (no message was recorded)", "think: hm <0", "call \"c\" f {} <0"]
    );
    assert_eq!(list[0]["metadata"]["spanbridge_placeholder"], true);
    assert_eq!(losses, [LossReason::Synthesized]);

    let picture = Message {
        parts: vec![Part::from(Media {
            modality: "image".into(),
            uri: Some("https://example.com/a.png".into()),
            raw: json!({"type": "image"}),
            ..Media::default()
        })],
        ..Message::default()
    };
    run.scopes[0].conversation = vec![
        input(Message::text(Role::Developer, "be brief"), 1, 10),
        input(user("  "), 1, 10),
        input(picture, 1, 10),
        turn(reply("ok"), 1, 100),
    ];
    let (list, losses) = blocks(&run);
    assert_eq!(
        short(&list),
        ["system: be brief", "user: [image https://example.com/a.png]", "assistant: ok"]
    );
    assert_eq!(losses, [LossReason::Coerced, LossReason::Coerced]);
    assert_eq!(list[1]["raw"][0]["type"], "image_url");

    run.scopes[0].conversation.clear();
    run.steps = run.steps.into_iter().take(1).collect();
    assert!(OpenReward::assemble(&[run], &options(&[])).is_empty());
}

#[test]
fn operations_on_their_own() {
    let mut run = one_turn(reply("done"), []);
    let mut found = step(0x201, Kind::Retrieval, 5, 8);
    found.operation.search = Some(Box::new(crate::operation::Search {
        query: Some("fares".into()),
        documents: Some(vec![crate::operation::Document {
            content: Some("cheap".into()),
            score: Some(f64::NAN),
            ..Default::default()
        }]),
        top_k: Some(1),
        match_count: None,
    }));
    let mut inside = found.clone();
    inside.span_id = span(0x202);
    inside.inside_tool = Some(StepId::new(1));
    let mut memory = step(0x203, Kind::MemoryWrite, 120, 130);
    memory.operation.memory = Some(Box::new(crate::operation::Memory {
        key: Some("k".into()),
        data: Some(json!({"v": 1})),
        ..Default::default()
    }));
    let mut handoff = step(0x204, Kind::Handoff, 140, 141);
    handoff.operation.state = Some(Box::new(crate::operation::StateChange {
        new_value: Some("billing".into()),
        ..Default::default()
    }));
    let mut guard = step(0x205, Kind::Guardrail, 20, 30);
    guard.operation.output = json!({"tripwire_triggered": false}).into();
    let mut judge = step(0x206, Kind::Evaluator, 150, 160);
    judge.parent = Some(StepId::new(1));
    judge.operation.evaluations = vec![Evaluation {
        name: Some("relevance".into()),
        score: Some(0.5),
        ..Evaluation::default()
    }];
    let mut person = step(0x207, Kind::Interrupt, 170, 180);
    person.operation.interrupt = Some(Box::new(crate::operation::Interrupt {
        prompt: Some("Book it?".into()),
        response: Some("yes".into()),
        wait_ms: Some(10),
    }));
    let mut state = step(0x208, Kind::StateChange, 181, 182);
    state.operation.state = Some(Box::new(crate::operation::StateChange {
        key: Some("plan".into()),
        new_value: Some(json!(1)),
        ..Default::default()
    }));
    run.steps.extend([found, inside, memory, handoff, guard, judge, person, state]);
    let (blocks, _) = blocks(&run);
    assert_eq!(
        short(&blocks),
        [
            "user: go",
            "call \"eee19b7ec3c1b201\" retrieval 201 {\"query\":\"fares\",\"top_k\":1} <0",
            "result \"eee19b7ec3c1b201\" [{\"content\":\"cheap\"}] <1",
            "assistant: done",
            "call \"eee19b7ec3c1b203\" memory_write 203 {\"key\":\"k\",\"data\":{\"v\":1}} <3",
            "result \"eee19b7ec3c1b203\" null <4",
            "call \"eee19b7ec3c1b204\" handoff 204 {\"to\":\"billing\"} <3",
            "result \"eee19b7ec3c1b204\" \"billing\" <6",
            "user: yes",
        ]
    );
    assert_eq!(blocks[3]["extra"]["reward"], 0.5);
    assert_eq!(blocks[0]["extra"]["guardrails"][0]["name"], "guardrail 205");
    assert_eq!(blocks[8]["metadata"]["interrupt"]["prompt"], "Book it?");
    assert_eq!(blocks[8]["metadata"]["around"][0]["facts"]["state"]["key"], "plan");
    write("alone", &blocks);
}

#[test]
fn a_handoff_that_the_model_asked_for_is_told_once() {
    let mut run = one_turn(
        asks(vec![call("t", "transfer_to_billing", json!({}))]),
        [result("t", None, json!("ok"), 120)],
    );
    run.steps.push(step(0x204, Kind::Handoff, 110, 115));
    let (blocks, _) = blocks(&run);
    assert_eq!(blocks.len(), 3);
}

#[test]
fn words_that_only_the_agent_holds() {
    let mut run = one_turn(reply("draft"), []);
    run.question = Some(said("Why?", 0, 0, false));
    run.answer = Some(said("Because.", 0, 3000, false));
    run.steps[0].operation.training.reward = Some(1.0);
    let (blocks, _) = blocks(&run);
    assert_eq!(
        short(&blocks),
        ["user: Why?", "user: go", "assistant: draft", "assistant: Because."]
    );
    assert_eq!(blocks[3]["extra"]["reward"], 1.0);
    assert_eq!(blocks[3]["metadata"]["run"]["agent"], "trip-planner");
}

#[test]
fn blocks_do_not_change_as_spans_arrive() {
    let mut ended = one_turn(reply("draft"), []);
    ended.question = Some(said("Why?", 0, 0, false));
    let mut early = ended.clone();
    early.ended_at = None;
    ended.answer = Some(said("Because.", 0, 3000, false));
    ended.started_at.0 += 1;
    let (early, losses) = blocks(&early);
    assert!(losses.contains(&LossReason::NoPlace), "{losses:?}");
    let (late, _) = blocks(&ended);
    assert!(early.len() < late.len());
    assert_eq!(early, late[..early.len()]);
    assert!(late.last().unwrap()["metadata"]["run"].is_object());
}

#[test]
fn several_top_level_conversations() {
    let mut run = agent_run();
    run.ended_at = None;
    run.scopes.push(crate::run::Scope {
        agent: Some("second".into()),
        ..Default::default()
    });
    run.steps.push(llm(0x200, 500, 600));
    run.steps.push(llm(0x201, 10, 20));
    run.steps[2].scope = ScopeId::new(1);
    run.scopes[0].conversation = vec![input(user("later"), 1, 500), turn(reply("b"), 1, 600)];
    run.scopes[1].conversation = vec![input(user("first"), 2, 10), turn(reply("a"), 2, 20)];
    let (blocks, _) = blocks(&run);
    assert_eq!(short(&blocks), ["user: first", "assistant: a", "user: later", "assistant: b"]);
    assert_eq!(blocks[0]["metadata"]["agent"], "second");
}
