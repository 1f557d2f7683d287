//! What reading costs (`cargo bench --bench read -- [GB]`, 5 by default; set `TMPDIR` to the disk that counts).
//!
//! A store is filled by `spanbridge serve` with spans of 4 KB, and traces of 50 spans and 200 KB among them. Then, each time
//! in a new process and with no file in the system's cache (`posix_fadvise(DONTNEED)`), one of these is read to its
//! ContextForge document, and once more warm. Last, 10,000 traces are exported by the program, three times to each format
//! (`SPANBRIDGE_OTHER` names another build of it, which exports in turn with this one).
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

mod support;

use std::collections::BTreeMap;
use std::fs::File;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::fs::{Advice, fadvise};
use spanbridge::documents::Vocabulary;
use spanbridge::formats::{Options, by_id};
use spanbridge::otlp::encode;
use spanbridge::span::{Span, SpanId, TraceId, UnixNanos};
use spanbridge::store::{Local, Read as _};
use support::server::Server;
use support::table::Table;
use support::{Programs, bridges, build, median};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TRACES: u8 = 60;
const EXPORTS: usize = 3;
/// Spans of 10,000 traces.
const EXPORTED: u32 = 200_000;
const SPANS_PER_GB: u64 = 1_000_000_000 / 4_063;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if let [mode, directory, number] = words.as_slice()
        && mode == "cold"
    {
        // As the program does.
        rustix::thread::disable_transparent_huge_pages(true).unwrap();
        return cold(Path::new(directory), number.parse().unwrap());
    }
    let gigabytes: u64 = words.first().map_or(5, |word| word.parse().unwrap());
    let programs = build();
    trace_of_50(&programs, gigabytes);
    export(&programs);
}

fn trace_of_50(programs: &Programs, gigabytes: u64) {
    let server = Server::bridge(&[]);
    for number in 1..=TRACES {
        let spans = gigabytes * SPANS_PER_GB / u64::from(TRACES);
        load(programs, &server, spans);
        send(&server, &encode::traces(&spans_of(number)));
    }
    server.wait_until_quiet();
    let peak = server.peak();
    let directory = server.stop();
    let data = directory.path().join("data");
    let bytes: u64 = files(&data).iter().map(|file| file.metadata().unwrap().len()).sum();
    let mut figures = [Vec::new(), Vec::new(), Vec::new()];
    for number in 1..=TRACES {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["cold", data.to_str().unwrap(), &number.to_string()])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        for (figure, word) in figures.iter_mut().zip(text.split_whitespace()) {
            figure.push(word.parse().unwrap());
        }
    }
    let [open, cold, warm] = figures.map(|figure| median(&figure));
    let mut table = Table::new("read", &["what", "figure"]);
    let figures = [
        ("peak memory while the spans arrive and are compressed", format!("{peak:.0} MiB")),
        ("on the disk, compressed", format!("{:.2} GB", bytes as f64 / 1e9)),
        ("open the store", format!("{open:.2} ms")),
        (
            "a trace of 50 spans and 200 KB to its ContextForge document, nothing in the file cache",
            format!("{cold:.2} ms"),
        ),
        ("the same once more", format!("{warm:.2} ms")),
    ];
    for (what, figure) in figures {
        table.row(&[what, &figure]);
    }
    table.finish(&format!("A store of {gigabytes} GB of spans, medians of {TRACES} traces"));
}

/// Reads one trace as a new process does, and prints milliseconds: to open the store, cold, warm.
fn cold(data: &Path, number: u8) {
    for file in files(data) {
        file.sync_all().unwrap();
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    }
    let milliseconds = |begin: Instant| begin.elapsed().as_secs_f64() * 1e3;
    let begin = Instant::now();
    let store = Local::open_to_read(data).unwrap();
    let open = milliseconds(begin);
    let read = || {
        let begin = Instant::now();
        let stored = store.read_trace(trace(number)).unwrap().unwrap();
        assert_eq!(stored.spans.len(), 50);
        let runs = Vocabulary::built_in().runs(stored.spans, stored.logs);
        black_box(by_id("contextforge").unwrap().documents(&runs, &Options::default()));
        milliseconds(begin)
    };
    let cold = read();
    let warm: Vec<f64> = (0..9).map(|_| read()).collect();
    println!("{open} {cold} {}", median(&warm));
}

