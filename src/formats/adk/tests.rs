//! Sets of runs of every shape.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests stop where data is not as expected")]

use serde_json::{Value, json};

use super::Adk;
use crate::formats::check::{JsonPath, Violations};
use crate::formats::testing::{Build, assistant, call, calling, mixed_up, samples, user};
use crate::formats::{Format, Loss, LossReason, Options};
use crate::run::Run;

fn set(run: &Run, options: &[(&str, &str)]) -> Option<(Value, Vec<Loss>)> {
    let pairs = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let options = Options(pairs.collect());
    let mut list = Adk::assemble(std::slice::from_ref(run), &options);
    assert!(list.len() < 2);
    let one = list.pop()?;
    let document = serde_json::to_value(&one.document).unwrap();
    let found = violations(&document);
    assert_eq!(found.0, 0, "{}", found.1);
    Some((document, one.losses))
}

/// How many, and which.
fn violations(document: &Value) -> (usize, String) {
    let mut found = Violations::default();
    Adk::check(&[(JsonPath::of_document(None), document)], &Options::default(), &mut found);
    (found.len(), format!("{found:#?}"))
}

fn has(losses: &[Loss], what: &str, reason: LossReason) -> bool {
    losses.iter().any(|loss| loss.what == what && loss.reason == reason)
}

/// Author and what the event's parts are.
fn written(invocation: &Value) -> Vec<String> {
    let events = invocation["intermediate_data"]["invocation_events"].as_array().unwrap();
    let part = |part: &Value| match part.as_object().unwrap().iter().next().unwrap() {
        (key, Value::String(words)) => format!("{key} {words}"),
        (key, value) => format!("{key} {}", value["id"].as_str().unwrap()),
    };
    let parts = |event: &Value| {
        let list = event["content"]["parts"].as_array();
        list.into_iter().flatten().map(part).collect::<Vec<_>>().join(", ")
    };
    let author = |event: &Value| event["author"].as_str().unwrap().to_owned();
    events.iter().map(|event| format!("{}: {}", author(event), parts(event))).collect()
}

#[test]
fn sets_hold_the_rules_whatever_the_run() {
    for run in samples::samples().into_iter().map(|(_, run)| run).chain(mixed_up::mixed_up()) {
        let _ = set(&run, &[]);
        let _ = set(&run, &[("adk.intermediate", "lists"), ("adk.subagents", "cases")]);
    }
}

#[test]
fn called_agents_are_events_or_cases() {
    let run = samples::sub_agents();
    let (document, losses) = set(&run, &[]).unwrap();
    let cases = document["eval_cases"].as_array().unwrap();
    assert_eq!(cases.len(), 1);
    let invocation = &cases[0]["conversation"][0];
    let want = [
        "boss: function_call c1",
        "user: text Oslo?",
        "weather: function_call c1:2",
        "user: text Records of Oslo?",
        "archive: text -3 in January",
        "weather: function_response c1:2",
        "weather: text cold, -3",
        "boss: function_response c1",
    ];
    assert_eq!(written(invocation)[..8], want);
    assert_eq!(invocation["final_response"]["parts"], json!([{"text": "It is cold in Oslo."}]));
    assert!(has(&losses, "id of c1", LossReason::Coerced), "{losses:?}");
    assert!(has(&losses, "session_input.user_id", LossReason::Synthesized), "{losses:?}");
    let (document, _) = set(&run, &[("adk.subagents", "cases"), ("adk.intermediate", "lists")]).unwrap();
    let cases = document["eval_cases"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    let data = json!({
        "tool_uses": [{"id": "c1", "name": "ask_weather", "args": {"q": "Oslo"}}],
        "tool_responses": [{"id": "c1", "name": "ask_weather", "response": {"result": "cold"}}],
        "intermediate_responses": [],
    });
    assert_eq!(cases[0]["conversation"][0]["intermediate_data"], data);
}

#[test]
fn words_beside_calls_are_no_final_response() {
    let mut build = Build::new();
    let root = build.agent("a", None, 0, 9000);
    let mut wanted = calling(vec![call("c1", "look", json!("there"))]);
    wanted.parts = assistant("I look.").parts;
    let asks = build.llm(root, 10, 20, &[user("Hi")], Some(wanted));
    build.tool(asks, 0, 30, 40, Err(crate::formats::testing::failure("dark", "io")));
    let (document, losses) = set(&build.run, &[]).unwrap();
    let invocation = &document["eval_cases"][0]["conversation"][0];
    assert_eq!(invocation.get("final_response"), None);
    assert_eq!(
        written(invocation),
        ["a: text I look., function_call c1", "a: function_response c1"]
    );
    let text = invocation.to_string();
    assert!(
        text.contains(r#""args":{"input":"there"}"#) && text.contains(r#""response":{"error":"dark"}"#),
        "{text}"
    );
    assert!(has(&losses, "arguments of c1", LossReason::Coerced), "{losses:?}");
}

#[test]
fn earlier_words_and_answers_of_the_agent_alone() {
    let (document, _) = set(&samples::top_level(), &[]).unwrap();
    let cases = document["eval_cases"].as_array().unwrap();
    let lengths: Vec<usize> = cases.iter().map(|case| case["conversation"].as_array().unwrap().len()).collect();
    assert_eq!(lengths, [2, 2]);
    assert_eq!(cases[1]["conversation"][0]["final_response"]["parts"], json!([{"text": "Old."}]));
    let (document, _) = set(&samples::people(), &[]).unwrap();
    let invocation = &document["eval_cases"][0]["conversation"][0];
    assert_eq!(invocation["final_response"]["parts"], json!([{"text": "It is here."}]));
    assert_eq!(written(invocation), ["clerk: text Here."]);
}

#[test]
fn state_stands_with_the_first_case() {
    let (document, _) = set(&samples::controls(), &[]).unwrap();
    let case = &document["eval_cases"][0];
    assert!(!case["final_session_state"].as_object().unwrap().is_empty(), "{case}");
}

#[test]
fn what_the_reader_hides_is_named() {
    let content = json!({"role": "user", "parts": [{"text": "a"}]});
    let good = json!({"evalSetId": "s", "evalCases": [{"evalId": "c", "conversation": [{"userContent": content}]}]});
    assert_eq!(violations(&good).0, 0);
    let calls = json!({"tool_uses": [{"name": "x", "args": "text"}]});
    let events = json!({"invocation_events": [{"content": content}]});
    let bad = json!({"eval_set_id": "s", "eval_cases": [
        {"eval_id": "c", "conversation": [{"user_content": content, "intermediate_data": calls, "latency": 1}]},
        {"eval_id": "c", "conversation": [{"user_content": content, "intermediate_data": events}], "conversation_scenario": {}},
    ]});
    let found = violations(&bad);
    assert_eq!(found.0, 5, "{}", found.1);
}

#[test]
fn agents_that_follow_one_another_author_their_events() {
    let mut build = Build::new();
    let root = build.agent("triage", None, 0, 9000);
    let wanted = calling(vec![call("c1", "pass_on", json!({}))]);
    let first = build.llm(root, 10, 20, &[user("Hi")], Some(wanted));
    build.tool(first, 0, 30, 40, Ok("done".into()));
    let other = build.llm(root, 50, 60, &[], Some(assistant("Hello.")));
    build.op(other).agent.name = Some("billing".to_owned());
    build.op(other).usage.input = Some(7);
    let (document, _) = set(&build.run, &[]).unwrap();
    let invocation = &document["eval_cases"][0]["conversation"][0];
    assert_eq!(
        written(invocation),
        ["triage: function_call c1", "triage: function_response c1", "billing: "]
    );
}
