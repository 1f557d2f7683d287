//! Documents in the process are those of a receiver, and say what the program said.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test"
)]

#[path = "../examples/agent_loop.rs"]
mod agent_loop;
#[path = "layer_support/harness.rs"]
mod harness;
#[path = "layer_support/receiver.rs"]
mod receiver;

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Command, ExitCode};
use std::sync::mpsc;
use std::time::Duration;

use harness::{program, run};
use receiver::receiver;
use serde_json::{Value, json};
use spanbridge::dialect::Registry;
use spanbridge::documents::Vocabulary;
use spanbridge::formats::{FORMATS, Layout, Options};
use spanbridge::layer::{BlockLog, Documents, Guard, Privacy, RunDocument, Setup, SpanExt as _};
use spanbridge::operation::{Message, Role};
use spanbridge::run::{EntryKind, Run};
use spanbridge::span::AnyValue;
use tempfile::TempDir;
use tracing::info_span;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

fn example() {
    agent_loop::run("contextforge").unwrap();
}

/// The run of the example as a receiver of OTLP gets it, and the folder of its documents in every format.
fn example_both_ways() -> (Run, TempDir) {
    let (address, requests) = receiver();
    let folder = tempfile::tempdir().unwrap();
    let formats: Vec<&str> = FORMATS.iter().map(|format| format.id).collect();
    let output = run(
        "example",
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &address),
            ("SPANBRIDGE_DOCUMENTS", folder.path().to_str().unwrap()),
            ("SPANBRIDGE_FORMAT", &formats.join(",")),
        ],
    );
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 1);
    let mut spans = Vec::new();
    while let Ok(request) = requests.recv_timeout(Duration::from_millis(300)) {
        spans.extend(request.spans);
    }
    assert_eq!(spans.len(), 5);
    let runs = Vocabulary::built_in().runs(spans, Vec::new());
    assert_eq!(runs.len(), 1);
    (runs.into_iter().next().unwrap(), folder)
}

fn documents_in_the_process_equal_those_of_a_receiver() {
    let (run, folder) = example_both_ways();
    for format in FORMATS {
        let documents = format.assemble(std::slice::from_ref(&run), &Options::default(), Layout::Indented);
        assert_eq!(documents.len(), 1, "{}", format.id);
        let file = folder.path().join(format!("{}.{}.json", run.trace_id, format.id));
        let written = std::fs::read_to_string(file).unwrap();
        assert_eq!(written, format!("{}\n", documents[0].document), "{}", format.id);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), FORMATS.len());
    assert_eq!(run.agent.name.as_deref(), Some("wardrobe"));
    assert_eq!(run.session_id.as_deref(), Some("session-1"));
    // The agent's parameter is an attribute of its own.
    let findings: Vec<&str> = run.findings.iter().map(|finding| finding.detail.as_str()).collect();
    assert_eq!(findings, ["no rule reads question: it stays an attribute"]);
    let conversation: Vec<(String, String)> = run.scopes[0]
        .conversation
        .iter()
        .map(|entry| match &entry.kind {
            EntryKind::Message(message) => (message.role.name().to_owned(), message.content()),
            EntryKind::Turn(message) => (
                "turn".to_owned(),
                format!(
                    "{}{:?}",
                    message.content(),
                    message.tool_calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>()
                ),
            ),
            EntryKind::Call(call) => ("call".to_owned(), call.call_id.to_string()),
            EntryKind::Result(result) => {
                let failure = result.failure.as_ref().map(|failure| failure.text());
                let said = failure.or(result.result.as_str()).unwrap_or_default();
                (result.call_id.to_string(), said.to_owned())
            }
        })
        .collect();
    let expected = [
        ("system", "Recommend clothes. Look at the weather first."),
        ("user", "What should I wear in Oslo today?"),
        ("turn", r#"["weather", "wardrobe"]"#),
        ("call_1", "-3 °C, snow"),
        ("call_2", "the wardrobe is locked"),
        ("turn", "A warm coat and boots: it snows at -3 °C.[]"),
    ];
    let conversation: Vec<(&str, &str)> = conversation.iter().map(|(who, what)| (who.as_str(), what.as_str())).collect();
    assert_eq!(conversation, expected);
}

/// An agent that is at work when the program ends: the root, a model call, an idle tool.
fn at_work(after: impl FnOnce(Guard)) {
    let guard = Setup::from_env()
        .without_otlp()
        .with_documents(
            Documents::to_callback("contextforge", |document| {
                println!("finished {} {}", document.finished, document.text);
            })
            .unwrap(),
        )
        .with_privacy(Privacy::default().with_hook(|_, value| match value {
            opentelemetry::Value::String(text) => Some(text.as_str().replace("secret", "[hidden]").into()),
            value => Some(value),
        }))
        .build()
        .unwrap();
    tracing_subscriber::registry().with(guard.layer()).init();
    let root = info_span!("agent", step_type = "agent", agent.name = "planner", input = "my secret plan");
    let tool = root.in_scope(|| {
        drop(info_span!(
            "chat",
            step_type = "llm_call",
            model = "m",
            input = "hm",
            output = "aha"
        ));
        info_span!("tool", step_type = "tool_call", tool_name = "weather", arguments = "Oslo")
    });
    after(guard);
    drop((tool, root));
}

