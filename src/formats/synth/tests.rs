//! Runs built by hand, as session traces.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail loudly")]

mod lone;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Synth;
use crate::formats::testing_blocks::*;
use crate::formats::{Assembled, Format, LossReason};
use crate::operation::{Evaluation, Kind, Message, Part, Role};
use crate::run::{EntryKind, Id, Run, StepId};

fn trace(run: &Run) -> (Value, Vec<LossReason>) {
    with(std::slice::from_ref(run), &[])
}

/// The session trace, which satisfies every rule, and the reasons of the losses.
fn with(runs: &[Run], pairs: &[(&str, &str)]) -> (Value, Vec<LossReason>) {
    let mut documents = Synth::assemble(runs, &options(pairs));
    assert_eq!(documents.len(), 1);
    let Assembled { document, losses } = documents.remove(0);
    let value = serde_json::to_value(&document).unwrap();
    assert_eq!(super::check::DOCUMENT.completed(&value), value);
    let mut text = Vec::new();
    Synth::write(&document, &mut text).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), serde_json::to_string(&document).unwrap());
    follows_the_rules(&value);
    (value, losses.into_iter().map(|loss| loss.reason).collect())
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap()
}

fn follows_the_rules(value: &Value) {
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
        let written: usize = steps.iter().map(|step| list(step, part).len()).sum();
        assert_eq!(written, all.len(), "every one belongs to a step");
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
    ran.dispatched_by = Some(StepId::new(1));
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
    let mut run = one_turn(reply("fine"), []);
    run.scopes[0].conversation.splice(
        0..1,
        [
            input(system("s"), 1, 10),
            input(user("old"), 1, 10),
            input(reply("answer"), 1, 10),
            input(user("new"), 1, 10),
        ],
    );
    assert_eq!(messages(&trace(&run).0), ["user_input new", "agent_response fine"]);
    let _ = run.scopes[0].conversation.remove(3);
    assert_eq!(messages(&trace(&run).0), ["user_input old", "agent_response fine"]);
}
