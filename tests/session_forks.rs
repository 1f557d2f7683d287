//! Files that have lines of other sessions: forks, sub-agents that know what their parent knows, threads in several files. After public
//! files and issues of programs that read them; each line in short.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use serde_json::{Value, json};

use crate::session_records::{answered, asked, converted, said, words};
use crate::session_variations::told;

/// Ids have the time at which they were made: the parent and its turns, a fork of it, a sub-agent.
const PARENT: &str = "019f1d1f-0500-7000-8000-000000000000";
const FIRST: &str = "019f1d1f-0501-7000-8000-000000000000";
const SECOND: &str = "019f1d1f-ef60-7000-8000-000000000000";
const THIRD: &str = "019f1d20-d9c0-7000-8000-000000000000";
const FORK: &str = "019f1d3a-7c40-7000-8000-000000000000";
const OF_FORK: &str = "019f1d3b-66a0-7000-8000-000000000000";
const AGENT: &str = "019f1d20-e578-7000-8000-000000000000";
const OF_AGENT: &str = "019f1d20-e587-7000-8000-000000000000";

fn line(at: &str, kind: &str, payload: &Value) -> Value {
    json!({"timestamp": format!("2026-07-01T10:{at}Z"), "type": kind, "payload": payload})
}

fn event(at: &str, kind: &str, mut payload: Value) -> Value {
    payload["type"] = kind.into();
    line(at, "event_msg", &payload)
}

fn item(at: &str, kind: &str, mut payload: Value) -> Value {
    payload["type"] = kind.into();
    line(at, "response_item", &payload)
}

fn message(at: &str, role: &str, text: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    item(at, "message", json!({"role": role, "content": [{"type": kind, "text": text}]}))
}

fn meta(at: &str, thread: &str, mut more: Value) -> Value {
    more["id"] = thread.into();
    more["cwd"] = "/".into();
    more["cli_version"] = "0.140.0".into();
    line(at, "session_meta", &more)
}

fn tokens(at: &str, total: u32, last: u32) -> Value {
    let usage = |input: u32| json!({"input_tokens": input, "output_tokens": 1});
    event(
        at,
        "token_count",
        json!({"info": {"total_token_usage": usage(total), "last_token_usage": usage(last)}}),
    )
}

/// A turn that asks for one tool. `turn`: its id, in versions that have one. `total`: the tokens of the session before it.
fn turn(minute: u32, turn: Option<&str>, question: &str, call: &str, answer: &str, total: u32) -> Vec<Value> {
    let at = |second: u32| format!("{minute:02}:{second:02}.000");
    let begin = turn.map(|turn| event(&at(0), "task_started", json!({"turn_id": turn})));
    let mut lines: Vec<Value> = begin.into_iter().collect();
    lines.extend([
        line(&at(0), "turn_context", &json!({"turn_id": turn, "model": "gpt-5.5"})),
        message(&at(0), "user", question),
        event(&at(0), "user_message", json!({"message": question, "images": []})),
        item(
            &at(1),
            "function_call",
            json!({"name": "shell", "arguments": "{}", "call_id": call}),
        ),
        tokens(&at(2), total + 10, 10),
        item(
            &at(3),
            "function_call_output",
            json!({"call_id": call, "output": format!("what {call} gave")}),
        ),
        message(&at(4), "assistant", answer),
        tokens(&at(5), total + 30, 20),
    ]);
    lines
}

/// Copies: all have the time of the copy.
fn copied(lines: &[Value], at: &str) -> Vec<Value> {
    let copy = |line: &Value| {
        let mut line = line.clone();
        line["timestamp"] = format!("2026-07-01T10:{at}Z").into();
        line
    };
    lines.iter().map(copy).collect()
}

fn numbered(lines: Vec<Value>) -> Vec<Value> {
    let number = |(number, mut line): (usize, Value)| {
        line["ordinal"] = number.into();
        line
    };
    lines.into_iter().enumerate().map(number).collect()
}

