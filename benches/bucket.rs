//! The store in a bucket against a bare loop of puts into SlateDB of the same compressed bytes, in one run
//! (`cargo bench --features bucket --bench bucket -- [ROUNDS]`): writing, reading a trace against a bare scan, requests of a list, what a
//! span costs beside a million traces, and the program under full load.
//!
//! On the S3 server that `AWS_ENDPOINT` names, else on versitygw, which `SPANBRIDGE_VERSITYGW` or the path names, else in a folder. `UPDATE=1` writes the tables into `src/docs/performance.md`.
#![expect(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark")]

#[path = "../tests/support/s3_server.rs"]
mod s3_server;
mod support;

use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant, UNIX_EPOCH};

use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use s3_server::S3;
use serde_json::Value;
use slatedb::Db;
use slatedb::config::Settings;
use spanbridge::otlp::{encode, scan};
use spanbridge::span::{Signal, Span, SpanId, TraceId, UnixNanos};
use spanbridge::store::{Ack, BucketOptions, Chunk, Filter, OpenOptions, Store};
use support::server::Server;
use support::table::Table;
use support::{build, median};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The variable with the address of an S3 server.
const ENDPOINT: &str = "AWS_ENDPOINT";
/// Requests that wait for an answer at a time.
const IN_FLIGHT: usize = 256;
/// Requests of a round, and spans of each.
const REQUESTS: u64 = 10_000;
const SPANS: u64 = 20;
/// Traces that are read, and the requests and spans that each came in.
const READ: u64 = 500;
const PARTS: u64 = 5;
const OF_PART: u64 = 10;
/// Traces of the store that grows, and of a request to it.
const TRACES: u64 = 1_000_000;
const OF_REQUEST: u64 = 100;

/// Where the objects go.
struct Place {
    is_s3: bool,
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            is_s3: std::env::var_os(ENDPOINT).is_some(),
            directory: tempfile::tempdir().expect("a directory"),
        }
    }

    fn url(&self, name: &str) -> String {
        match self.is_s3 {
            true => format!("s3://traces/{name}"),
            false => format!("file://{}/{name}", self.directory.path().display()),
        }
    }

    fn how(&self) -> &'static str {
        match self.is_s3 {
            true => "versitygw on loopback, on the same two cores",
            false => "a folder",
        }
    }

    /// A client as the store has one.
    fn objects(&self, name: &str) -> Arc<dyn ObjectStore> {
        if self.is_s3 {
            return Arc::new(AmazonS3Builder::from_env().with_url(self.url(name)).build().expect("a client"));
        }
        let folder = self.directory.path().join(name);
        std::fs::create_dir_all(&folder).expect("makes");
        Arc::new(LocalFileSystem::new_with_prefix(folder).expect("opens"))
    }

    fn store(&self, name: &str, ack: Ack) -> Arc<dyn Store> {
        let options = OpenOptions {
            session_keys: vec!["session.id".to_owned()],
            bucket: Some(BucketOptions {
                writer: Some("bench".to_owned()),
                ack,
                ..BucketOptions::new(&self.url(name))
            }),
            ..OpenOptions::new(&self.directory.path().join(format!("data of {name}")))
        };
        spanbridge::store::open(&options).expect("opens").store
    }
}

/// Seconds of CPU that this process has used.
fn cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn trace_id(index: u64) -> TraceId {
    let mixed = u128::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) | 1;
    TraceId::from_bytes(&mixed.to_be_bytes()).expect("an id")
}

/// Spans of a trace with text of so many lines, whose bytes zstd makes a seventh of.
fn spans(trace: u64, ids: std::ops::Range<u64>, lines: u64) -> Vec<Span> {
    let mut state = trace.wrapping_mul(31).wrapping_add(ids.start) | 1;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    ids.map(|id| {
        let mut span = Span::new(trace_id(trace), SpanId::from_bytes(&(id + 1).to_be_bytes()).expect("an id"), "chat");
        // As an application sends them: soon after they ended.
        span.end = UnixNanos(UNIX_EPOCH.elapsed().unwrap().as_nanos().try_into().unwrap());
        span.start = UnixNanos(span.end.0 - 500_000_000);
        let line = |_| {
            format!(
                "{:016x} the agent reads what the tool returned and answers; {{\"role\":\"user\"}} ",
                word()
            )
        };
        span.attributes.push("input.value", (0..lines).map(line).collect::<String>());
        span.attributes.push("session.id", format!("session {}", trace / 10));
        span
    })
    .collect()
}

