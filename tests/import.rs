//! Documents in files: rows of data sets, runs that stand in several files, media beside documents.
#![cfg(feature = "server")]
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use crate::serving;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use serving::spanbridge;

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

fn documents(output: &Output) -> Vec<Value> {
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn row(number: usize) -> Value {
    json!({"messages": [
        {"role": "user", "content": format!("Question {number}?")},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "look", "arguments": {"n": number}}}]},
        {"role": "tool", "content": "found", "tool_call_id": "c", "name": "look"},
        {"role": "assistant", "content": format!("Answer {number}.")},
    ]})
}

/// What is written piece by piece has the digits of integers that no double represents.
#[test]
fn digits_of_large_integers_come_back_on_standard_output() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("row.json");
    let digits = "1180591620717411303425";
    let chat = row(0).to_string().replace("\"n\":0", &format!("\"n\":{digits}"));
    let call = format!(r#"{{"type": "ai", "content": "", "tool_calls": [{{"id": "c", "name": "t", "args": {{"n": {digits}}}}}]}}"#);
    let of_form = format!(r#"[{{"type": "human", "content": "q"}}, {call}, {{"type": "tool", "content": "r", "tool_call_id": "c"}}]"#);
    for (content, form) in [(&chat, None), (&of_form, None), (&of_form, Some("langchain"))] {
        fs::write(&file, content).expect("writes");
        let form = form.map_or(vec![], |form| vec!["--form", form]);
        let output = spanbridge(&[&["convert", "--to", "messages", text(&file)], form.as_slice()].concat());
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains(&format!("\"n\":{digits}")) && !said.contains("private"), "{said}");
    }
}

/// A data set has thousands of documents: one that is refused is named, and the others are converted, in their order.
#[test]
fn documents_beside_one_that_is_refused_are_converted() {
    let directory = tempfile::tempdir().expect("a directory");
    let case = |number: usize| json!({"input": format!("Question {number}?"), "actual_output": format!("Answer {number}.")});
    let bad = |number: usize| json!({"input": {"n": number}, "actual_output": "?"});
    for (name, good, refused) in [
        ("rows.jsonl", [row(0), row(1)], json!({"messages": [{"role": "bot"}]})),
        ("cases.jsonl", [case(0), case(1)], bad(0)),
    ] {
        let file = directory.path().join(name);
        let lines: String = [&good[0], &refused, &good[1]].map(|row| format!("{row}\n")).concat();
        fs::write(&file, lines).expect("writes");
        let output = spanbridge(&["convert", "--to", "messages", text(&file)]);
        let asked: Vec<Value> = documents(&output).iter().map(|row| row["messages"][0]["content"].clone()).collect();
        assert_eq!(asked, ["Question 0?", "Question 1?"], "{name}: {}", stderr(&output));
        assert!(stderr(&output).contains("document 2: $"), "{name}: {}", stderr(&output));
        assert_eq!(output.status.code(), Some(1), "{name}");
    }
    let file = directory.path().join("cases.json");
    let mut cases: Vec<Value> = (0..40).map(case).collect();
    cases.extend((0..30).map(bad));
    fs::write(&file, json!(cases).to_string()).expect("writes");
    let output = spanbridge(&["convert", "--to", "deepeval", text(&file)]);
    let asked: Vec<Value> = documents(&output).iter().map(|case| case["input"].clone()).collect();
    let wanted: Vec<String> = (0..40).map(|number| format!("Question {number}?")).collect();
    assert_eq!(asked, wanted, "in their order");
    let said = stderr(&output);
    assert!(said.contains("$[40].input") && said.contains("$[49].input"), "{said}");
    assert!(said.contains("and 20 more errors like this") && !said.contains("$[50]"), "{said}");
}

