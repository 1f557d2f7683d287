//! Log records of coding agents, and spans within spans, which become runs.

use std::fs;

use serde_json::{Value, json};

use crate::measure::{Work, all_grow_evenly};

/// One file, which is converted.
fn convert_grows_evenly(make: impl Fn(u64) -> String + Sync) {
    all_grow_evenly(|count| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("in.json");
        fs::write(&path, make(count)).unwrap();
        let arguments = ["convert", "--to", "messages", path.to_str().unwrap()];
        vec![Work::of_command("convert".to_owned(), &arguments, 0)]
    });
}

const BEGIN: u64 = 1_795_615_875_000_000_000;

fn record(at: u64, name: &str, attributes: &Value) -> Value {
    let pairs = attributes.as_object().unwrap().iter();
    let mut list: Vec<Value> = pairs
        .map(|(key, value)| json!({"key": key, "value": {"stringValue": value.as_str().unwrap()}}))
        .collect();
    list.push(json!({"key": "event.name", "value": {"stringValue": name}}));
    json!({"timeUnixNano": (BEGIN + at * 1_000_000).to_string(), "attributes": list})
}

fn records(list: impl Iterator<Item = Value>) -> String {
    json!({"resourceLogs": [{"scopeLogs": [{"logRecords": list.collect::<Vec<_>>()}]}]}).to_string()
}

fn claude(at: u64, name: &str, attributes: Value) -> Value {
    let mut attributes = attributes;
    attributes["session.id"] = "s".into();
    record(at, &format!("claude_code.{name}"), &attributes)
}

#[test]
fn records_of_claude_code_that_name_their_calls() {
    convert_grows_evenly(|count| {
        records((0..count).flat_map(|number| {
            let (at, id) = (number * 10, format!("r{number}"));
            [
                claude(
                    at,
                    "user_prompt",
                    json!({"prompt": format!("q{number}"), "prompt.id": format!("p{number}")}),
                ),
                claude(
                    at + 4,
                    "api_request",
                    json!({"model": "m", "request_id": id, "input_tokens": "9", "output_tokens": "2", "duration_ms": "3"}),
                ),
                claude(at + 5, "assistant_response", json!({"response": "a", "request_id": id})),
                claude(
                    at + 7,
                    "tool_result",
                    json!({"tool_name": "Bash", "tool_use_id": format!("t{number}"), "request_id": id, "success": "true"}),
                ),
            ]
        }))
    });
}

/// Many calls of one source at one time, with whole requests and answers.
#[test]
fn whole_requests_of_claude_code() {
    convert_grows_evenly(|count| {
        records((0..count).flat_map(|number| {
            let (at, id) = (number, format!("r{number}"));
            let asked = json!({"model": "m", "messages": [{"role": "user", "content": format!("q{number}")}]});
            let said = json!({"content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn"});
            [
                claude(at, "api_request_body", json!({"body": asked.to_string(), "query_source": "main"})),
                claude(
                    at + 1_000,
                    "api_request",
                    json!({"model": "m", "request_id": id, "query_source": "main", "duration_ms": "1000"}),
                ),
                claude(
                    at + 1_000,
                    "api_response_body",
                    json!({"body": said.to_string(), "request_id": id, "query_source": "main"}),
                ),
                claude(at + 1_000, "assistant_response", json!({"response": "a", "request_id": id})),
            ]
        }))
    });
}

#[test]
fn tools_of_many_agents_at_one_instant() {
    convert_grows_evenly(|count| {
        let prompt = std::iter::once(claude(0, "user_prompt", json!({"prompt": "q"})));
        let calls = (0..count).map(|number| {
            claude(
                5,
                "api_request",
                json!({"model": "m", "agent_id": format!("a{number}"), "duration_ms": "3"}),
            )
        });
        let tools = (0..count).map(|_| claude(9, "tool_result", json!({"tool_name": "Bash", "success": "true", "agent_id": "a0"})));
        let agents = (0..count).map(|number| {
            claude(
                9,
                "subagent_completed",
                json!({"agent_id": format!("a{number}"), "agent_type": "x"}),
            )
        });
        let started = (0..count).map(|number| claude(9, "tool_result", json!({"tool_name": "Agent", "tool_use_id": format!("c{number}")})));
        records(prompt.chain(calls).chain(tools).chain(agents).chain(started))
    });
}

