//! Documents of runs of every shape.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests stop where data is not as expected")]

use serde_json::{Value, json};

use super::ContextForge;
use crate::formats::testing::{Build, failure, mixed_up, ms, samples, span};
use crate::formats::{Assembled, Format, Loss, LossReason, Options};
use crate::operation::Kind;
use crate::run::{Observed, Run, RunFailure};
use crate::transcript::order;

fn document(run: &Run) -> (Value, Vec<Loss>) {
    with(run, &Options::default())
}

fn with(run: &Run, options: &Options) -> (Value, Vec<Loss>) {
    let mut list = ContextForge::assemble(std::slice::from_ref(run), options);
    let Assembled { document, losses } = list.pop().unwrap();
    assert!(list.is_empty());
    let document = serde_json::to_value(&document).unwrap();
    follows_the_rules(&document);
    (document, losses)
}

fn follows_the_rules(document: &Value) {
    let steps = document["steps"].as_array().unwrap();
    let mut seen: Vec<&str> = Vec::new();
    let mut last = "";
    for step in steps {
        let id = step["step_id"].as_str().unwrap();
        assert!(!seen.contains(&id), "{id} stands twice");
        if let Some(parent) = step["parent_step_id"].as_str() {
            assert!(seen.contains(&parent), "{id}: its parent {parent} does not stand before it");
        }
        seen.push(id);
        let time = step["timestamp"].as_str().unwrap();
        assert!(last <= time, "{id} goes back in time");
        last = time;
        assert!(step["step_type"] != "llm_call" || step["output"].is_string() || step["output"].is_object());
        assert!(step["step_type"] != "tool_call" || (step["arguments"].is_object() && step.get("result").is_some()));
        assert!(step["step_type"] != "state_change" || !step["new_value"].is_null());
        assert!(step["error"].is_null() || step["success"] == false);
    }
}

fn types(document: &Value) -> Vec<&str> {
    let steps = document["steps"].as_array().unwrap();
    steps.iter().map(|step| step["step_type"].as_str().unwrap()).collect()
}

fn of_type<'a>(document: &'a Value, step_type: &str) -> Vec<&'a Value> {
    let steps = document["steps"].as_array().unwrap();
    steps.iter().filter(|step| step["step_type"] == step_type).collect()
}

fn has(losses: &[Loss], what: &str, reason: LossReason) -> bool {
    losses.iter().any(|loss| loss.what.contains(what) && loss.reason == reason)
}

#[test]
fn the_example_of_the_page() {
    let (document, losses) = document(&samples::trip_planner());
    let mut example: Value = serde_json::from_str(include_str!("example.json")).unwrap();
    // Other facts of the spans are in the metadata.
    for call in [1, 4] {
        example["steps"][call]["metadata"]["span_name"] = "ChatOpenAI".into();
        example["steps"][call]["metadata"]["prompt"] = json!({"id": "planner"});
    }
    example["steps"][3]["metadata"]["error"] = json!({"type": "timeout", "message": "timeout after 1000 ms"});
    // Output that is only text is text.
    example["steps"][4]["output"] = "22 °C, cloudy. No flights found.".into();
    assert_eq!(document, example);
    assert_eq!(losses, []);
}

