//! Records of sessions beside prompts, answers and results: agents of the client itself, what was typed meanwhile, what programs print.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use std::fs;

use serde_json::{Value, json};

use crate::serving::spanbridge;
use crate::session_files::text;

/// The documents of files with these lines, in one folder, and what is said beside them.
pub(crate) fn converted(to: &str, files: &[(&str, Vec<Value>)]) -> (Vec<Value>, String) {
    let folder = tempfile::tempdir().expect("a directory");
    for (name, lines) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        fs::write(path, lines.join("\n") + "\n").expect("writes");
    }
    let output = spanbridge(&["convert", "--to", to, text(folder.path())]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let documents = String::from_utf8_lossy(&output.stdout).into_owned();
    (
        documents.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect(),
        said,
    )
}

/// Who said what in a row.
pub(crate) fn said(row: &Value) -> Vec<String> {
    let messages = row["messages"].as_array().expect("messages").iter();
    let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    messages
        .map(|message| format!("{}: {}", words(&message["role"]), words(&message["content"])))
        .collect()
}

/// A line of Claude Code, with its id, the second in which it was written, and what it has beside that.
pub(crate) fn claude(id: &str, second: u32, more: &Value) -> Value {
    let mut line = json!({"uuid": id, "parentUuid": null, "sessionId": "s1", "version": "2.1.39", "cwd": "/", "isSidechain": false,
        "timestamp": format!("2026-01-01T10:{:02}:{:02}Z", second / 60, second % 60)});
    let members = line.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    line
}

pub(crate) fn asked(id: &str, second: u32, words: &str) -> Value {
    claude(id, second, &json!({"type": "user", "message": {"role": "user", "content": words}}))
}

pub(crate) fn answered(id: &str, second: u32, message: &str, content: &Value, tokens: u32) -> Value {
    let message = json!({"id": message, "role": "assistant", "model": "m", "content": content,
        "usage": {"input_tokens": tokens, "output_tokens": 5}});
    let request = format!("req_{}", message["id"].as_str().expect("an id"));
    claude(id, second, &json!({"type": "assistant", "requestId": request, "message": message}))
}

pub(crate) fn words(words: &str) -> Value {
    json!([{"type": "text", "text": words}])
}

