//! What is left of a store on a full disk, with a damaged file, and for other users of the machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::{stdout, text};
use crate::requests::{get, send, span};
use crate::serving::{Serving, spanbridge};

/// A file system of its own that several programs see, one after the other.
struct SmallDisk {
    holder: Child,
    inside: PathBuf,
}

/// Files that fill a disk, each half of the one before.
const BALLAST: usize = 13;

impl SmallDisk {
    /// `None` where the system does not let us.
    fn at(directory: &Path) -> Option<Self> {
        let mount = format!(
            "mount -t tmpfs -o size=8m tmpfs '{}' && echo mounted && exec sleep 300",
            directory.display()
        );
        let mut holder = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &mount])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .ok()?;
        let mut said = String::new();
        let pipe = holder.stdout.take().expect("piped");
        let _ = std::io::BufRead::read_line(&mut std::io::BufReader::new(pipe), &mut said);
        let inside = PathBuf::from(format!("/proc/{}/root{}", holder.id(), directory.display()));
        let disk = Self { holder, inside };
        (said == "mounted\n").then_some(disk)
    }

    fn serve(&self, directory: &Path) -> Serving {
        let mut command = Command::new("nsenter");
        command.args([
            "--user",
            "--mount",
            "--preserve-credentials",
            "--target",
            &self.holder.id().to_string(),
        ]);
        Serving::start_by(command, directory)
    }

    /// Fills what is left.
    fn fill(&self) {
        // A write that fails leaves a part of it.
        for number in 0..BALLAST {
            let _ = fs::write(self.inside.join(format!("ballast{number}")), vec![1; (8 << 20) >> number]);
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

#[test]
fn a_server_starts_on_a_full_disk_with_an_index_that_is_behind() {
    let directory = tempfile::tempdir().expect("a directory");
    let Some(disk) = SmallDisk::at(directory.path()) else {
        eprintln!("not run: this system lets nobody but root mount a file system (unshare --user --map-root-user --mount)");
        return;
    };
    let data = directory.path().join("data");
    let mut serving = disk.serve(&data);
    for trace in 1..=20 {
        assert_eq!(send(&serving, &[span(trace, 1)]), 200);
    }
    serving.child.kill().expect("killed");
    serving.wait();
    // The index has nothing of what was stored.
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(disk.inside.join(format!("data/index.sqlite{end}")));
    }
    disk.fill();
    assert!(fs::write(disk.inside.join("more"), vec![1; 4096]).is_err(), "it is full");
    let serving = disk.serve(&data);
    let list = get(&serving, "/api/v1/traces?limit=100").1;
    assert_eq!(list.matches("\"trace_id\"").count(), 20, "{list}");
    let all: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    let trace = all["traces"][0]["trace_id"].as_str().expect("an id");
    let status = |path: &str| {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let answer = agent.delete(format!("{}{path}", serving.api)).call().expect("an answer");
        answer.status().as_u16()
    };
    assert_eq!(status(&format!("/api/v1/traces/{trace}")), 200, "{}", serving.log());
    for _ in 0..3 {
        assert_eq!(send(&serving, &[span(30, 1)]), 503, "nothing is stored");
    }
    let ready = get(&serving, "/readyz");
    assert!(ready.0 == 503 && ready.1.contains("full"), "{ready:?}");
    let log = serving.log();
    assert_eq!(log.matches("the disk is full: requests are refused").count(), 1, "{log}");
    assert!(log.contains("capacity_bytes=8388608") && log.contains("request_bytes="), "{log}");
    for number in 0..BALLAST {
        let _ = fs::remove_file(disk.inside.join(format!("ballast{number}")));
    }
    let begun = Instant::now();
    while send(&serving, &[span(30, 1)]) != 200 {
        assert!(begun.elapsed() < Duration::from_secs(20), "{}", serving.log());
        std::thread::sleep(Duration::from_millis(200));
    }
    serving.wait_for("the disk has room again");
    assert_eq!(get(&serving, "/readyz").0, 200);
    serving.stop();
}

#[test]
fn what_was_deleted_stays_so_when_its_file_is_damaged() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("data");
    let serving = Serving::start(&data);
    assert_eq!(send(&serving, &[span(1, 1)]), 200);
    let list: serde_json::Value = serde_json::from_str(&get(&serving, "/api/v1/traces").1).expect("JSON");
    let trace = format!("/api/v1/traces/{}", list["traces"][0]["trace_id"].as_str().expect("an id"));
    ureq::delete(format!("{}{trace}", serving.api)).call().expect("deleted");
    serving.stop();
    let file = data.join("deletions.json");
    let whole = fs::read(&file).expect("read");
    fs::write(&file, b"{\"deletions\":[").expect("written");
    let doctor = || spanbridge(&["doctor", "--only", "log", "--data-dir", text(&data)]);
    let told = stdout(&doctor());
    assert!(
        told.contains("deletions.json: EOF while parsing") && !doctor().status.success(),
        "{told}"
    );
    let serving = Serving::start(&data);
    assert_eq!(get(&serving, &trace).0, 410);
    serving.wait_for("what was deleted on request is known from the other of two files");
    serving.stop();
    assert_eq!(fs::read(&file).expect("read"), whole, "it is mended");
    assert!(doctor().status.success());
    // Without either the store is not opened: the message says what to do.
    fs::write(&file, b"{").expect("written");
    fs::write(data.join("deletions.copy.json"), b"{").expect("written");
    let output = spanbridge(&["serve", "--data-dir", text(&data), "--http", "127.0.0.1:0"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("from a backup"), "{said}");
    assert!(!doctor().status.success());
}

#[test]
fn other_users_read_nothing_that_the_program_makes() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("a/data");
    let serving = Serving::start_with(&data, &["--search"]);
    assert_eq!(send(&serving, &[span(1, 1)]), 200);
    serving.stop();
    let out = directory.path().join("out");
    let output = spanbridge(&["export", "--to", "messages", "--data-dir", text(&data), "--output", text(&out)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut waiting = vec![directory.path().join("a"), out];
    let mut files = 0;
    while let Some(path) = waiting.pop() {
        let about = fs::symlink_metadata(&path).expect("there");
        assert_eq!(about.permissions().mode() & 0o077, 0, "{}", path.display());
        if about.is_dir() {
            waiting.extend(fs::read_dir(&path).expect("lists").map(|entry| entry.expect("an entry").path()));
        } else {
            files += 1;
        }
    }
    assert!(files > 4, "{files}");
}
