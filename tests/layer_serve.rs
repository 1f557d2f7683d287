//! One agent, two ways: its spans over OTLP into the real `spanbridge serve`, and documents in its own process. What the
//! server exports is what the process wrote, in every format.
#![expect(clippy::expect_used, clippy::print_stderr, clippy::unwrap_used, reason = "a test")]

#[path = "../examples/agent_loop.rs"]
mod agent_loop;
#[path = "layer_support/harness.rs"]
mod harness;
#[path = "support/serving.rs"]
mod serving;

use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::Value;
use serving::{Serving, spanbridge};
use spanbridge::formats::FORMATS;

fn example() {
    agent_loop::run("contextforge").unwrap();
}

/// Runs the program with this protocol and compares.
fn both_ways(command: impl FnOnce(&[(&str, &str)]) -> Command, protocol: &str) {
    let (data, written) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let serving = Serving::start(data.path());
    let endpoint = if protocol == "grpc" { &serving.grpc } else { &serving.http };
    let formats: Vec<&str> = FORMATS.iter().map(|format| format.id).collect();
    let output = command(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
        ("SPANBRIDGE_DOCUMENTS", written.path().to_str().unwrap()),
        ("SPANBRIDGE_FORMAT", &formats.join(",")),
    ])
    .output()
    .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for format in formats {
        let exported = spanbridge(&["export", "--to", format, "--server", &serving.api]);
        assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
        let exported = String::from_utf8(exported.stdout).unwrap();
        let exported: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(documents(written.path(), format), exported, "{protocol}: {format}");
        assert_eq!(exported.len(), 1, "{protocol}: {format}");
    }
    serving.stop();
}

fn documents(folder: &Path, format: &str) -> Vec<Value> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.to_str().unwrap().ends_with(&format!(".{format}.json")))
        .map(|path| serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
        .collect()
}

fn over_http_with_protobuf() {
    both_ways(|variables| harness::program("example", variables), "http/protobuf");
}

fn over_http_with_json() {
    both_ways(|variables| harness::program("example", variables), "http/json");
}

#[cfg(feature = "layer-grpc")]
fn over_grpc() {
    both_ways(|variables| harness::program("example", variables), "grpc");
}

/// The agent of `examples/rig`, which is built in its own workspace: `.ci/run` does that before.
fn a_rig_agent() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/rig/target/debug/rig-agent-example");
    if !program.exists() {
        eprintln!("not run: examples/rig is not built (cargo build --manifest-path examples/rig/Cargo.toml)");
        return;
    }
    for protocol in ["http/protobuf", "http/json"] {
        both_ways(
            |variables| {
                let mut command = Command::new(&program);
                command.envs(variables.iter().copied());
                command
            },
            protocol,
        );
    }
}

fn main() -> ExitCode {
    harness::main(
        named![example],
        named![
            over_http_with_protobuf,
            over_http_with_json,
            #[cfg(feature = "layer-grpc")]
            over_grpc,
            a_rig_agent,
        ],
    )
}