fn files(data: &Path) -> Vec<File> {
    let entries = std::fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| File::open(path).unwrap()).collect()
}

fn export(programs: &Programs) {
    let server = Server::bridge(&[]);
    load(programs, &server, EXPORTED.into());
    let (loaded, _) = server.usage();
    server.wait_until_quiet();
    let (compressed, _) = server.usage();
    let compression = (compressed - loaded) * 1e6 / f64::from(EXPORTED);
    let directory = server.stop();
    let mut figures: BTreeMap<(&str, &str), [Vec<f64>; 2]> = BTreeMap::new();
    for format in std::iter::repeat_n(["contextforge", "reflex", "openreward", "synth", "invariant"], EXPORTS).flatten() {
        for (name, program) in bridges() {
            let (begin, cpu) = (Instant::now(), cpu_of_children());
            let exported = Command::new(program)
                .args(["export", "--to", format, "--data-dir"])
                .arg(directory.path().join("data"))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap();
            assert!(exported.success());
            let [seconds, cpu_seconds] = figures.entry((format, name)).or_default();
            seconds.push(begin.elapsed().as_secs_f64());
            cpu_seconds.push(cpu_of_children() - cpu);
        }
    }
    let megabytes = f64::from(EXPORTED) * 4_063.0 / 1e6;
    let mut table = Table::new("export", &["format, program", "MB of spans/s", "MB of spans per CPU second"]);
    for ((format, name), [seconds, cpu_seconds]) in figures {
        let rates = [&seconds, &cpu_seconds].map(|of| format!("{:.0}", megabytes / median(of)));
        let [rate, of_cpu] = rates;
        table.row(&[format!("{format}, {name}"), rate, of_cpu]);
    }
    table.finish(&format!(
        "10,000 traces of 20 spans, medians of {EXPORTS} rounds; their compression took {compression:.1} CPU seconds per million spans"
    ));
}

/// CPU seconds of the processes that this one has waited for (`man 5 proc`: `cutime`, `cstime`, in hundredths).
fn cpu_of_children() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace().skip(13).take(2);
    fields.map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
}

fn load(programs: &Programs, server: &Server, spans: u64) {
    let sent = Command::new(&programs.loadgen)
        .args([
            format!("--target=http://127.0.0.1:{}", server.http),
            format!("--spans={spans}"),
            "--pool-mib=32".into(),
        ])
        .output()
        .unwrap();
    assert!(sent.status.success());
}

fn send(server: &Server, body: &[u8]) {
    let answer = ureq::post(format!("http://127.0.0.1:{}/v1/traces", server.http))
        .header("content-type", "application/x-protobuf")
        .send(body)
        .unwrap();
    assert_eq!(answer.status(), 200);
}

fn trace(number: u8) -> TraceId {
    TraceId::from_bytes(&[number; 16]).unwrap()
}

/// An agent with turns of a model call and a tool, 4 KB a span.
fn spans_of(number: u8) -> Vec<Span> {
    let id = |id: u8| SpanId::from_bytes(&[id; 8]).unwrap();
    let words = "The weather in Oslo is cold and clear, the trains are on time. ".repeat(25);
    let begin = 1_767_261_600_000_000_000_u64;
    let spans = (1..=50_u8).map(|at| {
        let kind = match at {
            1 => "AGENT",
            at if at % 2 == 0 => "LLM",
            _ => "TOOL",
        };
        let mut span = Span::new(trace(number), id(at), format!("step {at}"));
        span.parent = (at > 1).then(|| id(1));
        span.start = UnixNanos(begin + u64::from(at) * 1_000_000_000);
        span.end = UnixNanos(span.start.0 + 500_000_000);
        span.attributes.push("openinference.span.kind", kind);
        span.attributes.push("input.value", format!("{at} in {words}"));
        span.attributes.push("output.value", format!("{at} out {words}"));
        if kind == "LLM" {
            span.attributes.push("llm.model_name", "gpt-4o");
            span.attributes.push("llm.token_count.prompt", 1_000_i64);
        }
        span
    });
    let mut spans: Vec<Span> = spans.collect();
    if let Some(root) = spans.first_mut() {
        root.end = UnixNanos(begin + 60_000_000_000);
    }
    spans
}