#[test]
fn records_of_gemini_cli_with_each_request_whole() {
    convert_grows_evenly(|count| {
        records((0..count).flat_map(|number| {
            let at = number * 10;
            let given =
                json!([{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": number.to_string()}}}]}]);
            let said = json!([{"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": {"n": number}}}]}}]}]);
            let with = |mut attributes: Value| {
                attributes["session.id"] = "s".into();
                attributes["prompt_id"] = "p########0".into();
                attributes
            };
            [
                record(
                    at,
                    "gemini_cli.api_request",
                    &with(json!({"model": "m", "request_text": given.to_string()})),
                ),
                record(
                    at + 3,
                    "gemini_cli.api_response",
                    &with(json!({"model": "m", "response_text": said.to_string(), "duration_ms": "3"})),
                ),
                record(
                    at + 5,
                    "gemini_cli.tool_call",
                    &with(json!({"function_name": "f", "function_args": json!({"n": number}).to_string(), "success": "true"})),
                ),
            ]
        }))
    });
}

/// What Claude Code printed, as one list.
#[test]
fn a_list_of_printed_messages() {
    convert_grows_evenly(|count| {
        let init =
            json!({"type": "system", "subtype": "init", "session_id": "s1", "model": "m", "tools": ["Bash"], "uuid": "u", "cwd": "/"});
        let turns = (0..count).flat_map(|number| {
            let id = format!("t{number}");
            let block = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": format!("ls {number}")}});
            let message = json!({"id": format!("m{number}"), "type": "message", "role": "assistant", "model": "m", "content": [block]});
            let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "a.py"}]});
            [
                json!({"type": "assistant", "session_id": "s1", "uuid": format!("a{number}"), "message": message}),
                json!({"type": "user", "session_id": "s1", "uuid": format!("b{number}"), "message": result}),
            ]
        });
        Value::Array(std::iter::once(init).chain(turns).collect()).to_string()
    });
}

/// Many things typed while Claude works: half are given to it in the turn, half wait until the end.
#[test]
fn words_that_wait_in_a_queue() {
    convert_grows_evenly(|count| {
        let line = |kind: &str, number: u64, message: Value| json!({"type": kind, "uuid": format!("{kind}{number}"), "sessionId": "s1", "timestamp": "2026-01-01T10:00:00Z", "message": message});
        let queue = |operation: &str, number: u64| {
            json!({"type": "queue-operation", "operation": operation, "sessionId": "s1", "timestamp": "2026-01-01T10:00:01Z",
                "content": format!("w{number}")})
        };
        let said = json!({"id": "m", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "Yes"}]});
        let first = line("user", 0, json!({"role": "user", "content": "q"}));
        let waiting = (0..count).map(|number| queue("enqueue", number));
        let given = (0..count / 2).map(|number| queue("remove", number * 2));
        let lines = std::iter::once(first)
            .chain(waiting)
            .chain(given)
            .chain([line("assistant", 0, said)]);
        lines.map(|line| line.to_string() + "\n").collect()
    });
}

#[test]
fn spans_within_spans() {
    let span = |number: u64, children: &str| {
        format!(
            r#"{{"span_id":"{:016x}","span_name":"s","timestamp":"2026-01-01T10:00:00Z","duration":"PT1S","child_spans":[{children}]}}"#,
            number + 1
        )
    };
    convert_grows_evenly(|count| {
        // Within the depth to which JSON is read, and wide.
        let deep = (0..20).fold(String::new(), |inner, number| span(number, &inner));
        let wide: Vec<String> = (0..count).map(|number| span(number + 100, "")).collect();
        format!(
            r#"{{"trace_id":"5b8efff798038103d269b633813fc60c","spans":[{},{deep}]}}"#,
            span(99, &wide.join(","))
        )
    });
}
