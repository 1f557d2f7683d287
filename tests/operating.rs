//! Operating it, as the real program: metrics, readiness, the doctor, manual pages and completions, backup and restore.
#![expect(clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr, reason = "a test")]
#![cfg(feature = "server")]

#[path = "support/serving.rs"]
mod serving;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;
use serving::{Serving, spanbridge};
use spanbridge::otlp::encode;
use spanbridge::span::{Span, SpanId, TraceId, UnixNanos};

fn span(trace: u8, id: u8) -> Span {
    let trace_id = TraceId::from_bytes(&[trace; 16]).expect("an id");
    let span_id = SpanId::from_bytes(&[id; 8]).expect("an id");
    let mut span = Span::new(trace_id, span_id, format!("step {id}"));
    span.start = UnixNanos(1_700_000_000_000_000_000);
    span.end = UnixNanos(1_700_000_001_000_000_000);
    span
}

fn send(serving: &Serving, spans: &[Span]) -> u16 {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
    let request = agent.post(format!("{}/v1/traces", serving.http));
    let answer = request.header("content-type", "application/x-protobuf").send(encode::traces(spans));
    answer.expect("an answer").status().as_u16()
}

fn get(serving: &Serving, path: &str) -> (u16, String) {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
    let mut answer = agent.get(format!("{}{path}", serving.api)).call().expect("an answer");
    (answer.status().as_u16(), answer.body_mut().read_to_string().expect("text"))
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// What the text format 0.0.4 allows, strictly: metrics by name, and the samples of each by their labels.
fn parse(text: &str) -> Result<BTreeMap<String, BTreeMap<String, f64>>, String> {
    let name = |text: &str| {
        let mut letters = text.chars();
        letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    if !text.ends_with('\n') {
        return Err("no newline at the end".to_owned());
    }
    let mut metrics: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    let mut current = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (metric, help) = rest.split_once(' ').ok_or(line)?;
            let kind = lines.next().and_then(|line| line.strip_prefix("# TYPE ")).ok_or(line)?;
            let (of, kind) = kind.split_once(' ').ok_or(line)?;
            let counter = kind == "counter";
            if help.is_empty() || of != metric || !name(metric) || !(counter || kind == "gauge") {
                return Err(format!("bad head: {line}"));
            }
            if counter != metric.ends_with("_total") {
                return Err(format!("a counter is named _total, and nothing else is: {line}"));
            }
            if metrics.insert(metric.to_owned(), BTreeMap::new()).is_some() {
                return Err(format!("twice: {metric}"));
            }
            current = metric.to_owned();
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').ok_or(line)?;
        let (metric, labels) = match sample.split_once('{') {
            None => (sample, ""),
            Some((metric, labels)) => (metric, labels.strip_suffix('}').ok_or(line)?),
        };
        if metric != current {
            return Err(format!("not behind its head: {line}"));
        }
        let mut rest = labels;
        let mut seen = BTreeSet::new();
        while !rest.is_empty() {
            let (label, after) = rest.split_once("=\"").ok_or(line)?;
            let mut end = None;
            let mut letters = after.char_indices();
            while let Some((at, letter)) = letters.next() {
                match letter {
                    '\\' if matches!(letters.next(), Some((_, '\\' | '"' | 'n'))) => {}
                    '\\' => return Err(format!("bad escape: {line}")),
                    '"' => {
                        end = Some(at);
                        break;
                    }
                    _ => {}
                }
            }
            if !name(label) || !seen.insert(label) {
                return Err(format!("bad label: {line}"));
            }
            rest = &after[end.ok_or(line)? + 1..];
            rest = rest.strip_prefix(',').filter(|rest| !rest.is_empty()).unwrap_or(rest);
        }
        let value: f64 = value.parse().map_err(|_| line)?;
        let samples = metrics.get_mut(metric).ok_or(line)?;
        if samples.insert(labels.to_owned(), value).is_some() {
            return Err(format!("twice: {line}"));
        }
    }
    Ok(metrics)
}

#[test]
fn the_parser_of_metrics_is_strict() {
    let head = "# HELP a_total x\n# TYPE a_total counter\n";
    assert!(parse(&format!("{head}a_total{{b=\"c\\\"}}\\n\",d=\"\"}} 1\n")).is_ok());
    for bad in [
        "a_total 1\n",
        "# HELP a_total x\n# TYPE a_total gauge\na_total 1\n",
        &format!("{head}a_total 1"),
        &format!("{head}a_total 1\na_total 2\n"),
        &format!("{head}a_total 1\n{head}a_total 1\n"),
        &format!("{head}a_total{{b=\"c}} 1\n"),
        &format!("{head}a_total{{b=\"c\\d\"}} 1\n"),
        &format!("{head}a_total{{b=\"c\",b=\"d\"}} 1\n"),
        &format!("{head}a_total{{0=\"c\"}} 1\n"),
        &format!("{head}b_total 1\n"),
        &format!("{head}a_total x\n"),
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn metrics_have_the_collectors_names() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    for _ in 0..2 {
        assert_eq!(send(&serving, &[span(1, 1), span(1, 2)]), 200);
    }
    let (status, text) = get(&serving, "/metrics");
    assert_eq!(status, 200);
    let metrics = parse(&text).expect("the text format");
    let http = "receiver=\"otlp\",transport=\"http\"";
    assert_eq!(metrics["otelcol_receiver_accepted_spans_total"][http], 4.0);
    assert_eq!(
        metrics["otelcol_receiver_accepted_spans_total"]["receiver=\"otlp\",transport=\"grpc\""],
        0.0
    );
    assert_eq!(metrics["spanbridge_receiver_duplicate_spans_total"][http], 2.0);
    for items in ["spans", "log_records", "metric_points"] {
        for verb in ["accepted", "refused"] {
            let samples = &metrics[&format!("otelcol_receiver_{verb}_{items}_total")];
            assert_eq!(samples.len(), 2, "{verb} {items}");
        }
    }
    let store = "project=\"default/default\"";
    assert_eq!(metrics["spanbridge_store_ready"][store], 1.0);
    assert_eq!(metrics["spanbridge_store_segments"][store], 1.0);
    let log = fs::metadata(directory.path().join("0000000001.log")).expect("a segment").len();
    assert!((metrics["spanbridge_store_log_bytes"][store] - log as f64).abs() < 0.5);
    assert_eq!(metrics["spanbridge_store_maintenance_failed"][store], 0.0);
    assert!(metrics["spanbridge_connections"][""] >= 1.0);
    assert!(metrics["otelcol_process_uptime_seconds_total"][""] > 0.0);
    serving.stop();
}

/// A bridge on a file system of 1 MiB, which it makes for itself; `None` where the system does not let us.
fn on_a_small_disk(directory: &Path) -> Option<Serving> {
    let inside = ["--user", "--map-root-user", "--mount"];
    let mount = format!("mount -t tmpfs -o size=1m tmpfs '{}'", directory.display());
    let may = Command::new("unshare").args(inside).args(["sh", "-c", &mount]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(inside).args(["sh", "-c", &format!("{mount} && exec \"$0\" \"$@\"")]);
    Some(Serving::start_by(command, directory))
}

#[test]
fn a_full_disk_is_not_ready_until_it_has_room_again() {
    let directory = tempfile::tempdir().expect("a directory");
    let Some(serving) = on_a_small_disk(directory.path()) else {
        eprintln!("not run: this system lets nobody but root mount a file system (unshare --user --map-root-user --mount)");
        return;
    };
    assert_eq!(get(&serving, "/readyz"), (200, "ready\n".to_owned()));
    let inside = PathBuf::from(format!("/proc/{}/root{}", serving.child.id(), directory.path().display()));
    // It fills what is left.
    let ballast = inside.join("ballast");
    let _ = fs::write(&ballast, vec![0; 2 << 20]);
    assert_eq!(send(&serving, &[span(1, 1)]), 503);
    let wait = |wanted: u16| {
        let begin = Instant::now();
        loop {
            let (status, body) = get(&serving, "/readyz");
            if status == wanted {
                return body;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "{status}: {body}");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    let body = wait(503);
    assert!(
        body.contains("the disk is full: free some space") && !body.contains(text(directory.path())),
        "{body}"
    );
    assert_eq!(get(&serving, "/healthz").0, 200, "it lives");
    assert!(
        get(&serving, "/metrics")
            .1
            .contains("spanbridge_store_ready{project=\"default/default\"} 0\n")
    );
    let refused = "otelcol_receiver_refused_spans_total{receiver=\"otlp\",transport=\"http\"} 1\n";
    assert!(get(&serving, "/metrics").1.contains(refused));
    let doctor = spanbridge(&["doctor", "--only", "server", "--server", &serving.api]);
    assert_eq!(doctor.status.code(), Some(1));
    assert!(stdout(&doctor).contains("it is not ready: the disk is full"), "{}", stdout(&doctor));
    fs::remove_file(&ballast).expect("removes");
    wait(200);
    assert_eq!(send(&serving, &[span(1, 1)]), 200);
    serving.stop();
}

fn commands() -> Vec<String> {
    let help = stdout(&spanbridge(&["help"]));
    let list = help
        .split("Commands:\n")
        .nth(1)
        .expect("commands")
        .split("\n\n")
        .next()
        .expect("a list");
    list.lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .map(ToOwned::to_owned)
        .collect()
}

#[test]
fn manual_pages_completions_and_help_cover_every_command() {
    let commands = commands();
    assert!(commands.len() >= 11 && commands.iter().any(|name| name == "doctor"), "{commands:?}");
    let whole = spanbridge(&["man"]);
    assert!(stdout(&whole).contains(".TH spanbridge 1"), "{}", stdout(&whole));
    for name in &commands {
        let page = spanbridge(&["man", name]);
        assert!(page.status.success(), "{name}");
        assert!(stdout(&page).contains(&format!(".TH spanbridge-{name} 1")), "{}", stdout(&page));
        assert!(stdout(&whole).contains(&format!("spanbridge\\-{name}(1)")), "{name}");
        // The first line says what it does, briefly; an example says how.
        let help = stdout(&spanbridge(&[name, "--help"]));
        let group = help.contains("Commands:");
        assert!(help.lines().next().is_some_and(|line| (10..=90).contains(&line.len())), "{name}");
        assert!(group || help.contains("Example"), "{name}:\n{help}");
    }
    assert_eq!(spanbridge(&["man", "nothing"]).status.code(), Some(2));
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = stdout(&spanbridge(&["completions", shell]));
        for name in &commands {
            assert!(script.contains(name.as_str()), "{shell}: {name}");
        }
        assert!(script.contains("retain-hours"), "{shell}: flags");
    }
    let bash = tempfile::NamedTempFile::new().expect("a file");
    fs::write(bash.path(), stdout(&spanbridge(&["completions", "bash"]))).expect("writes");
    let ask = format!(
        "source '{}'; COMP_WORDS=(spanbridge do); COMP_CWORD=1; _spanbridge spanbridge do spanbridge; echo \"${{COMPREPLY[*]}}\"",
        bash.path().display()
    );
    match Command::new("bash").args(["-c", &ask]).output() {
        Ok(output) => assert_eq!(stdout(&output).trim(), "doctor", "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => eprintln!("the script was not run in bash: {error}"),
    }
}

#[test]
fn the_files_for_services_are_printed_and_fit_the_program() {
    let unit = stdout(&spanbridge(&["packaging", "systemd"]));
    for line in [
        "DynamicUser=yes",
        "ProtectSystem=strict",
        "NoNewPrivileges=yes",
        "ExecReload=/bin/kill -HUP $MAINPID",
    ] {
        assert!(unit.lines().any(|found| found == line), "{line}");
    }
    let container = stdout(&spanbridge(&["packaging", "containerfile"]));
    let variables = container
        .lines()
        .filter_map(|line| line.trim().trim_start_matches("ENV ").split_once('='));
    let ours: Vec<&str> = variables
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("SPANBRIDGE_"))
        .collect();
    assert!(ours.len() >= 5, "{ours:?}");
    let help = stdout(&spanbridge(&["serve", "--help"]));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for name in ours {
        assert!(help.contains(&format!("[env: {name}=")), "{name} is no variable of serve");
    }
    // What it copies is there.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copied = container
        .lines()
        .filter_map(|line| line.strip_prefix("COPY "))
        .filter(|line| !line.starts_with("--"));
    for line in copied {
        let words: Vec<&str> = line.split(' ').collect();
        for from in &words[..words.len() - 1] {
            assert!(root.join(from).exists(), "{from}");
        }
    }
    let Ok(version) = Command::new("systemd-analyze").arg("--version").output() else {
        eprintln!("the unit was not verified: there is no systemd-analyze");
        return;
    };
    assert!(version.status.success());
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("spanbridge.service");
    let here = unit.replace("/usr/local/bin/spanbridge", env!("CARGO_BIN_EXE_spanbridge"));
    fs::write(&path, here.replace("Documentation=man:spanbridge(1)\n", "")).expect("writes");
    let verified = Command::new("systemd-analyze").arg("verify").arg(&path).output().expect("runs");
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(!said.contains("spanbridge.service"), "{said}");
}

/// The doctor's exit status and findings.
fn doctor(arguments: &[&str], variables: &[(&str, &str)]) -> (i32, Vec<Value>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_spanbridge"));
    command.args(["doctor", "--json"]).args(arguments);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("OTEL_") || name.starts_with("SPANBRIDGE_")) {
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
fn expect(findings: &[Value], check: &str, status: &str, words: &str) {
    let fits = |finding: &&Value| {
        finding["check"] == check && finding["status"] == status && finding["what"].as_str().is_some_and(|what| what.contains(words))
    };
    assert!(
        findings.iter().any(|finding| fits(&finding)),
        "{check} {status} {words:?} in {findings:#?}"
    );
}

const FREE: [&str; 6] = ["--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0", "--http", "127.0.0.1:0"];

fn snapshot(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).expect("lists").map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                fs::read(entry.path()).expect("reads"),
            )
        })
        .collect()
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
    expect(&findings, "index", "ok", "whole, 1 trace");
    expect(&findings, "ports", "ok", &format!("process {} (spanbridge)", serving.child.id()));
    expect(&findings, "server", "ok", "it takes spans");
    expect(&findings, "exporters", "ok", "is this bridge");
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
    expect(&findings, "ports", "wrong", "is taken by process");
    // The bridge took no notice, and took no harm.
    assert_eq!(send(&serving, &[span(1, 2)]), 200);
    serving.stop();
}

#[test]
fn the_doctor_on_what_is_broken_changes_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let serving = Serving::start(&data);
    for id in 1..4 {
        assert_eq!(send(&serving, &[span(1, id)]), 200);
    }
    serving.stop();
    let call = [&["--data-dir", text(&data)][..], &FREE].concat();
    let before = snapshot(&data);
    let (status, findings) = doctor(&call, &[]);
    assert_eq!((status, snapshot(&data) == before), (0, true), "{findings:#?}");
    expect(&findings, "directory", "ok", "no bridge writes to it");

    let project = data.join("projects/acme/web");
    fs::create_dir_all(&project).expect("makes");
    fs::copy(data.join("0000000001.log"), project.join("0000000001.log")).expect("copies");
    let (_, findings) = doctor(&call, &[]);
    expect(&findings, "log", "ok", "projects/acme/web: 1 segment read");
    expect(&findings, "index", "warning", "projects/acme/web: there is none");
    fs::remove_dir_all(data.join("projects")).expect("removes");

    let segment = data.join("0000000001.log");
    let whole = fs::read(&segment).expect("reads");
    // In the message of the first record; the last record is cut.
    let file = fs::File::options().write(true).open(&segment).expect("opens");
    file.write_all_at(b"\xff", 16 + 40 + 3).expect("writes");
    file.set_len(whole.len() as u64 - 5).expect("cuts");
    fs::write(data.join("index.sqlite"), b"this is no database, it is a text of some length").expect("writes");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).expect("sets");
    let before = snapshot(&data);
    let (status, findings) = doctor(&call, &[]);
    assert_eq!((status, snapshot(&data) == before), (1, true));
    expect(&findings, "log", "wrong", "segment 1: ");
    expect(&findings, "log", "warning", "are no whole record");
    expect(&findings, "index", "wrong", "not a database");
    expect(&findings, "directory", "warning", "mode 0755");
    // What it says mends it.
    assert!(spanbridge(&["reindex", "--data-dir", text(&data)]).status.success());
    let (_, findings) = doctor(&call, &[]);
    expect(&findings, "index", "ok", "whole, 1 trace");
    fs::rename(&segment, data.join("0000000003.log")).expect("renames");
    fs::write(&segment, b"SPBRLOG\x09").expect("writes");
    let (status, findings) = doctor(&call, &[]);
    assert_eq!(status, 1);
    expect(&findings, "log", "wrong", "segments 2 to 2 are gone");
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
    expect(&findings, "settings", "wrong", "nobody is asked who they are");
    let call = ["--data-dir", text(&data), "--only", "exporters"];
    for (variables, status, words) in [
        (
            vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9999")],
            "warning",
            "is not this bridge",
        ),
        (vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318")], "warning", "has no http://"),
        (
            vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "https://127.0.0.1:4318")],
            "wrong",
            "speaks no TLS",
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
            "is this bridge",
        ),
        (vec![("OTEL_SDK_DISABLED", "true")], "wrong", "OTEL_SDK_DISABLED=true"),
        (vec![("OTEL_EXPORTER_OTLP_PROTOCOL", "http")], "warning", "is none of OTLP's"),
        (vec![], "ok", "none is set"),
    ] {
        let (code, findings) = doctor(&call, &variables);
        expect(&findings, "exporters", status, words);
        assert_eq!(code, i32::from(status == "wrong"), "{variables:?}");
    }
    // A certificate that has ended, and one that has not.
    let key = rcgen::KeyPair::generate().expect("a key");
    for (year, status, words) in [(2_020, "wrong", "ended"), (2_099, "ok", "is valid for")] {
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
}

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
    let verify = [&["--data-dir", text(&backup), "--only", "log"][..], &FREE].concat();
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
    let (status, findings) = doctor(&[&["--data-dir", text(&restored)][..], &FREE].concat(), &[]);
    assert_eq!(status, 0, "{findings:#?}");
}
