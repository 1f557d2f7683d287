//! The store in a bucket against a bare loop of puts into SlateDB of the same compressed bytes, in one run: chunks a second, CPU, and
//! reading a trace against a bare scan.
//!
//! `SPANBRIDGE_BENCH_STORE=s3://traces/bench cargo bench --features bucket --bench bucket` (a folder without it).
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark")]

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use slatedb::Db;
use slatedb::config::Settings;
use spanbridge::otlp::{encode, scan};
use spanbridge::span::{Signal, Span, SpanId, TraceId, UnixNanos};
use spanbridge::store::{BucketOptions, Chunk, OpenOptions, Store};

/// Requests that wait for an answer at a time.
const IN_FLIGHT: usize = 256;
/// Spans of a chunk.
const SPANS: usize = 20;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Seconds of CPU that this process has used.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) / 100.0
}

/// A request of one trace: spans of about 4 KB whose text zstd makes a seventh of.
fn request(index: u64) -> Vec<u8> {
    let trace_id =
        TraceId::from_bytes(&(u128::from(index).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) | 1).to_be_bytes()).expect("an id");
    let mut state = index | 1;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let spans: Vec<Span> = (1..=SPANS as u64)
        .map(|id| {
            let mut span = Span::new(trace_id, SpanId::from_bytes(&id.to_be_bytes()).expect("an id"), "chat");
            (span.start, span.end) = (
                UnixNanos(1_700_000_000_000_000_000 + index * 1_000 + id),
                UnixNanos(1_700_000_000_500_000_000 + index * 1_000),
            );
            let text: String = (0..40)
                .map(|_| {
                    format!(
                        "{:016x} the agent reads what the tool returned and answers; {{\"role\":\"user\"}} ",
                        word()
                    )
                })
                .collect();
            span.attributes.push("input.value", text);
            span.attributes.push("session.id", format!("session {}", index / 10));
            span
        })
        .collect();
    encode::traces(&spans)
}

fn chunk(bytes: &[u8]) -> Chunk {
    let scanned = scan::scan(bytes, Signal::Traces, &["session.id"]).expect("a request");
    Chunk::of_request(scanned, bytes.to_vec()).pop().expect("a chunk")
}

fn objects(url: &str) -> Arc<dyn ObjectStore> {
    match url.strip_prefix("file://") {
        Some(folder) => {
            std::fs::create_dir_all(folder).expect("makes");
            Arc::new(LocalFileSystem::new_with_prefix(folder).expect("opens"))
        }
        None => Arc::new(AmazonS3Builder::from_env().with_url(url).build().expect("a client")),
    }
}

/// Puts with as many in flight, each waited for until it is durable.
async fn bare(db: &Db, values: &[(Vec<u8>, Vec<u8>)]) {
    let mut waiting = tokio::task::JoinSet::new();
    for (key, value) in values {
        if waiting.len() >= IN_FLIGHT {
            waiting.join_next().await;
        }
        let handle = db.put(key, value).await.expect("puts");
        waiting.spawn(async move { handle.await_durable().await.expect("is durable") });
    }
    while waiting.join_next().await.is_some() {}
}

fn through_the_store(store: &dyn Store, requests: &[Vec<u8>]) {
    let (give, take) = sync_channel::<()>(IN_FLIGHT);
    let give = Arc::new(give);
    let mut waiting = 0;
    for bytes in requests {
        if waiting >= IN_FLIGHT {
            take.recv().expect("an answer");
            waiting -= 1;
        }
        let give = Arc::clone(&give);
        store.submit(
            vec![chunk(bytes)],
            Box::new(move |result| {
                result.expect("stores");
                let _ = give.send(());
            }),
        );
        waiting += 1;
    }
    for _ in 0..waiting {
        take.recv().expect("an answer");
    }
}

fn report(what: &str, chunks: usize, bytes: usize, begin: (Instant, f64)) {
    let (seconds, used) = (begin.0.elapsed().as_secs_f64(), cpu() - begin.1);
    let million = used / (chunks * SPANS) as f64 * 1e6;
    println!(
        "{what:8} {:7.0} chunks/s  {:8.0} spans/s  {million:6.2} CPU s a million spans  {} bytes a chunk",
        chunks as f64 / seconds,
        (chunks * SPANS) as f64 / seconds,
        bytes / chunks.max(1)
    );
}

