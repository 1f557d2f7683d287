//! Episodes of runs of every shape.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests stop where data is not as expected")]

use serde_json::{Value, json};

use super::Verifiers;
use crate::formats::check::{JsonPath, Violations};
use crate::formats::testing::{Build, assistant, call, calling, mixed_up, samples, user};
use crate::formats::{Format, Loss, LossReason, Options};
use crate::operation::message::Media;
use crate::operation::{Evaluation, Part, TokenCount};
use crate::run::{EntryKind, Run};

fn one(run: &Run) -> (Value, Vec<Loss>) {
    let options = Options::default();
    let mut list = Verifiers::assemble(std::slice::from_ref(run), &options);
    assert_eq!(list.len(), 1);
    let one = list.remove(0);
    let episode = serde_json::to_value(&one.document).unwrap();
    let mut found = Violations::default();
    Verifiers::check(&[(JsonPath::of_document(None), &episode)], &options, &mut found);
    assert!(found.is_empty(), "{found:?}\n{episode:#}");
    (episode["traces"][0].clone(), one.losses)
}

/// The words of the messages up to a node.
fn path(trace: &Value, node: usize) -> Vec<String> {
    let node = &trace["nodes"][node];
    let before = node["parent"].as_u64().map(|parent| path(trace, usize::try_from(parent).unwrap()));
    let mut path = before.unwrap_or_default();
    path.push(node["message"]["content"].as_str().unwrap_or_default().to_owned());
    path
}

fn has(losses: &[Loss], what: &str, reason: LossReason) -> bool {
    losses.iter().any(|loss| loss.what == what && loss.reason == reason)
}

#[test]
fn episodes_hold_the_rules_whatever_the_run() {
    for run in samples::samples().into_iter().map(|(_, run)| run).chain(mixed_up::mixed_up()) {
        if run.has_agent_work() {
            one(&run);
        }
    }
}

#[test]
fn a_sub_agent_is_a_root_of_its_own() {
    let (trace, _) = one(&samples::sub_agents());
    assert_eq!(path(&trace, 3), ["Weather in Oslo?", "", "cold", "It is cold in Oslo."]);
    let roots: Vec<usize> = (0..10)
        .filter(|at| trace["nodes"][at].is_object() && trace["nodes"][at].get("parent").is_none())
        .collect();
    assert_eq!(roots, [0, 4, 8]);
    assert_eq!(
        trace["nodes"][2]["semantic_parents"],
        json!([{"node": 7, "type": "subagent_return"}])
    );
    assert_eq!(trace["root_reply"], "It is cold in Oslo.");
    assert_eq!(trace["info"]["agents"][1]["first_node"], 4);
}

#[test]
fn arguments_are_text_of_objects() {
    let (trace, losses) = one(&samples::odd_arguments());
    let arguments = |at: usize| trace["nodes"][1]["message"]["tool_calls"][at]["arguments"].clone();
    assert_eq!(arguments(0), "{\"input\":\"bare\"}");
    assert_eq!(arguments(1), "{\"input\":[1,2]}");
    assert!(has(&losses, "tool_calls[a].arguments", LossReason::Coerced), "{losses:?}");
    let mut build = Build::new();
    let root = build.agent("a", None, 0, 9000);
    let mut own = call("c1", "look", json!({"a": 1, "b": 2}));
    own.arguments_text = Some("{ \"b\": 2, \"a\": 1 }".to_owned());
    build.llm(root, 10, 20, &[user("Hi")], Some(calling(vec![own])));
    let (trace, _) = one(&build.run);
    let arguments = &trace["nodes"][1]["message"]["tool_calls"][0]["arguments"];
    assert_eq!(*arguments, "{ \"b\": 2, \"a\": 1 }");
}

#[test]
fn an_edited_history_is_a_branch() {
    let mut build = Build::new();
    let root = build.agent("a", None, 0, 9000);
    build.llm(
        root,
        10,
        20,
        &[user("One"), assistant("Two"), user("Three")],
        Some(assistant("Four")),
    );
    let second = build.llm(root, 30, 40, &[], Some(assistant("Six")));
    build.op(second).input_messages = Some(vec![user("One"), assistant("Two"), user("Five")].into());
    let at = build.run.scopes[0].conversation.len() - 1;
    build.entry(0, EntryKind::Message(user("Five")), Some(second), 30);
    build.run.scopes[0].conversation.swap(at, at + 1);
    build.run.scopes[0].conversation[at].branch = true;
    let (trace, losses) = one(&build.run);
    assert_eq!(path(&trace, 3), ["One", "Two", "Three", "Four"]);
    assert_eq!(path(&trace, 5), ["One", "Two", "Five", "Six"]);
    let sampled: Vec<bool> = (0..6).map(|at| trace["nodes"][at]["sampled"].as_bool().unwrap()).collect();
    assert_eq!(sampled, [false, false, false, true, false, true]);
    assert!(losses.iter().all(|loss| loss.reason != LossReason::Ambiguous), "{losses:?}");
    // Where nothing is shared it goes on.
    build.op(second).input_messages = Some(vec![user("Five")].into());
    let (trace, losses) = one(&build.run);
    assert_eq!(path(&trace, 5).len(), 6);
    assert!(losses.iter().any(|loss| loss.reason == LossReason::Ambiguous));
}

