//! Documents of runs of every shape.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests stop where data is not as expected")]

use serde_json::{Value, json};

use super::Reflex;
use crate::formats::check::{JsonPath, Violations};
use crate::formats::testing::{failure, mixed_up, samples, span, tokens};
use crate::formats::{Assembled, Format, Loss, LossReason, Options};
use crate::operation::{Evaluation, Kind};
use crate::run::Run;

fn document(run: &Run) -> (Value, Vec<Loss>) {
    with(run, &Options::default())
}

fn with(run: &Run, options: &Options) -> (Value, Vec<Loss>) {
    let mut list = Reflex::assemble(std::slice::from_ref(run), options);
    let Assembled { document, losses } = list.pop().unwrap();
    let document = serde_json::to_value(&document).unwrap();
    let mut found = Violations::default();
    Reflex::check(&[(JsonPath::of_document(None), &document)], options, &mut found);
    assert!(found.is_empty(), "{found:?}\n{document:#}");
    (document, losses)
}

fn node<'a>(document: &'a Value, name: &str) -> &'a Value {
    let nodes = document["nodes"].as_array().unwrap();
    nodes.iter().find(|node| node["name"] == name).unwrap()
}

#[test]
fn the_example_of_the_page() {
    let (document, losses) = document(&samples::trip_planner());
    let mut example: Value = serde_json::from_str(include_str!("example.json")).unwrap();
    // Other facts of the spans are in the metadata.
    example["metadata"]["agent"] = "trip-planner".into();
    example["metadata"]["agent_version"] = "1.2.0".into();
    example["metadata"]["framework"] = "langgraph".into();
    for (call, input, output) in [(1, 82, 41), (4, 150, 33)] {
        let metadata = &mut example["nodes"][call]["metadata"];
        metadata["provider"] = "openai".into();
        metadata["usage"] = json!({"input": input, "output": output});
        metadata["prompt"] = json!({"id": "planner"});
    }
    example["nodes"][1]["metadata"]["reasoning"] = "Both calls are independent.".into();
    assert_eq!(document, example);
    assert_eq!(losses, []);
}

