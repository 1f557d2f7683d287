//! The doctor, beside a bridge at work and on what is broken.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::Value;
use spanbridge::otlp::{encode, scan};
use spanbridge::span::Signal;
use spanbridge::store::{Administer as _, Append as _, Chunk, Local, OpenOptions};

use super::text;
use crate::requests::{send, span};
use crate::serving::{ANY_PORTS, Serving, program, spanbridge};

/// The doctor's exit status and findings.
pub(crate) fn doctor(arguments: &[&str], variables: &[(&str, &str)]) -> (i32, Vec<Value>) {
    let mut command = program();
    command.args(["doctor", "--json"]).args(arguments);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("OTEL_")) {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output().expect("runs");
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = told["findings"].as_array().expect("findings").clone();
    for finding in &findings {
        let advice = finding["why"].is_string() && finding["mend"].is_string();
        assert_eq!(advice, finding["status"] != "ok", "{finding}");
    }
    (output.status.code().expect("a status"), findings)
}

#[track_caller]
pub(crate) fn expect(findings: &[Value], check: &str, status: &str, words: &str) {
    let fits = |finding: &&Value| {
        finding["check"] == check && finding["status"] == status && finding["what"].as_str().is_some_and(|what| what.contains(words))
    };
    assert!(
        findings.iter().any(|finding| fits(&finding)),
        "{check} {status} {words:?} in {findings:#?}"
    );
}

fn snapshot(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).expect("lists").map(|entry| entry.expect("an entry"));
    // Every reader of SQLite marks in `-shm` how far it reads. The file holds no data and is made anew at will.
    let data = entries.filter(|entry| !entry.file_name().to_string_lossy().ends_with("-shm"));
    data.map(|entry| {
        (
            entry.file_name().to_string_lossy().into_owned(),
            fs::read(entry.path()).expect("reads"),
        )
    })
    .collect()
}

/// A data directory of a bridge that was stopped.
fn three_spans_stored() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let serving = Serving::start(&data);
    for id in 1..4 {
        assert_eq!(send(&serving, &[span(1, id)]), 200);
    }
    serving.stop();
    (directory, data)
}

#[test]
fn the_doctor_beside_a_running_bridge() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).expect("sets");
    let serving = Serving::start(directory.path());
    assert_eq!(send(&serving, &[span(1, 1)]), 200);
    let address = |url: &str| url.strip_prefix("http://").expect("a URL").to_owned();
    let (grpc, http, api) = (address(&serving.grpc), address(&serving.http), address(&serving.api));
    let data = text(directory.path());
    let call = ["--data-dir", data, "--otlp-grpc", &grpc, "--otlp-http", &http, "--http", &api];
    let (status, findings) = doctor(&call, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &serving.http)]);
    assert_eq!(status, 0, "{findings:#?}");
    expect(
        &findings,
        "directory",
        "ok",
        &format!("process {} (spanbridge) writes to it", serving.child.id()),
    );
    expect(&findings, "log", "ok", "1 segment read, 0 of them compressed; 1 record");
    expect(&findings, "index", "ok", "intact, 1 trace");
    expect(&findings, "ports", "ok", &format!("process {} (spanbridge)", serving.child.id()));
    expect(&findings, "server", "ok", "it takes spans");
    expect(&findings, "exporters", "ok", "is this server");
    // Another data directory wants the same ports.
    let other = tempfile::tempdir().expect("a directory");
    let (status, findings) = doctor(
        &[
            "--data-dir",
            text(other.path()),
            "--otlp-grpc",
            &grpc,
            "--otlp-http",
            &http,
            "--http",
            &api,
        ],
        &[],
    );
    assert_eq!(status, 1);
    expect(&findings, "ports", "wrong", "is in use by process");
    // The bridge took no notice, and took no harm.
    assert_eq!(send(&serving, &[span(1, 2)]), 200);
    serving.stop();
}

#[test]
fn importing_beside_a_server_names_its_ports() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    let file = directory.path().join("chat.json");
    fs::write(
        &file,
        r#"[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]"#,
    )
    .expect("writes");
    let output = spanbridge(&["import", "--data-dir", text(directory.path()), text(&file)]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    let advice = format!("send --to {} '{}'", serving.http, text(&file));
    assert!(said.contains(&advice), "{said}");
    assert!(said.contains(&format!("process {}", serving.child.id())), "{said}");
}

