//! A copy made while the bridge works, verified and restored.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use spanbridge::span::TraceId;

use super::doctor::doctor;
use super::{get, send, span, stdout, text};
use crate::serving::{ANY_PORTS, Serving, spanbridge};

/// Copies as docs/operating.md says: the segments alone, newest last, while the bridge works.
fn back_up(from: &Path, to: &Path) {
    let script = r#"mkdir -p "$2" && for segment in $(ls "$1" | grep '\.log$' | sort); do cp "$1/$segment" "$2/"; done"#;
    let copied = Command::new("sh").args(["-c", script, "sh"]).args([from, to]).status();
    assert!(copied.expect("runs").success());
}

#[test]
fn a_backup_of_a_bridge_at_work_is_restored_whole() {
    let directory = tempfile::tempdir().expect("a directory");
    let (data, backup, restored) = (
        directory.path().join("data"),
        directory.path().join("backup"),
        directory.path().join("restored"),
    );
    let serving = Serving::start(&data);
    let mut acknowledged = Vec::new();
    for id in 1..=40 {
        assert_eq!(send(&serving, &[span(1 + id % 4, id)]), 200);
        acknowledged.push(id);
    }
    // It goes on while the copy is made.
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| {
            (41..=120)
                .map(|id| send(&serving, &[span(1 + id % 4, id)]))
                .all(|status| status == 200)
        });
        back_up(&data, &backup);
        assert!(busy.join().expect("sends"));
    });
    drop(serving);
    let verify = [&["--data-dir", text(&backup), "--only", "log"][..], &ANY_PORTS].concat();
    let (status, findings) = doctor(&verify, &[]);
    assert_eq!(status, 0, "{findings:#?}");
    Command::new("cp").arg("-r").args([&backup, &restored]).status().expect("copies");
    let serving = Serving::start(&restored);
    let mut found = BTreeSet::new();
    for trace in 1..=4_u8 {
        let id = TraceId::from_bytes(&[trace; 16]).expect("an id");
        let (status, body) = get(&serving, &format!("/api/v1/traces/{id}"));
        assert_eq!(status, 200);
        let spans = spanbridge::span::json::traces(body.as_bytes()).expect("OTLP/JSON").items;
        for stored in spans {
            let id = stored.span_id.bytes()[0];
            assert_eq!(stored, span(trace, id));
            found.insert(id);
        }
    }
    assert!(acknowledged.iter().all(|id| found.contains(id)), "{found:?}");
    let exported = spanbridge(&["ls", "--server", &serving.api, "--json"]);
    assert_eq!(stdout(&exported).lines().count(), 4);
    serving.stop();
    let (status, findings) = doctor(&[&["--data-dir", text(&restored)][..], &ANY_PORTS].concat(), &[]);
    assert_eq!(status, 0, "{findings:#?}");
}
