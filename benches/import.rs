//! What the import of session files costs: `spanbridge import` of sessions of a client into a new store, against reading their lines
//! as JSON values and nothing else (`cargo bench --bench import [ROUNDS] [MIB]`). CPU of the whole process, medians of interleaved
//! rounds.
#![expect(clippy::unwrap_used, reason = "a benchmark")]

mod support;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use support::session_lines::{Turn, claude_code, codex};
use support::table::Table;
use support::{cpu_seconds, median};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CLIENTS: [(&str, Turn); 2] = [("claude-code", claude_code), ("codex", codex)];
/// A session has so many turns.
const TURNS: u64 = 100;

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let rounds = arguments.next().unwrap_or(3);
    let mib = arguments.next().unwrap_or(200);
    let directory = tempfile::tempdir().unwrap();
    let bridges = support::bridges();
    let mut table = Table::new("import", &["sessions of, read by", "MB/s of CPU", "of JSON", "MB/s", "peak MiB"]);
    for (client, turn) in CLIENTS {
        let folder = directory.path().join(client);
        let bytes = write(&folder, turn, mib << 20) as f64 / 1e6;
        let mut parsed: Vec<f64> = Vec::new();
        let mut imports: Vec<Vec<Import>> = bridges.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            parsed.push(parse(&folder));
            for ((_, program), of_program) in bridges.iter().zip(&mut imports) {
                of_program.push(import(program, &folder));
            }
        }
        let floor = median(&parsed);
        table.row(&[
            format!("{client}, serde_json"),
            format!("{:.0}", bytes / floor),
            "1.00".into(),
            String::new(),
            String::new(),
        ]);
        for ((name, _), of_program) in bridges.iter().zip(&imports) {
            let of = |value: fn(&Import) -> f64| median(&of_program.iter().map(value).collect::<Vec<_>>());
            let cpu = of(|import| import.cpu);
            table.row(&[
                format!("{client}, {name}"),
                format!("{:.0}", bytes / cpu),
                format!("{:.2}", floor / cpu),
                format!("{:.0}", bytes / of(|import| import.seconds)),
                format!("{:.0}", of(|import| import.peak)),
            ]);
        }
    }
    table.finish(&format!(
        "`cargo bench --bench import -- {rounds} {mib}`: {mib} MiB of session files a client, results of 3 to 4 KB"
    ));
}

/// Writes session files of so many bytes in all, and returns how many there are.
fn write(folder: &Path, turn: Turn, bytes: u64) -> u64 {
    std::fs::create_dir_all(folder).unwrap();
    let (mut written, mut session) = (0, 0);
    while written < bytes {
        let mut text = String::new();
        (session * 1_000..session * 1_000 + TURNS).for_each(|number| turn(session, number, &mut text));
        std::fs::write(folder.join(format!("session-{session}.jsonl")), &text).unwrap();
        written += text.len() as u64;
        session += 1;
    }
    written
}

fn files(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// CPU seconds of reading each line as a value.
fn parse(folder: &Path) -> f64 {
    let begin = cpu_seconds();
    for file in files(folder) {
        let text = std::fs::read_to_string(file).unwrap();
        for line in text.lines() {
            drop(black_box(serde_json::from_str::<serde_json::Value>(line).unwrap()));
        }
    }
    cpu_seconds() - begin
}

struct Import {
    cpu: f64,
    seconds: f64,
    peak: f64,
}

fn import(program: &Path, folder: &Path) -> Import {
    let store = tempfile::tempdir().unwrap();
    let (begin, before) = (std::time::Instant::now(), children_seconds());
    let mut process = Command::new(program)
        .arg("import")
        .arg("--data-dir")
        .arg(store.path())
        .arg(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut peak: f64 = 0.0;
    let status = loop {
        peak = peak.max(peak_of(process.id()));
        if let Some(status) = process.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(status.success(), "the import failed");
    Import {
        cpu: children_seconds() - before,
        seconds: begin.elapsed().as_secs_f64(),
        peak,
    }
}

/// The most memory of a process in MiB; 0 once it has ended.
fn peak_of(id: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.unwrap_or_default() / 1024.0
}

/// CPU seconds of the processes that have ended.
fn children_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = fields.iter().skip(13).take(2).map(|ticks| ticks.parse::<f64>().unwrap());
    ticks.sum::<f64>() / 100.0
}