fn unfinished() {
    at_work(drop);
}

fn unfinished_until_sigterm() {
    at_work(|_guard| {
        eprintln!("ready");
        std::thread::sleep(Duration::from_secs(60));
    });
}

fn is_unfinished_run(output: &[u8]) {
    let output = String::from_utf8(output.to_vec()).unwrap();
    assert_eq!(output.lines().count(), 1, "{output}");
    let document: Value = serde_json::from_str(output.strip_prefix("finished false ").unwrap()).unwrap();
    let text = document.to_string();
    for word in ["aha", "planner", "my [hidden] plan", "weather", "Oslo"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains("secret"), "{text}");
}

fn a_run_that_never_ends_is_given_at_shutdown_with_its_root() {
    is_unfinished_run(&run("unfinished", &[]).stdout);
}

#[cfg(unix)]
fn sigterm_gives_runs_that_never_end() {
    let mut child = program("unfinished_until_sigterm", &[]).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("ready")));
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), None);
    is_unfinished_run(&output.stdout);
}

fn with_a_short_bound() {
    let documents = Documents::to_callback("contextforge", |document| println!("{}", document.text)).unwrap();
    let bound = Duration::from_millis(500);
    let guard = Setup::from_env().with_documents(documents).with_flush_bound(bound).build().unwrap();
    tracing_subscriber::registry().with(guard.layer()).init();
    drop(info_span!("agent", step_type = "agent", agent.name = "planner"));
}

fn a_backend_that_hangs_takes_no_document_away() {
    // Connections stand in the queue: nobody answers.
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", hanging.local_addr().unwrap());
    let output = run("with_a_short_bound", &[("OTEL_EXPORTER_OTLP_ENDPOINT", &address)]);
    assert!(String::from_utf8(output.stdout).unwrap().contains("planner"));
}

fn panics_in_the_function() {
    let mut seen = 0;
    let documents = Documents::to_callback("contextforge", move |_| {
        seen += 1;
        assert!(seen > 1, "the first one");
        println!("document {seen}");
    })
    .unwrap();
    let guard = Setup::from_env()
        .without_otlp()
        .with_documents(documents.with_quiet(Duration::ZERO));
    let guard = guard.build().unwrap();
    tracing_subscriber::registry().with(guard.layer()).init();
    for _ in 0..2 {
        drop(info_span!("agent", step_type = "agent", agent.name = "planner"));
        assert!(guard.flush());
    }
}

fn a_function_that_panics_gets_the_next_document() {
    // A backtrace of a debug build from a cold disk takes longer than a flush may.
    let output = run("panics_in_the_function", &[("RUST_BACKTRACE", "0")]);
    assert_eq!(output.stdout, b"document 2\n");
}

fn an_unknown_format_is_an_error_whatever_the_sink() {
    let folder = tempfile::tempdir().unwrap();
    let refused = [
        Documents::to_callback("contextfroge", |_| ()).err(),
        Documents::to_directory("contextfroge", folder.path().join("runs")).err(),
        Documents::to_file("contextfroge", folder.path().join("runs.jsonl")).err(),
        Documents::to_callback("contextforge", |_| ())
            .unwrap()
            .and_format("contextfroge")
            .err(),
    ];
    for error in refused {
        assert!(error.unwrap().to_string().contains("contextfroge"));
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing is made");
}

/// A small seeded source of chance.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 11
    }

    fn text(&mut self) -> String {
        const PIECES: [&str; 8] = ["a", "é", "\"", "\n", "{", "漢", " ", "\\u0000"];
        (0..self.next() % 12)
            .map(|_| PIECES[usize::try_from(self.next() % 8).unwrap()])
            .collect()
    }

    fn value(&mut self) -> AnyValue {
        let bits = self.next() << 11 ^ self.next();
        match self.next() % 4 {
            0 => AnyValue::Int(i64::from_ne_bytes(bits.to_ne_bytes())),
            1 => AnyValue::Double(Some(f64::from_bits(bits)).filter(|number| number.is_finite()).unwrap_or(0.5)),
            2 => AnyValue::Bool(bits & 1 == 1),
            _ => AnyValue::String(self.text()),
        }
    }
}

const SPANS: u64 = 200;

fn said(seed: u64) -> (Vec<(String, AnyValue)>, Vec<Message>) {
    let mut chance = Chance(seed);
    let fields = (0..chance.next() % 20)
        .map(|index| (format!("app.key{index}"), chance.value()))
        .collect();
    let messages = (0..chance.next() % 8)
        .map(|index| {
            Message::text(
                if index % 2 == 0 { Role::User } else { Role::Assistant },
                format!("m{}", chance.text()),
            )
        })
        .collect();
    (fields, messages)
}