/// What each run has: who said what, and the tokens that went in.
fn runs(files: &[(&str, Vec<Value>)]) -> Vec<(Vec<String>, u64)> {
    let (rows, _) = converted("messages", files);
    let (documents, _) = converted("contextforge", files);
    let tokens = |row: &Value| {
        let run = documents.iter().find(|run| run["metadata"]["otel.trace_id"] == row["trace_id"]);
        let steps = run.expect("the run")["steps"].as_array().expect("steps").clone();
        steps.iter().filter_map(|step| step["tokens_in"].as_u64()).sum()
    };
    rows.iter().map(|row| (said(row), tokens(row))).collect()
}

fn spoken(question: &str, call: &str, answer: &str) -> Vec<String> {
    [
        "user: ".to_owned() + question,
        "assistant: ".to_owned(),
        format!("tool: what {call} gave"),
        format!("assistant: {answer}"),
    ]
    .into()
}

#[test]
fn turns_that_a_fork_of_codex_copied_are_the_originals() {
    // With ids of turns, and without, as old versions have them: a person needs a second.
    for has_ids in [true, false] {
        let id = |turn: &'static str| Some(turn).filter(|_| has_ids);
        let mut parent = vec![meta("00:00.000", PARENT, json!({}))];
        parent.extend(turn(0, id(FIRST), "One?", "c1", "It is one.", 0));
        parent.extend(turn(1, id(SECOND), "Two?", "c2", "It is two.", 30));
        let mut fork = vec![meta("30:00.000", FORK, json!({"forked_from_id": PARENT}))];
        fork.extend(copied(&parent, "30:00.020"));
        fork.extend(turn(31, id(OF_FORK), "Three?", "c3", "It is three.", 60));
        let mut wanted = [
            (spoken("One?", "c1", "It is one."), 30),
            (spoken("Three?", "c3", "It is three."), 30),
            (spoken("Two?", "c2", "It is two."), 30),
        ];
        wanted.sort();
        let (one, other) = (("a.jsonl", parent.clone()), ("b.jsonl", fork.clone()));
        for files in [
            vec![one.clone(), other.clone()],
            vec![("c.jsonl", fork.clone()), ("d.jsonl", parent.clone())],
            vec![other],
        ] {
            let mut read = runs(&files);
            read.sort();
            assert_eq!(read, wanted, "{has_ids} {}", files.len());
        }
        // The session of each turn: the fork's own is one.
        let (runs, _) = converted("contextforge", &[("b.jsonl", fork)]);
        let of = |thread: &str| runs.iter().filter(|run| run.to_string().contains(&format!("\"{thread}\""))).count();
        assert_eq!((of(PARENT), of(FORK)), (3, 1), "the fork names what it was forked from");
    }
}

#[test]
fn a_fork_of_a_fork_has_each_turn_once() {
    let grandchild = "019f1d43-a400-7000-8000-000000000000";
    let mut parent = vec![meta("00:00.000", PARENT, json!({}))];
    parent.extend(turn(0, Some(FIRST), "One?", "c1", "It is one.", 0));
    let mut fork = vec![meta("30:00.000", FORK, json!({"forked_from_id": PARENT}))];
    fork.extend(copied(&parent, "30:00.020"));
    fork.extend(turn(31, Some(OF_FORK), "Two?", "c2", "It is two.", 30));
    let mut other = vec![meta("40:00.000", grandchild, json!({"forked_from_id": FORK}))];
    other.extend(copied(&fork, "40:00.020"));
    other.extend(turn(
        41,
        Some("019f1d44-8e60-7000-8000-000000000000"),
        "Three?",
        "c3",
        "It is three.",
        60,
    ));
    let all = runs(&[("a.jsonl", parent), ("b.jsonl", fork), ("c.jsonl", other.clone())]);
    let alone = runs(&[("c.jsonl", other)]);
    for mut read in [all, alone] {
        read.sort();
        let mut questions: Vec<&str> = read.iter().map(|(said, _)| said[0].as_str()).collect();
        questions.sort_unstable();
        assert_eq!(questions, ["user: One?", "user: Three?", "user: Two?"]);
        assert!(read.iter().all(|(said, tokens)| said.len() == 4 && *tokens == 30), "{read:?}");
    }
}

