//! Runs built by hand, as session traces.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail loudly")]

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Synth;
use super::document::SessionTrace;
use crate::formats::testing_blocks::*;
use crate::formats::{Assembled, Format, LossReason};
use crate::operation::{Evaluation, Kind, Message, Part, Role};
use crate::run::{EntryKind, Run};

fn trace(run: &Run) -> (Value, Vec<LossReason>) {
    with(std::slice::from_ref(run), &[])
}

/// The session trace, which holds every rule, and the reasons of the losses.
fn with(runs: &[Run], pairs: &[(&str, &str)]) -> (Value, Vec<LossReason>) {
    let mut documents = Synth::assemble(runs, &options(pairs));
    assert_eq!(documents.len(), 1);
    let Assembled { document, losses } = documents.remove(0);
    let value = serde_json::to_value(&document).unwrap();
    assert_eq!(serde_json::from_value::<SessionTrace>(value.clone()).unwrap(), document);
    holds_the_rules(&value);
    (value, losses.into_iter().map(|loss| loss.reason).collect())
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap()
}

fn holds_the_rules(value: &Value) {
    let steps = list(value, "session_time_steps");
    let ids: BTreeSet<&str> = steps.iter().map(|step| step["step_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), steps.len());
    for (flat, part) in [
        ("event_history", "events"),
        ("markov_blanket_message_history", "markov_blanket_messages"),
    ] {
        let all = list(value, flat);
        let times: Vec<f64> = all.iter().map(|one| one["time_record"]["event_time"].as_f64().unwrap()).collect();
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]), "{flat} {times:?}");
        for (index, step) in steps.iter().enumerate() {
            assert_eq!(step["step_index"], index);
            assert_eq!(step["turn_number"], index + 1);
            let own: Vec<&Value> = all.iter().filter(|one| one["metadata"]["step_id"] == step["step_id"]).collect();
            assert_eq!(own, list(step, part).iter().collect::<Vec<_>>());
        }
        let told: usize = steps.iter().map(|step| list(step, part).len()).sum();
        assert_eq!(told, all.len(), "every one belongs to a step");
    }
    for message in list(value, "markov_blanket_message_history") {
        let content = &message["content"];
        assert!(content["text"].is_string() || content["json_payload"].is_string());
        if let Some(payload) = content["json_payload"].as_str() {
            let _: Value = serde_json::from_str(payload).unwrap();
        }
    }
}

fn messages(value: &Value) -> Vec<String> {
    list(value, "markov_blanket_message_history")
        .iter()
        .map(|message| {
            let content = &message["content"];
            let words = content["json_payload"].as_str().or(content["text"].as_str()).unwrap();
            let id = message["metadata"]
                .get("call_id")
                .map(|id| format!(" [{}]", id.as_str().unwrap()))
                .unwrap_or_default();
            format!("{}{id} {words}", message["message_type"].as_str().unwrap())
        })
        .collect()
}

fn events(value: &Value) -> Vec<String> {
    list(value, "event_history")
        .iter()
        .map(|event| {
            let step = event["metadata"]["step_id"].as_str().unwrap();
            format!("{step} {}", event["system_instance_id"].as_str().unwrap())
        })
        .collect()
}

fn write(name: &str, value: &Value) {
    if let Some(folder) = std::env::var_os("SPANBRIDGE_TEST_OUTPUT") {
        let path = std::path::Path::new(&folder).join(format!("{name}.synth.json"));
        std::fs::write(path, value.to_string()).unwrap();
    }
}

