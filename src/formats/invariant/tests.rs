//! Documents of runs of every shape.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests stop where data is not as expected")]

use serde_json::{Value, json};

use super::Invariant;
use crate::formats::testing::{mixed_up, samples, span};
use crate::formats::{Format, Loss, LossReason, Options};
use crate::run::{EntryKind, Id, Run, StepId};

fn events(run: &Run) -> (Value, Vec<Loss>) {
    let (mut list, losses) = with(run, &[]);
    let events = list.pop().unwrap();
    follows_the_rules(&events);
    (events, losses)
}

fn with(run: &Run, options: &[(&str, &str)]) -> (Vec<Value>, Vec<Loss>) {
    let options = Options(
        options
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
    );
    let list = Invariant::assemble(std::slice::from_ref(run), &options);
    let losses = list.iter().flat_map(|one| one.losses.clone()).collect();
    (
        list.iter().map(|one| serde_json::to_value(&one.document).unwrap()).collect(),
        losses,
    )
}

fn follows_the_rules(events: &Value) {
    let (mut calls, mut outputs): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for event in events.as_array().unwrap() {
        assert!(event.get("metadata").is_none_or(Value::is_object));
        for call in event["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap();
            assert!(!calls.contains(&id), "{id} is called twice");
            assert!(call["function"]["arguments"].is_object());
            calls.push(id);
        }
        if event["role"] == "tool" {
            let id = event["tool_call_id"].as_str().unwrap();
            assert!(calls.contains(&id) && !outputs.contains(&id), "output of {id}");
            assert!(event["content"].is_string());
            outputs.push(id);
        }
        if let Some(inner) = event["metadata"].get("subagent") {
            follows_the_rules(&inner["events"]);
        }
    }
}

/// Role and content, or the names of the called tools.
fn written(events: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    events
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            let calls = event["tool_calls"].as_array().into_iter().flatten();
            let names: Vec<String> = calls.map(|call| text(&call["function"]["name"])).collect();
            let said = if names.is_empty() {
                text(&event["content"])
            } else {
                names.join("+")
            };
            (text(&event["role"]), said)
        })
        .collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(role, said)| ((*role).to_owned(), (*said).to_owned())).collect()
}

#[test]
fn the_example_of_the_page() {
    let (events, losses) = events(&samples::trip_planner());
    let mut example: Value = serde_json::from_str(include_str!("example.json")).unwrap();
    // Other facts of the spans are in the metadata.
    for (at, latency, input, output) in [(2, 1200, 82, 41), (5, 650, 150, 33)] {
        let metadata = &mut example[at]["metadata"];
        metadata["span_name"] = "ChatOpenAI".into();
        metadata["model"] = "gpt-4o".into();
        metadata["provider"] = "openai".into();
        metadata["usage"] = json!({"input": input, "output": output, "total": input + output});
        metadata["prompt"] = json!({"id": "planner"});
        metadata["latency_ms"] = latency.into();
    }
    example[3]["metadata"]["latency_ms"] = 500.into();
    example[4]["metadata"]["latency_ms"] = 1000.into();
    example[4]["metadata"]["error_type"] = "timeout".into();
    assert_eq!(events, example);
    assert!(
        losses
            .iter()
            .all(|loss| loss.reason == LossReason::NoPlace && loss.what.starts_with("metadata."))
    );
}

#[test]
fn called_agents_speak_inside_the_output() {
    let run = samples::sub_agents();
    let (events, _) = events(&run);
    assert_eq!(events.as_array().unwrap().len(), 4);
    let inner = &events[2]["metadata"]["subagent"];
    assert_eq!(
        (&inner["agent"], &inner["span_id"]),
        (&json!("weather"), &json!(span(3).to_string()))
    );
    assert_eq!(inner["events"].as_array().unwrap().len(), 4);
    let deepest = &inner["events"][2]["metadata"]["subagent"];
    assert_eq!(deepest["events"][1]["content"], "-3 in January");

    let (own, _) = with(&run, &[("invariant.subagents", "own")]);
    assert_eq!(own.len(), 3);
    assert!(own.iter().all(|list| list.to_string().matches("\"events\"").count() == 0));
}

#[test]
fn an_agent_whose_tool_is_told_nowhere_speaks_at_the_end() {
    let mut run = samples::sub_agents();
    run.scopes[1].called_by = Some(StepId::new(99));
    let (events, _) = events(&run);
    let said: Vec<String> = written(&events).into_iter().map(|(_, said)| said).collect();
    assert!(said.contains(&"cold, -3".to_owned()), "{said:?}");
}