#[test]
fn each_row_is_a_trace_of_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("rows.jsonl");
    let rows: Vec<Value> = (0..30).map(row).collect();
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    fs::write(&file, &lines).expect("writes");
    let output = spanbridge(&["convert", "--to", "messages", text(&file)]);
    assert_eq!(documents(&output), rows, "{}", stderr(&output));
    let data = directory.path().join("data");
    let import = || stderr(&spanbridge(&["import", "--data-dir", text(&data), text(&file)]));
    let (first, second) = (import(), import());
    assert!(first.contains("120 spans stored, 0 already stored before"), "{first}");
    assert!(second.contains("0 spans stored, 120 already stored before"), "{second}");
    // A row that cannot be read: nothing of its file is stored.
    let broken = directory.path().join("broken.jsonl");
    fs::write(&broken, format!("{}\n{{\"messages\": [{{\"role\": \"bot\"}}]}}\n", row(99))).expect("writes");
    let output = spanbridge(&["import", "--data-dir", text(&data), "--from", "messages", text(&broken)]);
    let said = stderr(&output);
    assert!(
        said.contains("document 2: $.messages[0].role") && said.contains("0 spans stored"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(1));
}

/// A run without times began when its file was written, or when `--at` says; the same document once more changes nothing.
#[test]
fn a_document_without_times_begins_when_its_file_was_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let (file, data) = (directory.path().join("rows.jsonl"), directory.path().join("data"));
    fs::write(&file, format!("{}\n{}\n", row(1), row(2))).expect("writes");
    let written = |seconds| {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        let file = fs::File::options().append(true).open(&file).expect("opens");
        file.set_modified(time).expect("a time");
    };
    let import = |more: &[&str]| {
        let arguments = [&["import", "--data-dir", text(&data), text(&file)], more].concat();
        stderr(&spanbridge(&arguments))
    };
    let started = || {
        let output = spanbridge(&["ls", "--data-dir", text(&data), "--since", "2026-11-01", "--json"]);
        let rows = documents(&output).into_iter();
        rows.map(|row| row["start_unix_nano"].as_u64().expect("a time")).collect::<Vec<_>>()
    };
    written(1_795_000_000);
    assert!(import(&[]).contains("8 spans stored"));
    let first = started();
    assert_eq!(first.len(), 2, "{first:?}");
    assert!(first.iter().all(|time| *time == 1_795_000_000_000_000_000), "{first:?}");
    written(1_795_100_000);
    for more in [&[][..], &["--at", "2026-11-20"]] {
        let said = import(more);
        assert!(said.contains("0 spans stored, 8 already stored before"), "{said}");
    }
    let (file, data) = (text(&file), directory.path().join("other"));
    let at = spanbridge(&["import", "--data-dir", text(&data), "--at", "2026-11-20", file]);
    assert!(stderr(&at).contains("8 spans stored"), "{}", stderr(&at));
    let output = spanbridge(&["ls", "--data-dir", text(&data), "--json"]);
    let began: Vec<u64> = documents(&output)
        .iter()
        .filter_map(|row| row["start_unix_nano"].as_u64())
        .collect();
    assert_eq!(began, [1_795_132_800_000_000_000; 2]);
}

fn part(session: &str, steps: &Value) -> Value {
    json!({"schema_version": "ATIF-v1.6", "session_id": session, "agent": {"name": "shell", "version": "1"}, "steps": steps})
}