#[test]
fn the_example_run() {
    let (value, losses) = trace(&example());
    assert_eq!(losses, []);
    assert_eq!(
        events(&value),
        [
            "turn_1 llm:openai",
            "turn_1 tool:get_weather",
            "turn_1 tool:search_flights",
            "turn_2 llm:openai"
        ]
    );
    assert_eq!(
        messages(&value),
        [
            "user_input Weather in Bogotá and a flight on Friday?",
            "action [call_1] {\"name\":\"get_weather\",\"arguments\":{\"city\":\"Bogotá\"}}",
            "action [call_2] {\"name\":\"search_flights\",\"arguments\":{\"to\":\"BOG\",\"day\":\"Friday\"}}",
            "result [call_1] {\"forecast\":\"22 °C cloudy\"}",
            "result [call_2] {\"error\":\"timeout after 1000 ms\"}",
            "agent_response 22 °C, cloudy. No flights found.",
        ]
    );
    assert_eq!(value["session_id"], "5b8efff798038103d269b633813fc60c");
    assert_eq!(value["created_at"], "2026-01-01T10:00:00.000+00:00");
    assert_eq!(value["metadata"]["env_name"], "trip-planner");
    assert_eq!(value["metadata"]["model"], "gpt-4o");
    let step = &value["session_time_steps"][0];
    assert_eq!(step["timestamp"], "2026-01-01T10:00:00.000+00:00");
    assert_eq!(step["completed_at"], "2026-01-01T10:00:02.300+00:00");
    let event = &value["event_history"][0];
    assert_eq!(event["time_record"]["event_time"], 1_767_261_600.05);
    assert_eq!((&event["input_tokens"], &event["total_tokens"]), (&json!(82), &json!(123)));
    assert_eq!(event["latency_ms"], 1200);
    let record = &event["call_records"][0];
    assert_eq!(record["finish_reason"], "tool_calls");
    assert_eq!(record["outcome"], "success");
    assert_eq!(record["output_messages"][0]["parts"][0]["type"], "reasoning");
    assert_eq!(
        record["output_tool_calls"][1]["arguments_json"],
        "{\"to\":\"BOG\",\"day\":\"Friday\"}"
    );
    assert_eq!(record["input_messages"].as_array().unwrap().len(), 2);
    assert_eq!(value["event_history"][1]["system_state_after"], json!({"forecast": "22 °C cloudy"}));
    let flights = &value["event_history"][2];
    assert_eq!(flights["metadata"]["error"], "timeout after 1000 ms");
    assert_eq!(flights["metadata"]["tool_call_id"], "call_2");
    assert_eq!(flights["metadata"]["duration_ms"], 1000);
    assert_eq!(flights["system_state_after"], Value::Null);
    write("example", &value);
    let (stored, _) = with(&[example()], &[("synth.messages", "store")]);
    let first = &stored["markov_blanket_message_history"][1];
    assert_eq!(
        (&first["message_type"], &first["metadata"]["boundary_type"]),
        (&json!("tool_use"), &json!("action"))
    );
    write("example.store", &stored);
}

#[test]
fn sub_agents_act_under_names_of_their_own() {
    let (value, losses) = trace(&sub_agents());
    assert_eq!(losses, []);
    assert_eq!(
        events(&value),
        [
            "turn_1 llm:openai",
            "turn_1 researcher/agent:researcher",
            "turn_2 researcher/llm:openai",
            "turn_2 researcher/tool:search",
            "turn_3 researcher/llm:openai",
            "turn_1 tool:research",
            "turn_1 researcher#2/agent:researcher",
            "turn_4 researcher#2/llm:openai",
            "turn_4 researcher#2/tool:search",
            "turn_5 researcher#2/llm:openai",
            "turn_1 tool:research",
            "turn_6 llm:openai",
        ]
    );
    assert_eq!(
        messages(&value),
        [
            "user_input Compare x and y.",
            "action [a] {\"name\":\"research\",\"arguments\":{\"topic\":\"x\"}}",
            "action [b] {\"name\":\"research\",\"arguments\":{\"topic\":\"y\"}}",
            "action [c] {\"name\":\"search\",\"arguments\":{\"q\":\"x\"}}",
            "result [c] [\"hit\",\"x\"]",
            "result [a] x is fine",
            "action [researcher/c] {\"name\":\"search\",\"arguments\":{\"q\":\"y\"}}",
            "result [researcher/c] [\"hit\",\"y\"]",
            "result [b] y is fine",
            "agent_response Both are fine.",
        ]
    );
    write("sub_agents", &value);
}

fn one_turn(message: Message, results: impl IntoIterator<Item = crate::run::Entry>) -> Run {
    let mut run = agent_run();
    let mut model = llm(0x200, 10, 100);
    model.operation.output_messages = Some(vec![message.clone()]);
    run.steps.push(model);
    run.scopes[0].conversation = vec![input(user("go"), 1, 10), turn(message, 1, 100)];
    run.scopes[0].conversation.extend(results);
    run
}