fn random_spans() {
    let _guard = spanbridge::init().unwrap();
    for seed in 0..SPANS {
        let span = info_span!("random", openinference.span.kind = "LLM", seed, late = tracing::field::Empty);
        let (fields, messages) = said(seed);
        for (key, value) in fields {
            match value {
                AnyValue::Int(number) => span.set_field(key, number),
                AnyValue::Double(number) => span.set_field(key, number),
                AnyValue::Bool(flag) => span.set_field(key, flag),
                AnyValue::String(text) => span.set_field(key, text),
                _ => unreachable!(),
            };
        }
        for message in &messages {
            span.add_input_message(message);
        }
        span.record("late", u64::MAX - seed);
    }
}

fn what_the_code_records_is_what_a_receiver_gets() {
    let (address, requests) = receiver();
    run("random_spans", &[("OTEL_EXPORTER_OTLP_ENDPOINT", &address)]);
    let mut spans = Vec::new();
    while let Ok(request) = requests.recv_timeout(Duration::from_millis(300)) {
        spans.extend(request.spans);
    }
    assert_eq!(spans.len(), usize::try_from(SPANS).unwrap());
    let registry = Registry::built_in();
    for span in spans {
        let Some(AnyValue::Int(seed)) = span.attributes.get("seed") else {
            panic!("no seed")
        };
        let (fields, messages) = said(u64::try_from(*seed).unwrap());
        for (key, value) in fields {
            assert_eq!(span.attributes.get(&key), Some(&value), "seed {seed}: {key}");
        }
        // Beyond 64 bits with a sign an attribute has the digits as text.
        let late = (u64::MAX - u64::try_from(*seed).unwrap()).to_string();
        assert_eq!(span.attributes.text("late"), Some(late.as_str()));
        let read = spanbridge::dialect::read(registry, &span, &[]).operation;
        assert_eq!(read.input_messages.unwrap_or_default().into_vec(), messages, "seed {seed}");
    }
}

/// The words of a document's blocks, without ids and times.
fn blocks(text: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(text).unwrap();
    let list = document.as_array().unwrap().iter();
    list.map(|block| json!([block["sub_type"], block["payload"], block["extra"]["reward"]]))
        .collect()
}

fn logged_blocks_are_those_of_the_document() {
    let (sender, documents) = mpsc::channel();
    let to_channel = Documents::to_callback("openreward", move |document: &RunDocument| {
        sender.send(document.text.clone()).unwrap()
    })
    .unwrap();
    let guard = Setup::from_env().without_otlp().with_documents(to_channel).build().unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(guard.layer()), || {
        let mut log = BlockLog::new("forecaster");
        log.log_message(Role::System, "Be short.");
        log.log_message(Role::User, json!([{"type": "text", "text": "Oslo?"}]));
        log.log_think("A tool knows.");
        log.log_act("call_1", "weather", json!({"city": "Oslo"}));
        log.log_act("call_2", "clothes", json!({}));
        log.log_observe("call_1", "-3 °C", Some(1.0));
        log.log_observe("call_2", json!({"coat": true}), None);
        log.log_message(Role::Assistant, "Take a coat.");
        log.log_message(Role::User, "Thanks.");
    });
    drop(guard);
    let text = documents.recv().unwrap();
    let wanted = [
        json!(["MESSAGE", {"role": "system", "content": "Be short."}, null]),
        json!(["MESSAGE", {"role": "user", "content": "Oslo?"}, null]),
        json!(["THINK", {"text": "A tool knows."}, null]),
        json!(["TOOL_CALL", {"call_id": "call_1", "name": "weather", "arguments": {"city": "Oslo"}}, null]),
        json!(["TOOL_CALL", {"call_id": "call_2", "name": "clothes", "arguments": {}}, null]),
        json!(["TOOL_RESULT", {"call_id": "call_1", "output": "-3 °C"}, 1.0]),
        json!(["TOOL_RESULT", {"call_id": "call_2", "output": {"coat": true}}, null]),
        json!(["MESSAGE", {"role": "assistant", "content": "Take a coat."}, null]),
        json!(["MESSAGE", {"role": "user", "content": "Thanks."}, null]),
    ];
    assert_eq!(blocks(&text), wanted);
}

fn main() -> ExitCode {
    harness::main(
        named![
            example,
            unfinished,
            unfinished_until_sigterm,
            with_a_short_bound,
            panics_in_the_function,
            random_spans
        ],
        named![
            documents_in_the_process_equal_those_of_a_receiver,
            a_run_that_never_ends_is_given_at_shutdown_with_its_root,
            #[cfg(unix)]
            sigterm_gives_runs_that_never_end,
            a_backend_that_hangs_takes_no_document_away,
            a_function_that_panics_gets_the_next_document,
            an_unknown_format_is_an_error_whatever_the_sink,
            what_the_code_records_is_what_a_receiver_gets,
            logged_blocks_are_those_of_the_document,
        ],
    )
}