#[test]
fn files_that_a_trajectory_names_are_parts_of_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let write = |name: &str, document: &Value| {
        let path = directory.path().join(name);
        fs::write(&path, document.to_string()).expect("writes");
        path
    };
    let reference = json!([{"session_id": "inner", "trajectory_path": "trajectory.inner.json"}]);
    let mut whole = part(
        "s",
        &json!([
            {"step_id": 1, "source": "user", "message": "Begin."},
            {"step_id": 2, "source": "agent", "message": "", "metrics": {},
             "tool_calls": [{"tool_call_id": "t", "function_name": "delegate", "arguments": {}}],
             "observation": {"results": [{"source_call_id": "t", "content": "done", "subagent_trajectory_ref": reference}]}},
        ]),
    );
    whole["continued_trajectory_ref"] = "trajectory.cont-1.json".into();
    let main = write("trajectory.json", &whole);
    let said = json!([
        {"step_id": 1, "source": "user", "message": "Begin.", "is_copied_context": true},
        {"step_id": 2, "source": "agent", "message": "The end.", "metrics": {}},
    ]);
    let next = write("trajectory.cont-1.json", &part("s-cont-1", &said));
    let inside = json!([{"step_id": 1, "source": "agent", "message": "Inside.", "metrics": {}}]);
    let inner = write("trajectory.inner.json", &part("inner", &inside));
    // The shell sorts the continuation before the first file.
    let output = spanbridge(&["convert", "--to", "atif", text(&next), text(&inner), text(&main)]);
    let list = documents(&output);
    assert_eq!(list.len(), 1, "{}", stderr(&output));
    assert_eq!(list[0]["steps"].as_array().map(Vec::len), Some(4));
    assert_eq!(list[0]["steps"][3]["message"], "The end.");
    assert_eq!(list[0]["subagent_trajectories"][0]["steps"][0]["message"], "Inside.");
    let reference = &list[0]["steps"][1]["observation"]["results"][0]["subagent_trajectory_ref"][0];
    assert_eq!(reference["trajectory_id"], list[0]["subagent_trajectories"][0]["trajectory_id"]);
    // Other formats tell of all of it.
    let output = spanbridge(&["convert", "--to", "messages", text(&main)]);
    let words = documents(&output).iter().map(Value::to_string).collect::<String>();
    assert!(words.contains("Inside.") && words.contains("The end."), "{words}");
    // No file above the folder is read.
    whole["continued_trajectory_ref"] = "../trajectory.cont-1.json".into();
    let folder = directory.path().join("below");
    fs::create_dir(&folder).expect("made");
    let outside = write("below/trajectory.json", &whole);
    let output = spanbridge(&["convert", "--to", "atif", text(&outside)]);
    assert_eq!(documents(&output), [whole]);
}

#[test]
fn inline_images_are_written_beside_the_document() {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/made-images/001.traces.json");
    let directory = tempfile::tempdir().expect("a directory");
    let output = spanbridge(&["convert", "--to", "atif", "--output", text(directory.path()), text(&case)]);
    assert!(output.status.success(), "{}", stderr(&output));
    let mut named = 0;
    for file in fs::read_dir(directory.path()).expect("made").flatten() {
        let Ok(text) = fs::read_to_string(file.path()) else { continue };
        let document: Value = serde_json::from_str(&text).expect("JSON");
        for step in document["steps"].as_array().into_iter().flatten() {
            for part in step["message"].as_array().into_iter().flatten() {
                let Some(path) = part["source"]["path"].as_str().filter(|path| !path.starts_with("http")) else {
                    continue;
                };
                named += 1;
                assert!(directory.path().join(path).is_file(), "{path}");
            }
        }
    }
    assert!(named > 0, "the case has inline images");
}

#[test]
fn a_fault_of_json_is_told_with_its_place() {
    let directory = tempfile::tempdir().expect("a directory");
    let nested = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    for (value, fault) in [
        ("\"\\ud800\"", "hex escape"),
        ("1e400", "out of range"),
        (nested.as_str(), "recursion limit"),
    ] {
        let file = directory.path().join("fault.json");
        fs::write(&file, format!("{{\"messages\": [{{\"role\": \"user\", \"content\": {value}}}]}}")).expect("writes");
        let output = spanbridge(&["convert", "--to", "invariant", text(&file)]);
        let said = stderr(&output);
        assert!(said.contains(fault) && !said.contains("resourceSpans"), "{said}");
        assert_eq!(output.status.code(), Some(1));
    }
}