#[test]
fn a_retry_is_one_result_with_its_attempts() {
    let mut again = result("c", None, json!("ok"), 300);
    if let EntryKind::Result(entry) = &mut again.kind {
        entry.attempt = 1;
    }
    let run = one_turn(asks(vec![call("c", "f", json!({}))]), [failed("c", None, "503", 200), again]);
    let (value, _) = trace(&run);
    assert_eq!(
        messages(&value)[1..],
        ["action [c] {\"name\":\"f\",\"arguments\":{}}", "result [c] ok"]
    );
    let attempts = &value["markov_blanket_message_history"][2]["metadata"]["attempts"];
    assert_eq!(attempts[0]["json_payload"], "{\"error\":\"503\"}");
    write("retry", &value);
}

#[test]
fn odd_calls() {
    let mut run = one_turn(asks(vec![call("", "f", json!("just text")), call("x", "", json!({}))]), []);
    let mut ran = tool(0x201, 110, 120, "f", "other", json!("just text"), json!({"result": 1}));
    ran.dispatched_by = Some(1);
    ran.call_index = Some(0);
    run.steps.push(ran);
    run.scopes[0].conversation.push(result("other", Some(2), json!({"result": 1}), 120));
    run.scopes[0].conversation.push(result("nobody's", None, json!(7), 130));
    run.steps.push(tool(0x202, 140, 150, "alone", "z", json!({"a": 1}), json!("done")));
    run.scopes[0].conversation.push(lone_call("z", 3, 140));
    run.scopes[0].conversation.push(result("z", Some(3), json!("done"), 150));
    let (value, losses) = trace(&run);
    assert_eq!(
        messages(&value)[1..],
        [
            "action [eee19b7ec3c1b200:0] {\"name\":\"f\",\"arguments\":{\"input\":\"just text\"}}",
            "action [x] {\"name\":\"\",\"arguments\":{}}",
            "result [eee19b7ec3c1b200:0] {\"result\":1}",
            "action [nobody's] {\"name\":\"unknown\",\"arguments\":{}}",
            "result [nobody's] 7",
            "action [z] {\"name\":\"alone\",\"arguments\":{\"a\":1}}",
            "result [z] done",
        ]
    );
    assert_eq!(value["event_history"][1]["system_state_after"], json!({"result": {"result": 1}}));
    assert_eq!(value["event_history"][1]["metadata"]["call_id"], "eee19b7ec3c1b200:0");
    assert_eq!(value["event_history"][2]["system_state_after"], json!({"result": "done"}));
    let record = &value["event_history"][0]["call_records"][0];
    assert_eq!(record["output_tool_calls"][0]["arguments_json"], "\"just text\"");
    assert_eq!(record["output_tool_calls"][0]["metadata"]["call_id_derived"], true);
    assert!(losses.contains(&LossReason::Coerced) && losses.contains(&LossReason::Synthesized));
    write("odd_calls", &value);
}

#[test]
fn failed_calls_numbers_and_parameters() {
    let mut run = agent_run();
    let mut model = llm(0x200, 10, 100);
    let operation = &mut model.operation;
    operation.failure = Some(failure("rate limited"));
    operation.usage.total = Some(3);
    operation.usage.input = Some(5);
    operation.cost.total = Some(f64::NAN);
    operation.parameters = serde_json::from_value(json!({
        "temperature": 0.5, "top_k": 40.0, "stop": "END", "max_completion_tokens": 9, "tool_choice": {"type": "any"}, "seed": "x"
    }))
    .unwrap();
    operation.tool_definitions = vec![crate::operation::ToolDefinition {
        name: "f".into(),
        ..Default::default()
    }];
    run.steps.push(model);
    let (value, losses) = trace(&run);
    let event = &value["event_history"][0];
    let record = &event["call_records"][0];
    assert_eq!(record["outcome"], "error");
    assert_eq!(
        record["error"],
        json!({"code": null, "message": "rate limited", "type": null, "raw": null})
    );
    assert_eq!((&event["cost_usd"], &event["total_tokens"]), (&Value::Null, &json!(5)));
    let params = &record["request_params"];
    assert_eq!((&params["temperature"], &params["top_k"]), (&json!(0.5), &json!(40)));
    assert_eq!((&params["stop"], &params["max_tokens"]), (&json!(["END"]), &json!(9)));
    assert_eq!(record["tool_choice"], "{\"type\":\"any\"}");
    assert_eq!(params["raw_params"]["seed"], "x");
    assert_eq!(params["raw_params"]["tools"][0]["function"]["name"], "f");
    assert_eq!(record["metadata"]["content_captured"], false);
    assert_eq!(losses, [LossReason::Coerced]);
    write("failed", &value);
}