fn compacted() -> Vec<Value> {
    let summary = json!({"type": "user", "parentUuid": "c1", "isCompactSummary": true, "message": {"role": "user", "content": "Summary: three apples."}});
    vec![
        asked("u1", 0, "Count the apples."),
        answered("a1", 2, "msg_1", &words("Three apples."), 100),
        claude(
            "c1",
            60,
            &json!({"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "manual", "preTokens": 110}}),
        ),
        claude("u2", 60, &summary),
        asked("u3", 70, "And the pears?"),
        answered("a3", 72, "msg_3", &words("Two pears."), 60),
    ]
}

fn of_agent(agent: &str, mut lines: Vec<Value>) -> Vec<Value> {
    for line in &mut lines {
        line["isSidechain"] = true.into();
        line["agentId"] = agent.into();
    }
    lines
}

/// The compactions of files.
fn compactions(files: &[(&str, Vec<Value>)]) -> Vec<Value> {
    let (documents, _) = converted("reflex", files);
    let nodes = documents.iter().flat_map(|document| document["nodes"].as_array().expect("nodes"));
    nodes.filter(|node| node["name"] == "compaction").cloned().collect()
}

#[test]
fn an_agent_of_the_client_itself_is_no_run() {
    let summary = [
        asked("k1", 30, "Your task is to create a detailed summary."),
        answered("k2", 59, "msg_9", &words("<summary>three apples</summary>"), 1000),
    ];
    // Old versions begin the file with copies of the conversation, the oldest ones under other ids.
    let copies = |end: &str| {
        let copy = [
            asked(&format!("u1{end}"), 0, "Count the apples."),
            answered(&format!("a1{end}"), 2, "msg_1", &words("Three apples."), 100),
        ];
        copy.into_iter().chain(summary.clone()).collect::<Vec<Value>>()
    };
    let suggestion = [
        asked("g1", 73, "[SUGGESTION MODE: what comes next?]"),
        answered("g2", 74, "msg_8", &words("count the plums"), 2000),
    ];
    let of_summary = |lines: Vec<Value>| ("s1/subagents/agent-acompact-0a.jsonl", of_agent("acompact-0a", lines));
    for lines in [summary.to_vec(), copies(""), copies("x")] {
        let files = [
            ("s1.jsonl", compacted()),
            of_summary(lines),
            (
                "s1/subagents/agent-aprompt_suggestion-0b.jsonl",
                of_agent("aprompt_suggestion-0b", suggestion.to_vec()),
            ),
        ];
        let (rows, notes) = converted("messages", &files);
        let rows: Vec<Vec<String>> = rows.iter().map(said).collect();
        assert_eq!(
            rows,
            [
                vec!["user: Count the apples.", "assistant: Three apples."],
                vec!["user: Summary: three apples.\n\nAnd the pears?", "assistant: Two pears."]
            ]
        );
        assert!(!notes.contains("left out"), "{notes}");
        // The tokens are the compaction's, once; a suggestion is a fact of its turn.
        let compactions = compactions(&files);
        let [compaction] = compactions.as_slice() else {
            panic!("{compactions:?}")
        };
        assert_eq!(compaction["metadata"]["usage"], json!({"input": 1000, "output": 5}));
        assert!(compaction.to_string().contains("three apples</summary>"), "{compaction}");
        let (documents, _) = converted("reflex", &files);
        let all = Value::Array(documents).to_string();
        assert_eq!(all.matches("\"response_id\":\"msg_1\"").count(), 1, "{all}");
        assert!(
            all.contains("spanbridge.session.auxiliary_calls") && all.contains("count the plums"),
            "{all}"
        );
    }
    // Without its session it is left out with a note; what came to nothing is a fact of the turn.
    let (rows, notes) = converted("messages", &[of_summary(summary.to_vec())]);
    assert!(rows.is_empty() && notes.contains("acompact-0a"), "{notes}");
    let mut failed = compacted();
    failed.insert(2, asked("u4", 61, "And the plums?"));
    failed.insert(3, answered("a4", 62, "msg_4", &words("None."), 70));
    failed[4]["timestamp"] = "2026-01-01T10:01:05Z".into();
    let (documents, _) = converted("atif", &[("s1.jsonl", failed), of_summary(summary.to_vec())]);
    let all = Value::Array(documents).to_string();
    assert!(all.contains("auxiliary_calls") && !all.contains("summary_calls"), "{all}");
}

#[test]
fn a_compaction_is_one_span() {
    let both = compactions(&[("s1.jsonl", compacted())]);
    let [compaction] = both.as_slice() else { panic!("{both:?}") };
    assert!(compaction.to_string().contains("\"preTokens\":110"), "{compaction}");
    // Either line alone is one too.
    for left_out in [2, 3] {
        let mut alone = compacted();
        alone.remove(left_out);
        assert_eq!(compactions(&[("s1.jsonl", alone)]).len(), 1);
    }
}

#[test]
fn what_is_typed_while_claude_works_is_heard_where_it_left_the_queue() {
    let queue = |operation: &str, content: Option<&str>| {
        let mut line = json!({"type": "queue-operation", "operation": operation, "sessionId": "s1", "timestamp": "2026-01-01T10:00:02Z"});
        if let Some(content) = content {
            line["content"] = content.into();
        }
        line
    };
    let call = answered(
        "a1",
        1,
        "msg_1",
        &json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]),
        10,
    );
    let result = claude(
        "u2",
        3,
        &json!({"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}]}}),
    );
    let attachment = claude(
        "q1",
        3,
        &json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "Parser first"}}),
    );
    let begin = || {
        vec![
            asked("u1", 0, "Start."),
            call.clone(),
            queue("enqueue", Some("Parser first")),
            result.clone(),
        ]
    };
    let answer = answered("a2", 4, "msg_2", &words("Yes."), 20);
    let wanted = ["user: Start.", "assistant: ", "tool: a.py", "user: Parser first", "assistant: Yes."];
    for told in [
        vec![queue("remove", None)],
        vec![queue("remove", Some("Parser first"))],
        vec![queue("remove", None), attachment.clone()],
        vec![attachment.clone(), queue("remove", None)],
        vec![attachment.clone(), queue("remove", Some("Parser first"))],
        vec![attachment],
    ] {
        let mut lines = begin();
        lines.extend(told.clone());
        lines.push(answer.clone());
        let (rows, _) = converted("messages", &[("s1.jsonl", lines)]);
        assert_eq!(said(&rows[0]), wanted, "{told:?}");
    }
    // The next prompt has a line of its own; what was taken back, or is still there, is a fact.
    let mut lines = begin();
    lines.extend([answer, queue("dequeue", None), asked("u3", 5, "Parser first")]);
    lines.push(answered("a3", 6, "msg_3", &words("Done."), 30));
    lines.extend([
        queue("enqueue", Some("Never mind")),
        queue("popAll", None),
        queue("enqueue", Some("/mcp")),
        queue("enqueue", Some("Later")),
    ]);
    let (rows, _) = converted("messages", &[("s1.jsonl", lines.clone())]);
    let all: Vec<Vec<String>> = rows.iter().map(said).collect();
    assert_eq!(
        all.concat().iter().filter(|said| said.contains("Parser first")).count(),
        1,
        "{all:?}"
    );
    let (documents, _) = converted("atif", &[("s1.jsonl", lines)]);
    let all = Value::Array(documents).to_string();
    assert!(all.contains("taken_back_prompts") && all.contains("Never mind"), "{all}");
    assert!(
        all.contains("unsent_prompts") && all.contains("Later") && !all.contains("/mcp"),
        "{all}"
    );
}