/// The chat of many messages without many words.
fn chat(roles: &[&str], count: usize) -> Vec<Value> {
    let message = |(number, role): (usize, &&str)| match *role {
        "tool" => json!({"role": "tool", "content": "ok", "tool_call_id": format!("c{}", number - 1)}),
        "calls" => json!({"role": "assistant", "content": "", "tool_calls": [{"id": format!("c{number}"), "type": "function",
            "function": {"name": "look_1", "arguments": {"at": number}}}]}),
        role => json!({"role": role, "content": "ok"}),
    };
    roles.iter().cycle().take(count).enumerate().map(message).collect()
}

/// Documents whose messages have few words, so that what is stored beside the words counts.
fn short_words(count: usize) -> [(&'static str, String); 4] {
    let definition = |number: usize| {
        json!({"type": "function", "function": {"name": format!("look_{number}"), "description": format!("Looks at place {number}."),
            "parameters": {"type": "object", "properties": {"at": {"type": "integer"}}}}})
    };
    let tools: Vec<Value> = (0..20).map(definition).collect();
    let with_tools = json!({"messages": chat(&["user", "calls", "tool", "assistant"], count), "tools": tools});
    let in_turn = json!({"messages": chat(&["user", "assistant"], count)});
    let answers = json!({"messages": chat(&["assistant"], count)});
    [
        ("chat.json", in_turn.to_string()),
        ("answers.json", answers.to_string()),
        ("tools.json", with_tools.to_string()),
        ("rows.jsonl", (0..count / 4).map(|number| format!("{}\n", row(number))).collect()),
    ]
}

/// A document is stored in at most three times its bytes and what an empty store takes (beside the room that it reserves for a full
/// disk); importing it again stores nothing.
fn is_stored_within_its_share(file: &Path) {
    const EMPTY: u64 = 64 << 10;
    let data = file.with_extension("stored");
    let import = || stderr(&spanbridge(&["import", "--data-dir", text(&data), text(file)]));
    let first = import();
    assert!(
        first.contains("0 already stored before") && !first.contains(" 0 spans"),
        "{}: {first}",
        file.display()
    );
    let entries = fs::read_dir(&data).expect("lists").map(|entry| entry.expect("an entry"));
    let stored: u64 = entries
        .filter(|entry| entry.file_name() != "reserve")
        .map(|entry| entry.metadata().expect("a file").len())
        .sum();
    let document = fs::metadata(file).expect("a file").len();
    assert!(stored <= 3 * document + EMPTY, "{}: {stored} of {document}", file.display());
    let again = import();
    assert!(again.contains(" 0 spans stored"), "{}: {again}", file.display());
}

#[test]
fn documents_take_at_most_three_times_their_bytes() {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, document) in short_words(1_000) {
        let file = directory.path().join(name);
        fs::write(&file, document).expect("writes");
        is_stored_within_its_share(&file);
    }
    // Some formats tell a conversation in each step: fewer are as large.
    for (name, document) in short_words(100) {
        let file = directory.path().join(name);
        fs::write(&file, document).expect("writes");
        for format in ["reflex", "atif", "contextforge", "openreward", "synth", "invariant"] {
            let output = spanbridge(&["convert", "--to", format, text(&file)]);
            let made = directory.path().join(format!("{format}.{name}"));
            fs::write(&made, output.stdout).expect("writes");
            is_stored_within_its_share(&made);
        }
    }
}