#[test]
fn history_stays_in_the_call_records() {
    let mut run = one_turn(says("fine"), []);
    run.scopes[0].conversation.splice(
        0..1,
        [
            input(system("s"), 1, 10),
            input(user("old"), 1, 10),
            input(says("answer"), 1, 10),
            input(user("new"), 1, 10),
        ],
    );
    assert_eq!(messages(&trace(&run).0), ["user_input new", "agent_response fine"]);
    let _ = run.scopes[0].conversation.remove(3);
    assert_eq!(messages(&trace(&run).0), ["user_input old", "agent_response fine"]);
}

#[test]
fn operations_on_their_own() {
    let mut run = one_turn(says("done"), []);
    run.root = Some(0);
    let mut found = step(0x201, Kind::Retrieval, 20, 30);
    found.operation.search = Some(crate::operation::Search {
        query: Some("fares".into()),
        documents: Some(vec![crate::operation::Document {
            content: Some("cheap".into()),
            score: Some(f64::INFINITY),
            ..Default::default()
        }]),
        top_k: None,
        match_count: None,
    });
    let mut rerank = found.clone();
    rerank.operation.kind = Kind::Rerank;
    rerank.span_id = span(0x20e);
    let mut handoff = step(0x202, Kind::Handoff, 40, 41);
    handoff.operation.state = Some(crate::operation::StateChange {
        new_value: Some("billing".into()),
        ..Default::default()
    });
    let mut guard = step(0x203, Kind::Guardrail, 50, 60);
    guard.operation.output = Some(json!({"tripwire_triggered": true}));
    let mut open = guard.clone();
    open.operation.output = None;
    open.span_id = span(0x20f);
    let mut judge = step(0x204, Kind::Evaluator, 150, 160);
    judge.parent = Some(1);
    judge.operation.evaluations = vec![Evaluation {
        name: Some("relevance".into()),
        score: Some(0.5),
        ..Evaluation::default()
    }];
    let mut person = step(0x205, Kind::Interrupt, 170, 180);
    person.operation.interrupt = Some(crate::operation::Interrupt {
        prompt: Some("Book it?".into()),
        response: Some("yes".into()),
        wait_ms: Some(10),
    });
    let mut state = step(0x206, Kind::StateChange, 181, 182);
    state.operation.state = Some(crate::operation::StateChange {
        key: Some("plan".into()),
        new_value: Some(json!(1)),
        ..Default::default()
    });
    let mut memory = step(0x207, Kind::MemoryWrite, 183, 184);
    memory.operation.memory = Some(crate::operation::Memory {
        key: Some("k".into()),
        ..Default::default()
    });
    let embedding = step(0x208, Kind::Embedding, 185, 186);
    let made = step(0x209, Kind::AgentCreate, 186, 187);
    let mut chain = step(0x20a, Kind::Chain, 5, 190);
    chain.operation.name = "step 1".into();
    chain.operation.input = Some(json!("repeated"));
    run.steps[1].parent = Some(12);
    run.steps[1].operation.training.reward = Some(0.25);
    run.steps[0].operation.training.reward = Some(1.0);
    run.steps.extend([
        found, rerank, handoff, guard, open, judge, person, state, memory, embedding, chain, made,
    ]);
    let (value, losses) = trace(&run);
    assert_eq!(
        messages(&value),
        [
            "user_input go",
            "observation {\"query\":\"fares\",\"documents\":[{\"content\":\"cheap\"}]}",
            "agent_response done",
            "user_input yes",
        ]
    );
    assert_eq!(
        events(&value)
            .iter()
            .map(|event| event.trim_start_matches("turn_1 "))
            .collect::<Vec<_>>(),
        [
            "llm:openai",
            "retrieval:retrieval 201",
            "rerank:retrieval 201",
            "handoff:handoff 202",
            "guardrail:guardrail 203",
            "guardrail:guardrail 203",
            "environment",
            "evaluator:relevance",
            "interrupt:interrupt 205",
            "state_change:state_change 206",
            "memory_write:memory_write 207",
            "embedding:embedding 208",
        ]
    );
    let by_name = |name: &str| {
        list(&value, "event_history")
            .iter()
            .find(|event| event["system_instance_id"] == name && event.get("reward").is_some())
            .unwrap()
            .clone()
    };
    assert_eq!(by_name("guardrail:guardrail 203")["terminated"], true);
    assert_eq!(by_name("environment")["reward"], 0.25);
    // The guardrail ended it.
    assert_eq!(by_name("evaluator:relevance")["terminated"], false);
    assert_eq!(value["session_metadata"], json!([{"type": "outcome_reward", "total_reward": 1.0}]));
    assert_eq!(value["session_time_steps"][0]["step_metadata"]["chains"][0]["name"], "step 1");
    assert_eq!(losses, [LossReason::NoPlace, LossReason::NoPlace]);
    write("alone", &value);
}

