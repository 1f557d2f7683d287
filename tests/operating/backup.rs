//! A copy made while the bridge works, verified and restored.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use spanbridge::span::TraceId;

use super::doctor::{doctor, expect};
use super::{stdout, text};
use crate::requests::{get, send, span};
use crate::serving::{ANY_PORTS, Serving, spanbridge};

/// The commands of the page in its section on backups: the first block copies, the last restores.
fn commands(place: usize, from: &Path, to: &Path) -> String {
    let page = include_str!("../../src/docs/operating.md");
    let (_, section) = page.split_once("## Backup").expect("the section");
    let blocks: Vec<&str> = section
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    let block = blocks[place]
        .lines()
        .filter(|line| !line.contains("systemctl") && !line.contains("chown"));
    let script = block.collect::<Vec<_>>().join("\n").replace("sudo ", "");
    script.replace("/var/lib/spanbridge", text(from)).replace("/backup", text(to))
}

fn sh(script: &str) {
    let ran = Command::new("sh").args(["-ec", script]).status();
    assert!(ran.expect("runs").success(), "{script}");
}

/// Copies as the page says, while the bridge works.
fn back_up(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    sh(&commands(0, from, to));
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
    let unwanted = TraceId::from_bytes(&[9; 16]).expect("an id").to_string();
    assert_eq!(send(&serving, &[span(9, 200)]), 200);
    let deleted = spanbridge(&["delete", "--trace", &unwanted, "--yes", "--server", &serving.api]);
    assert!(deleted.status.success(), "{deleted:?}");
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
    std::fs::create_dir_all(&restored).expect("a directory");
    sh(&commands(2, &restored, &backup));
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
    assert_eq!(send(&serving, &[span(9, 200)]), 200);
    let (status, body) = get(&serving, &format!("/api/v1/traces/{unwanted}"));
    assert_eq!(status, 410, "what was deleted on request is not stored again: {body}");
    let exported = spanbridge(&["ls", "--server", &serving.api, "--json"]);
    assert_eq!(stdout(&exported).lines().count(), 4);
    serving.stop();
    let (status, findings) = doctor(&[&["--data-dir", text(&restored)][..], &ANY_PORTS].concat(), &[]);
    assert_eq!(status, 0, "{findings:#?}");
}

/// What a project and a destination have is in the copy, and doctor says which projects it found.
#[test]
fn a_backup_has_all_projects_and_the_positions_of_destinations() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let (data, backup, restored, settings) = (path("data"), path("backup"), path("restored"), path("spanbridge.toml"));
    // Nothing listens there: what is not sent stays so.
    let token = |name: &str, digit: &str, project: &str| {
        let hash = digit.repeat(64);
        format!("[[tokens]]\nname = \"{name}\"\nhash = \"sha256:{hash}\"\nrights = [\"ingest\"]\nproject = \"{project}\"\n")
    };
    let forward = "[[forward]]\nname = \"sink\"\nurl = \"http://127.0.0.1:1\"\nproject = \"acme/web\"\n";
    std::fs::write(&settings, token("one", "1", "acme/web") + forward).expect("written");
    drop(Serving::start_with(&data, &["--config", text(&settings)]));
    back_up(&data, &backup);
    assert!(backup.join("projects/acme/web/0000000001.log").exists());
    assert!(
        std::fs::read_dir(backup.join("projects/acme/web/forward"))
            .expect("positions")
            .count()
            > 0
    );
    std::fs::create_dir_all(&restored).expect("a directory");
    sh(&commands(2, &restored, &backup));
    assert!(restored.join("projects/acme/web/forward").exists());

    let verify = |directory: &Path| {
        let flags = ["--data-dir", text(directory), "--config", text(&settings), "--only", "log"];
        doctor(&[&flags[..], &ANY_PORTS].concat(), &[])
    };
    let (status, findings) = verify(&backup);
    assert_eq!(status, 0, "{findings:#?}");
    expect(&findings, "log", "ok", "default/default, acme/web");
    std::fs::remove_dir_all(backup.join("projects")).expect("removed");
    let (_, findings) = verify(&backup);
    expect(&findings, "log", "warning", "no log of project acme/web");
    // Whoever only reads the metrics has no spans.
    let admin = std::fs::read_to_string(&settings)
        .expect("reads")
        .replace("\"ingest\"", "\"admin\"");
    std::fs::write(&settings, admin).expect("writes");
    let (_, findings) = verify(&backup);
    assert!(!findings.iter().any(|finding| finding["status"] == "warning"), "{findings:#?}");
}
