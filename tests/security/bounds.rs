//! What one request may cost: memory of the real process, bytes on its disk, and what others see meanwhile.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::serving::{Serving, agent, files, span, trace_id};

use crate::fuzz_replay::fuzz::bodies::{Body, field, pair, text};

const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");
const JSON: (&str, &str) = ("content-type", "application/json");
const GZIP: (&str, &str) = ("content-encoding", "gzip");

const MB: usize = 1 << 20;

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(plain).expect("memory");
    encoder.finish().expect("memory")
}

fn peak_of(bridge: &Serving) -> usize {
    usize::try_from(bridge.peak()).expect("small")
}

fn log_bytes(bridge: &Serving) -> usize {
    let files = files(&bridge.data()).into_iter();
    let logs = files.filter(|(path, _)| path.extension().is_some_and(|extension| extension == "log"));
    logs.map(|(_, bytes)| bytes.len()).sum()
}

fn data_bytes(bridge: &Serving) -> usize {
    files(&bridge.data()).iter().map(|(_, bytes)| bytes.len()).sum()
}

/// Asks for `/healthz` while `work` goes on: its longest answers, in milliseconds, the slowest last.
fn beside(bridge: &Serving, work: impl FnOnce() + Send) -> Vec<u128> {
    let done = AtomicBool::new(false);
    let mut times = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut times = Vec::new();
            let agent = agent(None, None);
            while !done.load(Ordering::Relaxed) {
                let begin = Instant::now();
                let answer = agent.get(format!("http://{}/healthz", bridge.api)).call().expect("an answer");
                assert_eq!(answer.status().as_u16(), 200);
                times.push(begin.elapsed().as_millis());
                std::thread::sleep(Duration::from_millis(10));
            }
            times
        });
        work();
        done.store(true, Ordering::Relaxed);
        asking.join().expect("asks")
    });
    times.sort_unstable();
    times
}

fn percentile(times: &[u128], part: usize) -> u128 {
    times.get(times.len() * part / 100).or(times.last()).copied().unwrap_or_default()
}

/// `traces` traces of one span, in a resource of `around` bytes.
fn around_many(around: usize, traces: u16, scale: u32) -> Body {
    Body {
        logs: false,
        around: u16::try_from(around / 256).expect("small"),
        times: 255,
        scope: 20,
        session: 36,
        traces,
        each: 0,
        in_turns: false,
        resources: 1,
        text: 20,
        depth: 0,
        empty: 0,
        pieces: false,
        scale,
    }
}

#[test]
fn point_1_what_stands_around_many_traces_is_not_multiplied() {
    let bridge = Serving::start("");
    let body = around_many(200_000, 10_000, 1).protobuf();
    let packed = gzip(&body);
    assert!(packed.len() < body.len() / 5);
    let answer = bridge.post("/v1/traces", &[PROTOBUF, GZIP], &packed);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let (stored, peak) = (log_bytes(&bridge), peak_of(&bridge));
    assert!(stored <= 3 * body.len(), "{stored} bytes in the log, of {}", body.len());
    assert!(
        peak <= 8 * body.len() + 64 * MB + 40 * MB,
        "{peak} bytes of memory for {}",
        body.len()
    );
    let all = data_bytes(&bridge);
    assert!(all <= 3 * body.len() + 10_000 * 500, "{all} bytes on the disk, of {}", body.len());
    // As large as it came, each of its traces is there.
    let listed = bridge.get("/api/v1/traces?limit=1&summary=no", None).json();
    assert_eq!(listed["traces"][0]["spans"], 1, "{listed}");

    // When each of its traces is read it would be 80 GB: refused, and nothing is stored.
    let body = around_many(8 * MB, 10_000, 1).protobuf();
    let answer = bridge.post("/v1/traces", &[PROTOBUF, GZIP], &gzip(&body));
    assert_eq!(answer.status, 413, "{}", answer.text());
    assert!(answer.text().contains("send fewer traces in one request"), "{}", answer.text());
    assert_eq!(log_bytes(&bridge), stored);
    let peak = peak_of(&bridge);
    assert!(
        peak <= 8 * body.len() + 64 * MB + 40 * MB,
        "{peak} bytes of memory for {}",
        body.len()
    );
}