#[test]
fn words_that_only_the_agent_holds_and_a_running_root() {
    let mut run = agent_run();
    run.ended_at = None;
    run.steps[0].ended_at = None;
    run.steps.push(tool(0x201, 10, 20, "f", "c", json!({}), json!(1)));
    run.steps[1].ended_at = None;
    run.scopes[0].conversation = vec![lone_call("c", 1, 10)];
    run.question = Some(said("Why?", 0, 0, false));
    run.answer = Some(said("Because.", 0, 3000, false));
    let (value, _) = trace(&run);
    assert_eq!(
        messages(&value),
        [
            "user_input Why?",
            "action [c] {\"name\":\"f\",\"arguments\":{}}",
            "agent_response Because."
        ]
    );
    assert_eq!(value["session_time_steps"][0]["completed_at"], Value::Null);
    write("running", &value);
}

#[test]
fn a_session_is_one_trace() {
    let mut second = example();
    second.trace_id = crate::span::TraceId::from_hex("0000000000000000000000000000000b").unwrap();
    let mut first = example();
    first.session_id = Some("s-1".into());
    let (value, _) = with(&[first.clone(), second.clone()], &[]);
    assert_eq!(value["session_id"], "s-1");
    assert_eq!(list(&value, "session_time_steps").len(), 4);
    assert_eq!(list(&value["metadata"], "later_runs").len(), 1);
    assert!(
        messages(&value)
            .iter()
            .any(|message| message.starts_with("action [trip-planner/call_1]"))
    );
    write("session", &value);
    second.steps[1].same_call_as = Some((first.trace_id, first.steps[1].span_id.unwrap()));
    let calls = |value: &Value| events(value).iter().filter(|event| event.ends_with("llm:openai")).count();
    assert_eq!(calls(&with(&[first, second.clone()], &[]).0), 3);
    assert_eq!(calls(&with(&[second], &[]).0), 2);
}

#[test]
fn media_and_thoughts_are_parts() {
    let mut run = one_turn(says("ok"), []);
    let picture = Message {
        role: Role::User,
        parts: vec![
            Part::Media(crate::operation::message::Media {
                modality: "image".into(),
                mime_type: Some("image/png".into()),
                base64: Some("AAAA".into()),
                ..Default::default()
            }),
            Part::Other(json!(3)),
        ],
        ..Message::default()
    };
    run.steps[1].operation.input_messages = Some(vec![picture.clone()]);
    run.scopes[0].conversation[0] = input(picture, 1, 10);
    let (value, _) = trace(&run);
    let parts = &value["event_history"][0]["call_records"][0]["input_messages"][0]["parts"];
    assert_eq!(parts[0]["base64_data"], "AAAA");
    assert_eq!(parts[1]["data"], json!({"value": 3}));
    assert!(messages(&value)[0].contains("image_url"));
    write("media", &value);
}

#[test]
fn the_raw_response_on_demand() {
    let mut run = one_turn(says("ok"), []);
    run.steps[1].operation.raw_response = Some(json!({"object": "chat.completion", "choices": []}));
    let (value, _) = with(&[run], &[("synth.output_text", "raw"), ("synth.decisions", "events")]);
    let record = &value["event_history"][0]["call_records"][0];
    assert_eq!(record["output_text"], "{\"object\":\"chat.completion\",\"choices\":[]}");
    assert_eq!(record["response_raw_json"], record["output_text"]);
}
