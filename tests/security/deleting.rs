//! Deleting on request takes a right of its own, reaches the token's project alone, and leaves nothing behind: not in the log, the index,
//! the index of words, the dead letters, or what the server says.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use spanbridge::otlp::encode;

use super::serving::{Serving, files, holds, run, span, text, token, trace_id};

fn path(trace: u8) -> String {
    format!("/api/v1/traces/{}", trace_id(trace))
}

fn files_with(data: &Path, words: &str) -> Vec<String> {
    let found = files(data).into_iter().filter(|(_, bytes)| holds(bytes, words));
    found.map(|(path, _)| path.display().to_string()).collect()
}

#[test]
fn a_token_deletes_with_the_right_to_and_in_its_project_alone() {
    let all = token("all", &["ingest", "read", "annotate", "admin"], "acme/web");
    let deletes = token("officer", &["delete"], "acme/web");
    let other = token("other", &["ingest", "read", "delete"], "acme/shop");
    let bridge = Serving::start(&[&*all.config, &*deletes.config, &*other.config].concat());
    for (trace, name) in [(1, "secretone"), (2, "kept")] {
        assert_eq!(bridge.send(trace, name, Some(&all.token)).status, 200);
    }
    assert_eq!(bridge.send(1, "of the shop", Some(&other.token)).status, 200);
    for (token, status) in [(None, 401), (Some("spanbridge_5481"), 401), (Some(all.token.as_str()), 403)] {
        assert_eq!(bridge.delete(&path(1), token).status, status);
        assert_eq!(bridge.delete("/api/v1/sessions/session%20of%20secretone", token).status, status);
    }
    let refused = bridge.delete(&path(1), Some(&all.token));
    assert_eq!(refused.json()["error"]["message"], "the token `all` lacks the right `delete`");
    assert_eq!(
        bridge.get(&path(1), Some(&deletes.token)).status,
        403,
        "the right includes no other"
    );

    let officer = Some(deletes.token.as_str());
    let counted = bridge.delete(&format!("{}?dry_run=true", path(1)), officer);
    assert_eq!(
        (
            counted.status,
            counted.json()["spans"].as_u64(),
            counted.json()["dry_run"].as_bool()
        ),
        (200, Some(1), Some(true))
    );
    assert_eq!(bridge.get(&path(1), Some(&all.token)).status, 200, "counting deletes nothing");
    assert_eq!(bridge.delete(&format!("{}?dry=true", path(1)), officer).status, 400);
    assert_eq!(bridge.delete("/api/v1/traces/xyz", officer).status, 400);
    assert_eq!(bridge.delete(&path(9), officer).status, 404);
    assert_eq!(bridge.delete("/api/v1/sessions/none", officer).status, 404);

    assert_ne!(files_with(&bridge.data(), "secretone"), [] as [String; 0]);
    let deleted = bridge.delete(&path(1), officer);
    assert_eq!((deleted.status, &deleted.json()["traces"]), (200, &1.into()));
    assert_eq!(files_with(&bridge.data(), "secretone"), [] as [String; 0]);
    let gone = bridge.get(&path(1), Some(&all.token));
    assert_eq!((gone.status, gone.json()["error"]["code"].as_str()), (410, Some("DELETED")));
    assert_eq!(bridge.delete(&path(1), officer).status, 410);
    assert_eq!(bridge.get(&path(2), Some(&all.token)).status, 200);
    assert_eq!(bridge.get(&path(1), Some(&other.token)).status, 200, "of another project");

    // What comes later is refused aloud.
    let late = bridge.send(1, "secretone", Some(&all.token));
    assert_eq!(late.status, 200);
    assert!(
        holds(&late.body, "1 of 1 belong to traces that were deleted on request"),
        "{}",
        late.text()
    );
    assert_eq!(files_with(&bridge.data(), "secretone"), [] as [String; 0]);
    let (said, _directory) = bridge.stop();
    let line = said
        .lines()
        .find(|line| line.contains("deleted on request"))
        .expect("is in the log");
    assert!(line.contains("officer") && line.contains(&trace_id(1).to_string()), "{line}");
    assert!(!said.contains("secretone"), "{said}");
}

fn deletes(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = run(&[&["delete"], arguments].concat(), &[]);
    (status.code(), text(&stderr))
}