#[test]
fn point_2_a_session_of_the_resource_is_read_once() {
    let bridge = Serving::start("");
    let resource = field(1, &pair("session.id", &text(500_000)));
    let fields = [field(1, &resource), field(2, &[0x12, 0].repeat(250_000))].concat();
    let body = field(1, &fields);
    let begin = Instant::now();
    let times = beside(&bridge, || {
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let answer = bridge.post("/v1/logs", &[PROTOBUF], &body);
                    assert_eq!(answer.status, 200, "{}", answer.text());
                });
            }
        });
    });
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    assert!(times.last().is_some_and(|slowest| *slowest < 1_500), "{times:?}");
    assert!(log_bytes(&bridge) <= 2 * body.len());
}

#[test]
fn point_3_what_is_announced_is_not_in_flight() {
    let bridge = Serving::start("");
    let head = "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\ncontent-length: 67108864\r\n\r\n";
    let held: Vec<TcpStream> = (0..100)
        .map(|number| {
            let mut stream = TcpStream::connect(bridge.http).expect("connects");
            stream.write_all(head.as_bytes()).expect("sent");
            // Some send a little of it.
            stream.write_all(&vec![0; number % 3]).expect("sent");
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_millis(300));
    for trace in 1..60 {
        let answer = bridge.send(trace, "ordinary", None);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    assert!(bridge.metric("spanbridge_receiver_in_flight_bytes", None) < 10_000);
    assert!(peak_of(&bridge) < 150 * MB, "{} bytes", peak_of(&bridge));
    drop(held);
}

/// JSON with an attribute in each span.
fn json(spans: usize) -> Vec<u8> {
    let span = |number: usize| {
        format!(
            r#"{{"traceId":"{:032x}","spanId":"{:016x}","name":"n","startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[{{"key":"said","value":{{"stringValue":"{}"}}}},{{"key":"count","value":{{"intValue":"7"}}}}]}}"#,
            number / 50 + 1,
            number + 1,
            "x".repeat(200)
        )
    };
    let spans: Vec<String> = (0..spans).map(span).collect();
    format!(
        r#"{{"resourceSpans":[{{"resource":{{}},"scopeSpans":[{{"spans":[{}]}}]}}]}}"#,
        spans.join(",")
    )
    .into_bytes()
}

#[test]
fn point_12_memory_in_flight_is_what_the_setting_says() {
    let limit = 48 * MB;
    let bridge = Serving::start(&format!("max_in_flight_bytes = {limit}\n"));
    let start = peak_of(&bridge);
    let nothing = field(1, &field(2, &[0x12, 0].repeat(2 << 20)));
    // Every one with a record that is of a trace, so that no two are one piece.
    let mut turns = Vec::new();
    for number in 0..100_000_u32 {
        turns.extend([0x12, 0]);
        let id: Vec<u8> = [number % 7 + 1; 4].iter().flat_map(|part| part.to_be_bytes()).collect();
        turns.extend(field(2, &field(9, &id)));
    }
    let turns = field(1, &field(2, &turns));
    let scopes = field(1, &[0x12, 0x02, 0x12, 0x00].repeat(1 << 20));
    let lone = around_many(0, 30_000, 1).protobuf();
    let deep = Body {
        depth: 20,
        text: 0,
        scale: 4,
        ..around_many(0, 2_000, 1)
    };
    let requests: [(&str, (&str, &str), Vec<u8>); 6] = [
        ("/v1/logs", PROTOBUF, nothing),
        ("/v1/logs", PROTOBUF, turns),
        ("/v1/logs", PROTOBUF, scopes),
        ("/v1/traces", PROTOBUF, lone),
        ("/v1/traces", PROTOBUF, deep.protobuf()),
        ("/v1/traces", JSON, json(15_000)),
    ];
    // The process tells the most that it ever had: that is of the largest so far.
    let mut largest = 0;
    for (path, content_type, body) in &requests {
        largest = largest.max(body.len());
        let answer = bridge.post(path, &[*content_type], body);
        assert!(matches!(answer.status, 200 | 413), "{}", answer.text());
        let peak = peak_of(&bridge) - start;
        assert!(
            peak <= (8 * largest + 64 * MB).min(limit + 100 * MB),
            "{peak} bytes for {} of {path} {}, status {}",
            body.len(),
            content_type.1,
            answer.status
        );
    }
    assert_eq!(
        bridge.post("/v1/traces", &[JSON], &json(15_000)).status,
        200,
        "nothing of it is unusual"
    );
    // Three at once.
    std::thread::scope(|scope| {
        for (path, content_type, body) in requests.iter().chain(&requests) {
            let bridge = &bridge;
            scope.spawn(move || {
                let answer = bridge.post(path, &[*content_type], body);
                assert!(matches!(answer.status, 200 | 413 | 503), "{}", answer.text());
            });
        }
    });
    let peak = peak_of(&bridge) - start;
    assert!(peak <= limit + 100 * MB, "{peak} bytes of memory");
    assert_eq!(bridge.metric("spanbridge_receiver_in_flight_bytes", None), 0);
}

/// Four clients that send what costs most and two that read it, for a while, beside ordinary ones. `SPANBRIDGE_FULL=1`
/// takes five minutes.
#[test]
#[expect(clippy::print_stdout, reason = "figures of the long form")]
fn points_1_to_12_four_costly_clients_beside_ordinary_ones() {
    let seconds = if crate::long_form::is_long_form() { 300 } else { 6 };
    let reading = 256;
    let bridge = Serving::start(&format!("max_read_bytes = {}\n", reading * MB));
    let start = peak_of(&bridge);
    let costly: [(&str, (&str, &str), Vec<u8>); 4] = [
        ("/v1/traces", PROTOBUF, around_many(200_000, 5_000, 1).protobuf()),
        ("/v1/traces", PROTOBUF, around_many(0, 50_000, 1).protobuf()),
        ("/v1/logs", PROTOBUF, field(1, &field(2, &[0x12, 0].repeat(2 << 20)))),
        ("/v1/traces", JSON, json(20_000)),
    ];
    let mut hollow = span(99, "chat");
    hollow.attributes.push(
        "list",
        spanbridge::span::AnyValue::Array(vec![spanbridge::span::AnyValue::Empty; 1 << 20]),
    );
    let hollow = spanbridge::otlp::encode::traces(&[hollow]);
    assert_eq!(bridge.post("/v1/traces", &[PROTOBUF], &hollow).status, 200);
    let end = Instant::now() + Duration::from_secs(seconds);
    let times = beside(&bridge, || {
        std::thread::scope(|scope| {
            for (path, content_type, body) in &costly {
                let bridge = &bridge;
                scope.spawn(move || {
                    while Instant::now() < end {
                        let status = bridge.post(path, &[*content_type], body).status;
                        assert!(matches!(status, 200 | 413 | 503), "{status}");
                    }
                });
            }
            // One asks for documents of a trace whose values take much memory; one asks for lists and takes nothing of them.
            scope.spawn(|| {
                for format in ["contextforge", "reflex", "openreward", "synth", "invariant"].iter().cycle() {
                    if Instant::now() >= end {
                        break;
                    }
                    let status = bridge.get(&format!("/api/v1/traces/{}/{format}", trace_id(99)), None).status;
                    assert!(matches!(status, 200 | 404 | 413 | 503), "{status}");
                }
            });
            scope.spawn(|| {
                let mut silent = std::collections::VecDeque::new();
                while Instant::now() < end {
                    let mut stream = TcpStream::connect(bridge.api).expect("connects");
                    let request = b"GET /api/v1/traces?limit=1000 HTTP/1.1\r\nhost: localhost\r\n\r\n";
                    stream.write_all(request).expect("sent");
                    silent.push_back(stream);
                    if silent.len() > 8 {
                        silent.pop_front();
                    }
                    std::thread::sleep(Duration::from_millis(200));
                }
            });
            for client in 0..2_u8 {
                let bridge = &bridge;
                scope.spawn(move || {
                    for number in 0.. {
                        if Instant::now() >= end {
                            break;
                        }
                        let answer = bridge.send(100 + client, &format!("ordinary {number}"), None);
                        assert_eq!(answer.status, 200, "{}", answer.text());
                        std::thread::sleep(Duration::from_millis(50));
                    }
                });
            }
        });
    });
    assert!(times.len() > 20, "{times:?}");
    // A test program without optimisation, on a machine that does other work too.
    let most = if cfg!(debug_assertions) { 1_000 } else { 200 };
    assert!(percentile(&times, 99) < most, "{times:?}");
    let peak = peak_of(&bridge) - start;
    println!(
        "{seconds} s: /healthz p99 {} ms, slowest {} ms, of {}; {} MB of memory",
        percentile(&times, 99),
        times.last().copied().unwrap_or_default(),
        times.len(),
        peak / MB
    );
    // What may be in flight, what reading may take, and 100 MB.
    assert!(peak <= (256 + reading + 100) * MB, "{peak} bytes of memory");
}
