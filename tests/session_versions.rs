//! Session files of versions that nothing recorded here has, after public files: each line in short.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use serde_json::{Value, json};

use crate::session_variations::{question, told_by};

/// The line of a rollout.
fn codex(kind: &str, payload: &Value) -> Value {
    json!({"timestamp": "2026-01-01T10:00:00.000Z", "type": kind, "payload": payload})
}

fn said(role: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": if role == "user" { "input_text" } else { "output_text" }, "text": text}]})
}

fn of_type<'d>(run: &'d Value, kind: &str) -> Vec<&'d Value> {
    let steps = run["steps"].as_array().expect("steps");
    steps.iter().filter(|step| step["step_type"] == kind).collect()
}

#[test]
fn the_prompt_of_a_codex_turn_is_told_in_one_event_or_the_other_or_in_none() {
    let environment = said("user", "<environment_context>\n  <cwd>/</cwd>\n</environment_context>");
    let prompt = said("user", "Which day?");
    let message = json!({"type": "user_message", "message": "Which day?", "images": []});
    let item =
        json!({"type": "item_completed", "item": {"type": "UserMessage", "id": "1", "content": [{"type": "text", "text": "Which day?"}]}});
    let begin = json!({"type": "task_started", "turn_id": "t1"});
    for told in [vec![&message], vec![&item], vec![&message, &item], vec![&item, &message], vec![]] {
        for begins in [true, false] {
            let mut lines = vec![codex("session_meta", &json!({"id": "t1", "cwd": "/", "cli_version": "0.128.0"}))];
            lines.extend(begins.then(|| codex("event_msg", &begin)));
            lines.extend([codex("response_item", &environment), codex("response_item", &prompt)]);
            lines.extend(told.iter().map(|event| codex("event_msg", event)));
            lines.push(codex("response_item", &said("assistant", "Monday.")));
            let runs = told_by("rollout.jsonl", &lines);
            let [run] = runs.as_slice() else { panic!("{runs:?}") };
            assert_eq!(question(run), "Which day?", "{told:?} {begins}");
            assert_eq!(of_type(run, "user_input").len(), 1, "{told:?} {begins}");
            let call = of_type(run, "llm_call")[0].to_string();
            assert_eq!(call.matches("Which day?").count(), 1, "{call}");
            assert!(call.find("environment_context") < call.find("Which day?"), "{call}");
        }
    }
}

#[test]
fn codex_before_its_envelope_and_tokens_before_their_call() {
    let lines = [
        json!({"id": "t1", "timestamp": "2025-09-01T10:00:00.000Z", "instructions": null}),
        json!({"record_type": "state"}),
        said("user", "Which day?"),
        json!({"type": "function_call", "name": "date", "arguments": "{}", "call_id": "c1"}),
        json!({"type": "function_call_output", "call_id": "c1", "output": "Exit code: 1\nWall time: 0 seconds\nOutput:\nno date"}),
        said("assistant", "I do not know."),
    ];
    let runs = told_by("rollout.jsonl", &lines);
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    assert_eq!((question(run), of_type(run, "llm_call").len()), ("Which day?", 2));
    assert_eq!(of_type(run, "tool_call")[0]["success"], false);

    let usage = |total: u64, last: u64| json!({"type": "token_count", "info": {"total_token_usage": {"input_tokens": total, "output_tokens": 1}, "last_token_usage": {"input_tokens": last, "output_tokens": 1}}});
    let lines = [
        codex("session_meta", &json!({"id": "t1", "cwd": "/", "cli_version": "0.39.0"})),
        codex("event_msg", &json!({"type": "user_message", "message": "Which day?"})),
        codex("event_msg", &usage(5, 5)),
        codex(
            "response_item",
            &json!({"type": "function_call", "name": "date", "arguments": "{}", "call_id": "c1"}),
        ),
        codex(
            "response_item",
            &json!({"type": "function_call_output", "call_id": "c1", "output": "Monday"}),
        ),
        codex("event_msg", &usage(12, 7)),
        codex("response_item", &said("assistant", "Monday.")),
    ];
    let runs = told_by("rollout.jsonl", &lines);
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    let tokens: Vec<&Value> = of_type(run, "llm_call").into_iter().map(|call| &call["tokens_in"]).collect();
    assert_eq!(tokens, [&json!(5), &json!(7)]);
}

#[test]
fn a_call_without_a_result_has_none() {
    let lines = [
        codex("session_meta", &json!({"id": "t1", "cwd": "/", "cli_version": "0.98.0"})),
        codex("event_msg", &json!({"type": "user_message", "message": "Which day?"})),
        codex(
            "response_item",
            &json!({"type": "function_call", "name": "date", "arguments": "{}", "call_id": "c1"}),
        ),
    ];
    let runs = told_by("rollout.jsonl", &lines);
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    assert!(of_type(run, "tool_call")[0]["output"].is_null(), "{run}");
    assert!(!run.to_string().contains("\"output\":true"), "{run}");
}

#[test]
fn the_first_form_of_pi_has_no_version() {
    let said = |role: &str, text: &str, at: u32| {
        json!({"type": "message", "timestamp": format!("2025-11-01T10:00:0{at}.000Z"), "message": {"role": role, "content": [{"type": "text", "text": text}],
            "stopReason": "stop", "usage": {"input": 3, "output": 2, "cacheRead": 0, "cacheWrite": 0}}})
    };
    let lines = [
        json!({"type": "session", "id": "s1", "timestamp": "2025-11-01T10:00:00.000Z", "cwd": "/", "provider": "anthropic", "modelId": "m", "thinkingLevel": "off"}),
        said("user", "Which day?", 1),
        said("assistant", "Saturday.", 2),
    ];
    let runs = told_by("pi.jsonl", &lines);
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    assert_eq!((question(run), &of_type(run, "llm_call")[0]["model"]), ("Which day?", &json!("m")));
}

#[test]
fn what_claude_code_prints_is_a_session() {
    let line = |kind: &str, agent: Value, content: Value| {
        json!({"type": kind, "session_id": "s1", "parent_tool_use_id": agent, "message": {"role": kind, "id": content.to_string(), "model": "m",
            "content": content, "usage": {"input_tokens": 3, "output_tokens": 2}}})
    };
    let asks = |id: &str, name: &str| json!([{"type": "tool_use", "id": id, "name": name, "input": {"prompt": "Look"}}]);
    let gives = |id: &str, text: &str| json!([{"type": "tool_result", "tool_use_id": id, "content": text}]);
    let lines = [
        json!({"type": "system", "subtype": "init", "session_id": "s1", "cwd": "/", "claude_code_version": "2.0.30", "tools": []}),
        line("assistant", json!(null), asks("c1", "Task")),
        line("user", json!("c1"), json!([{"type": "text", "text": "Look"}])),
        line("assistant", json!("c1"), asks("c2", "Bash")),
        line("user", json!("c1"), gives("c2", "a.txt")),
        line("user", json!(null), gives("c1", "There is a.txt")),
        line("assistant", json!(null), json!([{"type": "text", "text": "It is a.txt."}])),
        json!({"type": "result", "subtype": "success", "session_id": "s1", "result": "It is a.txt."}),
    ];
    let runs = told_by("printed.jsonl", &lines);
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    assert_eq!((of_type(run, "llm_call").len(), of_type(run, "tool_call").len()), (3, 2), "{run}");
    assert_eq!(of_type(run, "final_output")[0]["content"], "It is a.txt.");
}
