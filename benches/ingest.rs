//! What receiving costs: `spanbridge serve` against two floors, in one run (`cargo bench --bench ingest`).
//!
//! *drop* reads a body and answers; *sync* appends it to a file and answers after an `fdatasync` that all waiting requests
//! share. Where bodies are compressed, both decompress them first. Both, and the load, are programs in `tests/loadgen`, which this builds. Each case runs several rounds, the
//! servers one after the other in each; medians are told, and throughput and CPU as parts of the sync floor of the same
//! round. All files stand in a temporary directory: set `TMPDIR` to the disk that counts.
//!
//! `cargo bench --bench ingest -- [ROUNDS] [CASE]...`, a case being part of a name in the table. `SPANBRIDGE_OTHER` names
//! another build of the program, which is measured in the same rounds. `UPDATE=1` writes the table of all cases into
//! `src/docs/performance.md`.
#![expect(clippy::unwrap_used, reason = "a benchmark")]

mod support;

use std::process::Command;

use serde_json::Value;
use support::server::Server;
use support::table::Table;
use support::{Programs, bridges, build, median};

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
    ("http 4 KB, gzip", "http", "typical", 100_000, &["--compression=gzip"]),
    ("http 4 KB, zstd", "http", "typical", 100_000, &["--compression=zstd"]),
];

const FLOORS: [&str; 2] = ["drop", "sync"];

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
    let bridges = bridges();
    let head = [
        "case, server",
        "spans/s",
        "of sync",
        "CPU s per million spans",
        "of sync",
        "p99 ms",
        "peak MiB",
    ];
    let mut table = Table::new("ingest", &head);
    for case in CASES {
        if !wanted.is_empty() && !wanted.iter().any(|word| case.0.contains(word.as_str())) {
            continue;
        }
        let mut floors: [Figures; 2] = Default::default();
        let mut ours: Vec<Figures> = bridges.iter().map(|_| Figures::default()).collect();
        for _ in 0..rounds {
            for (mode, figures) in FLOORS.iter().zip(&mut floors) {
                measure(&programs, floor(&programs, mode), case, figures);
            }
            for ((_, program), figures) in bridges.iter().zip(&mut ours) {
                measure(&programs, Server::bridge_of(program, &[]), case, figures);
            }
        }
        let [_, sync] = &floors;
        let names = FLOORS.iter().chain(bridges.iter().map(|(name, _)| name));
        for (server, of) in names.zip(floors.iter().chain(&ours)) {
            table.row(&[
                format!("{}, {server}", case.0),
                format!("{:.0}", median(&of.spans_per_s)),
                format!("{:.2}", median(&ratios(&of.spans_per_s, &sync.spans_per_s))),
                format!("{:.2}", median(&of.cpu_per_million)),
                format!("{:.2}", median(&ratios(&of.cpu_per_million, &sync.cpu_per_million))),
                format!("{:.0}", median(&of.p99_ms)),
                format!("{:.0}", median(&of.peak_mib)),
            ]);
        }
    }
    if wanted.is_empty() {
        table.finish(&format!("Medians of {rounds} rounds"));
    }
}

fn floor(programs: &Programs, mode: &str) -> Server {
    Server::start(&programs.floor, |directory, grpc, http| {
        let mode = if mode == "sync" { "fsync" } else { mode };
        let words = [
            format!("--mode={mode}"),
            format!("--grpc=127.0.0.1:{grpc}"),
            format!("--http=127.0.0.1:{http}"),
            format!("--dir={}", directory.display()),
            "--decompress".to_owned(),
        ];
        words.to_vec()
    })
}

fn measure(programs: &Programs, server: Server, (_, protocol, size, spans, further): &Case, figures: &mut Figures) {
    let port = if *protocol == "grpc" { server.grpc } else { server.http };
    let output = Command::new(&programs.loadgen)
        .args([
            format!("--target=http://127.0.0.1:{port}"),
            format!("--proto={protocol}"),
            format!("--size={size}"),
        ])
        .args([format!("--spans={spans}"), format!("--server-pid={}", server.id())])
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

fn ratios(of: &[f64], to: &[f64]) -> Vec<f64> {
    of.iter().zip(to).map(|(of, to)| of / to).collect()
}