#[test]
fn called_agents_hang_under_the_tool() {
    let (document, _) = document(&samples::sub_agents());
    let parents: Vec<(&str, &str)> = document["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|step| Some((step["step_id"].as_str()?, step["parent_step_id"].as_str()?)))
        .map(|(step, parent)| (&step[13..], &parent[13..]))
        .collect();
    assert_eq!(
        parents,
        [("176", "175"), ("178", "176"), ("179", "178"), ("17b", "179"), ("17c", "176")]
    );
    let tool = of_type(&document, "tool_call")[0];
    assert_eq!(tool["metadata"]["agents"][0]["name"], "weather");
    assert_eq!(
        of_type(&document, "user_input").len(),
        1,
        "what a sub-agent is told is no user's input"
    );
}

#[test]
fn a_retry_is_a_step_of_its_own() {
    let (document, _) = document(&samples::retries());
    let tools = of_type(&document, "tool_call");
    let written: Vec<(&Value, &Value)> = tools.iter().map(|tool| (&tool["error"], &tool["result"])).collect();
    assert_eq!(written[0], (&json!("refused"), &Value::Null));
    assert_eq!(written[1], (&json!("refused again"), &Value::Null));
    assert_eq!(written[2], (&Value::Null, &json!("page a")));
    assert!(tools.iter().all(|tool| tool["metadata"]["tool_call_id"] == "call_a"));
}

#[test]
fn arguments_are_objects() {
    let (document, losses) = document(&samples::odd_arguments());
    let tools = of_type(&document, "tool_call");
    assert_eq!(tools[0]["arguments"], json!({"input": "bare"}));
    assert_eq!(tools[1]["arguments"], json!({"input": [1, 2]}));
    assert_eq!(tools[2]["arguments"]["n"], Value::Null);
    assert_eq!(tools[3]["arguments"], json!({}));
    assert!(has(&losses, "arguments", LossReason::Coerced));
}

#[test]
fn searches_and_memory() {
    let run = samples::searches();
    let (document, _) = document(&run);
    let retrievals = of_type(&document, "retrieval");
    assert_eq!(retrievals.len(), 4);
    assert_eq!(retrievals[0]["results"][0]["score"], 0.5);
    assert_eq!(retrievals[0]["results"][1].get("score"), None);
    assert_eq!(retrievals[0]["results"][1]["metadata"]["score"], 7.5);
    assert_eq!(retrievals[1]["metadata"]["reranker"], true);
    assert_eq!(retrievals[2]["parent_step_id"], span(6).to_string());
    assert_eq!(retrievals[3]["metadata"]["content_captured"], false);
    let write = of_type(&document, "memory_write")[0];
    assert_eq!(
        (&write["operation"], &write["namespace"]),
        (&json!("add"), &json!(["profiles", "u1"]))
    );
    assert_eq!(document["metadata"]["embeddings"][0]["model"], "text-embedding-3-small");
    assert!(!document.to_string().contains("\"embedding\":["));

    let options = Options([("contextforge.embeddings".to_owned(), "retrieval".to_owned())].into());
    let (document, _) = with(&run, &options);
    let embedding = of_type(&document, "retrieval")[0];
    assert_eq!((&embedding["query"], &embedding["results"]), (&json!("otters"), &json!([])));
    assert_eq!(document["metadata"].get("embeddings"), None);
}

#[test]
fn what_has_no_step_stands_in_metadata() {
    let (document, losses) = document(&samples::controls());
    assert_eq!(
        types(&document),
        [
            "user_input",
            "llm_call",
            "state_change",
            "state_change",
            "interrupt",
            "user_input",
            "llm_call",
            "final_output"
        ]
    );
    let metadata = &document["metadata"];
    assert_eq!(metadata["guardrails"][0]["output"]["triggered"], false);
    assert_eq!(metadata["evaluations"][0]["score"], 0.8);
    assert_eq!(metadata["agents"][0]["attributes"]["tenant"], "t1");
    let steps = &document["steps"];
    assert_eq!(steps[1]["metadata"]["prompt"]["id"], "desk-v1");
    assert_eq!(
        (&steps[2]["state_key"], &steps[2]["new_value"]),
        (&json!("active_agent"), &json!("refunds"))
    );
    assert_eq!(steps[3]["new_value"], "");
    assert!(has(&losses, "new_value", LossReason::Coerced));
    assert_eq!(steps[4]["wait_duration_ms"], 360);
    assert_eq!(steps[5]["step_id"], format!("{}:in", span(7)));
    assert_eq!(steps[6]["metadata"]["attributes"]["shard"], 3);
}

#[test]
fn history_is_no_input_of_this_run() {
    let (document, _) = document(&samples::top_level());
    let said: Vec<&Value> = of_type(&document, "user_input").iter().map(|step| &step["content"]).collect();
    assert_eq!(said, ["First?", "And then?", "Second?"]);
}

#[test]
fn a_run_that_goes_on_has_no_end() {
    let (document, _) = document(&samples::running());
    assert_eq!(document.get("ended_at"), None);
    assert_eq!(types(&document), ["user_input", "llm_call", "tool_call"]);
    let tool = of_type(&document, "tool_call")[0];
    assert_eq!((tool.get("success"), tool.get("latency_ms")), (None, None));
}

#[test]
fn a_slow_clock_moves_no_effect_before_its_cause() {
    let (document, losses) = document(&samples::skewed());
    let tool = of_type(&document, "tool_call")[0];
    assert_eq!(tool["timestamp"], of_type(&document, "llm_call")[0]["timestamp"]);
    assert_eq!(tool["metadata"]["recorded_timestamp"], ms(20).rfc3339());
    assert!(has(&losses, "timestamp", LossReason::Coerced));
}

#[test]
fn words_of_an_agent_alone() {
    let (document, losses) = document(&samples::only_agent());
    assert_eq!(document["steps"][0]["content"], "{\"city\":\"Rome\"}");
    assert_eq!(document["task_info"]["input"]["city"], "Rome");
    assert_eq!(of_type(&document, "final_output")[0]["content"], "Sunny");
    assert!(has(&losses, ":in].content", LossReason::Coerced));
}

#[test]
fn failures_and_missing_words() {
    let (document, _) = document(&samples::failed_model());
    let calls = of_type(&document, "llm_call");
    assert_eq!(calls[0]["output"], "");
    assert_eq!(calls[0]["metadata"]["error"]["message"], "429 slow down");
    assert_eq!(calls[1]["metadata"]["choices"][0]["content"], "Hi!");
    assert_eq!(document["metadata"]["error"]["span_id"], span(1).to_string());

    let (document, losses) = self::document(&samples::no_content());
    let call = of_type(&document, "llm_call")[0];
    assert_eq!((&call["input"], &call["output"]), (&json!([]), &json!("")));
    assert_eq!(call["metadata"]["content_captured"], false);
    assert_eq!(call["model"], "unknown");
    assert!(has(&losses, "model", LossReason::Synthesized));
    assert_eq!(types(&document), ["llm_call"]);
}

#[test]
fn a_failure_without_words_is_an_error() {
    let mut run = samples::trip_planner();
    run.steps[2].operation.failure = Some(failure(" ", ""));
    run.failure = Some(RunFailure {
        failure: failure("", "Stopped"),
        span_id: span(2),
    });
    let (document, _) = document(&run);
    assert_eq!(of_type(&document, "tool_call")[0]["error"], "error");
    assert_eq!(document["metadata"]["error"]["message"], "Stopped");
}

#[test]
fn words_with_operations_of_their_own() {
    let (document, losses) = document(&samples::people());
    let said: Vec<&Value> = of_type(&document, "user_input").iter().map(|step| &step["step_id"]).collect();
    assert_eq!(said, [&json!(span(1).to_string()), &json!(span(2).to_string())]);
    assert_eq!(of_type(&document, "final_output")[0]["step_id"], span(5).to_string());
    assert_eq!(of_type(&document, "interrupt")[0]["response"], "");
    assert!(has(&losses, "response", LossReason::Synthesized));
}

#[test]
fn nothing_of_agents_gives_no_document() {
    let mut run = samples::running();
    let plain = run
        .steps
        .into_iter()
        .filter(|step| step.operation.kind == crate::operation::Kind::Plain);
    run.steps = plain.collect();
    assert!(ContextForge::assemble(&[run], &Options::default()).is_empty());
}

#[test]
fn mixed_up_runs_break_no_rule() {
    for run in mixed_up::mixed_up() {
        document(&run);
    }
}

#[test]
fn the_last_turn_of_a_span_comes_after_the_tools_inside_it() {
    let mut build = Build::new();
    let agent = build.agent("a", None, 0, 90);
    let turn = build.step(Kind::Llm, "chat", Some(agent), 10, 10);
    let call = build.step(Kind::Llm, "chat", Some(agent), 10, 80);
    let tool = build.step(Kind::Tool, "weather", Some(call), 30, 40);
    let turn_id = build.run.steps.ids().nth(turn);
    build.run.steps[turn].observed = Observed::Messages;
    build.run.steps[tool].dispatched_by = turn_id;
    let placed = order::by_start(&build.run, |_| true);
    let places: Vec<usize> = placed.iter().map(|place| place.step.index()).collect();
    assert_eq!(places, [agent, turn, tool, call]);
    let last = placed.last().map(|place| (place.started_at, place.moved));
    assert_eq!(last, Some((ms(40), true)));
}