#[test]
fn the_doctor_on_what_is_broken_changes_nothing() {
    let (_directory, data) = three_spans_stored();
    let call = [&["--data-dir", text(&data)][..], &ANY_PORTS].concat();
    let before = snapshot(&data);
    let (status, findings) = doctor(&call, &[]);
    assert_eq!((status, snapshot(&data) == before), (0, true), "{findings:#?}");
    expect(&findings, "directory", "ok", "no server writes to it");

    let project = data.join("projects/acme/web");
    fs::create_dir_all(&project).expect("makes");
    fs::copy(data.join("0000000001.log"), project.join("0000000001.log")).expect("copies");
    let (_, findings) = doctor(&call, &[]);
    expect(&findings, "log", "ok", "projects/acme/web: 1 segment read");
    expect(&findings, "index", "warning", "projects/acme/web: there is no index");
    fs::remove_dir_all(data.join("projects")).expect("removes");

    let segment = data.join("0000000001.log");
    let whole = fs::read(&segment).expect("reads");
    // In the message of the first record; the last record is cut.
    let file = fs::File::options().write(true).open(&segment).expect("opens");
    file.write_all_at(b"\xff", 16 + 40 + 3).expect("writes");
    file.set_len(whole.len() as u64 - 5).expect("cuts");
    fs::write(data.join("index.sqlite"), b"this is no database, it is a text of some length").expect("writes");
    // SQLite would read the whole index from a write-ahead log that the bridge left behind.
    for left in ["index.sqlite-wal", "index.sqlite-shm"] {
        match fs::remove_file(data.join(left)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{left}: {error}"),
            _ => {}
        }
    }
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).expect("sets");
    let before = snapshot(&data);
    let (status, findings) = doctor(&call, &[]);
    assert_eq!((status, snapshot(&data) == before), (1, true));
    expect(&findings, "log", "wrong", "segment 1: ");
    expect(&findings, "log", "warning", "are an incomplete record");
    expect(&findings, "index", "wrong", "not a database");
    expect(&findings, "directory", "warning", "mode 0755");
    // What it says mends it.
    assert!(spanbridge(&["reindex", "--data-dir", text(&data)]).status.success());
    let (_, findings) = doctor(&call, &[]);
    expect(&findings, "index", "ok", "intact, 1 trace");
    fs::rename(&segment, data.join("0000000003.log")).expect("renames");
    fs::write(&segment, b"SPBRLOG\x09").expect("writes");
    let (status, findings) = doctor(&call, &[]);
    assert_eq!(status, 1);
    expect(&findings, "log", "wrong", "segments 2 to 2 are missing");
}

/// A data directory with 90 traces, most of them in compressed segments.
fn compressed() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let options = OpenOptions {
        segment_size: 4_000,
        ..OpenOptions::new(&data)
    };
    let store = Local::open(&options).expect("opens").store;
    for trace in 1..=90 {
        let bytes = encode::traces(&[span(trace, 1)]);
        let scanned = scan::scan(&bytes, Signal::Traces, &["session.id"]).expect("a request");
        store.append(Chunk::of_request(scanned, bytes)).expect("appends");
    }
    assert!(store.maintain().expect("works").compressed_segments > 1);
    drop(store);
    (directory, data)
}