#[test]
fn tokens_follow_one_another() {
    let mut build = Build::new();
    let root = build.agent("a", None, 0, 9000);
    let first = build.llm(root, 10, 20, &[user("Hi")], Some(assistant("Hello.")));
    let second = build.llm(root, 30, 40, &[user("And?")], Some(assistant("Bye.")));
    let third = build.llm(root, 50, 60, &[user("So?")], Some(assistant("End.")));
    for (step, prompt, completion) in [
        (first, json!([1, 2]), json!([3])),
        (second, json!([1, 2, 3, 4]), json!([5, 6])),
        (third, json!([9]), json!([7])),
    ] {
        build.op(step).training.prompt_token_ids = Some(prompt);
        build.op(step).training.completion_token_ids = Some(completion);
    }
    build.op(first).training.logprobs = Some(json!([{"token": "x", "logprob": -0.5}]));
    let (trace, losses) = one(&build.run);
    let node = &trace["nodes"][1];
    assert_eq!(
        (&node["token_ids"], &node["mask"]),
        (&json!([1, 2, 3]), &json!([false, false, true]))
    );
    assert_eq!(node["logprobs"], json!([-0.5]));
    assert_eq!(trace["nodes"][3]["token_ids"], json!([4, 5, 6]));
    assert!(trace["nodes"][5].get("token_ids").is_none());
    assert_eq!(trace["info"]["model_calls"][2]["prompt_token_ids"], json!([9]));
    assert!(
        has(&losses, "token_ids: the prompt is no continuation", LossReason::NoPlace),
        "{losses:?}"
    );
}

#[test]
fn what_a_model_call_cost_and_what_it_was_worth() {
    let mut build = Build::new();
    let root = build.agent("a", None, 0, 9000);
    let call = build.llm(root, 10, 20, &[user("Hi")], Some(assistant("Hello.")));
    let operation = build.op(call);
    operation.usage = TokenCount {
        input: Some(10),
        output: Some(5),
        cache_read: Some(4),
        ..TokenCount::default()
    };
    operation.finish_reason = Some("content_filter".to_owned());
    operation.training.reward = Some(0.25);
    operation.evaluations = vec![Evaluation {
        name: Some("good".to_owned()),
        score: Some(1.0),
        ..Evaluation::default()
    }];
    let (trace, _) = one(&build.run);
    let written = &trace["calls"][0];
    assert_eq!(
        written["usage"],
        json!({"prompt_tokens": 6, "completion_tokens": 5, "cached_input_tokens": 4})
    );
    assert!(written.get("finish_reason").is_none());
    assert_eq!(trace["info"]["model_calls"][0]["finish_reason"], "content_filter");
    assert_eq!(trace["rewards"], json!({"reward": {"score": 0.25, "weight": 1.0}}));
    assert_eq!(trace["metrics"], json!({"good": 1.0}));
}

#[test]
fn pictures_of_people_are_parts() {
    let mut build = Build::new();
    let root = build.agent("eye", None, 0, 1000);
    let media = |modality: &str| {
        Part::from(Media {
            modality: modality.to_owned(),
            uri: Some("https://example.com/a".to_owned()),
            ..Media::default()
        })
    };
    let mut asked = user("What is this?");
    asked.parts.extend([media("image"), media("audio")]);
    let mut answer = assistant("This:");
    answer.parts.push(media("image"));
    build.llm(root, 10, 20, &[asked], Some(answer));
    let (trace, losses) = one(&build.run);
    let content = &trace["nodes"][0]["message"]["content"];
    assert_eq!(
        content[1],
        json!({"type": "image_url", "image_url": {"url": "https://example.com/a"}})
    );
    assert_eq!(content[2]["type"], "text");
    assert_eq!(trace["nodes"][1]["message"]["content"], "This:\n[image https://example.com/a]");
    assert_eq!(losses.iter().filter(|loss| loss.reason == LossReason::Coerced).count(), 2);
}

#[test]
fn work_that_no_model_asked_for_is_information() {
    let (trace, _) = one(&samples::searches());
    assert!(trace["info"]["operations"].to_string().contains("\"kind\":\"retrieval\""));
    let (trace, _) = one(&samples::retries());
    let earlier: Vec<&Value> = trace["info"]["results"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|result| result.get("content").is_some())
        .collect();
    assert_eq!((earlier.len(), &earlier[0]["error"]["message"]), (1, &json!("refused")));
}
