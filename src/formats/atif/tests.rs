//! Trajectories of runs of every shape.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests stop where data is not as expected")]

use serde_json::{Value, json};

use super::Atif;
use crate::formats::testing::{Build, mixed_up, samples, tokens, user};
use crate::formats::{Format, Loss, LossReason, Options};
use crate::operation::Part;
use crate::operation::message::Media;
use crate::run::Run;

fn with(run: &Run, subagents: &str) -> (Vec<Value>, Vec<Loss>) {
    let options = Options([("atif.subagents".to_owned(), subagents.to_owned())].into());
    let list = Atif::assemble(std::slice::from_ref(run), &options);
    let documents: Vec<Value> = list.iter().map(|one| serde_json::to_value(&one.document).unwrap()).collect();
    documents.iter().for_each(|document| follows_the_rules(document, subagents));
    (documents, list.into_iter().flat_map(|one| one.losses).collect())
}

fn one(run: &Run) -> (Value, Vec<Loss>) {
    let (mut list, losses) = with(run, "embed");
    assert_eq!(list.len(), 1);
    (list.remove(0), losses)
}

/// No key of the format's own is null.
fn no_nulls(object: &Value) {
    assert!(object.as_object().unwrap().values().all(|value| !value.is_null()), "{object}");
}

/// What the readers of the page refuse.
fn follows_the_rules(document: &Value, subagents: &str) {
    no_nulls(document);
    let has_sound = document.to_string().contains("\"type\":\"audio\"");
    assert_eq!(document["schema_version"], if has_sound { "ATIF-v1.8" } else { "ATIF-v1.7" });
    for key in ["name", "version"] {
        assert_ne!(document["agent"][key].as_str().unwrap(), "");
    }
    let steps = document["steps"].as_array().unwrap();
    assert!(!steps.is_empty());
    assert_eq!(document["final_metrics"]["total_steps"], steps.len());
    let embedded: Vec<&str> = document["subagent_trajectories"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|inner| {
            follows_the_rules(inner, subagents);
            inner["trajectory_id"].as_str().unwrap()
        })
        .collect();
    for (step, number) in steps.iter().zip(1..) {
        no_nulls(step);
        assert_eq!(step["step_id"], number);
        assert_eq!(step["timestamp"].as_str().unwrap().len(), "2026-01-01T10:00:00.000000Z".len());
        let is_agent = step["source"] == "agent";
        for key in [
            "reasoning_content",
            "model_name",
            "tool_calls",
            "metrics",
            "observation",
            "llm_call_count",
        ] {
            assert!(is_agent || step.get(key).is_none(), "{key} of {step}");
        }
        assert_eq!(step.get("metrics").is_some(), step["llm_call_count"] == 1, "{step}");
        let calls: Vec<&str> = step["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|call| {
                assert!(call["arguments"].is_object());
                call["tool_call_id"].as_str().unwrap()
            })
            .collect();
        for (at, id) in calls.iter().enumerate() {
            assert!(!calls[..at].contains(id), "{id} twice");
        }
        for result in step["observation"]["results"].as_array().into_iter().flatten() {
            assert!(calls.contains(&result["source_call_id"].as_str().unwrap()) && result["content"].is_string());
            for reference in result["subagent_trajectory_ref"].as_array().into_iter().flatten() {
                let id = reference["trajectory_id"].as_str().unwrap();
                assert_eq!(embedded.contains(&id), reference.get("trajectory_path").is_none(), "{id}");
                assert_ne!(subagents, "inline");
            }
        }
        for part in step["message"].as_array().into_iter().flatten() {
            let path = part["source"]["path"].as_str();
            assert!(path.is_none_or(|path| !path.starts_with("data:")), "{path:?}");
            assert_eq!(path.is_none(), part["type"] == "text");
        }
    }
}