/// A destination that is down, and what retention removed meanwhile.
#[test]
fn the_doctor_tells_what_retention_took_from_a_destination() {
    let (_directory, data) = compressed();
    let folder = data.join("forward");
    fs::create_dir(&folder).expect("makes");
    fs::write(folder.join("slow.progress.json"), r#"{"segment":1,"offset":16}"#).expect("writes");
    let call = [
        "--only",
        "forward",
        "--data-dir",
        text(&data),
        "--forward",
        "slow=http://127.0.0.1:1",
    ];
    let (_, findings) = doctor(&call, &[]);
    assert!(
        findings.iter().all(|finding| !finding["what"].to_string().contains("retention")),
        "{findings:#?}"
    );
    let mut options = OpenOptions::new(&data);
    options.retention.bytes = Some(6_000);
    let store = Local::open(&options).expect("opens").store;
    let removed = store.maintain().expect("works").removed_segments;
    assert!(removed > 1, "{removed}");
    drop(store);
    let (_, findings) = doctor(&call, &[]);
    expect(
        &findings,
        "forward",
        "warning",
        &format!("retention removed {removed} segments before slow had them"),
    );
    let status = spanbridge(&["forward", "status", "--json", "--data-dir", text(&data)]);
    let status: Value = serde_json::from_slice(&status.stdout).expect("JSON");
    assert_eq!(status["removed_segments"], removed, "{status}");
}

/// What `serve` says before it serves.
fn said_at_the_start(data: &Path) -> String {
    let mut child = program()
        .args(["serve", "--data-dir", text(data)])
        .args(ANY_PORTS)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    let lines = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let said: Vec<String> = lines.take_while(|line| !line.contains("serving")).collect();
    child.kill().expect("ends");
    child.wait().expect("ended");
    said.join("\n")
}

#[test]
fn a_compressed_segment_that_was_cut_is_said_by_the_doctor_and_at_the_start() {
    let (_directory, data) = compressed();
    let call = [&["--data-dir", text(&data)][..], &ANY_PORTS].concat();
    assert_eq!(doctor(&call, &[]).0, 0);
    assert_eq!(said_at_the_start(&data), "");
    let segment = data.join("0000000001.log");
    let whole = fs::read(&segment).expect("reads");
    // Somewhere, at the end of the records, and within the table.
    let table = usize::try_from(u64::from_le_bytes(*whole[whole.len() - 24..].first_chunk().expect("a footer"))).expect("small");
    for (length, lost) in [(whole.len() / 2, true), (table, false), (whole.len() - 1, false)] {
        fs::write(&segment, &whole[..length]).expect("cuts");
        let before = snapshot(&data);
        let (status, findings) = doctor(&call, &[]);
        assert_eq!((status, snapshot(&data) == before), (1, true), "{findings:#?}");
        expect(&findings, "log", "wrong", "segment 1: the file was cut off");
        let said = said_at_the_start(&data);
        assert!(
            said.contains("segment 1: the file was cut off") && said.contains("spanbridge reindex"),
            "{said}"
        );
        let listed = spanbridge(&["ls", "--data-dir", text(&data)]);
        let told = String::from_utf8_lossy(&listed.stderr).into_owned();
        assert!(told.contains("segment 1: the file was cut off"), "{told}");
        if lost {
            expect(&findings, "index", "wrong", "acknowledged records of");
            let words = findings
                .iter()
                .find(|finding| finding["check"] == "index" && finding["status"] == "wrong");
            let words = words.expect("found")["what"].as_str().expect("words").to_owned();
            let counts = words.rsplit("; ").next().expect("counts");
            assert!(said.contains(counts) && !counts.starts_with("0 "), "{counts}: {said}");
        } else {
            assert!(said.contains("all its records are there"), "{said}");
        }
    }
    fs::write(&segment, &whole).expect("restores");
    assert_eq!(doctor(&call, &[]).0, 0);
}

#[test]
fn a_configuration_that_everybody_reads_should_hold_no_key() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("spanbridge.toml");
    let data = format!("data_dir = {:?}\n", text(&directory.path().join("data")));
    let told = |config: &str, mode: u32| {
        fs::write(&file, format!("{data}{config}")).expect("writes");
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("sets");
        let (_, findings) = doctor(&[&["--config", text(&file), "--only", "settings"][..], &ANY_PORTS].concat(), &[]);
        findings
            .iter()
            .any(|finding| finding["status"] == "warning" && finding["what"].to_string().contains("redact_hash_key"))
    };
    let key = "redact_hash_key = \"5481\"\n";
    assert!(told(key, 0o644));
    assert!(!told(key, 0o600) && !told("", 0o644));
}

#[test]
fn the_doctor_mends_a_head_that_does_not_fit_its_records() {
    let (_directory, data) = three_spans_stored();
    let segment = data.join("0000000001.log");
    let whole = fs::read(&segment).expect("reads");
    let file = fs::File::options().write(true).open(&segment).expect("opens");
    file.write_all_at(b"\x02", 7).expect("writes");
    let call = [&["--data-dir", text(&data)][..], &ANY_PORTS].concat();
    let (status, findings) = doctor(&call, &[]);
    assert_eq!(status, 1);
    expect(
        &findings,
        "log",
        "wrong",
        "segment 1: its records are raw, but its header does not match",
    );
    let mend = findings
        .iter()
        .find(|found| found["check"] == "log" && found["status"] == "wrong")
        .expect("found");
    let mend = mend["mend"]
        .as_str()
        .expect("words")
        .strip_prefix("with the server stopped: ")
        .expect("a command");
    let mend = mend.replace("spanbridge reindex", &format!("{} reindex", env!("CARGO_BIN_EXE_spanbridge")));
    assert!(
        std::process::Command::new("sh")
            .args(["-c", &mend])
            .status()
            .expect("runs")
            .success()
    );
    assert_eq!(fs::read(&segment).expect("reads"), whole);
    assert_eq!(doctor(&call, &[]).0, 0);
}

