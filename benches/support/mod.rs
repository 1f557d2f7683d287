//! What several benchmarks share.
#![allow(dead_code, reason = "each benchmark uses a part")]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

pub(crate) mod server;
pub(crate) mod session_lines;
pub(crate) mod table;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs of `tests/loadgen`.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) loadgen: PathBuf,
    pub(crate) floor: PathBuf,
}

/// The `spanbridge` programs to measure side by side: this build, and the one that `SPANBRIDGE_OTHER` names.
pub(crate) fn bridges() -> Vec<(&'static str, PathBuf)> {
    let this = ("spanbridge", PathBuf::from(env!("CARGO_BIN_EXE_spanbridge")));
    let other = std::env::var_os("SPANBRIDGE_OTHER").map(|path| ("other", PathBuf::from(path)));
    std::iter::once(this).chain(other).collect()
}

/// Builds the load generator.
pub(crate) fn build() -> Programs {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = root.join("target/loadgen");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--manifest-path"])
        .arg(root.join("tests/loadgen/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .status()
        .unwrap();
    assert!(built.success(), "the load generator does not build");
    Programs {
        loadgen: target.join("release/loadgen"),
        floor: target.join("release/floor"),
    }
}

/// Export requests as the generator sends them.
pub(crate) fn bodies(programs: &Programs, size: &str, mib: u32) -> Vec<Vec<u8>> {
    let directory = tempfile::tempdir().unwrap();
    let dumped = Command::new(&programs.loadgen)
        .args([
            format!("--dump={}", directory.path().display()),
            format!("--size={size}"),
            format!("--pool-mib={mib}"),
        ])
        .output()
        .unwrap();
    assert!(dumped.status.success());
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

pub(crate) fn median(of: &[f64]) -> f64 {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// CPU seconds that this thread has used.
pub(crate) fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
