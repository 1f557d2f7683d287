//! The command line, as the real program: what it writes, where, and with which exit status.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]
#![cfg(feature = "server")]

use crate::serving;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use serving::{Serving, spanbridge, with_input};
use spanbridge::formats::FORMATS;

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("a status")
}

/// The payloads of a recorded case that carry this signal.
fn payloads(case: &str, signal: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(case);
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a case")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with(&format!(".{signal}.bin")))
        .collect();
    found.sort();
    found
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

const CASE: &str = "oi-langchain-agent";

fn post(serving: &Serving, signal: &str, body: &[u8]) {
    let mut request = ureq::post(format!("{}/v1/{signal}", serving.http)).header("content-type", "application/x-protobuf");
    if body.starts_with(&[0x1f, 0x8b]) {
        request = request.header("content-encoding", "gzip");
    }
    assert_eq!(request.send(body).expect("taken").status(), 200);
}

fn post_case(serving: &Serving, case: &str) {
    for signal in ["traces", "logs"] {
        for path in payloads(case, signal) {
            post(serving, signal, &fs::read(path).expect("reads"));
        }
    }
}

#[test]
fn check_prints_violations_and_tells_them_by_its_status() {
    let good = br#"[{"role":"user","content":"hello"}]"#;
    let bad = br#"[{"role":"tool","content":"early","tool_call_id":"c"}]"#;
    let output = with_input(&["check", "-"], good);
    assert_eq!((code(&output), stdout(&output).as_str()), (0, ""), "{}", stderr(&output));
    assert!(stderr(&output).contains("1 document checked, 0 violations"), "{}", stderr(&output));
    let output = with_input(&["check", "--format", "invariant", "-"], bad);
    assert_eq!((code(&output), stdout(&output).lines().count()), (1, 1));
    assert!(
        stdout(&output).starts_with("standard input: $[0].tool_call_id: no call with this id"),
        "{}",
        stdout(&output)
    );
    let output = with_input(&["check", "--format", "invariant", "--json", "-"], bad);
    let line: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(line["path"], "$[0].tool_call_id");
    for (input, words) in [
        (&b"{,"[..], "not JSON"),
        (b"{", "the JSON ends in the middle"),
        (b"\xff", "not UTF-8"),
        (b"{}", "JSON without keys"),
    ] {
        let output = with_input(&["check", "-"], input);
        assert_eq!(code(&output), 1);
        assert!(stderr(&output).contains(words), "{words}: {}", stderr(&output));
    }
    assert_eq!(code(&spanbridge(&["check", "--format", "parquet", "-"])), 2);
    // The limits of blocks.
    let block = br#"[{"block_type":"MESSAGE","sub_type":"MESSAGE","payload":{"role":"user","content":"seven b"}}]"#;
    assert_eq!(code(&with_input(&["check", "-"], block)), 0);
    let output = with_input(&["check", "--option", "openreward.limit_msg_bytes=6", "-"], block);
    assert_eq!(code(&output), 1);
    assert!(
        stdout(&output).contains("$[0].payload.content: message content exceeds 6 bytes"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn convert_knows_its_input_by_content() {
    let path = payloads(CASE, "traces").remove(0);
    let bytes = fs::read(&path).expect("reads");
    let wanted = spanbridge(&["convert", "--to", "reflex", text(&path)]);
    assert_eq!((code(&wanted), stdout(&wanted).lines().count()), (0, 1), "{}", stderr(&wanted));
    let json = fs::read(path.with_extension("json")).expect("reads");
    let compact: Value = serde_json::from_slice(&json).expect("JSON");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(&bytes).expect("compresses");
    // The same spans twice are the same spans: one object a line, as the Collector's file exporter writes.
    let lines = format!("{compact}\n{compact}\n");
    let forms: [(&str, Vec<u8>); 7] = [
        ("protobuf", bytes.clone()),
        ("gzip", gz.finish().expect("compresses")),
        ("zstd", zstd::encode_all(&*lines.clone().into_bytes(), 3).expect("compresses")),
        ("JSON", json),
        ("lines", lines.into_bytes()),
        ("array", format!("[{compact}]").into_bytes()),
        ("white space first", format!("\n\n  {compact}").into_bytes()),
    ];
    for (name, form) in forms {
        let output = with_input(&["convert", "--to", "reflex", "-"], &form);
        assert_eq!(code(&output), 0, "{name}: {}", stderr(&output));
        assert_eq!(stdout(&output), stdout(&wanted), "{name}");
    }
}

#[test]
fn convert_writes_files_losses_and_names_traces_without_agent_work() {
    let directory = tempfile::tempdir().expect("a directory");
    let (out, losses) = (directory.path().join("out/deep"), directory.path().join("losses.ndjson"));
    let plain = br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0202020202020202","name":"GET /"}]}]}]}"#;
    let path = payloads(CASE, "traces").remove(0);
    let output = with_input(
        &[
            "convert",
            "--to",
            "contextforge",
            "--output",
            text(&out),
            "--losses",
            text(&losses),
            text(&path),
            "-",
        ],
        plain,
    );
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("trace 0102030405060708090a0b0c0d0e0f10 has no agent operations"),
        "{}",
        stderr(&output)
    );
    let files: Vec<PathBuf> = fs::read_dir(&out)
        .expect("made")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    assert_eq!(files.len(), 1);
    let name = files[0].file_name().expect("a name").to_string_lossy().into_owned();
    assert!(
        name.len() == 32 + ".contextforge.json".len() && name.ends_with(".contextforge.json"),
        "{name}"
    );
    let written = fs::read_to_string(&files[0]).expect("reads");
    assert!(written.starts_with("{\n  \"") && written.ends_with("}\n"));
    let losses = fs::read_to_string(losses).expect("reads");
    let losses: Vec<Value> = losses.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(
        losses
            .iter()
            .any(|loss| loss["kind"] == "no_agent_work" && loss["trace_id"] == "0102030405060708090a0b0c0d0e0f10")
    );
    let output = with_input(&["convert", "--to", "contextforge", "--losses", "-", "-"], plain);
    assert_eq!((code(&output), stdout(&output).as_str()), (0, ""));
    assert!(stderr(&output).contains(r#""kind":"no_agent_work""#), "{}", stderr(&output));
}

#[test]
fn an_unreadable_input_is_named_and_the_others_are_still_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = payloads(CASE, "traces").remove(0);
    let bytes = fs::read(&path).expect("reads");
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).expect("writes");
        text(&path).to_owned()
    };
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(&bytes).expect("compresses");
    let gz = gz.finish().expect("compresses");
    for (file, words) in [
        (
            write("cut.bin", &bytes[..bytes.len() / 2]),
            "byte 0: neither OTLP protobuf (an export request) nor OTLP/JSON: the message is cut off",
        ),
        (
            write("cut.gz", &gz[..gz.len() / 2]),
            "cannot decompress it as gzip; the file is truncated or damaged",
        ),
        (write("broken.json", b"{\"resourceSpans\": [}"), "byte 19: not OTLP/JSON"),
        (
            write("other.json", b"{\"hello\": 1}"),
            "this is JSON with the key hello, which no known format has",
        ),
        (write("snake.json", b"{\"resource_spans\": []}"), "lowerCamelCase"),
        (write("text.txt", b"hello"), "this is text, not JSON"),
        (
            directory.path().join("nowhere").to_string_lossy().into_owned(),
            "cannot read it: No such file",
        ),
    ] {
        let output = spanbridge(&["convert", "--to", "invariant", &file, text(&path)]);
        assert_eq!(code(&output), 1, "{file}");
        assert_eq!(stdout(&output).lines().count(), 1, "{file}: the other file's document");
        let said = stderr(&output);
        assert!(said.contains(&file) && said.contains(words), "{said}");
    }
    // Bytes that are not UTF-8 are not replaced.
    let marked = [
        b"\xef\xbb\xbf ".as_slice(),
        br#"[{"role":"user","content":"a "#,
        b"\xff",
        br#" b"}]"#,
    ]
    .concat();
    let (plain, marked) = (write("plain.json", &marked[4..]), write("marked.json", &marked));
    for (command, file, offset) in [
        (&["convert", "--to", "messages"][..], &plain, 29),
        (&["convert", "--to", "messages"], &marked, 33),
        (&["convert", "--to", "messages", "--from", "invariant"], &marked, 33),
        (&["check", "--format", "invariant"], &plain, 29),
        (&["check", "--format", "invariant"], &marked, 33),
    ] {
        let output = spanbridge(&[command, &[file.as_str()]].concat());
        assert_eq!((code(&output), stdout(&output).as_str()), (1, ""), "{command:?}");
        let words = format!("byte {offset}: not UTF-8");
        assert!(stderr(&output).contains(&words), "{}", stderr(&output));
    }
    // A broken line costs that line only.
    let compact: Value = serde_json::from_slice(&fs::read(path.with_extension("json")).expect("reads")).expect("JSON");
    let lines = write("lines.json", format!("{{\"resourceSpans\": oops\n{compact}\n").as_bytes());
    let output = spanbridge(&["convert", "--to", "invariant", &lines]);
    assert_eq!((code(&output), stdout(&output).lines().count()), (1, 1), "{}", stderr(&output));
}

#[test]
fn calls_at_fault_end_with_two() {
    for (arguments, words) in [
        (
            vec!["convert", "--to", "parquet", "x"],
            "the formats are contextforge, reflex, openreward, synth, invariant, messages, atif, inspect, verifiers, deepeval, adk",
        ),
        (vec!["convert", "--to", "reflex"], "required"),
        (vec!["convert", "--to", "reflex", "--option", "x", "-"], "NAME=VALUE"),
        (vec!["ls", "--since", "yesterday", "--data-dir", "/"], "how long ago"),
        (
            vec!["show", "xyz", "--data-dir", "/nonexistent"],
            "there is no store in /nonexistent",
        ),
        (vec!["frobnicate"], "unrecognized subcommand"),
    ] {
        let output = spanbridge(&arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
    #[cfg(not(feature = "bucket"))]
    {
        let output = spanbridge(&["ls", "--store", "s3://bucket/prefix"]);
        assert_eq!(code(&output), 1);
        assert!(stderr(&output).contains("the feature `bucket`"), "{}", stderr(&output));
    }
    for command in ["serve", "convert", "export", "formats", "ls", "show", "reindex"] {
        let output = spanbridge(&[command, "--help"]);
        assert_eq!(code(&output), 0);
        assert!(stdout(&output).contains("Examples:"), "{command}");
    }
}

#[test]
fn every_format_has_a_schema() {
    for format in FORMATS {
        let output = spanbridge(&["formats", format.id, "--schema"]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let schema: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["title"], format.id);
        assert_eq!(Some(schema), format.schema());
    }
    let output = spanbridge(&["formats", "codex", "--schema"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("codex has no schema"), "{}", stderr(&output));
}

/// What moves a cursor, rings, or turns the direction of writing.
const HARMFUL: [char; 8] = ['\u{1b}', '\u{7}', '\r', '\u{9b}', '\u{7f}', '\u{202e}', '\u{2066}', '\u{200f}'];

#[test]
fn nothing_that_is_given_or_answered_reaches_the_terminal_as_it_is() {
    let evil: String = HARMFUL.iter().flat_map(|letter| ['a', *letter]).collect();
    // A server that is none of ours, and one that says it is.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("binds");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let answer = evil.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut asked = [0; 4_096];
            let length = stream.read(&mut asked).unwrap_or(0);
            let front = asked[..length].starts_with(b"GET / ");
            let (status, body) = match front {
                true => ("200 OK", "spanbridge 0.1.0\n".to_owned()),
                false => ("500 Oh", format!("{answer}\nspanbridge: all is well")),
            };
            let length = body.len();
            let _ =
                stream.write_all(format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}").as_bytes());
        }
    });
    let directory = tempfile::tempdir().expect("a directory");
    let data = text(directory.path());
    for arguments in [
        vec!["ls", "--server", &url],
        vec!["show", &evil, "--data-dir", data],
        vec!["ls", "--since", &evil],
        vec![evil.as_str()],
        vec!["export", "--to", &evil],
        vec!["convert", "--to", "reflex", &evil],
        vec!["ls", "--data-dir", &evil],
        vec!["doctor", "--only", "server", "--server", &url, "--data-dir", data],
        vec!["doctor", "--data-dir", &evil],
    ] {
        let output = spanbridge(&arguments);
        for said in [stdout(&output), stderr(&output)] {
            assert!(!said.contains(HARMFUL), "{arguments:?}: {said:?}");
            assert!(!said.contains("\nspanbridge: all is well"), "{said:?}");
        }
    }
}

#[test]
fn a_session_with_a_long_name_has_a_file_of_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let serving = Serving::start(&data);
    let names = [
        "x".repeat(4_000),
        format!("{}y", "x".repeat(3_999)),
        "\u{e9}/\u{1b}".repeat(100),
        "../../up".to_owned(),
    ];
    for (number, name) in names.iter().enumerate() {
        let body = serde_json::json!({"resourceSpans": [{"scopeSpans": [{"spans": [{
        "traceId": format!("{:032x}", number + 1), "spanId": "0707070707070707", "name": "chat m",
        "startTimeUnixNano": "1", "endTimeUnixNano": "2",
        "attributes": [
            {"key": "session.id", "value": {"stringValue": name}},
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "gen_ai.request.model", "value": {"stringValue": "m"}},
            {"key": "gen_ai.output.messages", "value": {"stringValue": r#"[{"role":"assistant","parts":[{"type":"text","content":"hi"}]}]"#}},
        ]}]}]}]});
        let sent = ureq::post(format!("{}/v1/traces", serving.http)).header("content-type", "application/json");
        assert_eq!(sent.send(body.to_string()).expect("taken").status(), 200);
    }
    let out = directory.path().join("out");
    for name in &names {
        let call = [
            "export",
            "--to",
            "reflex",
            "--session",
            name,
            "--output",
            text(&out),
            "--data-dir",
            text(&data),
        ];
        let output = spanbridge(&call);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    let files: Vec<String> = fs::read_dir(&out)
        .expect("made")
        .map(|file| file.expect("a file").file_name().into_string().expect("text"))
        .collect();
    assert_eq!(files.len(), names.len(), "{files:?}");
    assert!(
        files.iter().all(|file| file.len() <= 200 && file.ends_with(".reflex.json")),
        "{files:?}"
    );
    serving.stop();
}

#[test]
fn a_bomb_is_refused_before_it_is_unpacked() {
    let directory = tempfile::tempdir().expect("a directory");
    let zeros = std::io::Read::take(std::io::repeat(0), 2 << 30);
    let bomb = directory.path().join("bomb");
    fs::write(&bomb, zstd::encode_all(zeros, 1).expect("compresses")).expect("writes");
    let call = [env!("CARGO_BIN_EXE_spanbridge"), "convert", "--to", "reflex", text(&bomb)];
    // With so much memory it could not be unpacked.
    let output = Command::new("sh")
        .args(["-c", "ulimit -v 600000; exec \"$@\"", "sh"])
        .args(call)
        .output()
        .expect("runs");
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(
        stderr(&output).contains("larger than 1073741824 bytes after decompression; split the file or raise --max-bytes"),
        "{}",
        stderr(&output)
    );
    let small = payloads(CASE, "traces").remove(0);
    let output = spanbridge(&["convert", "--to", "reflex", "--max-bytes", "100", text(&small)]);
    assert!(
        code(&output) == 1 && stderr(&output).contains("larger than 100 bytes"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let path = payloads(CASE, "traces").remove(0);
    let mut child = serving::program()
        .args(["convert", "--to", "synth", text(&path)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).expect("reads");
    assert_eq!((child.wait().expect("ends").code(), said.as_str()), (Some(0), ""));
}

#[test]
fn export_equals_convert_byte_for_byte() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    let cases = [
        CASE,
        "adk-tools",
        "springai2-logs-multi",
        "tl-langchain-multi",
        "lf-agent",
        "otel-openaiv2-default-tools",
    ];
    for case in cases {
        post_case(&serving, case);
    }
    let mut compared = 0;
    for case in cases {
        let files: Vec<PathBuf> = ["traces", "logs"].iter().flat_map(|signal| payloads(case, signal)).collect();
        for format in FORMATS {
            let mut arguments = vec!["convert", "--to", format.id];
            arguments.extend(files.iter().map(|path| text(path)));
            let converted = directory.path().join(format!("{case}-{}", format.id));
            arguments.extend(["--output", text(&converted)]);
            let output = spanbridge(&arguments);
            assert_eq!(code(&output), 0, "{}", stderr(&output));
            for file in fs::read_dir(&converted).expect("made").flatten() {
                let name = file.file_name().to_string_lossy().into_owned();
                let (id, _) = name.split_once('.').expect("a trace id");
                let wanted = fs::read(file.path()).expect("reads");
                let out = directory.path().join("exported");
                let export = ["export", "--to", format.id, "--trace", id, "--output", text(&out)];
                let from_server = spanbridge(&[&export[..], &["--server", &serving.api]].concat());
                assert_eq!(code(&from_server), 0, "{}", stderr(&from_server));
                assert!(
                    fs::read(out.join(&name)).expect("written") == wanted,
                    "{case} {name} from the server"
                );
                fs::remove_dir_all(&out).expect("removes");
                // Beside the running bridge, which holds the lock.
                let from_disk = spanbridge(&[&export[..], &["--data-dir", text(directory.path())]].concat());
                assert_eq!(code(&from_disk), 0, "{}", stderr(&from_disk));
                assert!(fs::read(out.join(&name)).expect("written") == wanted, "{case} {name} from the disk");
                let url = format!("{}/api/v1/traces/{id}/{}", serving.api, format.id);
                let mut answered = ureq::get(url).call().expect("an answer").into_body();
                let body = answered.with_config().limit(u64::MAX).read_to_vec().expect("a body");
                let names = fs::read_dir(&converted).expect("made").flatten().map(|file| file.file_name());
                if names.filter(|name| name.to_string_lossy().starts_with(id)).count() > 1 {
                    // Several documents are one array.
                    let list: Vec<Value> = serde_json::from_slice(&body).expect("an array");
                    let wanted: Value = serde_json::from_slice(&wanted).expect("JSON");
                    assert!(list.contains(&wanted), "{case} {name} over HTTP");
                } else if let Some(container) = format.container {
                    // Files are packed, answers are JSON.
                    let packed = (container.pack)(std::str::from_utf8(&body).expect("text")).expect("packed");
                    assert!(packed == wanted, "{case} {name} over HTTP");
                } else {
                    assert!(body == wanted, "{case} {name} over HTTP");
                }
                compared += 1;
            }
        }
    }
    assert!(compared >= 5 * cases.len(), "{compared}");
    serving.stop();
}

#[test]
fn ls_show_export_and_reindex() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = text(directory.path()).to_owned();
    let serving = Serving::start(directory.path());
    post_case(&serving, CASE);
    post_case(&serving, "adk-tools");
    let from = ["--server", serving.api.as_str()];
    let listed = spanbridge(&[&["ls", "--json"], &from[..]].concat());
    let listed: Vec<Value> = stdout(&listed)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let one = listed.iter().find(|listed| listed["session"] == "sess-lc").expect("a run");
    let id = one["trace_id"].as_str().expect("an id").to_owned();
    let session = one["session"].as_str().expect("a session").to_owned();
    let table = stdout(&spanbridge(&[&["ls"], &from[..]].concat()));
    assert!(
        table.starts_with("TRACE ") && table.contains(&id) && !table.contains('\x1b'),
        "{table}"
    );

    let shown = spanbridge(&[&["show", &id], &from[..]].concat());
    let shown = stdout(&shown);
    let counts = format!(
        "{} model calls · {} tool calls · tokens {} in",
        one["model_calls"], one["tool_calls"], one["input_tokens"]
    );
    assert!(shown.contains(&counts), "{shown}");
    assert!(shown.contains("tool  ") && shown.contains("{\""), "{shown}");
    let spans = stdout(&spanbridge(&[&["show", &id[..8], "--spans"], &from[..]].concat()));
    assert!(spans.lines().count() as u64 > one["spans"].as_u64().expect("a number"), "{spans}");

    let out = directory.path().join("out");
    let export = spanbridge(
        &[
            &["export", "--to", "openreward", "--session", &session, "--output", text(&out)],
            &from[..],
        ]
        .concat(),
    );
    assert_eq!(code(&export), 0, "{}", stderr(&export));
    assert_eq!(fs::read_dir(&out).expect("made").count(), 1);
    let all = spanbridge(&[&["export", "--to", "reflex"], &from[..]].concat());
    let documents = stdout(&all).lines().count();
    assert!(documents >= 2);
    let none = spanbridge(&[&["export", "--to", "reflex", "--since", "2100-01-01"], &from[..]].concat());
    assert_eq!((code(&none), stdout(&none).as_str()), (0, ""));
    let missing = spanbridge(&[&["export", "--to", "reflex", "--trace", &"ab".repeat(16)], &from[..]].concat());
    assert_eq!(code(&missing), 1);
    let missing = spanbridge(&[&["export", "--to", "reflex", "--session", "none"], &from[..]].concat());
    assert_eq!(code(&missing), 1);

    let second = spanbridge(&[
        "serve",
        "--data-dir",
        &data,
        "--otlp-grpc",
        "127.0.0.1:0",
        "--otlp-http",
        "127.0.0.1:0",
        "--http",
        "127.0.0.1:0",
    ]);
    assert_eq!(code(&second), 1);
    assert!(
        stderr(&second).contains(&format!("in use by process {}", serving.child.id())),
        "{}",
        stderr(&second)
    );
    assert_eq!(code(&spanbridge(&["reindex", "--data-dir", &data])), 1, "the bridge holds the lock");
    serving.stop();

    let table_again = |name: &str| {
        let output = spanbridge(&["ls", "--data-dir", &data]);
        assert_eq!(stdout(&output), table, "{name}: {}", stderr(&output));
    };
    table_again("after the bridge has ended");
    let output = spanbridge(&["reindex", "--data-dir", &data]);
    assert!(
        code(&output) == 0 && stderr(&output).contains("traces in the index"),
        "{}",
        stderr(&output)
    );
    table_again("after reindex");
}
