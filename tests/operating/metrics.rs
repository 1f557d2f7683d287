//! `/metrics` as a strict parser reads it, and `/readyz` on a disk that is full.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::{stdout, text};
use crate::requests::{get, send, span};
use crate::serving::{Serving, spanbridge};

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
            // The Collector's own names come without a suffix.
            if (counter && !metric.starts_with("otelcol_")) != metric.ends_with("_total") {
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

#[cfg(target_os = "linux")]
#[test]
fn no_huge_pages_are_asked_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start(directory.path());
    let status = std::fs::read_to_string(format!("/proc/{}/status", serving.child.id())).expect("reads");
    match status.lines().find_map(|line| line.strip_prefix("THP_enabled:")) {
        Some(enabled) => assert_eq!(enabled.trim(), "0"),
        None => eprintln!("not looked at: this kernel does not say in /proc/<pid>/status if huge pages are on"),
    }
    serving.stop();
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
    assert_eq!(metrics["otelcol_receiver_accepted_spans"][http], 4.0);
    assert_eq!(
        metrics["otelcol_receiver_accepted_spans"]["receiver=\"otlp\",transport=\"grpc\""],
        0.0
    );
    assert_eq!(metrics["spanbridge_receiver_duplicate_spans_total"][http], 2.0);
    for items in ["spans", "log_records", "metric_points"] {
        for verb in ["accepted", "refused"] {
            let samples = &metrics[&format!("otelcol_receiver_{verb}_{items}")];
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
    assert!(metrics["otelcol_process_uptime"][""] > 0.0);
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
    let refused = "otelcol_receiver_refused_spans{receiver=\"otlp\",transport=\"http\"} 1\n";
    assert!(get(&serving, "/metrics").1.contains(refused));
    let doctor = spanbridge(&["doctor", "--only", "server", "--server", &serving.api]);
    assert_eq!(doctor.status.code(), Some(1));
    assert!(stdout(&doctor).contains("it is not ready: the disk is full"), "{}", stdout(&doctor));
    fs::remove_file(&ballast).expect("removes");
    wait(200);
    assert_eq!(send(&serving, &[span(1, 1)]), 200);
    serving.stop();
}

/// Each metric of a server with a destination is explained on the page, by its name or by how it goes on (`.._log_records`).
#[test]
fn the_page_explains_every_metric_of_forwarding() {
    let directory = tempfile::tempdir().expect("a directory");
    let serving = Serving::start_with(directory.path(), &["--forward", "jaeger=http://127.0.0.1:1"]);
    let page = include_str!("../../src/docs/operating.md");
    let (_, body) = get(&serving, "/metrics");
    let metrics = parse(&body).expect("is the text format");
    let of_forwarding = |name: &&String| name.starts_with("spanbridge_forward_") || name.starts_with("otelcol_exporter_");
    let mut count = 0;
    for name in metrics.keys().filter(of_forwarding) {
        count += 1;
        let ends = (1..name.len())
            .filter(|at| name.is_char_boundary(*at))
            .map(|at| format!("`..{}`", &name[at..]));
        let is_told = page.contains(&format!("`{name}`")) || ends.into_iter().any(|end| page.contains(&end));
        assert!(is_told, "{name} is not explained");
    }
    assert!(count >= 20, "{count} metrics of forwarding");
    assert!(page.contains("`spanbridge_forward_up == 0`"), "what to alert on");
}
