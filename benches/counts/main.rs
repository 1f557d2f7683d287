//! How many instructions fixed inputs take (`cargo bench --profile dev --bench counts`): spans through the Layer, requests through the receiver,
//! recorded traces into each document, documents and session files into spans, stored messages into requests of a forwarder.
//!
//! The counts are in `benches/counts/counts.txt`. A count that is more than 3 % above its line fails, with the name of the line;
//! `UPDATE=1` writes the file again. Counted by `valgrind --tool=callgrind`, in one run of this program; where there is no valgrind,
//! it says so and compares nothing. The same program takes the same instructions on each machine of a kind, but another compiler makes
//! another program: the file names the compiler, and with another one nothing fails. The profile of each line is kept in
//! `target/counts`, for `callgrind_annotate`. A word after `--` takes the lines with it in their name.
//!
//! The lines in the file are of `--profile dev`, which needs no further build of the crate: they say how much is done, and the other
//! benchmarks how fast that is once it is optimized.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

mod documents;
mod layer;
#[path = "../../tests/fuzz/src/memory.rs"]
#[allow(dead_code, unreachable_pub, clippy::missing_panics_doc, reason = "the fuzzers use the rest of it")]
mod memory;
mod receive;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A line of the file: its name and what is counted. It is done once before, so that what is made once is there.
type Case = (String, Box<dyn FnMut()>);

/// So much above its line a count may be: hash maps have another seed in each process.
const TOLERANCE: f64 = 0.03;
/// What the program is asked to do, from its start to its end.
const COMMANDS: [(&str, &[&str]); 3] = [
    (
        "import: a session of Claude Code",
        &["convert", "--to", "messages", "tests/session_files/cases/claudecode-fork/session"],
    ),
    (
        "import: a session of Codex",
        &["convert", "--to", "messages", "tests/session_files/cases/codex-tools/session"],
    ),
    (
        "import: an OTLP/JSON file",
        &["convert", "--to", "messages", "tests/corpus/oi-langchain-agent/001.traces.json"],
    ),
];

/// Set in the process that is counted: the names of the cases to take, or nothing.
const COUNTED: &str = "SPANBRIDGE_COUNTED";

fn main() -> ExitCode {
    if let Ok(wanted) = std::env::var(COUNTED) {
        // What the first count begins with is no part of a case.
        measured(&mut || ());
        for (name, mut work) in cases().into_iter().filter(|(name, _)| name.contains(&wanted)) {
            work();
            measured(&mut *work);
            println!("{name}");
        }
        return ExitCode::SUCCESS;
    }
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    // `cargo test --benches` runs this, too.
    if std::env::args().any(|word| word == "--test") {
        return ExitCode::SUCCESS;
    }
    if !cfg!(debug_assertions) {
        println!("did not run: the counts are those of `--profile dev`");
        return ExitCode::SUCCESS;
    }
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("did not run: there is no valgrind");
        return ExitCode::SUCCESS;
    }
    let wanted = words.first().map_or("", String::as_str);
    let mut counted = count(wanted);
    counted.extend(
        COMMANDS
            .iter()
            .filter(|(name, _)| name.contains(wanted))
            .map(|(name, words)| count_command(name, words)),
    );
    judge(&counted, wanted)
}

fn cases() -> Vec<Case> {
    [layer::cases(), receive::cases(), documents::cases()]
        .into_iter()
        .flatten()
        .collect()
}

/// What valgrind counts.
#[inline(never)]
fn measured(work: &mut dyn FnMut()) {
    work();
}