/// Older forms of documents: what providers and frameworks wrote before the forms of now, and lists without a row around them.
#[test]
fn older_forms_are_read_as_what_they_became() {
    let directory = tempfile::tempdir().expect("a directory");
    let rows = |document: &Value| {
        let file = directory.path().join("document.json");
        fs::write(&file, document.to_string()).expect("writes");
        let output = spanbridge(&["convert", "--to", "messages", "--option", "messages.origin=none", text(&file)]);
        assert!(output.status.success(), "{}", stderr(&output));
        documents(&output)
    };
    // Ids of calls are made where a document has none.
    let words = |rows: &[Value]| {
        let all = rows.iter().flat_map(|row| row["messages"].as_array().expect("messages"));
        all.map(|message| (message["role"].clone(), message["content"].clone()))
            .collect::<Vec<_>>()
    };
    // Messages of Anthropic's API alone are the row that has them.
    let list = json!([
        {"role": "user", "content": [{"type": "text", "text": "Rename it"}], "ts": 1},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}, {"type": "tool_use", "id": "t1", "name": "finish", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]},
    ]);
    let row = json!({"messages": list});
    assert_eq!(rows(&list), rows(&row));
    let said = Value::Array(rows(&list)).to_string();
    assert!(said.contains("finish") && said.contains("ok"), "{said}");
    // A function that was called without an id.
    let old = json!({"messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{\"a\":1}"}},
        {"role": "function", "name": "f", "content": "r"},
        {"role": "assistant", "content": "Done"},
    ], "functions": [{"name": "f", "parameters": {}}]});
    let file = directory.path().join("old.json");
    fs::write(&file, old.to_string()).expect("writes");
    let output = spanbridge(&["convert", "--to", "atif", text(&file)]);
    let read = Value::Array(documents(&output)).to_string();
    assert!(output.status.success(), "{}", stderr(&output));
    for words in [
        "\"function_name\":\"f\"",
        "\"arguments\":{\"a\":1}",
        "\"content\":\"r\"",
        "tool_definitions",
    ] {
        assert!(read.contains(words), "{words}: {read}");
    }
    assert_eq!(rows(&old), [old]);
    // Eval files of ADK: a case as its invocations, or several with names.
    let invocations = json!([
        {"query": "hello", "expected_tool_use": [], "reference": "Hi there!"},
        {"query": "Lamp off", "expected_tool_use": [{"tool_name": "set", "tool_input": {"on": false}}],
            "expected_intermediate_agent_responses": [{"author": "helper", "text": "I look."}], "reference": "It is off."},
    ]);
    let cases = json!([{"name": "one", "data": invocations, "initial_session": {"state": {}, "app_name": "shop", "user_id": "u1"}}]);
    let (of_list, of_cases) = (rows(&invocations), rows(&cases));
    assert_eq!(words(&of_list), words(&of_cases));
    let said = Value::Array(of_cases).to_string();
    for words in ["hello", "Hi there!", "Lamp off", "\"name\":\"set\"", "I look.", "It is off."] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let file = directory.path().join("cases.json");
    fs::write(&file, cases.to_string()).expect("writes");
    let set = documents(&spanbridge(&["convert", "--to", "adk", text(&file)]));
    let case = &set[0]["eval_cases"][0];
    assert_eq!(
        (&case["eval_id"], &case["session_input"]["app_name"]),
        (&json!("one"), &json!("shop"))
    );
    assert_eq!(case["conversation"][1]["final_response"]["parts"][0]["text"], "It is off.");
}

