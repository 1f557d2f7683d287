//! `spanbridge forward`.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use spanbridge::forward::order::{self, Order};
use spanbridge::forward::{dead_letters, folder};

use super::sink::{Answer, Sink};
use super::support::{Bridge, spans, to, until};

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