/// The instructions of each case, in the order of the cases.
fn count(wanted: &str) -> Vec<(String, u64)> {
    let folder = folder();
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let output = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--zero-before=counts::measured",
            "--dump-after=counts::measured",
        ])
        .arg(format!("--callgrind-out-file={}", folder.join("out").display()))
        .arg(std::env::current_exe().unwrap())
        .env(COUNTED, wanted)
        // What the Layer reads from the environment is no input of the cases.
        .env_remove("RUST_LOG")
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let names = String::from_utf8(output.stdout).unwrap();
    let numbered = names.lines().enumerate();
    let counted = numbered.map(|(number, name)| {
        let part = folder.join(format!("out.{}", number + 2));
        let profile = std::fs::read_to_string(&part).unwrap_or_else(|_| panic!("{name} was not counted: {said}"));
        std::fs::rename(&part, folder.join(file_name(name))).unwrap();
        (name.to_owned(), total(&profile))
    });
    counted.collect()
}

/// The instructions of a command.
fn count_command(name: &str, words: &[&str]) -> (String, u64) {
    let profile = folder().join(file_name(name));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind".to_owned(), format!("--callgrind-out-file={}", profile.display())])
        .arg(env!("CARGO_BIN_EXE_spanbridge"))
        .args(words)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    (name.to_owned(), total(&std::fs::read_to_string(profile).unwrap()))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/counts")
}

fn file_name(name: &str) -> String {
    name.chars()
        .map(|letter| if letter.is_alphanumeric() { letter } else { '-' })
        .collect()
}

fn total(profile: &str) -> u64 {
    profile
        .lines()
        .find_map(|line| line.strip_prefix("totals: "))
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/counts/counts.txt")
}

/// Compares with the file, or writes it.
fn judge(counted: &[(String, u64)], wanted: &str) -> ExitCode {
    let text = std::fs::read_to_string(file()).unwrap_or_default();
    let (compiler, before) = read(&text);
    if std::env::var_os("UPDATE").is_some() {
        assert!(wanted.is_empty(), "UPDATE=1 writes all lines");
        let lines = counted.iter().map(|(name, count)| format!("{count:>12}  {name}\n"));
        std::fs::write(file(), format!("# {}\n{}", this_compiler(), lines.collect::<String>())).unwrap();
    }
    let mut dearer = 0;
    for (name, now) in counted {
        let Some(before) = before.get(name.as_str()) else {
            println!("{now:>12}  {name}: new");
            dearer += 1;
            continue;
        };
        let change = *now as f64 / *before as f64 - 1.0;
        if change.abs() > TOLERANCE {
            println!("{now:>12}  {name}: {:+.1} %, was {before}", change * 100.0);
        }
        dearer += usize::from(change > TOLERANCE);
    }
    let gone = before
        .keys()
        .filter(|name| wanted.is_empty() && !counted.iter().any(|(have, _)| have == *name));
    gone.for_each(|name| println!("{name}: gone"));
    println!(
        "{} counts, {dearer} of them more than 3 % above their line, or without one",
        counted.len()
    );
    if std::env::var_os("UPDATE").is_some() || dearer == 0 {
        return ExitCode::SUCCESS;
    }
    if compiler != this_compiler() {
        println!("does not fail: the counts are from {compiler}, this is {}", this_compiler());
        return ExitCode::SUCCESS;
    }
    println!("see target/counts; UPDATE=1 writes them, and the commit says why");
    ExitCode::FAILURE
}

/// The compiler and the counts by name.
fn read(text: &str) -> (&str, BTreeMap<&str, u64>) {
    let compiler = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default();
    let counts = text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (count, name) = line.trim_start().split_once("  ").unwrap();
        (name, count.parse().unwrap())
    });
    (compiler, counts.collect())
}

/// The compiler that cargo calls, and the kind of machine: libraries choose their instructions by the processor.
fn this_compiler() -> String {
    let output = Command::new("rustc").arg("--version").output().unwrap();
    let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |line: &str| {
        line.strip_prefix("model name")?
            .split_once(':')
            .map(|(_, name)| name.trim().to_owned())
    };
    let processor = about.lines().find_map(value).unwrap_or_default();
    let compiler = String::from_utf8_lossy(&output.stdout);
    format!("{} {} {processor}", compiler.trim(), std::env::consts::ARCH)
        .trim_end()
        .to_owned()
}