/// Requests of one trace each: 20 spans of 4 KB.
fn requests(from: u64) -> Vec<Vec<u8>> {
    (from..from + REQUESTS)
        .map(|trace| encode::traces(&spans(trace, 0..SPANS, 50)))
        .collect()
}

fn chunks(bytes: &[u8]) -> Vec<Chunk> {
    let scanned = scan::scan(bytes, Signal::Traces, &["session.id"]).expect("a request");
    Chunk::of_request(scanned, bytes.to_vec())
}

/// Puts with as many in flight, each waited for until it is durable.
async fn put_all(db: &Db, values: Vec<(Vec<u8>, Vec<u8>)>) {
    let mut waiting = tokio::task::JoinSet::new();
    for (key, value) in values {
        if waiting.len() >= IN_FLIGHT {
            waiting.join_next().await;
        }
        let handle = db.put(&key, &value).await.expect("puts");
        waiting.spawn(async move { handle.await_durable().await.expect("is durable") });
    }
    while waiting.join_next().await.is_some() {}
}

/// Appends requests, with as many in flight.
fn append_all<'r>(store: &dyn Store, requests: impl Iterator<Item = std::borrow::Cow<'r, [u8]>>) {
    let (give, take) = sync_channel::<()>(IN_FLIGHT);
    let mut waiting = 0;
    for bytes in requests {
        if waiting >= IN_FLIGHT {
            take.recv().expect("an answer");
            waiting -= 1;
        }
        let give = give.clone();
        let done = move |result: Result<_, spanbridge::store::Error>| {
            result.expect("stores");
            let _ = give.send(());
        };
        store.submit(chunks(&bytes), Box::new(done));
        waiting += 1;
    }
    for _ in 0..waiting {
        take.recv().expect("an answer");
    }
}

/// What work took: seconds, and of CPU.
fn timed(work: impl FnOnce()) -> (f64, f64) {
    let begin = (Instant::now(), cpu());
    work();
    (begin.0.elapsed().as_secs_f64(), cpu() - begin.1)
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, 3).expect("compresses")
}

async fn open(objects: Arc<dyn ObjectStore>, name: &str) -> Db {
    let settings = Settings {
        flush_interval: Some(Duration::from_millis(100)),
        ..Settings::default()
    };
    Db::builder(name, objects).with_settings(settings).build().await.expect("opens")
}

fn writing(place: &Place, runtime: &tokio::runtime::Runtime, rounds: u64) {
    let mut figures: [Vec<(f64, f64)>; 4] = Default::default();
    for round in 0..rounds {
        let requests = requests(round * REQUESTS);
        let mut packed = Vec::new();
        let zstd = timed(|| packed = requests.iter().map(|bytes| compress(bytes)).collect());
        let keys = (0..REQUESTS).map(|index| trace_id(round * REQUESTS + index).bytes().to_vec());
        let values = keys.zip(packed).collect();
        let objects = place.objects("bare");
        let db = runtime.block_on(open(objects, &format!("round {round}")));
        let bare = timed(|| runtime.block_on(put_all(&db, values)));
        runtime.block_on(async { db.close().await.expect("closes") });
        let of_store = |ack| {
            let store = place.store(&format!("store-{round}-{ack:?}"), ack);
            let took = timed(|| append_all(&*store, requests.iter().map(Into::into)));
            store.close();
            took
        };
        for (figures, took) in figures.iter_mut().zip([zstd, bare, of_store(Ack::Bucket), of_store(Ack::Local)]) {
            figures.push(took);
        }
    }
    let mut table = Table::new(
        "bucket",
        &[
            "20,000-byte chunks",
            "spans/s",
            "of bare",
            "CPU s per million spans",
            "of bare",
            "of bare and zstd",
        ],
    );
    let spans = (REQUESTS * SPANS) as f64;
    let [zstd, bare, ..] = &figures;
    let both: Vec<f64> = zstd.iter().zip(bare).map(|(zstd, bare)| zstd.1 + bare.1).collect();
    for (name, figures) in ["zstd alone", "bare puts of what it made", "`ack = \"bucket\"`", "`ack = \"local\"`"]
        .iter()
        .zip(&figures)
    {
        let of = |figure: &dyn Fn(usize, &(f64, f64)) -> f64| {
            let all: Vec<f64> = figures.iter().enumerate().map(|(round, took)| figure(round, took)).collect();
            median(&all)
        };
        table.row(&[
            (*name).to_owned(),
            format!("{:.0}", of(&|_, took| spans / took.0)),
            format!("{:.2}", of(&|round, took| bare[round].0 / took.0)),
            format!("{:.2}", of(&|_, took| took.1 / spans * 1e6)),
            format!("{:.2}", of(&|round, took| took.1 / bare[round].1)),
            format!("{:.2}", of(&|round, took| took.1 / both[round])),
        ]);
    }
    table.finish(&format!(
        "Medians of {rounds} rounds of {REQUESTS} requests of 20 spans of 4 KB, {IN_FLIGHT} in flight, to {}",
        place.how()
    ));
}