#[test]
fn one_call_has_one_output() {
    let (events, losses) = events(&samples::retries());
    let output = &events[3];
    assert_eq!(output["content"], "page a");
    let earlier: Vec<&Value> = output["metadata"]["earlier_results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| &result["content"])
        .collect();
    assert_eq!(earlier, ["Error: refused", "Error: refused again"]);
    assert_eq!(events[2]["metadata"]["repeated_calls"], json!(["call_a"]));
    assert_eq!(events[4]["tool_calls"][0]["id"], "call_a:2");
    assert_eq!(
        (&events[5]["tool_call_id"], &events[5]["content"]),
        (&json!("call_a:2"), &json!("page b"))
    );
    assert!(
        losses
            .iter()
            .any(|loss| loss.what == "tool_calls[call_a].id" && loss.reason == LossReason::Coerced)
    );
}

#[test]
fn arguments_are_objects_and_outputs_text() {
    let (events, losses) = events(&samples::odd_arguments());
    let calls = &events[1]["tool_calls"];
    assert_eq!(calls[0]["function"]["arguments"], json!({"input": "bare"}));
    assert_eq!(calls[3]["function"]["arguments"], json!({}));
    assert_eq!(
        calls[2]["id"], events[4]["tool_call_id"],
        "a call without an id has the one of its output"
    );
    let outputs: Vec<&Value> = (2..6).map(|at| &events[at]["content"]).collect();
    assert_eq!(outputs, ["[1,\"two\",null]", "", "0.5", "false"]);
    let stray = json!([{"tool_call_id": "nobody", "content": "stray"}]);
    assert_eq!(
        events[5]["metadata"]["results_without_call"], stray,
        "neither its call nor its tool is known"
    );
    assert!(
        losses
            .iter()
            .any(|loss| loss.what.starts_with("tool output nobody") && loss.reason == LossReason::NoPlace)
    );
}

#[test]
fn searches_stand_where_they_serve() {
    let (events, _) = events(&samples::searches());
    let order: Vec<(String, String)> = written(&events).into_iter().filter(|(role, _)| role != "tool").collect();
    let expected = [
        ("user", "What do otters do?"),
        ("assistant", "search_memory"),
        ("assistant", "retrieve"),
        ("assistant", "rerank"),
        ("assistant", "lookup"),
        ("assistant", "retrieve"),
        ("assistant", "upsert_memory"),
        ("assistant", "They swim, eat and sleep."),
    ];
    assert_eq!(order, pairs(&expected));
    let lookup = events
        .as_array()
        .unwrap()
        .iter()
        .find(|event| event["content"] == "They sleep.")
        .unwrap();
    assert_eq!(lookup["metadata"]["operations"][0]["output"][0]["content"], "Otters sleep.");
}

#[test]
fn people_and_controls() {
    let (events, _) = events(&samples::controls());
    let expected = [
        ("user", "Refund me"),
        ("assistant", "I hand you over."),
        ("assistant", "handoff"),
        ("tool", "refunds"),
        ("user", "yes"),
        ("user", "Still there?"),
        ("assistant", "Refunded."),
    ];
    assert_eq!(written(&events), pairs(&expected));
    assert_eq!(events[0]["metadata"]["operations"][0]["kind"], "guardrail");
    assert_eq!(events[4]["metadata"]["interrupt"]["prompt"], "Refund 10?");
}

#[test]
fn conversations_follow_one_another() {
    let (events, _) = events(&samples::top_level());
    let said: Vec<String> = written(&events).into_iter().map(|(_, said)| said).collect();
    assert_eq!(
        said,
        ["First?", "One.", "And then?", "One more.", "Old?", "Old.", "Second?", "Two."]
    );
}

#[test]
fn a_running_tool_has_no_output_yet() {
    let (events, _) = events(&samples::running());
    assert_eq!(written(&events), pairs(&[("user", "Sleep."), ("assistant", "sleep")]));
}

#[test]
fn an_output_that_no_entry_tells_of_answers_its_call() {
    let mut run = samples::trip_planner();
    run.scopes[0]
        .conversation
        .retain(|entry| !matches!(entry.kind, EntryKind::Result(_)));
    let (events, _) = events(&run);
    let (example, _) = self::events(&samples::trip_planner());
    assert_eq!(written(&events), written(&example));
}

#[test]
fn words_of_an_agent_alone() {
    let (events, losses) = events(&samples::only_agent());
    let expected = [
        ("user", "{\"city\":\"Rome\"}"),
        ("assistant", "weather"),
        ("tool", "{\"sky\":\"clear\"}"),
        ("assistant", "Sunny"),
    ];
    assert_eq!(written(&events), pairs(&expected));
    assert_eq!(events[1]["metadata"]["synthesized"], "call");
    assert!(losses.iter().any(|loss| loss.reason == LossReason::Synthesized));
}

#[test]
fn other_parts_become_marked_text() {
    let (events, losses) = events(&samples::media());
    let parts = &events[0]["content"];
    assert_eq!(parts[1]["image_url"]["url"], "data:image/png;base64,AAAA");
    assert_eq!(parts[2], json!({"type": "text", "text": "[audio audio/wav]"}));
    assert_eq!(parts[3], json!({"type": "text", "text": "[part] {\"type\":\"citation\",\"n\":1}"}));
    assert_eq!(events[0]["metadata"]["parts"][0]["type"], "audio");
    assert!(losses.iter().any(|loss| loss.reason == LossReason::Coerced));
}

#[test]
fn a_model_call_without_words_took_place() {
    let (events, _) = events(&samples::no_content());
    assert_eq!(events[0]["content"], Value::Null);
    assert_eq!(events[0]["metadata"]["content_captured"], false);
    let (events, _) = self::events(&samples::failed_model());
    assert_eq!(
        written(&events),
        pairs(&[("user", "Hello?"), ("assistant", "null"), ("assistant", "Hello!")])
    );
    assert_eq!(events[1]["metadata"]["error"], "429 slow down");
}

#[test]
fn people_say_it_once() {
    let (events, _) = events(&samples::people());
    let expected = [
        ("user", "Where?"),
        ("user", "Quick!"),
        ("assistant", "Here."),
        ("assistant", "It is here."),
    ];
    assert_eq!(written(&events), pairs(&expected));
    assert!(events.to_string().contains("Sure?"));
}

#[test]
fn depth_has_a_bound_and_nothing_is_lost() {
    let (events, _) = events(&samples::deep());
    let text = events.to_string();
    assert!(serde_json::from_str::<Value>(&text).is_ok());
    for level in 0..40 {
        assert_eq!(text.matches(&format!("\"Level {level}?\"")).count(), 1);
    }
    assert!(text.contains("The last."));
}

#[test]
fn options() {
    let run = samples::trip_planner();
    let (rows, losses) = with(&samples::controls(), &[("invariant.container", "jsonl")]);
    assert_eq!(rows[0]["metadata"]["session_id"], "s-1");
    let annotations = rows[0]["annotations"].as_array().unwrap();
    assert_eq!(annotations[0]["content"], "reward: 0.5");
    assert_eq!(annotations[0]["address"], "messages[1]");
    assert_eq!(annotations[1]["content"], "quality: 0.8: good. polite");
    assert!(losses.iter().all(|loss| loss.reason != LossReason::NoPlace));

    let (push, _) = with(&run, &[("invariant.container", "push"), ("invariant.dataset", "trips")]);
    assert_eq!(push[0]["messages"].as_array().unwrap().len(), 1);
    assert_eq!((&push[0]["dataset"], &push[0]["annotations"]), (&json!("trips"), &Value::Null));

    let (plain, _) = with(&run, &[("invariant.reasoning", "prepend")]);
    assert_eq!(plain[0][2]["content"], "Both calls are independent.");

    let mut run = run;
    run.steps[1].operation.tool_definitions.push(crate::operation::ToolDefinition {
        name: "get_weather".to_owned(),
        ..Default::default()
    });
    let (plain, _) = with(&run, &[("invariant.tools", "event")]);
    assert_eq!(plain[0][0]["tools"][0]["inputSchema"]["type"], "object");
    assert_eq!(plain[0].as_array().unwrap().len(), 7);
    let (plain, _) = with(&run, &[]);
    assert_eq!(plain[0][2]["metadata"]["tool_definitions"][0]["name"], "get_weather");
}

#[test]
fn mixed_up_runs_break_no_rule() {
    for run in mixed_up::mixed_up() {
        for list in with(&run, &[]).0 {
            follows_the_rules(&list);
        }
    }
}

#[test]
fn lists_one_a_line_are_traces_and_not_explorers_rows() {
    let said = r#"[{"role":"assistant","content":"Six.","metadata":{"span_id":"00f067aa0ba902b7"}}]"#;
    let violations = |text: &str| {
        let format = crate::formats::by_id("invariant");
        let checked = crate::formats::check(format, text, &Options::default());
        checked.expect("a document").violations.len()
    };
    assert_eq!(violations(&format!("{said}\n{said}\n")), 0);
    assert_eq!(
        violations(&format!("{{\"metadata\":{{}}}}\n{said}\n{said}\n")),
        2,
        "Explorer drops the first event of both"
    );
}
