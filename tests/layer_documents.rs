//! Documents in the process are those of a receiver, and say what the program said.
#![expect(clippy::print_stdout, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

#[path = "../examples/agent_loop.rs"]
mod agent_loop;
mod layer_support;

use std::collections::BTreeMap;
use std::time::Duration;

use layer_support::receiver::{receiver, run};
use serde_json::Value;
use spanbridge::dialect::Registry;
use spanbridge::formats::{FORMATS, Layout, Options};
use spanbridge::layer::{Documents, Setup, SpanExt as _};
use spanbridge::operation::{Message, Role};
use spanbridge::run;
use spanbridge::run::{EntryKind, Run};
use spanbridge::span::AnyValue;
use tracing::info_span;

#[test]
#[ignore = "run by the tests below"]
fn example() {
    agent_loop::main().unwrap();
}

fn lines(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8(output.to_vec()).unwrap();
    text.lines()
        .filter_map(|line| Some(line[line.find(['{', '['])?..].to_owned()))
        .collect()
}

/// A run and its documents.
type Received = (Run, Vec<String>);

/// The run of the example as a receiver of OTLP gets it, and its documents as it printed them, by format.
fn example_both_ways() -> (Vec<Received>, BTreeMap<&'static str, Vec<String>>) {
    let (mut received, mut printed) = (Vec::new(), BTreeMap::new());
    for format in FORMATS {
        let (address, requests) = receiver();
        let output = run(
            "example",
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", &address), ("SPANBRIDGE_FORMAT", format.id)],
        );
        printed.insert(format.id, lines(&output.stdout));
        let mut spans = Vec::new();
        while let Ok(request) = requests.recv_timeout(Duration::from_millis(300)) {
            spans.extend(request.spans);
        }
        assert_eq!(spans.len(), 5);
        let runs = run::from_batch(spans, Vec::new(), &Registry::built_in());
        assert_eq!(runs.len(), 1);
        let documents = format.assemble(&runs, &Options::default(), Layout::Compact);
        let texts = documents.into_iter().map(|one| one.document).collect();
        received.push((runs.into_iter().next().unwrap(), texts));
    }
    (received, printed)
}

#[test]
fn documents_in_the_process_equal_those_of_a_receiver() {
    let (received, printed) = example_both_ways();
    for ((_, documents), format) in received.iter().zip(FORMATS) {
        assert!(!documents.is_empty(), "{}", format.id);
        assert_eq!(&printed[format.id], documents, "{}", format.id);
    }
    let (run, _) = &received[0];
    assert_eq!(run.agent.name.as_deref(), Some("wardrobe"));
    assert_eq!(run.session_id.as_deref(), Some("session-1"));
    assert!(run.findings.is_empty(), "{:?}", run.findings);
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
            EntryKind::Call(call) => ("call".to_owned(), call.call_id.clone()),
            EntryKind::Result(result) => {
                let failure = result.failure.as_ref().map(|failure| failure.text());
                let said = failure.or(result.result.as_str()).unwrap_or_default();
                (result.call_id.clone(), said.to_owned())
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

#[test]
#[ignore = "run by the test below"]
fn unfinished() {
    let guard = Setup::from_env()
        .without_otlp()
        .with_exporter(Documents::to_callback("contextforge", |document| {
            println!("\nfinished {} {}", document.finished, document.text);
        }))
        .build()
        .unwrap();
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::util::SubscriberInitExt as _;
    tracing_subscriber::registry().with(guard.layer()).init();
    let root = info_span!("agent", step_type = "agent");
    root.in_scope(|| {
        drop(info_span!(
            "chat",
            step_type = "llm_call",
            model = "m",
            input = "hm",
            output = "aha"
        ))
    });
    drop(guard);
    drop(root);
}

#[test]
fn a_run_that_never_ends_is_given_at_shutdown() {
    let output = String::from_utf8(run("unfinished", &[]).stdout).unwrap();
    let line = output.lines().find(|line| line.starts_with("finished")).unwrap();
    assert!(line.starts_with("finished false {") && line.contains("aha"), "{line}");
}

#[test]
fn a_folder_gets_one_file_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(
        "example",
        &[
            ("SPANBRIDGE_DOCUMENTS", folder.path().to_str().unwrap()),
            ("SPANBRIDGE_FORMAT", "invariant"),
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"),
        ],
    );
    let files: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&files[0]).unwrap()).unwrap();
    let printed: Value = serde_json::from_str(&lines(&output.stdout)[0]).unwrap();
    assert_eq!(written, printed);
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

#[test]
#[ignore = "run by the test below"]
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

#[test]
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
        assert!(matches!(span.attributes.get("late"), Some(AnyValue::Double(_))));
        let read = spanbridge::dialect::read(&registry, &span, &[]).operation;
        assert_eq!(read.input_messages.unwrap_or_default(), messages, "seed {seed}");
    }
}