fn percentile(times: &mut [f64], of: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len().saturating_sub(1) * of / 100).copied().unwrap_or_default()
}

/// Milliseconds of each.
fn each(count: u64, mut work: impl FnMut(u64)) -> Vec<f64> {
    let one = |index| timed(|| work(index)).0 * 1e3;
    (0..count).map(one).collect()
}

fn gets(store: &dyn Store) -> u64 {
    let counts = store.counts();
    let gets = counts.iter().find(|count| count.name == "bucket_get_requests_total");
    gets.expect("is counted").value
}

fn reading(place: &Place, runtime: &tokio::runtime::Runtime) {
    let parts = || (0..PARTS).flat_map(|part| (0..READ).map(move |trace| (trace, part)));
    let request = |(trace, part): (u64, u64)| encode::traces(&spans(trace, part * OF_PART..(part + 1) * OF_PART, 50));
    let mut db = runtime.block_on(open(place.objects("bare"), "read"));
    let values = parts().map(|(trace, part)| {
        let key = [&trace_id(trace).bytes()[..], &part.to_be_bytes()[..]].concat();
        (key, compress(&request((trace, part))))
    });
    runtime.block_on(put_all(&db, values.collect()));
    let store = place.store("read", Ack::Bucket);
    append_all(&*store, parts().map(|part| request(part).into()));
    store.close();
    drop(store);
    runtime.block_on(async { db.close().await.expect("closes") });
    // As a process finds them that has read nothing yet, and once more.
    db = runtime.block_on(open(place.objects("bare"), "read"));
    let store = place.store("read", Ack::Bucket);
    let mut table = Table::new("bucket reading", &["read", "p50 ms", "of bare", "p99 ms", "GET for each"]);
    let mut row = |name: &str, times: &mut [f64], bare: f64, gets: f64| {
        let p50 = percentile(times, 50);
        let of = if bare > 0.0 { format!("{:.2}", p50 / bare) } else { String::new() };
        table.row(&[
            name.to_owned(),
            format!("{p50:.2}"),
            of,
            format!("{:.2}", percentile(times, 99)),
            if gets.is_nan() { String::new() } else { format!("{gets:.1}") },
        ]);
        p50
    };
    for when in ["first", "again"] {
        let mut times = each(READ, |trace| {
            runtime.block_on(async {
                let mut scan = db.scan_prefix(trace_id(trace).bytes(), ..).await.expect("scans");
                let mut found = 0;
                while let Some(entry) = scan.next().await.expect("reads") {
                    found += zstd::bulk::decompress(&entry.value, 1 << 20).map_or(0, |_| 1);
                }
                assert_eq!(found, PARTS);
            });
        });
        let bare = row(&format!("a trace of 50 spans, bare scan, {when}"), &mut times, 0.0, f64::NAN);
        let before = gets(&*store);
        let mut times = each(READ, |trace| {
            let mut found = 0;
            let damaged = store.each_chunk(trace_id(trace), &mut |_, _| {
                found += 1;
                Ok(())
            });
            assert!(damaged.expect("reads").is_empty() && found == PARTS);
        });
        let each_gets = (gets(&*store) - before) as f64 / READ as f64;
        row(&format!("a trace of 50 spans, store, {when}"), &mut times, bare, each_gets);
    }
    runtime.block_on(async { db.close().await.expect("closes") });
    store.close();
    drop(store);
    let store = place.store("read", Ack::Bucket);
    let newest = Filter {
        limit: Some(100),
        ..Filter::default()
    };
    for (when, count) in [("first", 1), ("again", 20)] {
        let before = gets(&*store);
        let mut times = each(count, |_| assert_eq!(store.list(&newest).expect("lists").len(), 100));
        let each_gets = (gets(&*store) - before) as f64 / count as f64;
        row(&format!("the newest 100 of a list, {when}"), &mut times, 0.0, each_gets);
    }
    store.close();
    table.finish(&format!("{READ} traces in {PARTS} requests each, from {}", place.how()));
}