fn percentile(mut times: Vec<Duration>, of: usize) -> f64 {
    times.sort_unstable();
    times
        .get(times.len().saturating_sub(1) * of / 100)
        .map_or(0.0, Duration::as_secs_f64)
        * 1e3
}

fn main() {
    let count = number("SPANBRIDGE_BENCH_CHUNKS", 5_000);
    let directory = tempfile::tempdir().expect("a directory");
    let url = std::env::var("SPANBRIDGE_BENCH_STORE").unwrap_or_else(|_| format!("file://{}/bucket", directory.path().display()));
    let requests: Vec<Vec<u8>> = (0..count as u64).map(request).collect();
    let begin = (Instant::now(), cpu());
    let packed: Vec<(Vec<u8>, Vec<u8>)> = requests
        .iter()
        .enumerate()
        .map(|(index, bytes)| {
            let key = (index as u128)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
                .to_be_bytes()
                .to_vec();
            (key, zstd::bulk::compress(bytes, 3).expect("compresses"))
        })
        .collect();
    let bytes = packed.iter().map(|(_, value)| value.len()).sum();
    report("zstd", count, bytes, begin);

    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let settings = Settings {
        flush_interval: Some(Duration::from_millis(100)),
        ..Settings::default()
    };
    let db = runtime.block_on(async {
        let db = Db::builder("bare", objects(&url))
            .with_settings(settings)
            .build()
            .await
            .expect("opens");
        let begin = (Instant::now(), cpu());
        bare(&db, &packed).await;
        report("bare", count, bytes, begin);
        db
    });
    let mut times = Vec::new();
    for (key, _) in packed.iter().step_by((count / 500).max(1)) {
        let begin = Instant::now();
        runtime.block_on(async {
            let mut scan = db.scan_prefix(key, ..).await.expect("scans");
            while scan.next().await.expect("reads").is_some() {}
        });
        times.push(begin.elapsed());
    }
    println!(
        "bare     scan of a trace  p50 {:.2} ms  p99 {:.2} ms",
        percentile(times.clone(), 50),
        percentile(times, 99)
    );
    runtime.block_on(async { db.close().await.expect("closes") });

    let options = OpenOptions {
        session_keys: vec!["session.id".to_owned()],
        bucket: Some(BucketOptions {
            writer: Some("bench".to_owned()),
            ..BucketOptions::new(&url)
        }),
        ..OpenOptions::new(directory.path())
    };
    let store = spanbridge::store::open(&options).expect("opens").store;
    let begin = (Instant::now(), cpu());
    through_the_store(&*store, &requests);
    report("store", count, bytes, begin);
    let mut times = Vec::new();
    for bytes in requests.iter().step_by((count / 500).max(1)) {
        let trace_id = chunk(bytes).trace_id().expect("of a trace");
        let begin = Instant::now();
        let mut chunks = 0;
        let damaged = store.each_chunk(trace_id, &mut |_, _| {
            chunks += 1;
            Ok(())
        });
        assert!(damaged.expect("reads").is_empty() && chunks == 1);
        times.push(begin.elapsed());
    }
    println!(
        "store    read of a trace  p50 {:.2} ms  p99 {:.2} ms",
        percentile(times.clone(), 50),
        percentile(times, 99)
    );
    let mut times = Vec::new();
    let before = store.counts();
    for _ in 0..20 {
        let begin = Instant::now();
        let filter = spanbridge::store::Filter {
            limit: Some(100),
            ..spanbridge::store::Filter::default()
        };
        assert_eq!(store.list(&filter).expect("lists").len(), count.min(100));
        times.push(begin.elapsed());
    }
    println!(
        "store    newest 100       p50 {:.2} ms  p99 {:.2} ms",
        percentile(times.clone(), 50),
        percentile(times, 99)
    );
    for (before, after) in before.iter().zip(store.counts()) {
        println!("{:42} {:12} {:12}", after.name, before.value, after.value - before.value);
    }
    store.close();
}
