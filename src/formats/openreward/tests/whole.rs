//! Limits, sessions, and what no document may lose or repeat.

use super::*;

#[test]
fn each_limit_below_at_and_above() {
    let cases = [
        ("openreward.limit_msg_bytes", "MESSAGE"),
        ("openreward.limit_think_bytes", "THINK"),
        ("openreward.limit_tool_result_bytes", "TOOL_RESULT"),
    ];
    for (option, sub_type) in cases {
        for (text, expected) in [
            ("ééééa", 1),
            ("ééééé", 1),
            ("éééééa", 2),
            ("aéééééé", 2),
            ("a\u{1F44B}\u{1F44B}éé", 2),
        ] {
            let message = match sub_type {
                "MESSAGE" => reply(text),
                "THINK" => thinks(text, reply("a")),
                _ => asks(vec![call("c", "f", json!({}))]),
            };
            let results = (sub_type == "TOOL_RESULT").then(|| result("c", None, json!(text), 200));
            let mut run = one_turn(message, results);
            run.scopes[0].conversation[0] = input(user("q"), 1, 10);
            let (blocks, losses) = with(&run, &[(option, "10")]);
            let parts: Vec<String> = blocks
                .iter()
                .filter(|block| block["sub_type"] == sub_type && block["payload"]["role"] != "user")
                .map(|block| {
                    let payload = &block["payload"];
                    let value = ["content", "text", "output", "delta"]
                        .iter()
                        .find_map(|key| payload.get(*key))
                        .unwrap();
                    value.as_str().unwrap().to_owned()
                })
                .collect();
            assert_eq!(parts.len(), expected, "{option} {text}");
            assert_eq!(parts.concat(), text);
            assert_eq!(losses.contains(&LossReason::Split), expected > 1);
        }
    }
}

#[test]
fn arguments_beyond_the_limit_are_kept_in_raw() {
    let arguments = json!({"k": "éé"});
    let bytes = size(&(&arguments).into());
    for (limit, whole) in [(bytes - 1, false), (bytes, true), (bytes + 1, true)] {
        let runs = [one_turn(asks(vec![call("c", "f", arguments.clone())]), [])];
        let options = options(&[("openreward.limit_tool_args_bytes", &limit.to_string())]);
        let Assembled { document, losses } = OpenReward::assemble(&runs, &options).remove(0);
        let call = serde_json::to_value(&document.blocks[1]).unwrap();
        if whole {
            assert_eq!(call["payload"]["arguments"], arguments);
            assert!(losses.is_empty());
        } else {
            assert_eq!(call["payload"]["arguments"]["omitted_bytes"], bytes);
            assert_eq!(call["raw"], json!({ "arguments": arguments }));
            assert_eq!(losses.len(), 1);
        }
    }
}

#[test]
fn a_long_json_result_comes_in_deltas() {
    let value = json!({"list": ["éé", 1, 2, 3], "more": "text"});
    let run = one_turn(asks(vec![call("c", "f", json!({}))]), [result("c", None, value.clone(), 200)]);
    let (blocks, _) = with(&run, &[("openreward.limit_tool_result_bytes", "7")]);
    let deltas: Vec<&Value> = blocks.iter().filter(|block| block["payload"].get("delta").is_some()).collect();
    let text: String = deltas.iter().map(|block| block["payload"]["delta"].as_str().unwrap()).collect();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    assert!(deltas.iter().enumerate().all(|(index, block)| block["payload"]["seq"] == index));
}

#[test]
fn a_session_is_one_trace_if_each_conversation_goes_on() {
    let first = one_turn(reply("hi"), []);
    let mut second = first.clone();
    second.trace_id = crate::span::TraceId::from_hex("0000000000000000000000000000000b").unwrap();
    second.steps.push(llm(0x201, 200, 300));
    second.scopes[0].conversation = vec![
        input(user("go"), 2, 200),
        input(reply("hi"), 2, 200),
        input(user("on"), 2, 200),
        turn(reply("bye"), 2, 300),
    ];
    let runs = [first.clone(), second.clone()];
    let mut documents = OpenReward::assemble(&runs, &options(&[]));
    assert_eq!(documents.len(), 1);
    let list = checked(&documents.remove(0).document, &Limits::default());
    assert_eq!(short(&list), ["user: go", "assistant: hi", "user: on", "assistant: bye"]);
    second.scopes[0].conversation.remove(0);
    assert_eq!(OpenReward::assemble(&[first, second], &options(&[])).len(), 2);
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let text = |run: &Run| serde_json::to_string(&OpenReward::assemble(std::slice::from_ref(run), &options(&[]))[0].document).unwrap();
    assert_eq!(text(&sub_agents()), text(&sub_agents()));
}