/// A table that is named reads what no other does; what it leaves out and what it does not understand is told.
#[test]
fn a_form_of_ones_own_reads_a_log() {
    let directory = tempfile::tempdir().expect("a directory");
    let (form, wrong, log) = (
        directory.path().join("own.yaml"),
        directory.path().join("wrong.yaml"),
        directory.path().join("log.jsonl"),
    );
    let table = "reads: our logs\nlog: true\nis: {ev: <text>}\nrules:\n  item:\n    - {when: {ev: ask}, role: =user, text: words}\n    - {when: {ev: say}, role: =assistant, text: words}\n";
    fs::write(&form, table).expect("writes");
    fs::write(&wrong, table.replace("text: words", "txt: words")).expect("writes");
    let lines = [
        r#"{"ev": "ask", "words": "Open?"}"#,
        "starting ...",
        r#"{"ev": "beep"}"#,
        r#"{"ev": "say", "words": "No."}"#,
    ];
    fs::write(&log, lines.join("\n")).expect("writes");
    let output = spanbridge(&["convert", "--to", "messages", "--form", text(&form), text(&log)]);
    let said: Vec<String> = documents(&output).iter().map(|row| row["messages"].to_string()).collect();
    assert_eq!(
        said,
        [r#"[{"role":"user","content":"Open?"},{"role":"assistant","content":"No."}]"#],
        "{}",
        stderr(&output)
    );
    let tried = spanbridge(&["forms", "--try", text(&form), text(&log)]);
    let tried = String::from_utf8_lossy(&tried.stdout).into_owned();
    let wanted = "line 1: read\nline 3: not understood: item whose ev is `beep`\nline 4: read\n1 line that is not JSON: left out\n";
    assert_eq!(tried, wanted);
    let output = spanbridge(&["show", text(&log), "--form", text(&wrong)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("there is no member `txt`; did you mean `text`?"),
        "{}",
        stderr(&output)
    );
    let output = spanbridge(&["show", text(&log), "--form", "langchane"]);
    assert!(stderr(&output).contains("did you mean `langchain`?"), "{}", stderr(&output));
    let listed = spanbridge(&["forms"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("langchain "));
    let table = spanbridge(&["forms", "cursor"]);
    assert!(String::from_utf8_lossy(&table.stdout).contains("reads: transcripts of Cursor's agent"));
}

#[test]
fn documents_below_the_members_of_an_object_are_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("answer.json");
    let content = json!({"status": "ok", "first": row(1), "second": row(2), "about": {"pages": 1}, "prompt": row(3)});
    fs::write(&file, content.to_string()).expect("writes");
    let output = spanbridge(&["convert", "--to", "messages", text(&file)]);
    let said: Vec<String> = documents(&output)
        .iter()
        .map(|row| row["messages"][0]["content"].to_string())
        .collect();
    assert_eq!(said, [r#""Question 1?""#, r#""Question 2?""#], "{}", stderr(&output));
    assert!(
        stderr(&output).contains("read from its members first, second; left out: about, prompt, status"),
        "{}",
        stderr(&output)
    );
    // An item of a data set is not a run.
    fs::write(
        &file,
        json!({"input": [{"role": "user", "content": "Q?"}], "target": "A"}).to_string(),
    )
    .expect("writes");
    assert!(!spanbridge(&["show", text(&file)]).status.success());
}

#[test]
fn a_history_in_markdown_is_read_by_its_lines() {
    let history = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/message_forms/aider.md");
    let output = spanbridge(&["convert", "--to", "messages", text(&history)]);
    let read = documents(&output);
    assert_eq!(read.len(), 1, "{}", stderr(&output));
    assert_eq!(read[0]["messages"][2]["content"], "No, thanks.");
}

/// The third example of the page.
#[test]
fn a_form_of_ones_own_reads_exported_spans() {
    let page = include_str!("../src/docs/reading_your_own_format.md");
    let (_, part) = page.split_once("\n## Exported spans\n").expect("the section");
    let block = |kind: &str| {
        let (_, block) = part.split_once(&format!("```{kind}\n")).expect("a block");
        block.split_once("```").expect("its end").0
    };
    let directory = tempfile::tempdir().expect("a directory");
    let (form, file) = (directory.path().join("own.yaml"), directory.path().join("spans.json"));
    fs::write(&form, block("yaml")).expect("writes");
    fs::write(&file, block("json")).expect("writes");
    let output = spanbridge(&["convert", "--to", "messages", "--form", text(&form), text(&file)]);
    let said: Vec<String> = documents(&output).iter().map(|row| row["messages"].to_string()).collect();
    let wanted = r#"[{"role":"user","content":"Who mends clocks?"},{"role":"assistant","content":"Mr. Hill."}]"#;
    assert_eq!(said, [wanted], "{}", stderr(&output));
    let output = spanbridge(&["check", "--form", text(&form), text(&file)]);
    assert!(stderr(&output).contains("own describes exported spans"), "{}", stderr(&output));
    let output = spanbridge(&["show", "--form", "weave", text(&file)]);
    assert!(stderr(&output).contains("nothing fits at `op_name`"), "{}", stderr(&output));
}
