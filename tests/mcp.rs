//! `spanbridge mcp` as a client uses it: a line of JSON in, a line of JSON out.
#![cfg(feature = "server")]
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::security::serving::{Given, token};
use crate::serving::{Serving, program, spanbridge};

/// A client of one server.
struct Client {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    fn start(data: &str) -> Self {
        let mut child = program()
            .args(["mcp", "--data-dir", data])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let to = child.stdin.take().expect("a pipe");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut this = Self { child, to, from, last: 0 };
        let about = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let hello = this.ask("initialize", &about);
        let own = [env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")];
        assert_eq!(
            ["name", "version"].map(|key| hello["result"]["serverInfo"][key].clone()),
            own,
            "{hello}"
        );
        assert!(
            hello["result"]["instructions"]
                .as_str()
                .is_some_and(|words| words.contains("list_runs")),
            "{hello}"
        );
        this.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        this
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.to, "{message}").expect("writes");
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}));
        let mut line = String::new();
        self.from.read_line(&mut line).expect("reads");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(answer["id"], self.last, "{answer}");
        answer
    }

    /// What a tool says, and whether it failed.
    fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        (text.to_owned(), result["isError"] == true)
    }

    fn stop(mut self) {
        drop(self.to);
        assert!(self.child.wait().expect("ends").success());
    }
}

#[test]
fn an_agent_reads_runs_within_a_budget() {
    let home = tempfile::tempdir().expect("a directory");
    let data = home.path().join("data");
    let data = data.to_str().expect("UTF-8");
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let document = format!("{cases}/made-handoff/00000000000000000000000000000001.atif.json");
    let document = match std::path::Path::new(&document).exists() {
        true => document,
        false => {
            let mut all = std::fs::read_dir(format!("{cases}/made-handoff")).expect("lists").flatten();
            let found = all.find(|file| file.file_name().to_string_lossy().ends_with(".atif.json"));
            found.expect("a document").path().to_string_lossy().into_owned()
        }
    };
    let imported = spanbridge(&["import", "--data-dir", data, &document]);
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));

    let mut client = Client::start(data);
    let tools = client.ask("tools/list", &json!({}));
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    for name in [
        "list_runs",
        "list_sessions",
        "show_run",
        "read_step",
        "read_conversations",
        "read_findings",
        "read_document",
        "read_losses",
        "compare_runs",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    let (runs, failed) = client.call("list_runs", &json!({}));
    assert!(!failed, "{runs}");
    let run: Value = serde_json::from_str(runs.lines().next().expect("a run")).expect("JSON");
    let trace = run["trace_id"].as_str().expect("an id");
    let agent = run["agent"].as_str().expect("an agent");
    for (arguments, is_found) in [
        (
            json!({"search": agent, "where": format!("agent = '{agent}' and model_calls >= 0")}),
            true,
        ),
        (json!({"search": "nothing like this"}), false),
        (json!({"where": "failures > 1000"}), false),
        (json!({"since": "2199-01-01"}), false),
    ] {
        let (found, failed) = client.call("list_runs", &arguments);
        assert!(!failed && found.contains(trace) == is_found, "{arguments}: {found}");
    }
    let (fields, failed) = client.call("list_runs", &json!({"where": "beauty = 1"}));
    assert!(failed && fields.contains("The fields are status, agent"), "{fields}");

    let (outline, failed) = client.call("show_run", &json!({"trace": trace}));
    assert!(!failed && outline.contains(trace), "{outline}");
    let (steps, _) = client.call("read_step", &json!({"trace": trace}));
    let step = steps.lines().next().and_then(|line| line.split(' ').next()).expect("a step");
    let (step, failed) = client.call("read_step", &json!({"trace": trace, "step": step}));
    assert!(
        !failed && serde_json::from_str::<Value>(&step).is_ok_and(|step| step["kind"].is_string()),
        "{step}"
    );

    // Numbers are plain integers to a client, which may send them as text all the same.
    for tool in tools["result"]["tools"].as_array().expect("a list") {
        let of = |name: &str| &tool["inputSchema"]["properties"][name];
        assert_eq!(
            (&of("max_bytes")["type"], &of("offset")["type"]),
            (&json!("integer"), &json!("integer")),
            "{tool}"
        );
        assert!(of("limit").get("type").is_none_or(|kind| kind == "integer"), "{tool}");
    }
    let (page, failed) = client.call("show_run", &json!({"trace": trace, "max_bytes": "512", "offset": " 3 "}));
    assert!(!failed && page.contains("[bytes 3 to "), "{page}");

    // A long answer comes in pages, none of them longer than was asked for.
    let (whole, _) = client.call("read_document", &json!({"trace": trace, "format": "inspect"}));
    let (mut joined, mut offset) = (String::new(), 0);
    loop {
        let (page, failed) = client.call(
            "read_document",
            &json!({"trace": trace, "format": "inspect", "max_bytes": 1000, "offset": offset}),
        );
        assert!(!failed && page.len() <= 1000, "{page}");
        let (shown, note) = page.rsplit_once("\n[bytes ").expect("a note");
        joined.push_str(shown);
        match note.rsplit_once("offset ") {
            Some((_, next)) => offset = next.trim_end_matches(']').parse().expect("a number"),
            None => break,
        }
    }
    assert_eq!(joined, whole);

    let (compared, failed) = client.call("compare_runs", &json!({"left": trace, "right": trace}));
    assert!(!failed && compared.contains("0 changed"), "{compared}");

    for (tool, arguments) in [
        ("show_run", json!({"trace": "ffff"})),
        ("read_document", json!({"trace": trace, "format": "atiff"})),
        ("read_step", json!({"trace": trace, "step": "nothing"})),
        ("list_runs", json!({"status": "bad"})),
    ] {
        let (said, failed) = client.call(tool, &arguments);
        assert!(failed && !said.is_empty(), "{tool}: {said}");
    }
    client.stop();
}