/// The parent of a sub-agent, up to the call that asks for it and after it.
fn parent_of_an_agent(id: Option<&str>) -> (Vec<Value>, Vec<Value>) {
    let mut before = vec![meta("00:00.000", PARENT, json!({"session_id": id}))];
    before.extend(turn(0, Some(FIRST), "One?", "c1", "It is one.", 0));
    before.extend([
        event("02:00.000", "task_started", json!({"turn_id": SECOND})),
        line("02:00.000", "turn_context", &json!({"turn_id": SECOND, "model": "gpt-5.5"})),
        message("02:00.000", "user", "Let a helper count."),
        event("02:00.000", "user_message", json!({"message": "Let a helper count.", "images": []})),
        item(
            "02:01.000",
            "function_call",
            json!({"name": "spawn_agent", "arguments": "{\"message\":\"secret\",\"fork_context\":true}", "call_id": "spawn"}),
        ),
    ]);
    let after = vec![
        tokens("02:02.000", 70, 40),
        item(
            "02:02.000",
            "function_call_output",
            json!({"call_id": "spawn", "output": json!({"agent_id": AGENT, "nickname": "Nash"}).to_string()}),
        ),
        message("02:20.000", "assistant", "It counted two."),
        tokens("02:20.000", 120, 50),
    ];
    (before, after)
}

#[test]
fn what_a_sub_agent_of_codex_has_of_its_parent_is_not_its_own() {
    // Before files of sub-agents had the id of the session, and after. Ids of turns may have no time.
    for (session, own) in [
        (None, OF_AGENT),
        (Some(PARENT), OF_AGENT),
        (Some(PARENT), "6f0e2a52-3c1d-4a57-9d0c-2f8b8f1f0a11"),
    ] {
        let (before, after) = parent_of_an_agent(session);
        let spawn = json!({"parent_thread_id": PARENT, "depth": 1, "agent_nickname": "Nash", "agent_role": "explorer"});
        let about = json!({"session_id": session, "forked_from_id": PARENT, "source": {"subagent": {"thread_spawn": spawn}}});
        let mut child = vec![meta("02:03.000", AGENT, about)];
        child.extend(copied(&before, "02:03.010"));
        let mut turn = turn(3, Some(own), "Count.", "c9", "Two.", 70);
        turn[0]["payload"]["started_at"] = 1_782_900_123.into();
        child.extend(copied(&turn[..4], "02:03.020"));
        child.extend(turn.split_off(4));
        let parent: Vec<Value> = before.iter().chain(&after).cloned().collect();
        let files = [("a.jsonl", parent), ("b.jsonl", child)];
        let (documents, said) = converted("atif", &files);
        let read: Vec<Vec<String>> = documents.iter().map(told).collect();
        let helped = [
            "user: Let a helper count.",
            "agent:  spawn_agent",
            "agent: It counted two.",
            "  user: Count.",
            "  agent:  shell",
            "  agent: Two.",
        ];
        assert!(read.iter().any(|told| *told == helped), "{session:?} {read:?}\n{said}");
        assert_eq!(read.len(), 2, "{read:?}");
        let (documents, _) = converted("contextforge", &files);
        let tokens: u64 = documents
            .iter()
            .flat_map(|run| run["steps"].as_array().expect("steps").clone())
            .filter_map(|step| step["tokens_in"].as_u64())
            .sum();
        assert_eq!(tokens, 30 + 90 + 30, "each call once");
        assert!(
            documents.iter().any(|run| run.to_string().contains("copied_records")),
            "what is left out is told"
        );
    }
}

