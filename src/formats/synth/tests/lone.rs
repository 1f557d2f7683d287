//! Operations outside the conversations, sessions, media, options.

use super::*;

#[test]
fn operations_on_their_own() {
    let mut run = one_turn(reply("done"), []);
    run.root = Some(StepId::FIRST);
    let mut found = step(0x201, Kind::Retrieval, 20, 30);
    found.operation.search = Some(Box::new(crate::operation::Search {
        query: Some("fares".into()),
        documents: Some(vec![crate::operation::Document {
            content: Some("cheap".into()),
            score: Some(f64::INFINITY),
            ..Default::default()
        }]),
        top_k: None,
        match_count: None,
    }));
    let mut rerank = found.clone();
    rerank.operation.kind = Kind::Rerank;
    rerank.span_id = span(0x20e);
    let mut handoff = step(0x202, Kind::Handoff, 40, 41);
    handoff.operation.state = Some(Box::new(crate::operation::StateChange {
        new_value: Some("billing".into()),
        ..Default::default()
    }));
    let mut guard = step(0x203, Kind::Guardrail, 50, 60);
    guard.operation.output = json!({"tripwire_triggered": true}).into();
    let mut open = guard.clone();
    open.operation.output = crate::operation::Recorded::default();
    open.span_id = span(0x20f);
    let mut judge = step(0x204, Kind::Evaluator, 150, 160);
    judge.parent = Some(StepId::new(1));
    judge.operation.evaluations = vec![Evaluation {
        name: Some("relevance".into()),
        score: Some(0.5),
        ..Evaluation::default()
    }];
    let mut person = step(0x205, Kind::Interrupt, 170, 180);
    person.operation.interrupt = Some(Box::new(crate::operation::Interrupt {
        prompt: Some("Book it?".into()),
        response: Some("yes".into()),
        wait_ms: Some(10),
    }));
    let mut state = step(0x206, Kind::StateChange, 181, 182);
    state.operation.state = Some(Box::new(crate::operation::StateChange {
        key: Some("plan".into()),
        new_value: Some(json!(1)),
        ..Default::default()
    }));
    let mut memory = step(0x207, Kind::MemoryWrite, 183, 184);
    memory.operation.memory = Some(Box::new(crate::operation::Memory {
        key: Some("k".into()),
        ..Default::default()
    }));
    let embedding = step(0x208, Kind::Embedding, 185, 186);
    let made = step(0x209, Kind::AgentCreate, 186, 187);
    let mut chain = step(0x20a, Kind::Chain, 5, 190);
    chain.operation.name = "step 1".into();
    chain.operation.input = json!("repeated").into();
    run.steps[1].parent = Some(StepId::new(12));
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
    let mut run = one_turn(reply("ok"), []);
    let picture = Message {
        role: Role::User,
        parts: vec![
            Part::from(crate::operation::message::Media {
                modality: "image".into(),
                mime_type: Some("image/png".into()),
                base64: Some("AAAA".into()),
                ..Default::default()
            }),
            Part::Other(json!(3)),
        ],
        ..Message::default()
    };
    run.steps[1].operation.input_messages = Some(vec![picture.clone()].into());
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
    let mut run = one_turn(reply("ok"), []);
    run.steps[1].operation.raw_response = Some(json!({"object": "chat.completion", "choices": []}));
    let (value, _) = with(&[run], &[("synth.output_text", "raw"), ("synth.decisions", "events")]);
    let record = &value["event_history"][0]["call_records"][0];
    assert_eq!(record["output_text"], "{\"object\":\"chat.completion\",\"choices\":[]}");
    assert_eq!(record["response_raw_json"], record["output_text"]);
}
