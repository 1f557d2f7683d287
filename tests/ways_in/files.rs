//! Files beside documents, files that are written, and what is refused with a reason.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::serving::spanbridge;

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

fn part(session: &str, steps: &Value) -> Value {
    json!({"schema_version": "ATIF-v1.6", "session_id": session, "agent": {"name": "shell", "version": "1"}, "steps": steps})
}

/// A trajectory that names these files.
fn naming(continued: &str, child: &str) -> Value {
    let reference = json!([{"session_id": "x", "trajectory_path": child}]);
    let mut whole = part(
        "s",
        &json!([
            {"step_id": 1, "source": "user", "message": "Begin."},
            {"step_id": 2, "source": "agent", "message": "", "tool_calls": [{"tool_call_id": "c", "function_name": "ask", "arguments": {}}],
                "observation": {"results": [{"source_call_id": "c", "content": "done", "subagent_trajectory_ref": reference}]}},
        ]),
    );
    whole["continued_trajectory_ref"] = continued.into();
    whole
}

fn convert(file: &Path) -> String {
    let output = spanbridge(&["convert", "--to", "messages", text(file)]);
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_file_that_a_trajectory_names_and_that_is_missing_is_told() {
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("trajectory.json");
    fs::write(&file, naming("next.json", "child.json").to_string()).expect("writes");
    let said = convert(&file);
    for name in ["next.json", "child.json"] {
        assert!(said.contains(&format!("it names the file {name}, which is left out")), "{said}");
    }
    assert!(said.contains("No such file"), "{said}");
    fs::write(&file, naming("../secret.json", "/etc/hostname").to_string()).expect("writes");
    assert_eq!(convert(&file).matches("not in the folder of the document or below").count(), 2);
}

#[cfg(unix)]
#[test]
fn links_and_pipes_beside_a_trajectory_are_not_read() {
    let directory = TempDir::new().expect("a directory");
    let folder = directory.path().join("run");
    fs::create_dir(&folder).expect("makes");
    let secret = directory.path().join("secret.json");
    let step = json!([{"step_id": 1, "source": "user", "message": "SECRET"}]);
    fs::write(&secret, part("t", &step).to_string()).expect("writes");
    std::os::unix::fs::symlink(&secret, folder.join("next.json")).expect("links");
    std::os::unix::fs::symlink(directory.path(), folder.join("up")).expect("links");
    let pipe = folder.join("pipe.json");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("runs").success());
    let file = folder.join("trajectory.json");
    for (continued, child) in [("next.json", "pipe.json"), ("up/secret.json", "pipe.json")] {
        fs::write(&file, naming(continued, child).to_string()).expect("writes");
        let output = spanbridge(&["convert", "--to", "messages", text(&file)]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("is a symbolic link, which is not followed"), "{said}");
        assert!(said.contains("it is not a plain file"), "{said}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("SECRET"));
    }
    // Nor does looking for parts among several files wait for a pipe.
    let output = spanbridge(&["convert", "--to", "messages", text(&file), text(&secret)]);
    assert!(output.status.success());
}

#[cfg(unix)]
#[test]
fn what_is_written_follows_no_link_and_replaces_nobody_elses_file() {
    let directory = TempDir::new().expect("a directory");
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/oi-langchain-agent/001.traces.json");
    let out = directory.path().join("out");
    let write = || spanbridge(&["convert", "--to", "reflex", "--output", text(&out), text(&input)]);
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let first = write();
    assert!(first.status.success() && !said(&first).contains("replaced"), "{}", said(&first));
    let again = write();
    assert!(
        again.status.success() && said(&again).contains("1 file replaced"),
        "{}",
        said(&again)
    );
    // A link where a document belongs.
    let document = fs::read_dir(&out)
        .expect("a directory")
        .next()
        .expect("a file")
        .expect("an entry")
        .path();
    let victim = directory.path().join("victim");
    fs::write(&victim, "mine").expect("writes");
    fs::remove_file(&document).expect("removes");
    std::os::unix::fs::symlink(&victim, &document).expect("links");
    let linked = write();
    assert!(
        !linked.status.success() && said(&linked).contains("it is a symbolic link"),
        "{}",
        said(&linked)
    );
    // Files that the call names.
    let losses = |flags: &[&str]| {
        let mut arguments = vec!["convert", "--to", "reflex", "--losses", text(&victim), text(&input)];
        arguments.extend(flags);
        spanbridge(&arguments)
    };
    let refused = losses(&[]);
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("pass --force to replace it"), "{}", said(&refused));
    assert_eq!(fs::read_to_string(&victim).expect("text"), "mine");
    assert!(losses(&["--force"]).status.success());
    assert!(losses(&[]).status.success(), "it is its own now");
    let device = spanbridge(&["convert", "--to", "reflex", "--losses", "/dev/null", text(&input)]);
    assert!(device.status.success(), "{}", said(&device));
    let data = directory.path().join("data");
    // A page.
    let chats = directory.path().join("chats.json");
    fs::write(
        &chats,
        r#"{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}"#,
    )
    .expect("writes");
    assert!(spanbridge(&["import", "--data-dir", text(&data), text(&chats)]).status.success());
    let listed = spanbridge(&["ls", "--json", "--data-dir", text(&data)]);
    let listed: Value = serde_json::from_slice(listed.stdout.split(|byte| *byte == b'\n').next().expect("a line")).expect("JSON");
    let id = listed["trace_id"].as_str().expect("an id").to_owned();
    let page = directory.path().join("page.html");
    let show = |path: &Path| spanbridge(&["show", &id, "--data-dir", text(&data), "--html", text(path)]);
    assert!(show(&page).status.success());
    assert!(show(&page).status.success(), "it is its own");
    fs::write(&victim, "mine").expect("writes");
    let refused = show(&victim);
    assert!(
        !refused.status.success() && said(&refused).contains("--force"),
        "{}",
        said(&refused)
    );
    let link = directory.path().join("link.html");
    std::os::unix::fs::symlink(&page, &link).expect("links");
    let refused = show(&link);
    assert!(
        !refused.status.success() && said(&refused).contains("symbolic link"),
        "{}",
        said(&refused)
    );
}

