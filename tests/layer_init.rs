//! From the environment to a receiver: each test runs itself again as a program with variables of its own.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use spanbridge::otlp;
use spanbridge::span::{AnyValue, Span};
use tracing::info_span;

/// Runs one of the programs below.
fn program(name: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", name]);
    for (key, _) in std::env::vars().filter(|(key, _)| key.starts_with("OTEL_") || key.starts_with("OPENINFERENCE_")) {
        command.env_remove(key);
    }
    command
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(name: &str, variables: &[(&str, &str)]) -> Output {
    let output = program(name, variables).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

struct Request {
    head: String,
    spans: Vec<Span>,
}

/// An OTLP/HTTP endpoint.
fn receiver() -> (String, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (send, requests) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let send = send.clone();
            std::thread::spawn(move || while serve(&stream).is_some_and(|request| send.send(request).is_ok()) {});
        }
    });
    (address, requests)
}

fn serve(mut stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
        head.push_str(&line);
        head.push('\n');
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    if head.contains("content-encoding: gzip") {
        let mut open = Vec::new();
        flate2::read::GzDecoder::new(body.as_slice()).read_to_end(&mut open).ok()?;
        body = open;
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()?;
    let spans = if head.contains("application/json") {
        spanbridge::span::json::traces(&body).unwrap().items
    } else {
        otlp::decode::traces(&body).unwrap().items
    };
    Some(Request { head, spans })
}

fn text(span: &Span, key: &str) -> String {
    span.attributes
        .text(key)
        .unwrap_or_else(|| panic!("no {key}: {:?}", span.attributes))
        .to_owned()
}

#[test]
#[ignore = "run by the tests below"]
fn one_call() {
    let _guard = spanbridge::init().unwrap();
    let span = info_span!(
        "call",
        step_type = "llm_call",
        model = "gpt-4o",
        tokens_in = 7_u64,
        input = "What is it?"
    );
    let _in_call = span.enter();
    drop(info_span!(target: "hyper::client", "noise"));
}

#[test]
#[ignore = "run by the tests below"]
fn waits_for_ever() {
    let _guard = spanbridge::init().unwrap();
    drop(info_span!("call", step_type = "llm_call"));
    println!("ready");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn spans_arrive_with_their_types_and_the_resource() {
    let (address, requests) = receiver();
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    run(
        "one_call",
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &address),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-project-name=p1"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_SERVICE_NAME", "planner"),
            ("TRACEPARENT", parent),
        ],
    );
    let request = requests.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(request.head.starts_with("post /v1/traces "), "{}", request.head);
    assert!(request.head.contains("x-project-name: p1") && request.head.contains("application/x-protobuf"));
    assert_eq!(request.spans.len(), 1);
    let span = &request.spans[0];
    assert_eq!(text(span, "openinference.span.kind"), "LLM");
    assert_eq!(span.attributes.get("llm.token_count.prompt"), Some(&AnyValue::Int(7)));
    assert_eq!(span.resource.attributes.text("service.name"), Some("planner"));
    assert_eq!(span.trace_id.to_string(), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(span.parent.unwrap().to_string(), "b7ad6b7169203331");
    assert_eq!(span.scope.name, "spanbridge");
}

#[test]
fn json_and_privacy_by_variables() {
    let (address, requests) = receiver();
    let endpoint = format!("{address}/own/path");
    run(
        "one_call",
        &[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &endpoint),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OPENINFERENCE_HIDE_INPUTS", "TRUE"),
        ],
    );
    let request = requests.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(request.head.starts_with("post /own/path "), "{}", request.head);
    assert_eq!(text(&request.spans[0], "input.value"), "__REDACTED__");
    assert!(!format!("{:?}", request.spans).contains("What is it?"));
}

#[test]
fn console_none_and_disabled() {
    let console = run("one_call", &[("OTEL_TRACES_EXPORTER", "console")]);
    let lines = String::from_utf8(console.stdout).unwrap();
    let line = lines
        .lines()
        .find_map(|line| Some(&line[line.find("{\"resourceSpans\"")?..]))
        .unwrap();
    assert_eq!(spanbridge::span::json::traces(line.as_bytes()).unwrap().items.len(), 1);
    let (address, requests) = receiver();
    run(
        "one_call",
        &[("OTEL_TRACES_EXPORTER", "none"), ("OTEL_EXPORTER_OTLP_ENDPOINT", &address)],
    );
    run(
        "one_call",
        &[("OTEL_SDK_DISABLED", "true"), ("OTEL_EXPORTER_OTLP_ENDPOINT", &address)],
    );
    assert!(requests.recv_timeout(Duration::from_millis(200)).is_err());
}

#[test]
fn a_dead_backend_does_not_hold_the_program() {
    let started = Instant::now();
    run(
        "one_call",
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1000"),
        ],
    );
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
}

#[cfg(target_os = "linux")]
#[test]
fn sigterm_flushes_and_kills() {
    use std::os::unix::process::ExitStatusExt as _;
    let (address, requests) = receiver();
    let mut child = program("waits_for_ever", &[("OTEL_EXPORTER_OTLP_ENDPOINT", &address)])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("ready")));
    assert!(
        Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let request = requests.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(request.spans.len(), 1);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}