#[test]
fn agents_of_codex_that_write_to_one_another() {
    let (mut before, _) = parent_of_an_agent(Some(PARENT));
    let found = json!([{"type": "namespace", "name": "collaboration", "tools": [{"type": "function", "name": "spawn_agent"}]}]);
    let mail = |at: &str, from: &str, to: &str, kind: &str, words: &str| {
        let text = format!("Message Type: {kind}\nTask name: {to}\nSender: {from}\nPayload:\n{words}");
        item(
            at,
            "agent_message",
            json!({"author": from, "recipient": to, "content": [{"type": "input_text", "text": text}]}),
        )
    };
    let activity = |at: &str, id: &str, kind: &str| {
        let item = json!({"type": "SubAgentActivity", "id": id, "kind": kind, "agent_thread_id": AGENT, "agent_path": "/main/count"});
        event(at, "item_completed", json!({"item": item}))
    };
    before.splice(
        before.len() - 1..before.len() - 1,
        [
            item(
                "02:00.500",
                "tool_search_call",
                json!({"call_id": "search", "arguments": {"query": "agents"}}),
            ),
            item(
                "02:00.600",
                "tool_search_output",
                json!({"call_id": "search", "status": "completed", "tools": found}),
            ),
        ],
    );
    let copy = copied(&before, "02:03.000");
    let mut parent = before;
    parent.extend([
        tokens("02:02.000", 70, 40),
        activity("02:02.000", "spawn", "started"),
        item(
            "02:02.000",
            "function_call_output",
            json!({"call_id": "spawn", "output": "{\"task_name\":\"/main/count\"}"}),
        ),
        activity("02:15.000", "act_2", "completed"),
        mail("02:15.000", "/main/count", "/main", "FINAL_ANSWER", "Two."),
        message("02:20.000", "assistant", "It counted two."),
    ]);
    let about = json!({"session_id": PARENT, "parent_thread_id": PARENT, "subagent_history_start_ordinal": copy.len() + 1});
    let mut child = vec![meta("02:03.000", AGENT, about)];
    child.extend(copy);
    // Nothing but the number of the line tells where the sub-agent begins.
    child.extend([
        event("02:03.000", "task_started", json!({"turn_id": "1"})),
        mail("02:03.000", "/main", "/main/count", "NEW_TASK", "Count."),
        message("02:10.000", "assistant", "Two."),
    ]);
    let (documents, said) = converted("atif", &[("a.jsonl", numbered(parent)), ("b.jsonl", numbered(child))]);
    let read: Vec<Vec<String>> = documents.iter().map(told).collect();
    let run = read.iter().find(|told| told.len() > 4).expect("a run with an agent");
    let [.., asked, told] = run.as_slice() else { panic!("{run:?}") };
    assert!(
        asked.starts_with("  user: Message Type: NEW_TASK") && told == "  agent: Two.",
        "{read:?}\n{said}"
    );
    assert!(
        run.iter().any(|line| line.starts_with("system:") && line.contains("FINAL_ANSWER")),
        "{run:?}"
    );
    assert!(
        !documents.iter().any(|document| document.to_string().contains("SubAgentActivity")),
        "no call of a tool"
    );
    assert!(
        documents.iter().any(|document| document.to_string().contains("collaboration")),
        "what a search found"
    );
    assert!(!said.contains("unknown"), "{said}");
}

#[test]
fn a_message_of_an_agent_in_the_models_name_is_no_answer() {
    let mail = json!({"author": "/main", "recipient": "/main/count", "other_recipients": [], "content": "Count.", "trigger_turn": true});
    let lines = vec![
        meta(
            "00:00.000",
            AGENT,
            json!({"source": {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}}),
        ),
        event("00:00.000", "task_started", json!({"turn_id": OF_AGENT})),
        message("00:00.000", "assistant", &mail.to_string()),
        message("00:04.000", "assistant", "Two."),
    ];
    let (rows, _) = converted("messages", &[("a.jsonl", lines)]);
    assert_eq!(rows.iter().map(said).collect::<Vec<_>>(), [["user: Count.", "assistant: Two."]]);
}