/// Source and words, or the names of the called tools.
fn written(document: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let steps = document["steps"].as_array().unwrap().iter();
    steps
        .map(|step| {
            let calls = step["tool_calls"].as_array().into_iter().flatten();
            let names: Vec<String> = calls.map(|call| text(&call["function_name"])).collect();
            format!("{}: {}{}", text(&step["source"]), text(&step["message"]), names.join("+"))
        })
        .collect()
}

#[test]
fn trajectories_hold_the_rules_whatever_the_run() {
    for run in samples::samples().into_iter().map(|(_, run)| run).chain(mixed_up::mixed_up()) {
        for subagents in ["embed", "files", "inline"] {
            let _ = with(&run, subagents);
        }
    }
}

#[test]
fn a_step_is_a_model_call_with_its_results() {
    let (document, losses) = one(&samples::trip_planner());
    let step = document["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|step| step.get("tool_calls").is_some())
        .unwrap();
    assert_eq!(
        step["tool_calls"].as_array().unwrap().len(),
        step["observation"]["results"].as_array().unwrap().len()
    );
    assert_eq!(
        (&step["metrics"]["prompt_tokens"], &step["llm_call_count"]),
        (&json!(82), &json!(1))
    );
    assert_eq!(step["reasoning_content"], "Both calls are independent.");
    let failed = &step["observation"]["results"][1]["extra"];
    assert_eq!(
        (&failed["is_error"], &failed["error"]["message"]),
        (&json!(true), &json!("timeout after 1000 ms"))
    );
    let invocation = step["extra"]["invocation"].as_object().unwrap();
    assert!(invocation["start_timestamp"].as_f64() < invocation["end_timestamp"].as_f64());
    assert_eq!(document["final_metrics"]["total_prompt_tokens"], 232);
    assert_eq!(losses, []);
}

#[test]
fn sub_agents_in_three_ways() {
    let run = samples::sub_agents();
    let (document, _) = one(&run);
    let inner = &document["subagent_trajectories"][0];
    assert_eq!(inner["agent"]["name"], "weather");
    assert_eq!(inner["subagent_trajectories"][0]["agent"]["name"], "archive");
    let reference = &document["steps"][1]["observation"]["results"][0]["subagent_trajectory_ref"][0];
    assert_eq!(reference["trajectory_id"], inner["trajectory_id"]);
    let (files, _) = with(&run, "files");
    let names: Vec<&str> = files.iter().map(|file| file["agent"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["boss", "weather", "archive"]);
    let path = &files[1]["steps"][1]["observation"]["results"][0]["subagent_trajectory_ref"][0]["trajectory_path"];
    assert_eq!(path, &format!("{}.3.atif.json", run.trace_id));
    let (inline, _) = with(&run, "inline");
    assert_eq!(inline.len(), 1);
    let agents: Vec<&Value> = inline[0]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["extra"]["agent"])
        .collect();
    assert!(agents.contains(&&json!("archive")) && agents[0].is_null());
}

#[test]
fn work_that_no_model_asked_for() {
    let (document, _) = one(&samples::searches());
    let said = written(&document);
    assert!(said.contains(&"agent: retrieve".to_owned()), "{said:?}");
    let step = document["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|step| step["llm_call_count"] == 0)
        .unwrap();
    assert!(step.get("metrics").is_none());
    let (document, losses) = one(&samples::only_agent());
    assert_eq!(written(&document), ["user: {\"city\":\"Rome\"}", "agent: weather", "agent: Sunny"]);
    assert!(
        losses
            .iter()
            .any(|loss| loss.what == "agent.version" && loss.reason == LossReason::Synthesized)
    );
}

#[test]
fn rewards_errors_and_choices_stand_in_extra() {
    let (document, _) = one(&samples::controls());
    let text = document.to_string();
    assert!(
        text.contains("\"reward\":0.5") && text.contains("\"evaluations\":[{\"name\":\"quality\""),
        "{text}"
    );
    let (document, _) = one(&samples::failed_model());
    assert_eq!(document["steps"][1]["extra"]["error"]["type"], "RateLimitError");
    assert_eq!(document["steps"][1]["metrics"], json!({}));
    assert!(document["steps"][2]["extra"]["choices"].is_array());
    let (document, _) = one(&samples::retries());
    assert_eq!(
        document["steps"][1]["observation"]["results"][0]["extra"]["earlier_results"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_person_says_a_thing_once() {
    let (document, _) = one(&samples::people());
    let said = written(&document);
    assert_eq!(said.iter().filter(|said| said.ends_with("Where?")).count(), 1, "{said:?}");
    assert!(said.contains(&"user: Quick!".to_owned()), "{said:?}");
}

#[test]
fn an_image_is_a_part_only_where_it_has_a_url() {
    let (document, losses) = one(&samples::media());
    let asked = document["steps"][0]["message"].as_str().unwrap();
    assert!(asked.contains("[image") && !asked.contains("citation"), "{asked}");
    assert!(
        losses.iter().any(|loss| loss.reason == LossReason::NoPlace),
        "of the part that is left out"
    );
    let mut build = Build::new();
    let root = build.agent("eye", None, 0, 1000);
    let mut asked = user("What is this?");
    for uri in ["https://example.com/a.png?x=1", "data:image/png;base64,AAAA"] {
        asked.parts.push(Part::from(Media {
            modality: "image".to_owned(),
            uri: Some(uri.to_owned()),
            ..Media::default()
        }));
    }
    let call = build.llm(root, 10, 20, &[asked], Some(user("A dot.")));
    build.op(call).usage = tokens(1, 2, 3);
    let (document, _) = one(&build.run);
    assert_eq!(document["schema_version"], "ATIF-v1.7");
    let parts = document["steps"][0]["message"].as_array().unwrap();
    assert_eq!(
        parts[1]["source"],
        json!({"media_type": "image/png", "path": "https://example.com/a.png?x=1"})
    );
    assert_eq!(parts[2], json!({"type": "text", "text": "[image image/png]"}));
}

fn media(modality: &str, uri: &str) -> Part {
    Part::from(Media {
        modality: modality.to_owned(),
        uri: Some(uri.to_owned()),
        ..Media::default()
    })
}

#[test]
fn inline_media_are_files_where_asked_and_sounds_need_the_later_version() {
    let mut build = Build::new();
    let root = build.agent("eye", None, 0, 1000);
    let mut asked = user("See and hear.");
    asked.parts.push(media("image", "data:image/png;base64,AAAA"));
    asked.parts.push(media("image", "data:image/png;base64,???"));
    asked.parts.push(media("audio", "https://example.com/a.mp3"));
    build.llm(root, 10, 20, &[asked], Some(user("A dot.")));
    let options = Options([("atif.media".to_owned(), "files".to_owned())].into());
    let list = Atif::assemble(std::slice::from_ref(&build.run), &options);
    let document = serde_json::to_value(&list[0].document).unwrap();
    follows_the_rules(&document, "embed");
    assert_eq!(document["schema_version"], "ATIF-v1.8");
    let parts = document["steps"][0]["message"].as_array().unwrap();
    let files = (Atif::BESIDE.unwrap().of)(std::slice::from_ref(&build.run));
    let (name, bytes) = files.first_key_value().unwrap();
    assert_eq!((files.len(), bytes.as_slice()), (1, [0_u8; 3].as_slice()));
    assert_eq!(parts[1]["source"], json!({"media_type": "image/png", "path": name}));
    assert_eq!(parts[2], json!({"type": "text", "text": "[image image/png]"}));
    let sound = json!({"media_type": "audio/mpeg", "path": "https://example.com/a.mp3"});
    assert_eq!(parts[3], json!({"type": "audio", "source": sound}));
    assert!(list[0].losses.iter().any(|loss| loss.reason == LossReason::Coerced));
}