#[test]
fn a_call_of_a_tool_that_the_next_answer_repeats_is_one_call() {
    let uses = |ids: &[&str]| {
        let uses = ids
            .iter()
            .map(|id| json!({"type": "tool_use", "id": id, "name": "read", "input": {"path": id}}));
        uses.collect::<Value>()
    };
    let gives = |id: &str, second: u32, call: &str| {
        claude(
            id,
            second,
            &json!({"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": call}]}}),
        )
    };
    let lines = vec![
        asked("u1", 0, "Read both."),
        answered("a1", 1, "msg_1", &uses(&["c1"]), 0),
        answered("a2", 2, "msg_2", &uses(&["c1", "c2"]), 0),
        gives("u2", 3, "c1"),
        gives("u3", 4, "c2"),
        // After its result it is another one.
        answered("a3", 5, "msg_3", &uses(&["c1"]), 0),
        answered("a4", 6, "msg_4", &words("Done."), 0),
    ];
    let (rows, _) = converted("messages", &[("s1.jsonl", lines)]);
    let calls = rows[0]["messages"].as_array().expect("messages").iter();
    let calls = calls
        .map(|message| message["tool_calls"].as_array().map_or(0, Vec::len))
        .sum::<usize>();
    assert_eq!(calls, 3, "{rows:?}");
}