#[test]
fn the_tree_is_as_recorded() {
    let (document, _) = document(&samples::sub_agents());
    let tree: Vec<(&str, &str)> = document["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (node["name"].as_str().unwrap(), node["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(
        tree,
        [
            ("boss", "agent"),
            ("ChatOpenAI", "reason"),
            ("ask_weather", "tool"),
            ("weather", "agent"),
            ("ChatOpenAI", "reason"),
            ("lookup", "tool"),
            ("archive", "agent"),
            ("ChatOpenAI", "reason"),
            ("ChatOpenAI", "reason"),
            ("ChatOpenAI", "reason")
        ]
    );
    assert_eq!(node(&document, "weather")["parent_id"], node(&document, "ask_weather")["id"]);
    assert_eq!(node(&document, "ask_weather")["metadata"]["dispatched_by"], span(1).to_string());
    assert_eq!(node(&document, "ask_weather")["step"], 1);
}

#[test]
fn tokens_are_the_model_calls_alone() {
    let mut run = samples::trip_planner();
    run.steps[0].operation.usage = tokens(232, 74, 306);
    let (document, _) = document(&run);
    let sum: u64 = document["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["tokens"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, 306);
    assert_eq!(document["nodes"][0]["metadata"]["usage"]["total"], 306);
}

#[test]
fn one_prompt_is_the_target() {
    let mut run = samples::trip_planner();
    run.steps[1].operation.training.optimize = Some(true);
    run.steps[3].operation.training.optimize = Some(true);
    let (marked, losses) = document(&run);
    let targets = |document: &Value| -> Vec<bool> {
        let nodes = document["nodes"].as_array().unwrap();
        nodes.iter().map(|node| node["optimize"].as_bool().unwrap()).collect()
    };
    assert_eq!(targets(&marked), [false, true, false, false, true]);
    assert!(
        losses
            .iter()
            .any(|loss| loss.reason == LossReason::NoPlace && loss.what.contains("optimize"))
    );

    let none = Options([("reflex.optimize".to_owned(), "other".to_owned())].into());
    let (unmarked, losses) = with(&run, &none);
    assert_eq!(targets(&unmarked), [false; 5]);
    assert!(
        losses.iter().any(|loss| loss.what.starts_with("reflex.optimize=other")),
        "an option that fits nothing is said"
    );

    run.steps[4].operation.prompt.id = Some("second".to_owned());
    run.steps[4].operation.training.optimize = Some(true);
    let (document, losses) = document(&run);
    assert_eq!(targets(&document), [false, true, false, false, false]);
    assert_eq!(document["nodes"][4]["metadata"]["optimize"], true);
    assert!(losses.iter().any(|loss| loss.reason == LossReason::Ambiguous));
}

#[test]
fn no_node_tells_a_grader_the_answer_or_the_score() {
    let mut run = samples::trip_planner();
    run.steps[1].operation.training.reward = Some(0.25);
    run.steps[1].operation.training.ideal = Some(json!("the reference"));
    run.steps[1].operation.evaluations = vec![Evaluation {
        name: Some("relevance".to_owned()),
        score: Some(0.75),
        ..Evaluation::default()
    }];
    run.steps[2].operation.kind = Kind::Evaluator;
    let (document, _) = document(&run);
    let nodes = document["nodes"].to_string();
    for secret in ["0.25", "0.75", "the reference", "relevance", "22 °C cloudy\"}"] {
        assert!(!nodes.contains(secret), "{secret}: {nodes}");
    }
    assert_eq!(document["ideal"], "the reference");
    let metadata = &document["metadata"];
    let node = run.steps[1].id.as_str();
    assert_eq!(metadata["rewards"], json!([{"node": node, "reward": 0.25}]));
    assert_eq!(metadata["evaluations"], json!([{"node": node, "name": "relevance", "score": 0.75}]));
    assert_eq!(metadata["evaluators"][0]["kind"], "evaluator");
}

#[test]
fn prompt_ids_of_system_messages() {
    let mut run = samples::trip_planner();
    for call in [1, 4] {
        run.steps[call].operation.prompt.id = None;
    }
    let ids = |options: &Options| -> Vec<Value> {
        let (document, _) = with(&run, options);
        let nodes = document["nodes"].as_array().unwrap().clone();
        nodes
            .into_iter()
            .filter(|node| node["kind"] == "reason")
            .map(|node| node["prompt_id"].clone())
            .collect()
    };
    assert_eq!(ids(&Options::default()), [Value::Null, Value::Null]);
    let by_system = ids(&Options([("reflex.prompt_id".to_owned(), "system".to_owned())].into()));
    assert!(by_system[0].as_str().is_some_and(|id| id.starts_with("system-")), "{by_system:?}");
    assert_eq!(by_system[0], by_system[1]);
}

#[test]
fn prompts_have_an_identity() {
    let (document, _) = document(&samples::controls());
    assert_eq!(document["ideal"], "Refunded 10.");
    let calls: Vec<&Value> = document["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|node| node["kind"] == "reason")
        .map(|node| &node["prompt_id"])
        .collect();
    assert_eq!(calls, [&json!("desk-v1"), &Value::Null]);

    let mut run = samples::trip_planner();
    for call in [1, 4] {
        run.steps[call].operation.prompt.id = None;
        run.steps[call].operation.prompt.template = Some("You plan {what}.".to_owned());
    }
    let (document, _) = self::document(&run);
    assert_eq!(document["nodes"][1]["prompt_id"], "template-eea1597328aa527b");
    assert_eq!(document["nodes"][1]["prompt_id"], document["nodes"][4]["prompt_id"]);
}

#[test]
fn links_without_children_are_left_out() {
    let (document, _) = document(&samples::running());
    let names: Vec<&Value> = document["nodes"].as_array().unwrap().iter().map(|node| &node["name"]).collect();
    assert_eq!(names, ["slow", "POST", "ChatOpenAI", "sleep"]);
    assert_eq!(node(&document, "POST")["kind"], "other");
    assert_eq!(node(&document, "sleep")["ended_at"], Value::Null);
}

#[test]
fn values_keep_their_type() {
    let (document, _) = document(&samples::odd_arguments());
    let tools: Vec<&Value> = document["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|node| node["kind"] == "tool")
        .collect();
    assert_eq!(
        (&tools[0]["input"], &tools[0]["output"]),
        (&json!("bare"), &json!([1, "two", null]))
    );
    assert_eq!((&tools[1]["input"], &tools[1]["output"]), (&json!([1, 2]), &Value::Null));
    let (document, _) = self::document(&samples::searches());
    assert_eq!(node(&document, "retrieve")["output"][0]["content"], "Otters swim.");
    assert_eq!(node(&document, "embed")["output"], json!({"vector_count": 1}));
    assert_eq!(node(&document, "search_memory")["kind"], "retrieve");
    assert_eq!(node(&document, "upsert_memory")["kind"], "other");
}

#[test]
fn clocks_and_errors() {
    let mut run = samples::skewed();
    run.steps[3].operation.failure = Some(failure("", ""));
    let (document, losses) = document(&run);
    let tool = node(&document, "get_weather");
    assert_eq!(tool["started_at"], document["nodes"][1]["started_at"]);
    assert_eq!(tool["metadata"]["recorded_started_at"], "2026-01-01T10:00:00.020Z");
    assert!(losses.iter().any(|loss| loss.reason == LossReason::Coerced));
    assert_eq!(node(&document, "search_flights")["error"], "error");
}

#[test]
fn mixed_up_runs_break_no_rule() {
    for run in mixed_up::mixed_up() {
        document(&run);
    }
}