#[test]
fn the_doctor_on_settings_and_variables() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let file = directory.path().join("spanbridge.toml");
    fs::write(&file, "retain_hour = 5\n").expect("writes");
    let (status, findings) = doctor(&["--config", text(&file)], &[]);
    assert_eq!(status, 1);
    expect(&findings, "settings", "wrong", "did you mean `retain_hours`?");
    let open = [
        "--data-dir",
        text(&data),
        "--otlp-http",
        "0.0.0.0:0",
        "--otlp-grpc",
        "127.0.0.1:0",
        "--http",
        "127.0.0.1:0",
    ];
    let (status, findings) = doctor(&open, &[]);
    assert_eq!(status, 1);
    expect(&findings, "settings", "wrong", "without authentication");
    let call = ["--data-dir", text(&data), "--only", "exporters"];
    for (variables, status, words) in [
        (
            vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9999")],
            "warning",
            "is not this server",
        ),
        (vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318")], "warning", "has no http://"),
        (
            vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "https://127.0.0.1:4318")],
            "wrong",
            "uses no TLS",
        ),
        (
            vec![("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:4318")],
            "wrong",
            "does not end in /v1/traces",
        ),
        (
            vec![
                ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://localhost:4317"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ],
            "ok",
            "is this server",
        ),
        (vec![("OTEL_SDK_DISABLED", "true")], "wrong", "OTEL_SDK_DISABLED=true"),
        (vec![("OTEL_EXPORTER_OTLP_PROTOCOL", "http")], "warning", "is not an OTLP protocol"),
        (vec![], "ok", "none is set"),
    ] {
        let (code, findings) = doctor(&call, &variables);
        expect(&findings, "exporters", status, words);
        assert_eq!(code, i32::from(status == "wrong"), "{variables:?}");
    }
    // A certificate that has ended, and one that has not.
    let key = rcgen::KeyPair::generate().expect("a key");
    for (year, status, words) in [(2_020, "wrong", "expired"), (2_099, "ok", "is valid for")] {
        let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
        parameters.not_before = rcgen::date_time_ymd(2_019, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(year, 1, 1);
        let certificate = parameters.self_signed(&key).expect("a certificate");
        let (cert, pem) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
        fs::write(&cert, certificate.pem()).expect("writes");
        fs::write(&pem, key.serialize_pem()).expect("writes");
        let tls = ["--tls-certificate", text(&cert), "--tls-key", text(&pem), "--only", "settings"];
        let (_, findings) = doctor(&[&["--data-dir", text(&data)][..], &tls].concat(), &[]);
        expect(&findings, "settings", status, words);
    }
    // What `openssl req -x509` makes by default is an authority's, and no client accepts it.
    for (is_ca, status, words) in [(true, "wrong", "clients refuse the certificate"), (false, "ok", "is valid for")] {
        let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("parameters");
        if is_ca {
            parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        }
        let certificate = parameters.self_signed(&key).expect("a certificate");
        let (cert, pem) = (directory.path().join("cert.pem"), directory.path().join("key.pem"));
        fs::write(&cert, certificate.pem()).expect("writes");
        fs::write(&pem, key.serialize_pem()).expect("writes");
        let tls = ["--tls-certificate", text(&cert), "--tls-key", text(&pem), "--only", "settings"];
        let (code, findings) = doctor(&[&["--data-dir", text(&data)][..], &tls].concat(), &[]);
        expect(&findings, "settings", status, words);
        assert_eq!(code, i32::from(is_ca), "{findings:#?}");
    }
}

/// A data directory that a flag names is read, whatever server a variable names, and the other way round.
#[test]
fn a_flag_goes_before_a_variable() {
    let (_directory, data) = three_spans_stored();
    let nowhere = "http://127.0.0.1:1";
    let ls = |flags: &[&str], variables: &[(&str, &str)]| {
        let output = program()
            .arg("ls")
            .args(flags)
            .envs(variables.iter().copied())
            .output()
            .expect("runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let by_flag = ls(&["--data-dir", text(&data)], &[("SPANBRIDGE_SERVER", nowhere)]);
    assert_eq!(by_flag.0, Some(0), "{}", by_flag.1);
    let server = ls(&["--server", nowhere], &[("SPANBRIDGE_DATA_DIR", text(&data))]);
    assert!(server.0 != Some(0) && server.1.contains(nowhere), "{}", server.1);
    let both = ls(&["--server", nowhere, "--data-dir", text(&data)], &[]);
    assert!(both.0 == Some(2) && both.1.contains("exclude each other"), "{}", both.1);
}