#[test]
fn the_files_of_a_thread_are_one_thread() {
    let about = |base: Value| json!({"session_id": PARENT, "history_mode": "paginated", "history_base": base});
    let mut first = vec![meta("00:00.000", PARENT, about(Value::Null))];
    first.extend(turn(0, Some(FIRST), "One?", "c1", "It is one.", 0));
    let second = turn(1, Some(SECOND), "Two?", "c2", "It is two.", 30);
    let (begun, rest) = second.split_at(6);
    first.extend(begun.iter().cloned());
    let base = json!({"thread_id": PARENT, "end_ordinal_exclusive": first.len(), "end_byte_offset": 9});
    let mut page = vec![meta("01:02.500", PARENT, about(base))];
    page.extend(rest.iter().cloned());
    page.extend(turn(2, Some(THIRD), "Three?", "c3", "It is three.", 60));
    let names = [
        "rollout-2026-07-01T10-00-00-a.jsonl",
        "rollout-2026-07-01T10-01-02-a_b.jsonl",
        "archived/rollout-2026-07-01T10-01-02-a_b.jsonl",
    ];
    for files in [
        vec![(names[0], first.clone()), (names[1], page.clone())],
        vec![(names[0], first.clone()), (names[1], page.clone()), (names[2], page.clone())],
    ] {
        let mut read = runs(&files);
        read.sort();
        let mut wanted = [
            (spoken("One?", "c1", "It is one."), 30),
            (spoken("Two?", "c2", "It is two."), 30),
            (spoken("Three?", "c3", "It is three."), 30),
        ];
        wanted.sort();
        assert_eq!(read, wanted, "a page that was archived, too, is read once");
    }
}

#[test]
fn a_summary_that_the_provider_wrote_replaces_the_conversation() {
    let mut lines = vec![meta("00:00.000", PARENT, json!({}))];
    let first = turn(0, Some(FIRST), "One?", "c1", "It is one.", 0);
    let (before, after) = first.split_at(7);
    lines.extend(before.iter().cloned());
    let history = json!([
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be short."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "One?"}]},
        {"type": "compaction", "encrypted_content": "gAAAA"},
    ]);
    lines.push(line(
        "00:03.500",
        "compacted",
        &json!({"message": "", "replacement_history": history}),
    ));
    lines.extend(after.iter().cloned());
    let (runs, _) = converted("contextforge", &[("a.jsonl", lines)]);
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    let steps = run["steps"].as_array().expect("steps");
    let calls: Vec<String> = steps
        .iter()
        .filter(|step| step["step_type"] == "llm_call")
        .map(Value::to_string)
        .collect();
    let last = calls.last().expect("a call");
    assert!(last.contains("Be short.") && last.contains("One?"), "{last}");
    assert!(!last.contains("what c1 gave"), "{last}");
}

#[test]
fn turns_that_a_branch_of_claude_code_copied_are_the_originals() {
    let original = vec![
        asked("u1", 0, "One?"),
        answered("a1", 1, "m1", &words("It is one."), 10),
        asked("u2", 2, "Two?"),
        answered("a2", 3, "m2", &words("It is two."), 20),
    ];
    let of_branch = |line: &Value, is_copy: bool| {
        let mut line = line.clone();
        if is_copy {
            line["forkedFrom"] = json!({"sessionId": "s1", "messageUuid": line["uuid"]});
        }
        line["sessionId"] = "s2".into();
        line
    };
    let mut branch: Vec<Value> = original.iter().take(2).map(|line| of_branch(line, true)).collect();
    branch.extend([
        of_branch(&asked("u3", 9, "Three?"), false),
        of_branch(&answered("a3", 10, "m3", &words("It is three."), 30), false),
    ]);
    for files in [
        vec![("s1.jsonl", original), ("s2.jsonl", branch.clone())],
        vec![("s2.jsonl", branch)],
    ] {
        let (runs, _) = converted("contextforge", &files);
        let with = |question: &str| runs.iter().filter(|run| run.to_string().contains(question)).collect::<Vec<_>>();
        let [one] = with("One?")[..] else { panic!("{runs:?}") };
        assert!(one.to_string().contains("\"s1\"") && !one.to_string().contains("\"s2\""), "{one}");
        let [three] = with("Three?")[..] else { panic!("{runs:?}") };
        assert!(three.to_string().contains("\"s2\""), "{three}");
    }
}
