//! `spanbridge forward`.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use spanbridge::forward::order::{self, Order};
use spanbridge::forward::{dead_letters, folder};
use spanbridge::otlp::encode;

use super::sink::{Answer, Sink};
use super::support::{Bridge, names, spans, to, until};

fn forward(data_dir: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_spanbridge"))
        .arg("forward")
        .args(arguments)
        .arg("--data-dir")
        .arg(data_dir)
        .output()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_tells_how_far_destinations_are_and_leaves_orders() {
    let directory = tempfile::tempdir().unwrap();
    let none = forward(directory.path(), &["retry", "sink"]);
    let words = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(none.status.code() == Some(2) && words.contains("--forward"), "{words}");

    let sink = Sink::start(|came| match came.spans().iter().any(|span| span.name == "span 1") {
        true => Answer::status(422),
        false => Answer::ok(),
    })
    .await;
    let bridge = Bridge::start(directory.path(), &[to(&sink.url())]).await;
    bridge.send_spans(&spans(0, 0..3)).await;
    sink.wait_for(2).await;
    let files = folder(directory.path());
    until("the letter is written", || async {
        !dead_letters::read(&files, "sink").unwrap().is_empty()
    })
    .await;
    bridge.stop().await;

    let told = forward(directory.path(), &["status", "--json"]);
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    for (member, value) in [
        ("destination", Value::from("sink")),
        ("sent_spans", 2.into()),
        ("failed", 1.into()),
        ("dead_letters", 1.into()),
        ("queue_bytes", 0.into()),
    ] {
        assert_eq!(told[member], value, "{told}");
    }
    let table = String::from_utf8(forward(directory.path(), &["status"]).stdout).unwrap();
    assert!(table.contains("sink") && table.contains("2 spans"), "{table}");
    let letters = forward(directory.path(), &["dead-letters", "sink"]);
    let letter: Value = serde_json::from_slice(&letters.stdout).unwrap();
    assert_eq!(letter["span_id"], "0000000000000002", "{letter}");

    for (arguments, ordered) in [
        (&["retry", "sink"][..], Order::Retry),
        (&["skip", "sink"], Order::Skip),
        (
            &["rewind", "sink", "--since", "2026-01-01"],
            Order::Rewind(1_767_225_600_000_000_000),
        ),
    ] {
        assert!(forward(directory.path(), arguments).status.success());
        assert_eq!(order::waiting(&files, "sink"), Some(ordered));
    }
    let unknown = forward(directory.path(), &["skip", "other"]);
    let words = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(
        unknown.status.code() == Some(2) && words.contains("the destinations are sink"),
        "{words}"
    );
}

fn send(url: &str, file: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_spanbridge"))
        .args(["send", "--give-up-seconds", "2", "--to", url])
        .args(arguments)
        .arg(file)
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_sent_without_a_server() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("spans.bin");
    std::fs::write(&file, encode::traces(&spans(0, 0..50))).unwrap();
    let sink = Sink::start(|_| Answer::ok()).await;
    let (code, said) = send(&sink.url(), &file, &["--header", "authorization=Bearer one"]);
    assert!(code == Some(0) && said.contains("50 spans"), "{said}");
    assert_eq!(names(&sink.spans()), names(&spans(0, 0..50)));
    assert_eq!(sink.came()[0].headers["authorization"], "Bearer one");

    let refusing = Sink::start(|came| match came.spans().iter().any(|span| span.name == "span 7") {
        true => Answer::status(422),
        false => Answer::ok(),
    })
    .await;
    let (code, said) = send(&refusing.url(), &file, &[]);
    assert!(
        code == Some(1) && said.contains("0000000000000008") && said.contains("49 spans"),
        "{said}"
    );

    // It takes longer than two seconds to find the refused one of 64, and meanwhile others are accepted.
    let many = directory.path().join("many.bin");
    std::fs::write(&many, encode::traces(&spans(0, 0..64))).unwrap();
    let slow = Sink::start(|came| {
        std::thread::sleep(std::time::Duration::from_millis(250));
        match came.spans().iter().any(|span| span.name == "span 63") {
            true => Answer::status(422),
            false => Answer::ok(),
        }
    })
    .await;
    let (code, said) = send(&slow.url(), &many, &[]);
    assert!(
        code == Some(1) && said.contains("63 spans") && !said.contains("nothing was accepted"),
        "{said}"
    );

    for (status, advice) in [(401, "--header"), (403, "--header"), (404, "correct the URL")] {
        let closed = Sink::start(move |_| Answer::status(status)).await;
        let (code, said) = send(&closed.url(), &file, &[]);
        assert!(
            code == Some(1) && said.contains(advice) && said.contains(&status.to_string()),
            "{said}"
        );
        assert_eq!(closed.came().len(), 1, "{status} is not retried");
    }

    let silent = Sink::start(|_| Answer::Never).await;
    let (code, said) = send(&silent.url(), &file, &[]);
    assert!(code == Some(1) && said.contains("nothing was accepted for 2 s"), "{said}");
    let (code, said) = send("http://me:secret@127.0.0.1:1", &file, &[]);
    assert!(code == Some(2) && !said.contains("destination holds secret"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_tells_of_a_failing_destination_while_the_server_runs() {
    let directory = tempfile::tempdir().unwrap();
    let sink = Sink::start(|_| Answer::status(401)).await;
    let bridge = Bridge::start(directory.path(), &[to(&sink.url())]).await;
    bridge.send_spans(&spans(0, 0..3)).await;
    until("the failure is told", || async {
        let told = forward(directory.path(), &["status", "--json"]);
        let told: Value = serde_json::from_slice(&told.stdout).unwrap();
        told["last_error"].as_str().is_some_and(|error| error.starts_with("401"))
            && told["sent_spans"] == 0
            && told["updated_unix_nano"].as_u64() > Some(0)
    })
    .await;
    bridge.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_asks_each_destination() {
    let directory = tempfile::tempdir().unwrap();
    let (up, closed) = (Sink::start(|_| Answer::ok()).await, Sink::start(|_| Answer::status(401)).await);
    let spans_only = Sink::start(|came| match came.path.as_str() {
        "/v1/logs" => Answer::status(404),
        _ => Answer::ok(),
    })
    .await;
    let output = Command::new(env!("CARGO_BIN_EXE_spanbridge"))
        .args(["doctor", "--only", "forward", "--json", "--data-dir"])
        .arg(directory.path())
        .args([
            "--forward",
            &format!("up={}", up.url()),
            "--forward",
            &format!("closed={}", closed.url()),
        ])
        .args([
            "--forward",
            &format!("spans={}", spans_only.url()),
            "--forward",
            "down=http://127.0.0.1:1",
        ])
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings: Vec<String> = told["findings"].as_array().unwrap().iter().map(Value::to_string).collect();
    for (name, words) in [
        ("up ", "accepts"),
        ("closed ", "headers"),
        ("spans ", "no log records"),
        ("down ", "start it"),
    ] {
        let of_it = findings.iter().any(|finding| finding.contains(name) && finding.contains(words));
        assert!(of_it, "{name}: {findings:#?}");
    }
    assert!(output.status.success(), "a destination that is down is no fault of the bridge");
}