#[test]
fn an_answer_without_end_is_not_kept() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            std::thread::spawn(move || {
                let mut request = [0; 4_096];
                let read = stream.read(&mut request).unwrap_or_default();
                let is_front = request[..read].starts_with(b"GET / ");
                let (length, body): (u64, &[u8]) = if is_front { (11, b"spanbridge ") } else { (5 << 30, b"") };
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
                let zeros = vec![b' '; 1 << 20];
                while !is_front && stream.write_all(&zeros).is_ok() {}
            });
        }
    });
    let output = spanbridge(&["ls", "--server", &format!("http://{address}")]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("the answer has more than"), "{said}");
}

#[test]
fn what_the_api_writes_for_deep_values_is_read() {
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("deep.json");
    let mut value = json!({"stringValue": "inside"});
    for _ in 0..31 {
        value = json!({"arrayValue": {"values": [value]}});
    }
    let request = json!({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "01".repeat(16), "spanId": "02".repeat(8), "name": "chat m",
        "startTimeUnixNano": "1", "endTimeUnixNano": "2", "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}, {"key": "deep", "value": value}]}]}]}]});
    for content in [request.to_string(), format!("{request}\n{request}"), format!("[{request}]")] {
        fs::write(&file, content).expect("writes");
        let output = spanbridge(&["convert", "--to", "reflex", text(&file)]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    // Deeper than any protobuf message can be: refused, with the place.
    fs::write(&file, format!("{{\"resourceSpans\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000))).expect("writes");
    let output = spanbridge(&["convert", "--to", "reflex", text(&file)]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn an_expression_that_takes_minutes_is_refused() {
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/oi-langchain-agent/001.traces.json");
    let redact = |expression: &str| {
        let rules = format!("[{{value = '{expression}', action = \"mask\"}}]");
        spanbridge(&["convert", "--to", "reflex", "--redact", &rules, text(&input)])
    };
    let refused = redact("(a{100}){100}b");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("repetitions multiply"), "{said}");
    for usual in [
        "sk-[A-Za-z0-9]{20,100}",
        r"\b\d{4}([ -]?\d{4}){3}\b",
        r"[a-z0-9.+-]{1,64}@[a-z0-9-]{1,255}\.[a-z]{2,24}",
    ] {
        let taken = redact(usual);
        assert!(taken.status.success(), "{usual}: {}", String::from_utf8_lossy(&taken.stderr));
    }
}

#[test]
fn check_and_convert_agree_on_times() {
    let directory = TempDir::new().expect("a directory");
    let file = directory.path().join("run.json");
    // A time that is too large for seconds is read and comes back; `check` names it all the same.
    for (time, is_read, is_fine) in [("1767261600.5", true, true), ("99999999999", true, false), ("-1", false, false)] {
        let node = format!(r#"{{"id": "n", "type": "llm", "name": "n", "started_at": {time}}}"#);
        fs::write(&file, format!(r#"{{"nodes": [{node}]}}"#)).expect("writes");
        let converted = spanbridge(&["convert", "--from", "reflex", "--to", "reflex", text(&file)]);
        assert_eq!(
            converted.status.success(),
            is_read,
            "{time}: {}",
            String::from_utf8_lossy(&converted.stderr)
        );
        let checked = spanbridge(&["check", "--format", "reflex", text(&file)]);
        let said = String::from_utf8_lossy(&checked.stdout);
        assert_eq!(said.contains("it is not in seconds"), !is_fine, "{time}: {said}");
    }
    for (time, is_fine) in [
        ("2026-01-01T00:00:00Z", true),
        ("2999-01-01T00:00:00Z", false),
        ("1950-01-01T00:00:00Z", false),
    ] {
        let run = json!({"run_id": "r", "agent_info": {"name": "a"}, "started_at": time, "steps": []});
        fs::write(&file, run.to_string()).expect("writes");
        let converted = spanbridge(&["convert", "--from", "contextforge", "--to", "reflex", text(&file)]);
        assert_eq!(
            converted.status.success(),
            is_fine,
            "{time}: {}",
            String::from_utf8_lossy(&converted.stderr)
        );
        let checked = spanbridge(&["check", "--format", "contextforge", text(&file)]);
        let said = String::from_utf8_lossy(&checked.stdout);
        assert_eq!(said.contains("started_at"), !is_fine, "{time}: {said}");
    }
}
