//! Commands on files: what other programs export, session files, comparing, pages, and sending in each dialect. Each is a process of
//! its own.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use spanbridge::otlp::encode;
use spanbridge::span::{LogRecord, Resource, UnixNanos};

use crate::measure::{Work, all_grow_evenly};
use crate::shapes::{AGENT, Batch, CHAT, TOOL, answer, chain, said, span, wide};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The commands that read files take linear time. `make` writes files of so many items, and gives their names; `commands` are given the
/// directory with them.
fn commands_grow_evenly(make: impl Fn(u64) -> Vec<(String, Vec<u8>)> + Sync, commands: impl Fn(&Path) -> Vec<Vec<String>> + Sync) {
    all_grow_evenly(|count| {
        let directory = tempfile::tempdir().unwrap();
        for (name, bytes) in make(count) {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let commands = commands(directory.path());
        let work = |command: &Vec<String>| {
            let arguments: Vec<&str> = command.iter().map(String::as_str).collect();
            Work::of_command(command.join(" "), &arguments, 0)
        };
        commands.iter().map(work).collect()
    });
}

fn command(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// One file, which is converted.
fn convert_grows_evenly(make: impl Fn(u64) -> String + Sync) {
    commands_grow_evenly(
        |count| vec![("in".to_owned(), make(count).into_bytes())],
        |directory| vec![command(&["convert", "--to", "messages", text(&directory.join("in"))])],
    );
}

const TRACE: &str = "5b8efff798038103d269b633813fc60c";

fn id(number: u64) -> String {
    format!("{:016x}", number + 1)
}

#[test]
fn spans_as_phoenix_exports_them() {
    convert_grows_evenly(|count| {
        let one = |number: u64| {
            json!({"name": "s", "context": {"trace_id": TRACE, "span_id": id(number)}, "span_kind": "LLM",
                "parent_id": (number > 0).then(|| id(0)), "start_time": "2026-01-01T10:00:00Z", "end_time": "2026-01-01T10:00:01Z",
                "status_code": "OK", "attributes": {"llm.model_name": "m", "input.value": format!("q{number}")}, "events": []})
        };
        Value::from_iter((0..count).map(one)).to_string()
    });
}

#[test]
fn spans_as_mlflow_exports_them() {
    convert_grows_evenly(|count| {
        let id = |number: u64| STANDARD.encode((number + 1).to_be_bytes());
        let one = |number: u64| {
            json!({"trace_id": STANDARD.encode([7; 16]), "span_id": id(number), "parent_span_id": (number > 0).then(|| id(0)), "name": "s",
                "start_time_unix_nano": 1_767_261_600_000_000_000 + number, "end_time_unix_nano": 1_767_261_700_000_000_000_u64,
                "attributes": {"mlflow.spanType": "\"LLM\"", "mlflow.spanInputs": format!("{{\"q\":{number}}}")}, "events": [],
                "status": {"code": "OK"}})
        };
        let spans = Value::from_iter((0..count).map(one));
        json!({"info": {"trace_id": format!("tr-{TRACE}"), "request_time": "2026-01-01T10:00:00Z"}, "data": {"spans": spans}}).to_string()
    });
}

/// DeepEval writes a list of spans for each kind.
#[test]
fn spans_as_deepeval_exports_them() {
    convert_grows_evenly(|count| {
        let one = |kind: &str, number: u64| {
            json!({"uuid": format!("{kind}{number}"), "parentUuid": "root", "type": kind, "name": "s", "status": "SUCCESS",
                "startTime": "2026-01-01T10:00:00Z", "endTime": "2026-01-01T10:00:01Z", "input": format!("q{number}"), "output": "a"})
        };
        let of = |kind: &str| Value::from_iter((0..count / 2).map(|number| one(kind, number)));
        json!({"uuid": "t", "baseSpans": [], "agentSpans": [], "llmSpans": of("llm"), "retrieverSpans": [], "toolSpans": of("tool"),
            "startTime": "2026-01-01T10:00:00Z", "endTime": "2026-01-01T10:00:01Z"})
        .to_string()
    });
}

/// A log that an agent printed between lines of a program, each behind the time of a CI runner.
#[test]
fn logs_between_lines() {
    convert_grows_evenly(|count| {
        let first = json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m", "apiKeySource": "login", "cwd": "/"});
        let said = |number: u64| {
            json!({"type": "assistant", "session_id": "s", "message": {"role": "assistant",
                "content": [{"type": "text", "text": format!("t{number}")}]}})
        };
        let behind = |value: &Value| format!("2026-01-01T10:00:00.0000000Z {value}\n2026-01-01T10:00:00.0000000Z at work\n");
        std::iter::once(first)
            .chain((0..count).map(said))
            .map(|value| behind(&value))
            .collect()
    });
}

/// Calls and results that are marked in the text of messages.
#[test]
fn calls_marked_in_texts() {
    convert_grows_evenly(|count| {
        let round = |number: u64| {
            let call = format!("<tool_call>\n{{\"name\": \"f\", \"arguments\": {{\"n\": {number}}}}}\n</tool_call>");
            let result = format!("<tool_response>\nr{number}\n</tool_response>");
            [
                json!({"role": "assistant", "content": call}),
                json!({"role": "user", "content": result}),
            ]
        };
        let asked = std::iter::once(json!({"role": "user", "content": "q"}));
        json!({"messages": asked.chain((0..count).flat_map(round)).collect::<Vec<_>>()}).to_string()
    });
    // All of them in one text.
    convert_grows_evenly(|count| {
        let call = |number: u64| format!("<tool_call>{{\"name\": \"f\", \"arguments\": {{\"n\": {number}}}}}</tool_call>");
        let calls: String = (0..count).map(call).collect();
        json!({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": calls}]}).to_string()
    });
}

/// A folder is read file by file.
#[test]
fn folders() {
    commands_grow_evenly(
        |count| {
            let row = |number: u64| {
                let row = json!({"messages": [{"role": "user", "content": format!("q{number}")}, {"role": "assistant", "content": "a"}]});
                (format!("rows/{number}.json"), row.to_string().into_bytes())
            };
            (0..count / 16).map(row).collect()
        },
        |directory| vec![command(&["convert", "--to", "messages", text(&directory.join("rows"))])],
    );
}

/// OTLP/JSON of `count` spans.
fn otlp(count: u64) -> Value {
    let one = |number: u64| {
        json!({"traceId": TRACE, "spanId": id(number), "parentSpanId": if number > 0 { id(0) } else { String::new() }, "name": "s",
            "startTimeUnixNano": (1_767_261_600_000_000_000 + number).to_string(), "endTimeUnixNano": "1767261700000000000",
            "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}]})
    };
    json!([{"scopeSpans": [{"spans": (0..count).map(one).collect::<Vec<_>>()}]}])
}

#[test]
fn spans_as_tempo_exports_them() {
    convert_grows_evenly(|count| json!({"trace": {"resourceSpans": otlp(count)}}).to_string());
    convert_grows_evenly(|count| json!({"batches": otlp(count)}).to_string());
}

/// Spans of the SDKs of Go and Python, each below a line of the program.
#[test]
fn spans_that_a_program_printed() {
    let time = "2026-01-01T10:00:00.000000Z";
    convert_grows_evenly(|count| {
        let one = |number| {
            json!({"Name": "s", "SpanContext": {"TraceID": TRACE, "SpanID": id(number)}, "StartTime": time, "EndTime": time,
                "Attributes": [{"Key": "gen_ai.operation.name", "Value": {"Type": "STRING", "Value": "chat"}}]})
        };
        (0..count).map(|number| format!("at work\n{}\n", one(number))).collect()
    });
    convert_grows_evenly(|count| {
        let one = |number| {
            json!({"name": "s", "context": {"trace_id": format!("0x{TRACE}"), "span_id": format!("0x{}", id(number))},
                "start_time": time, "end_time": time, "attributes": {"gen_ai.operation.name": "chat"}})
        };
        (0..count).map(|number| format!("at work\n{:#}\n", one(number))).collect()
    });
}

/// A process for each span.
#[test]
fn spans_as_jaeger_exports_them() {
    convert_grows_evenly(|count| {
        let one = |number: u64| {
            json!({"traceID": TRACE, "spanID": id(number), "operationName": "s", "startTime": 1_767_261_600_000_000 + number, "duration": 5,
                "references": [], "tags": [{"key": "gen_ai.operation.name", "type": "string", "value": "chat"}], "logs": [],
                "processID": format!("p{number}")})
        };
        let processes = (0..count).map(|number| (format!("p{number}"), json!({"serviceName": format!("s{number}"), "tags": []})));
        let processes: serde_json::Map<String, Value> = processes.collect();
        json!({"data": [{"traceID": TRACE, "spans": (0..count).map(one).collect::<Vec<_>>(), "processes": processes}]}).to_string()
    });
}

/// A score for each observation, and each of them is a root.
#[test]
fn observations_and_runs_as_langfuse_and_langsmith_export_them() {
    let time = "2026-01-01T10:00:00Z";
    convert_grows_evenly(|count| {
        let one =
            |number| json!({"id": id(number), "traceId": TRACE, "type": "GENERATION", "name": "chat", "startTime": time, "endTime": time});
        let score = |number| json!({"name": "s", "value": 1, "observationId": id(number)});
        json!({"id": TRACE, "observations": (0..count).map(one).collect::<Vec<_>>(), "scores": (0..count).map(score).collect::<Vec<_>>()})
            .to_string()
    });
    convert_grows_evenly(|count| {
        let one =
            |number| json!({"id": id(number), "trace_id": TRACE, "run_type": "llm", "name": "chat", "start_time": time, "end_time": time});
        json!({"runs": (0..count).map(one).collect::<Vec<_>>()}).to_string()
    });
}

/// Lines that are broken, and such as could be mended but for that.
#[test]
fn broken_lines() {
    for line in [
        "{\"resourceSpans\":[}\n",
        "{\"resourceSpans\":[],\"x\":\"\\ud800}\n",
        "{\"resourceSpans\":[\n",
    ] {
        all_grow_evenly(|count| {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("lines");
            let good = json!({"resourceSpans": otlp(2)});
            fs::write(&file, format!("{good}\n{}", line.repeat(usize::try_from(count).unwrap()))).unwrap();
            vec![Work::of_command(line.to_owned(), &["convert", "--to", "messages", text(&file)], 1)]
        });
    }
}

const SESSION: &str = "29e6ed16-4789-48c9-8418-a09c27c96a69";

fn lines(list: impl IntoIterator<Item = Value>) -> Vec<u8> {
    let mut out = String::new();
    for line in list {
        writeln!(out, "{line}").unwrap();
    }
    out.into_bytes()
}

/// One folder of session files, which is imported.
fn session_grows_evenly(make: impl Fn(u64) -> Vec<(String, Vec<u8>)> + Sync) {
    commands_grow_evenly(make, |directory| vec![command(&["convert", "--to", "messages", text(directory)])]);
}

/// A turn of Claude Code: a prompt, a call, its tool, the answer.
fn claude_turn(number: u64, session: &str, is_sub: bool) -> Vec<Value> {
    let at = |step: u64| {
        format!(
            "2026-01-01T{:02}:{:02}:{:02}.{:03}Z",
            number / 3_600,
            number / 60 % 60,
            number % 60,
            step
        )
    };
    let line = |kind: &str, step: u64, message: Value| {
        json!({"parentUuid": (step > 0).then(|| format!("u{number}-{}", step - 1)), "isSidechain": is_sub, "type": kind, "message": message,
            "uuid": format!("u{number}-{step}"), "timestamp": at(step), "sessionId": session, "version": "2.1.0", "cwd": "/", "userType": "external"})
    };
    let model = |id: &str, content: Value| {
        json!({"id": format!("msg_{number}_{id}"), "type": "message", "role": "assistant", "model": "m", "content": content,
            "usage": {"input_tokens": 1, "output_tokens": 1}})
    };
    let call = json!([{"type": "tool_use", "id": format!("toolu_{number}"), "name": "Read", "input": {"n": number}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": format!("toolu_{number}"), "content": "r"}]);
    vec![
        line("user", 0, json!({"role": "user", "content": format!("q{number}")})),
        line("assistant", 1, model("a", call)),
        line("user", 2, json!({"role": "user", "content": result})),
        line("assistant", 3, model("b", json!([{"type": "text", "text": "done"}]))),
    ]
}

#[test]
fn a_session_of_claude_code() {
    session_grows_evenly(|count| {
        let turns = (0..count / 4).flat_map(|number| claude_turn(number, SESSION, false));
        vec![(format!("{SESSION}.jsonl"), lines(turns))]
    });
}

#[test]
fn sub_agents_of_claude_code() {
    session_grows_evenly(|count| {
        let agents = (0..count / 4).map(|number| {
            let name = format!("{SESSION}/subagents/agent-a{number:016x}.jsonl");
            let mut turn = claude_turn(number, SESSION, true);
            for line in &mut turn {
                line["agentId"] = format!("a{number:016x}").into();
            }
            (name, lines(turn))
        });
        let turns = (0..count / 4).flat_map(|number| claude_turn(1_000_000 + number, SESSION, false));
        agents.chain([(format!("{SESSION}.jsonl"), lines(turns))]).collect()
    });
}

/// The session of a sub-agent.
fn sub_session(number: u64) -> String {
    format!("{number:08x}-4789-48c9-8418-a09c27c96a69")
}

/// Each sub-agent is found by the call that began it, in one message of the model.
fn sub_agents_of_gemini(count: u64, name_of: impl Fn(&str) -> String) -> Vec<(String, Vec<u8>)> {
    let head =
        |session: &str, kind: &str| json!({"sessionId": session, "projectHash": "h", "startTime": "2026-01-01T10:00:00Z", "kind": kind});
    let user = |id: &str, said: String| json!({"id": id, "timestamp": "2026-01-01T10:00:00Z", "type": "user", "content": [{"text": said}]});
    let call = |number: u64| {
        json!({"id": format!("c{number}"), "name": "invoke_agent", "args": {"agent_name": "generalist", "prompt": format!("q{number}")},
                "result": [{"functionResponse": {"id": format!("c{number}"), "name": "invoke_agent", "response": {"output": "done"}}}],
                "agentId": sub_session(number), "status": "success", "timestamp": "2026-01-01T10:00:01Z"})
    };
    let model = json!({"id": "m", "timestamp": "2026-01-01T10:00:01Z", "type": "gemini", "content": "I start them.", "model": "m",
            "tokens": {"input": 1, "output": 1}, "toolCalls": (0..count).map(call).collect::<Vec<_>>()});
    let main = lines([head(SESSION, "main"), user("u", "go".to_owned()), model]);
    let agents = (0..count).map(|number| {
        let session = sub_session(number);
        let answer =
            json!({"id": format!("a{number}"), "timestamp": "2026-01-01T10:00:02Z", "type": "gemini", "content": "done", "model": "m"});
        let text = lines([
            head(&session, "subagent"),
            user(&format!("u{number}"), format!("q{number}")),
            answer,
        ]);
        (name_of(&session), text)
    });
    agents.chain([(format!("chats/session-{SESSION}.jsonl"), main)]).collect()
}

#[test]
fn sub_agents_of_gemini_in_the_folder_of_their_session() {
    session_grows_evenly(|count| sub_agents_of_gemini(count / 4, |session| format!("chats/{SESSION}/{session}.jsonl")));
}

/// Which session they are a part of is in the files of that.
#[test]
fn sub_agents_of_gemini_in_one_folder() {
    session_grows_evenly(|count| sub_agents_of_gemini(count / 4, |session| format!("chats/session-{session}.jsonl")));
}

/// A session that is resumed again and again adds its system prompt and its tools each time.
#[test]
fn a_resumed_session_of_pi() {
    session_grows_evenly(|count| {
        let tools: Vec<Value> = (0..20)
            .map(|number| json!({"name": format!("t{number}"), "description": "d"}))
            .collect();
        let head = json!({"type": "session", "version": 3, "id": SESSION, "timestamp": "2026-01-01T10:00:00Z", "cwd": "/"});
        let message = |number: u64, of: &str, message: Value| json!({"type": "message", "id": format!("{of}{number}"), "timestamp": "2026-01-01T10:00:00Z", "message": message});
        let turn = |number: u64| {
            [
                message(number, "s", json!({"role": "system", "content": "be kind", "toolsAdded": tools})),
                message(
                    number,
                    "u",
                    json!({"role": "user", "content": [{"type": "text", "text": format!("q{number}")}]}),
                ),
                message(
                    number,
                    "a",
                    json!({"role": "assistant", "content": [{"type": "text", "text": "a"}], "model": "m"}),
                ),
            ]
        };
        let text = std::iter::once(head.clone()).chain((0..count / 8).flat_map(turn));
        vec![(format!("2026_{SESSION}.jsonl"), lines(text))]
    });
}

/// A log of changes, each of which adds to what is there.
#[test]
fn a_session_of_vscode() {
    session_grows_evenly(|count| {
        let head = json!({"kind": 0, "v": {"version": 3, "responderUsername": "m", "sessionId": SESSION, "requests": []}});
        let asked = |turn: u64| json!({"kind": 2, "k": ["requests"], "v": [{"requestId": format!("r{turn}"), "message": {"text": "q"}, "response": []}]});
        let said = |turn: u64| json!({"kind": 2, "k": ["requests", turn, "response"], "v": [{"value": "a"}]});
        let told = |turn: u64| {
            json!({"kind": 1, "k": ["requests", turn, "result"], "v": {"metadata": {"toolCallRounds": [
                {"response": "", "toolCalls": [{"id": format!("c{turn}"), "name": "look", "arguments": "{}"}]}, {"response": "a", "toolCalls": []},
            ], "toolCallResults": {(format!("c{turn}")): {"content": [{"value": "found"}]}}}}})
        };
        let turns = (0..count / 4).flat_map(|turn| [asked(turn), said(turn), told(turn)]);
        vec![("s.jsonl".to_owned(), lines(std::iter::once(head).chain(turns)))]
    });
}

/// A fork that begins with what it copied, at one time, and whose turn begins with many messages of other agents.
#[test]
fn a_fork_of_codex() {
    const FORK: &str = "019f1d3a-7c40-7000-8000-000000000000";
    const PARENT: &str = "019f1d1f-0500-7000-8000-000000000000";
    session_grows_evenly(|count| {
        let line = |second: u64, kind: &str, payload: Value| json!({"timestamp": format!("2026-07-01T11:00:{second:02}Z"), "type": kind, "payload": payload});
        let meta = |id: &str, of: Option<&str>| {
            line(
                0,
                "session_meta",
                json!({"id": id, "forked_from_id": of, "cwd": "/", "cli_version": "0.140.0"}),
            )
        };
        let said = |second: u64, role: &str, kind: &str, words: String| {
            line(
                second,
                "response_item",
                json!({"type": "message", "role": role, "content": [{"type": kind, "text": words}]}),
            )
        };
        let asked = |second: u64, words: String| line(second, "event_msg", json!({"type": "user_message", "message": words}));
        let copied = (0..count / 4).flat_map(|number| {
            [
                asked(0, format!("q{number}")),
                said(0, "user", "input_text", format!("q{number}")),
                said(0, "assistant", "output_text", format!("a{number}")),
            ]
        });
        let mail = (0..count / 4).map(|number| {
            let content = json!([{"type": "input_text", "text": format!("m{number}")}]);
            line(
                9,
                "response_item",
                json!({"type": "agent_message", "author": "a", "recipient": "b", "content": content}),
            )
        });
        let head = [meta(FORK, Some(PARENT)), meta(PARENT, None)];
        let own = std::iter::once(asked(9, "on".to_owned())).chain(mail);
        let text = head
            .into_iter()
            .chain(copied)
            .chain(own)
            .chain([said(10, "assistant", "output_text", "done".to_owned())]);
        vec![(format!("rollout-2026-07-01T11-00-00-{FORK}.jsonl"), lines(text))]
    });
}

/// A run of calls and tools whose answers end in this.
fn run(count: u64, end: &str) -> Batch {
    wide(count, |number| match number % 2 {
        1 => said(CHAT, &[("gen_ai.output.messages", answer(&format!("a{number}{end}")))]),
        _ => said(TOOL, &[("gen_ai.tool.name", format!("t{}{end}", number % 50))]),
    })
}

#[test]
fn comparing_runs() {
    commands_grow_evenly(
        |count| {
            let of = |name: &str, batch: Batch| (name.to_owned(), encode::traces(&batch.0));
            vec![
                of("a", run(count, "")),
                of("b", run(count, " or so")),
                of(
                    "c",
                    chain(count, |number| said(AGENT, &[("gen_ai.agent.name", format!("a{number}"))])),
                ),
            ]
        },
        |directory| {
            let compare = |one: &str, other: &str| command(&["compare", text(&directory.join(one)), text(&directory.join(other))]);
            vec![compare("a", "a"), compare("a", "b"), compare("a", "c"), compare("c", "c")]
        },
    );
}

/// The runs of a file are shown without a store: one long run, many runs, and a session file.
#[test]
fn showing_files() {
    commands_grow_evenly(
        |count| {
            let line = |number: u64| {
                let role = if number.is_multiple_of(2) { "user" } else { "assistant" };
                let before = number.checked_sub(1).map(id);
                json!({"type": role, "uuid": id(number), "parentUuid": before, "sessionId": "s", "timestamp": "2026-01-01T10:00:00Z",
                    "message": {"role": role, "content": format!("m{number}")}})
                .to_string()
            };
            vec![
                ("run".to_owned(), encode::traces(&run(count, "").0)),
                (
                    "runs".to_owned(),
                    encode::traces(&(0..count).map(|number| span(number, None, &[CHAT])).collect::<Vec<_>>()),
                ),
                (
                    "session.jsonl".to_owned(),
                    (0..count).map(line).collect::<Vec<_>>().join("\n").into_bytes(),
                ),
            ]
        },
        |directory| {
            let show = |name: &str, flags: &[&str]| command(&[&["show", text(&directory.join(name))], flags].concat());
            vec![
                show("run", &[]),
                show("run", &["--full"]),
                show("run", &["--spans"]),
                show("runs", &[]),
                show("session.jsonl", &["--full"]),
                show("session.jsonl", &["--hide-working"]),
            ]
        },
    );
}

/// Documents that a format refuses are passed over; the others of the file are read.
#[test]
fn refused_documents_among_others() {
    all_grow_evenly(|count| {
        let row = |number: u64| {
            let messages = json!([{"role": "user", "content": format!("q{number}")}, {"role": "assistant", "content": "a"}]);
            let refused = json!([{"role": "user", "content": {"neither": "text nor parts"}}]);
            json!({"messages": if number.is_multiple_of(2) { messages } else { refused }}).to_string()
        };
        let rows: Vec<String> = (0..count).map(row).collect();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("rows.jsonl");
        fs::write(&file, rows.join("\n")).unwrap();
        let commands = [&["convert", "--to", "messages", text(&file)][..], &["show", text(&file)]];
        commands.map(|command| Work::of_command(command.join(" "), command, 1)).into()
    });
}

/// A page has each step, in a tree that is flat or deep.
#[test]
fn pages_of_runs() {
    let shapes: [fn(u64) -> Batch; 2] = [
        |count| run(count, ""),
        |count| chain(count, |number| said(AGENT, &[("gen_ai.agent.name", format!("a{number}"))])),
    ];
    for shape in shapes {
        all_grow_evenly(|count| {
            let directory = tempfile::tempdir().unwrap();
            let (file, data) = (directory.path().join("spans"), directory.path().join("data"));
            let (spans, _) = shape(count / 4);
            fs::write(&file, encode::traces(&spans)).unwrap();
            let trace = spans[0].trace_id.to_string();
            let shown = |flags: &[&'static str]| [&["show", trace.as_str(), "--data-dir", text(&data)], flags].concat();
            vec![
                Work::of_command("import".to_owned(), &["import", "--data-dir", text(&data), text(&file)], 0),
                Work::of_command("show --html".to_owned(), &shown(&["--html", "-"]), 0),
                Work::of_command("show --full".to_owned(), &shown(&["--full"]), 0),
                Work::of_command("show --spans".to_owned(), &shown(&["--spans", "-v"]), 0),
            ]
        });
    }
}

/// Takes whatever is posted, and answers that it is well.
fn backend() -> String {
    fn serve(stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut stream = stream;
        loop {
            let (mut length, mut line) = (0_u64, String::new());
            while reader.read_line(&mut line).ok()? > 2 {
                if let Some(said) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = said.trim().parse().ok()?;
                }
                line.clear();
            }
            std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink()).ok()?;
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n")
                .ok()?;
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(|| serve(stream));
        }
    });
    format!("http://{address}")
}

/// What is sent of these spans and log records, in each dialect.
fn sending_grows_evenly(make: impl Fn(u64) -> Batch + Sync) {
    let backend = backend();
    commands_grow_evenly(
        |count| {
            let (spans, logs) = make(count);
            let files = [("spans", encode::traces(&spans)), ("logs", encode::logs(&logs))];
            files.map(|(name, bytes)| (name.to_owned(), bytes)).to_vec()
        },
        |directory| {
            let dialects = [
                ("as-received", "send"),
                ("openinference", "into-spans"),
                ("genai", "into-spans"),
                ("both", "into-spans"),
            ];
            let send = |(dialect, logs): &(&str, &str)| {
                let (spans, records) = (directory.join("spans"), directory.join("logs"));
                command(&[
                    "send",
                    "--to",
                    &backend,
                    "--dialect",
                    dialect,
                    "--logs",
                    logs,
                    text(&spans),
                    text(&records),
                ])
            };
            dialects.iter().map(send).collect()
        },
    );
}

#[test]
fn sending_many_spans() {
    sending_grows_evenly(|count| run(count, ""));
}

/// Log records of many spans, and many of one.
#[test]
fn sending_log_records() {
    let record = |of: u64, number: u64| LogRecord {
        trace_id: Some(span(of, None, &[]).trace_id),
        span_id: Some(span(of, None, &[]).span_id),
        time: Some(UnixNanos(1_767_261_600_000_000_000 + number)),
        observed_time: None,
        severity: 9,
        severity_text: String::new(),
        event_name: "gen_ai.user.message".to_owned(),
        body: format!("q{number}").as_str().into(),
        attributes: [("event.name".to_owned(), "gen_ai.user.message".into())].into_iter().collect(),
        dropped_attributes: 0,
        flags: 0,
        resource: std::sync::Arc::new(Resource::default()),
        scope: std::sync::Arc::default(),
    };
    sending_grows_evenly(|count| (run(count, "").0, (0..count).map(|number| record(number, number)).collect()));
    sending_grows_evenly(|count| (vec![span(0, None, &[CHAT])], (0..count).map(|number| record(0, number)).collect()));
}

/// A long conversation in one span, in one attribute and in many.
#[test]
fn sending_a_long_conversation() {
    sending_grows_evenly(|count| {
        let messages: Vec<Value> = (0..count)
            .map(|number| json!({"role": "user", "parts": [{"type": "text", "content": format!("q{number}")}]}))
            .collect();
        let said = Value::from(messages).to_string();
        (vec![span(0, None, &[CHAT, ("gen_ai.input.messages", &said)])], Vec::new())
    });
    sending_grows_evenly(|count| {
        let mut one = span(0, None, &[("openinference.span.kind", "LLM")]);
        for number in 0..count {
            one.attributes.push(format!("llm.input_messages.{number}.message.role"), "user");
            one.attributes
                .push(format!("llm.input_messages.{number}.message.content"), format!("q{number}"));
        }
        (vec![one], Vec::new())
    });
}

/// A conversation in which each call goes on with the one before: destinations get it in full, within their limits.
#[test]
fn sending_a_conversation_that_goes_on() {
    let backend = backend();
    commands_grow_evenly(
        |count| {
            let message =
                |number: u64| json!({"role": if number.is_multiple_of(2) { "user" } else { "assistant" }, "content": format!("m{number}")});
            let chat = json!({"messages": (0..count).map(message).collect::<Vec<_>>()});
            vec![("chat".to_owned(), chat.to_string().into_bytes())]
        },
        |directory| {
            let send = |dialect: &str| command(&["send", "--to", &backend, "--dialect", dialect, text(&directory.join("chat"))]);
            vec![send("as-received"), send("openinference"), send("genai")]
        },
    );
}