#[test]
fn a_call_that_only_its_tool_tells_of() {
    let mut run = agent_run();
    run.steps.push(tool(0x201, 10, 20, "f", "c", json!({"a": 1}), json!("done")));
    run.scopes[0].conversation = vec![lone_call("c", 1, 10), result("c", Some(1), json!("done"), 20)];
    run.question = Some(said("Why?", 0, 0, false));
    let (blocks, losses) = blocks(&run);
    assert_eq!(
        short(&blocks),
        ["user: Why?", "call \"c\" f {\"a\":1} <0", "result \"c\" \"done\" <1"]
    );
    assert_eq!(losses, [LossReason::Synthesized]);
}

#[test]
fn a_sub_agent_of_a_call_without_result_stands_in_the_call() {
    let mut run = sub_agents();
    run.scopes[0]
        .conversation
        .retain(|entry| !matches!(entry.kind, EntryKind::Result(_)));
    let (blocks, _) = blocks(&run);
    assert_eq!(blocks.len(), 4);
    assert_eq!(blocks[1]["metadata"]["subagent"]["blocks"].as_array().unwrap().len(), 4);
    assert_eq!(blocks[2]["metadata"]["subagent"]["agent"], "researcher");
    // The execution, beside the model's call.
    assert_eq!(blocks[1]["metadata"]["around"][0]["kind"], "tool");
    assert_ne!(blocks[1]["metadata"]["around"][0]["time"], blocks[1]["metadata"]["time"]);
}

#[test]
fn a_call_tells_its_execution_in_full() {
    let mut run = one_turn(
        asks(vec![call("c", "f", json!({"a": 1}))]),
        [result("c", Some(2), json!("ok"), 200)],
    );
    let mut ran = tool(0x201, 110, 120, "f", "c", json!({"a": 1, "key": "k"}), json!("ok"));
    ran.operation.usage.total = Some(7);
    ran.operation.memory.get_or_insert_default().key = Some("m".to_owned());
    run.steps.push(ran);
    let (list, _) = blocks(&run);
    let about = &list[2]["metadata"];
    assert_eq!(about["arguments"], json!({"a": 1, "key": "k"}));
    assert_eq!(about["model_call"], json!({"usage": {"total": 7}}));
    assert_eq!(about["memory"], json!({"key": "m"}));
    assert_eq!((about.get("tool_name"), about.get("result")), (None, None));
}

#[test]
fn every_operation_is_told_or_lost() {
    for run in [example(), sub_agents()] {
        for kind in Kind::ALL {
            let mut run = run.clone();
            run.scopes.push(crate::run::Scope::default());
            let mut lone = step(0x900, kind, 1500, 1600);
            lone.scope = ScopeId::new(run.scopes.len() - 1);
            run.steps.push(lone);
            let runs = [run];
            let mut documents = OpenReward::assemble(&runs, &options(&[]));
            let Assembled { document, losses } = documents.remove(0);
            let written = serde_json::to_string(&document).unwrap().contains("eee19b7ec3c1b900");
            let lost = losses.iter().any(|loss| loss.span_id == span(0x900));
            assert!(written || lost || kind == Kind::Plain, "{kind:?}");
        }
    }
}

#[test]
fn what_is_told_again_is_written_once() {
    let mut run = one_turn(
        asks(vec![call("c", "f", json!({}))]),
        [
            result("c", None, json!("ok"), 200),
            result("c", None, json!("ok"), 300),
            result("stray", None, json!(""), 310),
        ],
    );
    run.steps.push(llm(0x201, 320, 400));
    run.scopes[0].conversation.push(turn(user("done"), 2, 400));
    let (blocks, losses) = blocks(&run);
    assert_eq!(short(&blocks)[2..], ["result \"c\" \"ok\" <1", "assistant: done"]);
    assert_eq!(losses, [LossReason::Ambiguous, LossReason::NoPlace]);
}