#[test]
fn the_command_deletes_over_a_server_and_without_one() {
    let bridge = Serving::start("search = true\n");
    for (trace, name) in [(1, "wordone"), (2, "wordtwo"), (3, "wordthree")] {
        assert_eq!(bridge.send(trace, name, None).status, 200);
    }
    let begin = Instant::now();
    while files_with(&bridge.data().join("search"), "wordone").is_empty() && begin.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let letters = bridge.data().join("forward");
    fs::create_dir_all(&letters).expect("makes");
    let letter = |trace: u8| {
        format!(
            "{{\"time\":1,\"signal\":\"traces\",\"trace_id\":\"{}\",\"items\":1,\"reason\":\"reason of {trace}\"}}\n",
            trace_id(trace)
        )
    };
    fs::write(letters.join("gone.dead.jsonl"), format!("{}{}", letter(1), letter(2))).expect("writes");

    let url = format!("http://{}", bridge.api);
    let id = trace_id(1).to_string();
    let server = ["--server", &url];
    let (code, said) = deletes(&[&["--trace", &id], &server[..]].concat());
    assert!(
        code == Some(2) && said.contains("1 trace, 1 span, 0 log records") && said.contains("--yes"),
        "{said}"
    );
    assert_eq!(deletes(&[&["--trace", &id, "--dry-run"], &server[..]].concat()).0, Some(0));
    assert_eq!(bridge.get(&path(1), None).status, 200);
    let (code, said) = deletes(&[&["--trace", &id[..6], "--yes"], &server[..]].concat());
    assert!(code == Some(0) && said.contains(&format!("deleted trace {id}")), "{said}");
    assert_eq!(
        files_with(&bridge.data(), "wordone"),
        [] as [String; 0],
        "log, index, index of words"
    );
    assert_eq!(fs::read_to_string(letters.join("gone.dead.jsonl")).expect("reads"), letter(2));
    let (code, said) = deletes(&[&["--trace", &id, "--yes"], &server[..]].concat());
    assert!(code == Some(1) && said.contains("there is nothing to delete"), "{said}");

    // While a server has the directory, nobody else deletes in it.
    let data = bridge.data();
    let data = data.to_str().expect("text");
    let session = ["--session", "session of wordtwo", "--yes", "--data-dir", data];
    let (code, said) = deletes(&session);
    assert!(code == Some(1) && said.contains("is in use by"), "{said}");
    let (_, directory) = bridge.stop();
    let (code, said) = deletes(&session);
    assert!(code == Some(0) && said.contains("1 trace, 1 span"), "{said}");
    assert_eq!(files_with(&directory.path().join("data"), "wordtwo"), [] as [String; 0]);
    assert_eq!(
        fs::read_to_string(directory.path().join("data/forward/gone.dead.jsonl")).expect("reads"),
        ""
    );
    let ls = run(&["ls", "--json", "--data-dir", data], &[]);
    assert_eq!(text(&ls.stdout).lines().count(), 1);
    let export = run(
        &["export", "--to", "messages", "--session", "session of wordtwo", "--data-dir", data],
        &[],
    );
    assert!(
        text(&export.stderr).contains("1 trace of session session of wordtwo deleted on request"),
        "{}",
        text(&export.stderr)
    );
}

#[test]
fn what_concerns_a_person_is_deleted_by_the_persons_name() {
    let bridge = Serving::start("");
    // Of trace 2 the outer span is for another user.
    for (trace, users) in [(1, &["ada"][..]), (2, &["bob", "ada"]), (3, &["bob"]), (4, &[])] {
        let spans: Vec<_> = users
            .iter()
            .chain((users.is_empty()).then_some(&""))
            .enumerate()
            .map(|(number, user)| {
                let mut span = span(trace, &format!("call {number}"));
                span.attributes.push("gen_ai.operation.name", "invoke_agent");
                if !user.is_empty() {
                    span.attributes.push("user.id", *user);
                }
                if number > 0 {
                    span.parent = Some(span.span_id);
                    span.span_id = spanbridge::span::SpanId::from_bytes(&[7; 8]).expect("an id");
                }
                span
            })
            .collect();
        let answer = bridge.post("/v1/traces", &[("content-type", "application/x-protobuf")], &encode::traces(&spans));
        assert_eq!(answer.status, 200);
    }
    let url = format!("http://{}", bridge.api);
    let over = |arguments: &[&str]| deletes(&[arguments, &["--server", &url]].concat());
    let left = || {
        (1..=4)
            .filter(|trace| bridge.get(&path(*trace), None).status == 200)
            .collect::<Vec<_>>()
    };
    let (code, said) = over(&["--user", "ada", "--dry-run"]);
    let named = |said: &str| {
        (1..=4)
            .filter(|trace| said.contains(&trace_id(*trace).to_string()))
            .collect::<Vec<_>>()
    };
    assert_eq!((code, named(&said), left()), (Some(0), vec![1, 2], vec![1, 2, 3, 4]), "{said}");
    assert_eq!(over(&["--user", "ada"]).0, Some(2), "nobody is there to say yes");
    let (code, said) = over(&["--user", "carl", "--yes"]);
    assert!(code == Some(1) && said.contains("there is no trace of user carl"), "{said}");
    assert_eq!(over(&["--where", "user is ada", "--yes"]).0, Some(2), "no expression");
    // What one of them has is deleted; that the other has nothing is a failure.
    let first = trace_id(1).to_string();
    let (code, said) = over(&["--user", "ada", "--user", "carl", "--trace", &first, "--yes"]);
    assert_eq!(
        (code, said.matches("deleted trace").count(), left()),
        (Some(1), 2, vec![3, 4]),
        "{said}"
    );
    // Without a server, by an expression.
    let (_, directory) = bridge.stop();
    let data = directory.path().join("data");
    let data = ["--data-dir", data.to_str().expect("text")];
    let (code, said) = deletes(&[&["--where", "not has(user)", "--yes"], &data[..]].concat());
    assert_eq!((code, named(&said)), (Some(0), vec![4]), "{said}");
    let ls = run(&[&["ls", "--json"], &data[..]].concat(), &[]);
    assert!(text(&ls.stdout).lines().count() == 1 && text(&ls.stdout).contains(&trace_id(3).to_string()));
}