/// What a span costs while the store grows to a million traces of one span.
fn growing(place: &Place) {
    let store = place.store("growing", Ack::Bucket);
    let mut table = Table::new(
        "bucket growing",
        &[
            "traces in the store",
            "spans/s",
            "CPU s per million spans",
            "newest 100, ms",
            "a trace, ms",
        ],
    );
    let mut from = 0;
    for until in [1_000, 10_000, 100_000, 200_000, 400_000, 600_000, 800_000, TRACES] {
        let (begin, count) = (from, until - from);
        let request = |number: u64| {
            let traces = begin + number * OF_REQUEST..begin + (number + 1) * OF_REQUEST;
            encode::traces(&traces.flat_map(|trace| spans(trace, 0..1, 3)).collect::<Vec<_>>())
        };
        let took = timed(|| append_all(&*store, (0..count / OF_REQUEST).map(|number| request(number).into())));
        from = until;
        let newest = Filter {
            limit: Some(100),
            ..Filter::default()
        };
        let mut lists = each(10, |_| assert_eq!(store.list(&newest).expect("lists").len(), 100));
        let mut reads = each(200, |index| {
            let trace = index.wrapping_mul(7_919_003) % until;
            assert!(store.read_trace(trace_id(trace)).expect("reads").is_some());
        });
        table.row(&[
            until.to_string(),
            format!("{:.0}", count as f64 / took.0),
            format!("{:.1}", took.1 / count as f64 * 1e6),
            format!("{:.1}", percentile(&mut lists, 50)),
            format!("{:.2}", percentile(&mut reads, 50)),
        ]);
    }
    store.close();
    table.finish(&format!(
        "Traces of one span, {OF_REQUEST} in a request, those of a row since the row before, to {}",
        place.how()
    ));
}

/// The program under full load.
fn serving(place: &Place) {
    let programs = build();
    let mut table = Table::new(
        "bucket serving",
        &["server", "spans/s", "CPU s per million spans", "p99 ms", "peak MiB"],
    );
    for ack in ["bucket", "local"] {
        let server = Server::start(std::path::Path::new(env!("CARGO_BIN_EXE_spanbridge")), |directory, grpc, http| {
            let words = [
                "serve".to_owned(),
                format!("--data-dir={}", directory.join("data").display()),
                format!("--otlp-grpc=127.0.0.1:{grpc}"),
                format!("--otlp-http=127.0.0.1:{http}"),
                "--http=127.0.0.1:0".to_owned(),
                format!("--store={}", place.url(&format!("serving-{ack}"))),
                format!("--ack={ack}"),
            ];
            words.to_vec()
        });
        let port = server.http;
        let output = Command::new(&programs.loadgen)
            .args([
                format!("--target=http://127.0.0.1:{port}"),
                "--proto=http".to_owned(),
                "--size=typical".to_owned(),
            ])
            .args(["--spans=500000".to_owned(), format!("--server-pid={}", server.id())])
            .args(["--connections=64", "--warmup=5000"])
            .output()
            .unwrap();
        let line: Value = serde_json::from_slice(&output.stdout).unwrap();
        let number = |name: &str| line.get(name).and_then(Value::as_f64).unwrap();
        assert!(number("errors") == 0.0, "{line}");
        table.row(&[
            format!("`ack = \"{ack}\"`"),
            format!("{:.0}", number("spans_per_s")),
            format!("{:.2}", number("server_cpu_s_per_1m_spans")),
            format!("{:.0}", number("p99_ms")),
            format!("{:.0}", number("server_peak_rss_mib")),
        ]);
    }
    table.finish(&format!("500,000 spans of 4 KB over 64 connections, to {}", place.how()));
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let rounds = words.iter().find_map(|word| word.parse().ok()).unwrap_or(3);
    let wanted = |name: &str| words.iter().all(|word| word.parse::<u64>().is_ok()) || words.iter().any(|word| word == name);
    // The store's client finds the server in its environment.
    if std::env::var_os(ENDPOINT).is_none()
        && let Some(server) = S3::start()
    {
        let again = Command::new(std::env::current_exe().unwrap())
            .args(&words)
            .envs(server.variables())
            .status();
        assert!(again.unwrap().success());
        return;
    }
    let place = Place::new();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    if wanted("writing") {
        writing(&place, &runtime, rounds);
    }
    if wanted("reading") {
        reading(&place, &runtime);
    }
    if wanted("growing") {
        growing(&place);
    }
    if wanted("serving") {
        serving(&place);
    }
}
