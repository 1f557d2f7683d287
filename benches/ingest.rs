//! What receiving costs: `spanbridge serve` against two floors, in one run (`cargo bench --bench ingest`).
//!
//! *drop* reads a body and answers; *sync* appends it to a file and answers after an `fdatasync` that all waiting requests
//! share. Both, and the load, are programs in `tests/loadgen`, which this builds. Each case runs several rounds, the
//! servers one after the other in each; medians are told, and throughput and CPU as parts of the sync floor of the same
//! round. All files stand in a temporary directory: set `TMPDIR` to the disk that counts.
//!
//! `cargo bench --bench ingest -- [ROUNDS] [CASE]...`, a case being part of a name in the table.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

mod support;

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{Programs, build, median};

/// Name, protocol, size, spans a round, further arguments of the generator.
type Case = (&'static str, &'static str, &'static str, u64, &'static [&'static str]);

const CASES: &[Case] = &[
    ("http 1 KB", "http", "small", 400_000, &[]),
    ("http 4 KB", "http", "typical", 200_000, &[]),
    ("http 32 KB", "http", "fat", 20_000, &[]),
    ("grpc 1 KB", "grpc", "small", 400_000, &[]),
    ("grpc 4 KB", "grpc", "typical", 200_000, &[]),
    ("grpc 32 KB", "grpc", "fat", 20_000, &[]),
    ("http 4 KB, one span a trace", "http", "typical", 100_000, &["--lone"]),
    ("http 4 KB, gzip", "http", "typical", 100_000, &["--gzip"]),
];

const SERVERS: [&str; 3] = ["drop", "sync", "spanbridge"];

#[derive(Default)]
struct Figures {
    spans_per_s: Vec<f64>,
    cpu_per_million: Vec<f64>,
    peak_mib: Vec<f64>,
    p99_ms: Vec<f64>,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let rounds = words.iter().find_map(|word| word.parse().ok()).unwrap_or(3);
    let wanted: Vec<&String> = words.iter().filter(|word| word.parse::<u64>().is_err()).collect();
    let programs = build();
    println!("{rounds} rounds, medians; throughput and CPU also as parts of the sync floor\n");
    println!("| case | server | spans/s | of sync | CPU s/M spans | of sync | p99 ms | peak MiB |");
    println!("|---|---|---:|---:|---:|---:|---:|---:|");
    for case in CASES {
        if !wanted.is_empty() && !wanted.iter().any(|word| case.0.contains(word.as_str())) {
            continue;
        }
        let mut figures: [Figures; 3] = Default::default();
        for _ in 0..rounds {
            for (server, figures) in SERVERS.iter().zip(&mut figures) {
                measure(&programs, server, case, figures);
            }
        }
        let [_, sync, _] = &figures;
        for (server, of) in SERVERS.iter().zip(&figures) {
            println!(
                "| {} | {server} | {:.0} | {:.2} | {:.2} | {:.2} | {:.0} | {:.0} |",
                case.0,
                median(&of.spans_per_s),
                median(&ratios(&of.spans_per_s, &sync.spans_per_s)),
                median(&of.cpu_per_million),
                median(&ratios(&of.cpu_per_million, &sync.cpu_per_million)),
                median(&of.p99_ms),
                median(&of.peak_mib),
            );
        }
    }
    if wanted.is_empty() || wanted.iter().any(|word| "idle".contains(word.as_str())) {
        idle();
    }
}

/// A server with a directory of its own; ended when dropped.
struct Server {
    process: Child,
    directory: tempfile::TempDir,
    grpc: u16,
    http: u16,
}

impl Server {
    fn start(program: &Path, arguments: impl FnOnce(&Path, u16, u16) -> Vec<String>) -> Self {
        let [grpc, http] = [free_port(), free_port()];
        let directory = tempfile::tempdir().unwrap();
        let process = Command::new(program)
            .args(arguments(directory.path(), grpc, http))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", http)).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(20), "{} does not listen", program.display());
            std::thread::sleep(Duration::from_millis(20));
        }
        Self {
            process,
            directory,
            grpc,
            http,
        }
    }

    fn bridge() -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_spanbridge"));
        Self::start(program, |directory, grpc, http| {
            let words = [
                "serve".into(),
                "--data-dir".into(),
                directory.join("data").display().to_string(),
                format!("--otlp-grpc=127.0.0.1:{grpc}"),
                format!("--otlp-http=127.0.0.1:{http}"),
                "--http=127.0.0.1:0".into(),
            ];
            words.to_vec()
        })
    }

    /// Seconds of CPU since the start, and resident memory in MiB.
    fn usage(&self) -> (f64, f64) {
        let place = format!("/proc/{}", self.process.id());
        let stat = std::fs::read_to_string(format!("{place}/stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks: f64 = [11, 12].iter().map(|at| fields.get(*at).unwrap().parse::<f64>().unwrap()).sum();
        let status = std::fs::read_to_string(format!("{place}/status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kib: f64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
        (ticks / 100.0, kib / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(self.directory.path());
    }
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn measure(programs: &Programs, server: &str, (_, protocol, size, spans, further): &Case, figures: &mut Figures) {
    let server = match server {
        "spanbridge" => Server::bridge(),
        mode => Server::start(&programs.floor, |directory, grpc, http| {
            let mode = if mode == "sync" { "fsync" } else { mode };
            let words = [
                format!("--mode={mode}"),
                format!("--grpc=127.0.0.1:{grpc}"),
                format!("--http=127.0.0.1:{http}"),
                format!("--dir={}", directory.display()),
            ];
            words.to_vec()
        }),
    };
    let port = if *protocol == "grpc" { server.grpc } else { server.http };
    let output = Command::new(&programs.loadgen)
        .args([
            format!("--target=http://127.0.0.1:{port}"),
            format!("--proto={protocol}"),
            format!("--size={size}"),
        ])
        .args([format!("--spans={spans}"), format!("--server-pid={}", server.process.id())])
        .args(["--connections=4", "--warmup=5000"])
        .args(*further)
        .output()
        .unwrap();
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |name: &str| line.get(name).and_then(Value::as_f64).unwrap();
    assert!(number("errors") == 0.0, "{line}");
    figures.spans_per_s.push(number("spans_per_s"));
    figures.cpu_per_million.push(number("server_cpu_s_per_1m_spans"));
    figures.peak_mib.push(number("server_peak_rss_mib"));
    figures.p99_ms.push(number("p99_ms"));
}

/// Memory without load: after the start, and with connections that send nothing.
fn idle() {
    let server = Server::bridge();
    std::thread::sleep(Duration::from_secs(1));
    println!("\nidle after the start: {:.0} MiB resident", server.usage().1);
    let mut connections = Vec::new();
    while connections.len() < 10_000 {
        match TcpStream::connect(("127.0.0.1", server.http)) {
            Ok(connection) => connections.push(connection),
            Err(error) => {
                println!("no more than {} connections from here: {error} (ulimit -n)", connections.len());
                break;
            }
        }
    }
    std::thread::sleep(Duration::from_secs(2));
    println!(
        "with {} connections that send nothing: {:.0} MiB resident",
        connections.len(),
        server.usage().1
    );
}

fn ratios(of: &[f64], to: &[f64]) -> Vec<f64> {
    of.iter().zip(to).map(|(of, to)| of / to).collect()
}