#[test]
fn what_clients_print_is_read_as_lines_or_as_a_list() {
    let printed = |client: &str| {
        let mut begin =
            json!({"type": "system", "subtype": "init", "session_id": "s1", "model": "m", "tools": ["Bash"], "uuid": "u0", "cwd": "/"});
        begin[client] = "1.2.3".into();
        let message = |id: &str, role: &str, content: &Value| {
            json!({"type": role, "session_id": "s1", "uuid": id, "parent_tool_use_id": null, "message": {"id": id, "role": role, "model": "m",
                "content": content, "usage": {"input_tokens": 3, "output_tokens": 2}}})
        };
        vec![
            begin,
            message(
                "u1",
                "assistant",
                &json!([{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls [{"}}]),
            ),
            message(
                "u2",
                "user",
                &json!([{"type": "tool_result", "tool_use_id": "c1", "content": "a.py"}]),
            ),
            json!({"type": "stream_event", "session_id": "s1", "event": {}}),
            json!({"type": "system", "subtype": "compact_boundary", "session_id": "s1", "uuid": "u3", "compact_metadata": {"pre_tokens": 7}}),
            json!({"type": "something_new", "session_id": "s1"}),
            message("u4", "assistant", &words("There is a.py.")),
            json!({"type": "result", "subtype": "success", "session_id": "s1", "result": "There is a.py.", "total_cost_usd": 0.01}),
        ]
    };
    let directory = tempfile::tempdir().expect("a directory");
    for (client, name, provider) in [
        ("claude_code_version", "claude-code", true),
        ("qwen_code_version", "qwen-code", false),
    ] {
        let lines = printed(client);
        let one_a_line: Vec<String> = lines.iter().map(Value::to_string).collect();
        let list = Value::Array(lines);
        let mut all = Vec::new();
        for (way, written) in [
            ("lines", one_a_line.join("\n")),
            ("a list", list.to_string()),
            ("indented", serde_json::to_string_pretty(&list).expect("JSON")),
        ] {
            let file = directory.path().join("execution.json");
            fs::write(&file, &written).expect("writes");
            let output = spanbridge(&["convert", "--to", "atif", text(&file)]);
            let notes = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success() && notes.contains("something_new (1)"), "{way}: {notes}");
            all.push(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        assert!(
            all[0].contains(&format!("\"name\":\"{name}\"")) && all[0].contains("preTokens"),
            "{}",
            all[0]
        );
        assert_eq!(all[0].contains("anthropic"), provider, "{}", all[0]);
        assert!(all.iter().all(|document| *document == all[0]), "{all:?}");
        // A list that was cut off is read up to there.
        let file = directory.path().join("cut.json");
        let whole = list.to_string();
        fs::write(&file, whole.get(..whole.len() - 300).expect("shorter")).expect("writes");
        let output = spanbridge(&["convert", "--to", "atif", text(&file)]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let result = "\"content\":\"a.py\"";
        assert!(said.contains(result) && !said.contains("There is a.py."), "{said}");
    }
    // Cursor's CLI prints messages like these, and its tool calls on lines of their own: a table reads them.
    let file = directory.path().join("other.jsonl");
    let lines = [
        json!({"type": "system", "subtype": "init", "session_id": "c1", "model": "m", "apiKeySource": "login", "cwd": "/"}),
        json!({"type": "assistant", "session_id": "c1", "message": {"role": "assistant", "content": words("Looking.")}}),
        json!({"type": "tool_call", "subtype": "started", "session_id": "c1", "call_id": "t1", "tool_call": {"readToolCall": {}}}),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(&file, lines.join("\n")).expect("writes");
    let output = spanbridge(&["convert", "--to", "messages", text(&file)]);
    let row: Value = serde_json::from_slice(&output.stdout).expect("a row");
    let answer = &row["messages"][0];
    assert_eq!(answer["content"], "Looking.", "{row}");
    assert_eq!(answer["tool_calls"][0]["function"]["name"], "read", "{row}");
}

#[test]
fn the_question_of_copilot_is_what_was_typed() {
    let line = |id: u32, kind: &str, data: &Value| json!({"type": kind, "id": format!("e{id}"), "timestamp": format!("2026-01-01T10:00:0{id}Z"), "data": data});
    let typed = |id: u32, words: &str| {
        let given = format!("<current_datetime>x</current_datetime>\n\n{words}\n\n<reminder>y</reminder>");
        line(id, "user.message", &json!({"content": words, "transformedContent": given}))
    };
    let lines = vec![
        line(0, "session.start", &json!({"sessionId": "s1", "copilotVersion": "1.0.102"})),
        // Nobody answers the first one: it is of another turn, with all that is around it.
        typed(1, "Wait"),
        typed(2, "Fix it"),
        line(3, "assistant.message", &json!({"content": "Done.", "toolRequests": []})),
    ];
    let (documents, _) = converted("deepeval", &[("events.jsonl", lines.clone())]);
    let inputs: Vec<&Value> = documents.iter().map(|document| &document["input"]).collect();
    assert!(inputs.contains(&&json!("Fix it")), "{documents:?}");
    let (rows, _) = converted("messages", &[("events.jsonl", lines)]);
    let all: Vec<Vec<String>> = rows.iter().map(said).collect();
    let [row] = all.as_slice() else { panic!("{all:?}") };
    let [before, asked, answer] = row.as_slice() else {
        panic!("{row:?}")
    };
    assert!(
        before.starts_with("system: <current_datetime>") && asked.starts_with("user: Fix it\n"),
        "{row:?}"
    );
    assert!(answer == "assistant: Done." && !row.concat().contains("Wait"), "{row:?}");
}
