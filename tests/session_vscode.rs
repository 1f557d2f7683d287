//! Sessions of Copilot Chat in VS Code: one document, the log of changes that newer versions write, and turns without rounds.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use std::fs;

use serde_json::{Value, json};

use crate::serving::spanbridge;
use crate::session_files::text;

fn request() -> Value {
    let tree = json!({"node": {"type": 1, "ctorName": "a", "children": [
        {"type": 2, "priority": 1, "text": "a.py", "lineBreakBefore": false},
        {"type": 1, "children": [{"type": 2, "text": "b.py", "lineBreakBefore": true}]},
    ]}});
    json!({
        "requestId": "request_1",
        "message": {"text": "List and read", "parts": []},
        "timestamp": 1_777_073_160_000_u64,
        "modelId": "copilot/gpt-5.2",
        "agent": {"id": "github.copilot.editsAgent", "extensionVersion": "0.48.1"},
        "response": [{"value": "I look."}, {"kind": "toolInvocationSerialized", "toolCallId": "x", "toolId": "copilot_listDirectory"}],
        "result": {
            "timings": {"firstProgress": 900, "totalElapsed": 9_000},
            "metadata": {
                "renderedUserMessage": [{"type": 1, "text": "<context>today</context>\n"}, {"type": 1, "text": "List and read"}],
                "toolCallRounds": [
                    {"id": "r1", "response": "I look.", "toolInputRetry": 0, "timestamp": 1_777_073_161_000_u64,
                     "thinking": {"id": "t1", "text": "Files first.", "encrypted": "gAAA"},
                     "toolCalls": [{"id": "call_1", "name": "list_dir", "arguments": "{\"path\":\"/w\"}"},
                                   {"id": "call_2", "name": "run_in_terminal", "arguments": "{\"command\":\"ls\"}"}]},
                    {"id": "r2", "response": "Two files.", "toolInputRetry": 0, "timestamp": 1_777_073_165_000_u64, "toolCalls": []},
                ],
                "toolCallResults": {
                    "call_1": {"content": [{"$mid": 21, "value": tree}]},
                    "call_2": {"content": [{"$mid": 20, "value": "The user denied it."}], "hasError": true},
                },
                "promptTokens": 1_200, "outputTokens": 30, "resolvedModel": "gpt-5.2-2026",
            },
        },
    })
}

fn converted(to: &str, name: &str, content: &str) -> (Vec<Value>, String) {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join(name);
    fs::write(&path, content).expect("writes");
    let output = spanbridge(&["convert", "--to", to, text(&path)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let documents = String::from_utf8_lossy(&output.stdout).into_owned();
    let documents = documents.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    (documents.collect(), said)
}

fn session(requests: &Value) -> Value {
    json!({"version": 3, "responderUsername": "GitHub Copilot", "initialLocation": "panel", "requests": requests,
        "sessionId": "s1", "creationDate": 1_777_073_100_000_u64, "lastMessageDate": 1_777_073_160_000_u64})
}

#[test]
fn rounds_are_model_calls_with_their_tools_and_results() {
    let document = session(&json!([request()]));
    let pretty = serde_json::to_string_pretty(&document).expect("JSON");
    let log = [
        json!({"kind": 0, "v": session(&json!([]))}),
        json!({"kind": 2, "k": ["requests"], "v": [{"requestId": "request_1", "response": [], "message": {"text": "?"}}]}),
        json!({"kind": 1, "k": ["requests", 0], "v": request()}),
        json!({"kind": 1, "k": ["inputState"], "v": {}}),
    ];
    let log = log.map(|line| line.to_string()).join("\n");
    let (wanted, _) = converted("atif", "s1.json", &document.to_string());
    assert_eq!(converted("atif", "s1.json", &pretty).0, wanted);
    assert_eq!(converted("atif", "s1.jsonl", &log).0, wanted);

    let [run] = wanted.as_slice() else { panic!("one run: {wanted:?}") };
    assert_eq!(
        (&run["session_id"], &run["agent"]["version"]),
        (&json!("s1"), &json!("0.48.1")),
        "{run}"
    );
    let steps = run["steps"].as_array().expect("steps");
    let said: Vec<(&Value, &Value)> = steps.iter().map(|step| (&step["source"], &step["message"])).collect();
    assert_eq!(said[0], (&json!("system"), &json!("<context>today</context>\n")), "{run}");
    assert_eq!(said[1], (&json!("user"), &json!("List and read")), "{run}");
    let asked = &steps[2];
    assert_eq!(
        (&asked["message"], &asked["reasoning_content"]),
        (&json!("I look."), &json!("Files first.")),
        "{run}"
    );
    assert_eq!(asked["tool_calls"][0]["arguments"], json!({"path": "/w"}), "{run}");
    let results = asked["observation"]["results"].as_array().expect("results");
    assert_eq!(
        (&results[0]["source_call_id"], &results[0]["content"]),
        (&json!("call_1"), &json!("a.py\nb.py")),
        "{run}"
    );
    assert_eq!(
        (&results[1]["content"], &results[1]["extra"]["is_error"]),
        (&json!("The user denied it."), &json!(true)),
        "{run}"
    );
    let answer = &steps[3];
    assert_eq!(
        (&answer["message"], &answer["model_name"]),
        (&json!("Two files."), &json!("gpt-5.2-2026")),
        "{run}"
    );
    assert_eq!(
        (&answer["metrics"]["prompt_tokens"], &answer["metrics"]["completion_tokens"]),
        (&json!(1200), &json!(30)),
        "{run}"
    );
}

#[test]
fn a_turn_without_rounds_is_what_was_shown() {
    let request = json!({
        "requestId": "request_1", "message": "Is it up?", "timestamp": 1_777_073_160_000_u64, "isCanceled": true,
        "response": [
            {"kind": "thinking", "value": "Ask the machine."},
            {"value": "I ask "}, {"kind": "inlineReference", "inlineReference": {"path": "/w/a.sh"}}, {"value": "."},
            {"kind": "toolInvocationSerialized", "toolCallId": "t1", "toolId": "run_in_terminal", "isConfirmed": {"type": 4},
             "pastTenseMessage": {"value": "Ran it"}, "toolSpecificData": {"kind": "terminal", "commandLine": {"original": "uptime"}},
             "resultDetails": {"output": [{"value": "up 3 days"}]}},
            {"kind": "undoStop", "id": "u"},
            {"value": "It is up."},
        ],
        "result": {"errorDetails": {"message": "Canceled"}},
    });
    let (rows, _) = converted("messages", "s1.json", &session(&json!([request])).to_string());
    let messages = rows[0]["messages"].as_array().expect("messages");
    let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"], "{rows:?}");
    assert_eq!(messages[1]["content"], "I ask `/w/a.sh`.");
    assert_eq!(messages[1]["tool_calls"][0]["function"]["arguments"], json!({"command": "uptime"}));
    assert_eq!(
        (&messages[2]["content"], &messages[3]["content"]),
        (&json!("up 3 days"), &json!("It is up."))
    );
}
