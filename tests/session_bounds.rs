//! Session files that take more than they may, or are no files: each is named, and the others are read.
#![expect(clippy::expect_used, reason = "a test")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::json;

use crate::serving::{self, spanbridge};
use crate::session_files::{at_home, text};

/// A line of Claude Code.
fn line(session: &str, number: usize, content: &serde_json::Value) -> String {
    let role = if number.is_multiple_of(2) { "user" } else { "assistant" };
    let message = match role {
        "assistant" => json!({"role": role, "content": content, "id": format!("m{number}"), "model": "claude"}),
        _ => json!({"role": role, "content": content}),
    };
    let parent = number.checked_sub(1).map(|before| format!("{session}u{before}"));
    let line = json!({"type": role, "uuid": format!("{session}u{number}"), "parentUuid": parent, "sessionId": session,
        "timestamp": format!("2026-11-21T10:{:02}:{:02}.000Z", number / 60 % 60, number % 60), "cwd": "/x", "version": "2.1.300",
        "message": message});
    format!("{line}\n")
}

fn session(session: &str, turns: usize) -> String {
    (0..2 * turns)
        .map(|number| line(session, number, &json!(format!("said {number}"))))
        .collect()
}

/// A session of Codex of so many turns, compressed: a few bytes each.
fn bomb(path: &Path, turns: usize) {
    let mut text =
        json!({"timestamp": "2026-11-21T10:00:00Z", "type": "session_meta", "payload": {"id": "019a0000-0000-7000-8000-000000000001",
        "timestamp": "2026-11-21T10:00:00Z", "cwd": "/x", "originator": "codex_cli_rs", "cli_version": "0.160.0"}})
        .to_string();
    let event = json!({"timestamp": "2026-11-21T10:00:00Z", "type": "event_msg", "payload": {"type": "user_message", "message": "q"}});
    let item = json!({"timestamp": "2026-11-21T10:00:00Z", "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]}});
    text.push('\n');
    text.push_str(&format!("{event}\n{item}\n").repeat(turns));
    let file = fs::File::create(path).expect("made");
    let mut encoder = zstd::stream::write::Encoder::new(file, 3).expect("begins");
    encoder.write_all(text.as_bytes()).expect("written");
    encoder.finish().expect("ends");
}

/// A database as `OpenCode` makes it, in which the content of parts is computed.
fn computed(path: &Path, content: &str) {
    let database = Connection::open(path).expect("opens");
    let tables = "CREATE TABLE session(id TEXT, parent_id TEXT, title TEXT, version TEXT, time_created INTEGER, directory TEXT);
        CREATE TABLE message(session_id TEXT, id TEXT, time_created INTEGER, data TEXT);
        INSERT INTO session VALUES('ses_1', NULL, 't', '1.2', 1795262685000, '/x');
        INSERT INTO message VALUES('ses_1', 'msg_1', 1795262685000, '{\"role\":\"user\",\"time\":{\"created\":1795262685000}}');";
    database.execute_batch(tables).expect("made");
    let part = format!("CREATE TABLE part(message_id TEXT, id TEXT, n INTEGER, data TEXT GENERATED ALWAYS AS ({content}) VIRTUAL)");
    database.execute(&part, []).expect("made");
    for number in 0..20 {
        let add = "INSERT INTO part(message_id, id, n) VALUES('msg_1', ?1, 2000000)";
        database.execute(add, [format!("prt_{number}")]).expect("added");
    }
}

/// What the command says of a folder of a session and a file that is not read.
fn converted(folder: &Path, memory: &str) -> String {
    let output = spanbridge(&["convert", "--to", "messages", "--max-memory", memory, text(folder)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let documents = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(documents.contains("said 0"), "the other session is read: {said}");
    said
}

fn folder_with_a_session() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("good.jsonl"), session("good", 2)).expect("written");
    let bad = directory.path().join("bad");
    (directory, bad)
}

#[test]
fn a_small_file_of_many_turns_is_named() {
    let (folder, bad) = folder_with_a_session();
    bomb(&bad, 20_000);
    let said = converted(folder.path(), "50000000");
    assert!(
        said.contains("bad: reading its session would take more than 50000000 bytes"),
        "{said}"
    );
    // And one that takes no more than it may is read.
    bomb(&bad, 200);
    let output = spanbridge(&["convert", "--to", "messages", "--max-memory", "50000000", text(&bad)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_line_of_many_values_is_named() {
    let (folder, bad) = folder_with_a_session();
    let content = json!([{"type": "tool_use", "id": "c", "name": "t", "input": {"a": "@"}}]);
    let dense = line("bad", 1, &content).replace("\"@\"", &format!("[{}0]", "0,".repeat(1_000_000)));
    fs::write(&bad, line("bad", 0, &json!("q")) + &dense).expect("written");
    let said = converted(folder.path(), "50000000");
    assert!(said.contains("bad: reading its session would take more than"), "{said}");
}

#[test]
fn a_file_that_is_longer_than_it_may_be_is_named() {
    let (folder, bad) = folder_with_a_session();
    fs::write(&bad, session("bad", 1)).expect("written");
    // It has a hole: nothing of it is read.
    fs::File::options()
        .write(true)
        .open(&bad)
        .and_then(|file| file.set_len(3 << 30))
        .expect("longer");
    let begun = Instant::now();
    let said = converted(folder.path(), "50000000");
    assert!(said.contains("bad: larger than 1073741824 bytes after decompression"), "{said}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    bomb(&bad, 20_000);
    let output = spanbridge(&["convert", "--to", "messages", "--max-bytes", "100000", text(folder.path())]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("bad: larger than 100000 bytes after decompression"), "{said}");
}

#[test]
fn a_database_that_computes_its_content_is_named() {
    for content in ["printf('%.*c', n, 'a')", "printf('%.*c', n, 'a') GLOB '*a*a*a*a*a*a*a*a*b'"] {
        let (folder, bad) = folder_with_a_session();
        computed(&bad, content);
        let begun = Instant::now();
        let said = converted(folder.path(), "50000000");
        assert!(said.contains("bad: its tables have computed columns"), "{said}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    }
}

/// Serves with a home folder, and watches sessions.
fn watching(home: &Path) -> serving::Serving {
    let mut command = serving::program();
    command
        .args(["serve", "--data-dir", text(&home.join("data"))])
        .args(serving::ANY_PORTS);
    command.arg("--watch-sessions");
    let server = serving::Serving::launch(at_home(&mut command, home));
    // The first look comes before what the test writes.
    std::thread::sleep(Duration::from_millis(500));
    server
}

/// Waits until so many runs of a session are stored.
fn wait_for_runs(server: &serving::Serving, session: &str, runs: usize) {
    let begun = Instant::now();
    loop {
        let output = spanbridge(&["ls", "--json", "--session", session, "--server", &server.api]);
        let stored = String::from_utf8_lossy(&output.stdout).lines().count();
        if stored == runs {
            return;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{stored} of {runs} runs of {session}: {}",
            server.log()
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn claude_folder(home: &Path) -> PathBuf {
    let folder = home.join(".claude/projects/-x");
    fs::create_dir_all(&folder).expect("made");
    folder
}

#[test]
fn a_watch_names_a_file_that_it_cannot_read_once_and_reads_the_others() {
    let home = tempfile::tempdir().expect("a directory");
    let folder = claude_folder(home.path());
    let server = watching(home.path());
    let long = folder.join("long.jsonl");
    fs::write(&long, session("long", 1)).expect("written");
    fs::File::options()
        .write(true)
        .open(&long)
        .and_then(|file| file.set_len(3 << 30))
        .expect("longer");
    server.wait_for("long.jsonl: larger than");
    let pipe = |path: &Path| assert!(std::process::Command::new("mkfifo").arg(path).status().expect("runs").success());
    let link = |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).expect("linked");
    let replacements: [&dyn Fn(&Path); 2] = [&pipe, &link];
    for (number, replace) in replacements.into_iter().enumerate() {
        // What takes a file's place has no writer, or no end.
        let gone = folder.join(format!("gone{number}.jsonl"));
        fs::write(&gone, session(&format!("gone{number}"), 1)).expect("written");
        wait_for_runs(&server, &format!("gone{number}"), 1);
        fs::remove_file(&gone).expect("removed");
        replace(&gone);
        fs::File::options()
            .append(true)
            .open(&long)
            .and_then(|mut file| file.write_all(b"\n"))
            .expect("written");
        std::thread::sleep(Duration::from_millis(800));
        let good = format!("good{number}");
        fs::write(folder.join(format!("{good}.jsonl")), session(&good, 2)).expect("written");
        wait_for_runs(&server, &good, 2);
    }
    let log = server.stop();
    assert_eq!(log.matches("long.jsonl: larger than").count(), 1, "{log}");
}

#[test]
fn a_watch_stores_what_was_written_while_the_server_was_down() {
    let home = tempfile::tempdir().expect("a directory");
    let folder = claude_folder(home.path());
    let path = folder.join("s.jsonl");
    // Of a session that no server saw nothing is stored.
    fs::write(folder.join("old.jsonl"), session("old", 2)).expect("written");
    let mut server = watching(home.path());
    fs::write(&path, session("s", 3)).expect("written");
    wait_for_runs(&server, "s", 3);
    server.child.kill().expect("killed");
    server.wait();
    fs::write(&path, session("s", 5)).expect("written");
    let server = watching(home.path());
    wait_for_runs(&server, "s", 5);
    wait_for_runs(&server, "old", 0);
}