/// The status of a call over HTTP, and what a tool says.
fn posted(server: &Serving, headers: &[(&str, &str)], method: &str, params: &Value) -> (u16, Value) {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
    let request = agent.post(format!("{}/mcp", server.api));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let request = request
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2025-06-18");
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut answer = request.send(message.to_string()).expect("an answer");
    let body = answer.body_mut().read_to_string().expect("text");
    (answer.status().as_u16(), serde_json::from_str(&body).unwrap_or(Value::String(body)))
}

fn text_of(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn a_server_has_the_tools_for_those_who_may_read() {
    let home = tempfile::tempdir().expect("a directory");
    let (reads, sends) = (
        token("reads", &["read"], "default/default"),
        token("sends", &["ingest"], "default/default"),
    );
    let config = home.path().join("spanbridge.toml");
    std::fs::write(&config, format!("{}{}", reads.config, sends.config)).expect("writes");
    let server = Serving::start_with(home.path(), &["--config", config.to_str().expect("UTF-8")]);
    let bearer = |given: &Given| format!("Bearer {}", given.token);
    let (reads, sends) = (bearer(&reads), bearer(&sends));

    let spans = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/oi-langchain-toolerror/001.traces.bin");
    let agent: ureq::Agent = ureq::Agent::config_builder().proxy(None).build().into();
    let sent = agent.post(format!("{}/v1/traces", server.http)).header("authorization", &sends);
    let sent = sent
        .header("content-type", "application/x-protobuf")
        .send(std::fs::read(spans).expect("a file"));
    assert!(sent.is_ok_and(|answer| answer.status() == 200));

    let call = |tool: &str, arguments: Value| {
        posted(
            &server,
            &[("authorization", &reads)],
            "tools/call",
            &json!({"name": tool, "arguments": arguments}),
        )
    };
    let (status, runs) = call("list_runs", json!({}));
    assert_eq!(status, 200, "{runs}");
    let run: Value = serde_json::from_str(text_of(&runs).lines().next().expect("a run")).expect("JSON");
    let trace = run["trace_id"].as_str().expect("an id");
    let (_, shown) = call("show_run", json!({"trace": trace.get(..6)}));
    let (_, document) = call("read_document", json!({"trace": trace, "format": "messages"}));
    let (_, same) = call("compare_runs", json!({"left": trace, "right": trace}));
    assert!(text_of(&shown).contains(trace) && text_of(&document).contains("messages") && text_of(&same).contains("0 changed"));
    let (_, missing) = call("show_run", json!({"trace": "ffff"}));
    assert_eq!(missing["result"]["isError"], true, "{missing}");

    // The same as on standard input and output.
    let about = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let (_, hello) = posted(&server, &[("authorization", &reads)], "initialize", &about);
    assert!(
        hello["result"]["instructions"]
            .as_str()
            .is_some_and(|words| words.contains("list_runs")),
        "{hello}"
    );
    let (_, tools) = posted(&server, &[("authorization", &reads)], "tools/list", &json!({}));
    assert_eq!(tools["result"]["tools"].as_array().map(Vec::len), Some(9), "{tools}");

    // Nobody else reads, and no page of another origin.
    let list = json!({});
    for (headers, expected) in [
        (vec![], 401),
        (vec![("authorization", sends.as_str())], 403),
        (
            vec![("authorization", reads.as_str()), ("origin", "https://elsewhere.example")],
            403,
        ),
    ] {
        let (status, said) = posted(&server, &headers, "tools/list", &list);
        assert_eq!(status, expected, "{headers:?}: {said}");
    }
    let (status, _) = posted(
        &server,
        &[("authorization", &reads)],
        "tools/call",
        &json!({"name": "x".repeat(70_000)}),
    );
    assert_eq!(status, 413);
}

/// Neither calls nor long answers stay in memory: each request stands alone.
#[cfg(target_os = "linux")]
#[test]
fn a_thousand_calls_take_no_more_memory_than_a_hundred() {
    let home = tempfile::tempdir().expect("a directory");
    let server = Serving::start(home.path());
    let spans = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/oi-langchain-toolerror/001.traces.bin");
    let agent: ureq::Agent = ureq::Agent::config_builder().proxy(None).build().into();
    let sent = agent
        .post(format!("{}/v1/traces", server.http))
        .header("content-type", "application/x-protobuf")
        .send(std::fs::read(spans).expect("a file"));
    assert!(sent.is_ok_and(|answer| answer.status() == 200));
    let call = |tool: &str, arguments: Value| posted(&server, &[], "tools/call", &json!({"name": tool, "arguments": arguments})).1;
    let runs = call("list_runs", json!({}));
    let run: Value = serde_json::from_str(text_of(&runs).lines().next().expect("a run")).expect("JSON");
    let trace = run["trace_id"].as_str().expect("an id");
    let calls = |times: usize| {
        for _ in 0..times {
            let document = call("read_document", json!({"trace": trace, "format": "atif"}));
            assert!(text_of(&document).contains("trajectory_id"), "{document}");
            let compared = call("compare_runs", json!({"left": trace, "right": trace}));
            assert!(text_of(&compared).contains("0 changed"), "{compared}");
        }
        server.peak_memory().expect("Linux tells")
    };
    let few = calls(50);
    let many = calls(450);
    assert!(many < few + (8 << 20), "{few} bytes after a hundred calls, {many} after a thousand");
}
