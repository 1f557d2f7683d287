//! Cases of runs of every shape.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests stop where data is not as expected")]

use serde_json::{Value, json};

use super::DeepEval;
use crate::formats::check::{JsonPath, Violations};
use crate::formats::testing::{Build, assistant, call, calling, mixed_up, samples, user};
use crate::formats::{Format, Loss, LossReason, Options};
use crate::run::Run;

fn cases(run: &Run, mode: &str) -> (Vec<Value>, Vec<Loss>) {
    let options = Options([("deepeval.cases".to_owned(), mode.to_owned())].into());
    let list = DeepEval::assemble(std::slice::from_ref(run), &options);
    let cases: Vec<Value> = list.iter().map(|one| serde_json::to_value(&one.document).unwrap()).collect();
    let places: Vec<_> = cases.iter().map(|case| (JsonPath::of_document(None), case)).collect();
    let mut found = Violations::default();
    DeepEval::check(&places, &options, &mut found);
    assert!(found.is_empty(), "{found:?}");
    for case in &cases {
        assert_eq!(case.get("turns").is_some(), mode == "conversation");
    }
    (cases, list.into_iter().flat_map(|one| one.losses).collect())
}

fn has(losses: &[Loss], what: &str, reason: LossReason) -> bool {
    losses.iter().any(|loss| loss.what == what && loss.reason == reason)
}

fn said(cases: &[Value]) -> Vec<(Value, Value)> {
    cases
        .iter()
        .map(|case| (case["input"].clone(), case["actual_output"].clone()))
        .collect()
}

#[test]
fn cases_hold_the_rules_whatever_the_run() {
    for run in samples::samples().into_iter().map(|(_, run)| run).chain(mixed_up::mixed_up()) {
        for mode in ["round", "run", "conversation"] {
            let _ = cases(&run, mode);
        }
    }
}

#[test]
fn sub_agents_have_cases_of_their_own() {
    let run = samples::sub_agents();
    let (list, _) = cases(&run, "round");
    let want = [
        (json!("Weather in Oslo?"), json!("It is cold in Oslo.")),
        (json!("Oslo?"), json!("cold, -3")),
        (json!("Records of Oslo?"), json!("-3 in January")),
    ];
    assert_eq!(said(&list), want);
    let tools = json!([{"name": "ask_weather", "input_parameters": {"q": "Oslo"}, "output": "cold"}]);
    assert_eq!(list[0]["tools_called"], tools);
    let (list, _) = cases(&run, "run");
    assert_eq!(said(&list), want[..1]);
    assert_eq!(list[0]["tools_called"].as_array().unwrap().len(), 2);
}

#[test]
fn rounds_and_what_was_said_before() {
    let (list, losses) = cases(&samples::top_level(), "round");
    let want = [
        (json!("First?"), json!("One.")),
        (json!("And then?"), json!("One more.")),
        (json!("Second?"), json!("Two.")),
    ];
    assert_eq!(said(&list), want);
    assert_eq!(list[1]["additional_metadata"]["follows"], list[0]["name"]);
    let history = json!([{"role": "user", "content": "Old?"}, {"role": "assistant", "content": "Old."}]);
    assert_eq!(list[2]["additional_metadata"]["history"], history);
    assert!(has(&losses, "words from before the run", LossReason::Coerced), "{losses:?}");
    let (list, losses) = cases(&samples::top_level(), "conversation");
    let roles: Vec<&Value> = list[1]["turns"].as_array().unwrap().iter().map(|turn| &turn["content"]).collect();
    assert_eq!(roles, ["Old?", "Old.", "Second?", "Two."]);
    assert!(has(&losses, "scenario", LossReason::Synthesized));
}

#[test]
fn words_beside_calls_are_no_answer() {
    let mut build = Build::new();
    let root = build.agent("a", None, 0, 9000);
    let mut wanted = calling(vec![call("c1", "look", json!("there"))]);
    wanted.parts = assistant("I look.").parts;
    let asks = build.llm(root, 10, 20, &[user("Hi")], Some(wanted));
    build.tool(asks, 0, 30, 40, Ok(json!({"seen": 1})));
    let (list, losses) = cases(&build.run, "round");
    assert_eq!(said(&list), [(json!("Hi"), Value::Null)]);
    let tools = json!([{"name": "look", "input_parameters": {"input": "there"}, "output": {"seen": 1}, "reasoning": "I look."}]);
    assert_eq!(list[0]["tools_called"], tools);
    assert!(has(&losses, "arguments of c1", LossReason::Coerced), "{losses:?}");
}

/// A framework stores what was said, once that is said.
#[test]
fn a_tool_that_nobody_asked_for_takes_nothing_from_the_answer() {
    let mut build = Build::new();
    let root = build.agent("a", None, 0, 9000);
    build.llm(root, 10, 20, &[user("Hi")], Some(assistant("Hello.")));
    build.lone_tool("remember", root, 30, 40, json!({}), json!("done"));
    let (list, _) = cases(&build.run, "round");
    assert_eq!(said(&list), [(json!("Hi"), json!("Hello."))]);
    assert_eq!(list[0]["tools_called"][0]["name"], "remember");
}

#[test]
fn a_good_run_is_what_the_next_one_is_to_do() {
    let options = Options([("deepeval.expected".to_owned(), "run".to_owned())].into());
    let mut called = 0;
    for (_, run) in samples::samples() {
        for one in DeepEval::assemble(std::slice::from_ref(&run), &options) {
            let case = serde_json::to_value(&one.document).unwrap();
            let tools = case["tools_called"].as_array().unwrap();
            called += tools.len();
            assert_eq!(
                case.get("expected_tools").and_then(Value::as_array),
                Some(tools).filter(|tools| !tools.is_empty())
            );
            assert!(case.get("expected_output").is_some() || case["actual_output"].is_null());
        }
    }
    assert!(called > 0, "no run calls a tool");
}

#[test]
fn found_texts_and_what_only_an_agent_says() {
    let (list, losses) = cases(&samples::searches(), "round");
    let texts = list[0]["retrieval_context"].as_array().unwrap();
    assert!(texts.contains(&json!("Otters swim.")), "{texts:?}");
    assert!(has(&losses, "retrieval: its query", LossReason::NoPlace), "{losses:?}");
    let (list, _) = cases(&samples::people(), "round");
    assert_eq!(said(&list), [(json!("Where?"), json!("It is here."))]);
    assert_eq!(list[0]["additional_metadata"]["earlier_outputs"], json!(["Here."]));
}

#[test]
fn a_mix_is_found() {
    let single = json!({"input": "a", "actual_output": "b"});
    let many = json!({"scenario": "", "turns": [{"role": "tool", "content": null}]});
    let list = json!([single, many]);
    let mut found = Violations::default();
    DeepEval::check(&[(JsonPath::of_document(None), &list)], &Options::default(), &mut found);
    assert_eq!(found.len(), 4, "{found:?}");
}
