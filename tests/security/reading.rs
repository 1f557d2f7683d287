//! What readers can take from the bridge.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use spanbridge::otlp::encode;
use spanbridge::span::{AnyValue, Span, SpanId, UnixNanos};

use super::serving::{Serving, agent, span, trace_id};

const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");
const MB: u64 = 1_000_000;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn send(bridge: &Serving, spans: &[Span]) -> usize {
    let body = encode::traces(spans);
    let answer = bridge.post("/v1/traces", &[PROTOBUF, ("content-encoding", "gzip")], &gzip(&body));
    assert_eq!(answer.status, 200, "{}", answer.text());
    body.len()
}

/// A model call of this trace.
fn call(trace: u8, number: u32) -> Span {
    let mut span = span(trace, "chat");
    span.span_id = SpanId::from_bytes(&(u64::from(number) + 1).to_be_bytes()).expect("an id");
    span.start = UnixNanos(span.start.0 + u64::from(number));
    span.attributes.push("gen_ai.operation.name", "chat");
    span.attributes.push("gen_ai.request.model", "m");
    span
}

fn with(mut span: Span, key: &str, value: impl Into<AnyValue>) -> Span {
    span.attributes.push(key, value);
    span
}

/// A client that asks and takes nothing of the answer.
fn ask_only(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("connects");
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    stream
}

fn healthy(bridge: &Serving) -> Duration {
    let begin = Instant::now();
    assert_eq!(bridge.get("/healthz", None).status, 200);
    begin.elapsed()
}

#[test]
fn point_4_slow_readers_stop_neither_health_nor_receiving() {
    let bridge = Serving::start("max_concurrent_reads = 4\nwrite_timeout_seconds = 4\n");
    send(&bridge, &[with(call(1, 0), "text", "x".repeat(24 << 20))]);
    bridge.forget_peak();
    let before = bridge.peak();
    let path = format!("/api/v1/traces/{}", trace_id(1));
    let slow: Vec<TcpStream> = (0..16).map(|_| ask_only(bridge.api, &path)).collect();
    std::thread::sleep(Duration::from_millis(500));
    for number in 0..20 {
        let took = healthy(&bridge);
        assert!(took < Duration::from_secs(1), "/healthz took {took:?}");
        assert_eq!(bridge.send(10 + number, "beside", None).status, 200);
    }
    assert_eq!(bridge.get("/readyz", None).status, 200);
    // Four are read for at once. Of an answer little is made ahead; the spans are 24 MB.
    let grown = bridge.peak() - before;
    assert!(grown < 4 * 10 * 24 * MB, "{} MB for slow readers", grown / MB);
    // They are given up, and then others are read for.
    let begin = Instant::now();
    loop {
        let answer = bridge.get(&format!("/api/v1/traces/{}", trace_id(10)), None);
        if answer.status == 200 {
            break;
        }
        assert_eq!((answer.status, answer.header("retry-after")), (503, "1"), "{}", answer.text());
        assert_eq!(answer.json()["error"]["code"], "BUSY");
        assert!(begin.elapsed() < Duration::from_secs(60), "slow readers are never given up");
    }
    while bridge.metric("spanbridge_closed_connections_total{reason=\"slow_reader\"}", None) == 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "slow readers are not counted");
    }
    drop(slow);
}

#[test]
fn point_4_a_reader_that_is_gone_stops_its_work() {
    let bridge = Serving::start("max_concurrent_reads = 2\nwrite_timeout_seconds = 600\n");
    send(&bridge, &[with(call(1, 0), "text", "x".repeat(24 << 20))]);
    let path = format!("/api/v1/traces/{}", trace_id(1));
    for _ in 0..6 {
        let gone = ask_only(bridge.api, &path);
        std::thread::sleep(Duration::from_millis(100));
        drop(gone);
    }
    let begin = Instant::now();
    while bridge.metric("spanbridge_api_reserved_bytes", None) > 0 {
        assert!(
            begin.elapsed() < Duration::from_secs(30),
            "memory stays reserved for readers that are gone"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(bridge.get(&path, None).status, 200);
}

#[test]
fn point_4_what_never_fits_is_refused_before_it_is_read() {
    let bridge = Serving::start("max_read_bytes = 60000000\n");
    let hollow = AnyValue::Array(vec![AnyValue::Empty; 4 << 20]);
    let body = gzip(&encode::traces(&[with(call(1, 0), "list", hollow)]));
    assert!(body.len() < 64 << 10, "{} bytes", body.len());
    assert_eq!(
        bridge.post("/v1/traces", &[PROTOBUF, ("content-encoding", "gzip")], &body).status,
        200
    );
    assert_eq!(bridge.send(2, "chat", None).status, 200);
    // What receiving took is no part of this.
    let (_, directory) = bridge.stop();
    let bridge = Serving::start_in(directory, "max_read_bytes = 60000000\n");
    let before = bridge.peak();
    for path in ["", "/contextforge", "/reflex", "/openreward", "/synth", "/invariant"] {
        let answer = bridge.get(&format!("/api/v1/traces/{}{path}", trace_id(1)), None);
        assert_eq!(answer.status, 413, "{path}");
        let error = answer.json();
        assert_eq!(error["error"]["code"], "TOO_LARGE");
        let words = error["error"]["message"].as_str().expect("words");
        assert!(words.contains("max_read_bytes") && words.contains("spanbridge export"), "{words}");
    }
    let grown = bridge.peak().saturating_sub(before);
    assert!(grown < 60 * MB, "{} MB to refuse it", grown / MB);
    // The list names it; the others are as they are without it.
    let list = bridge.get("/api/v1/traces", None).json();
    let of = |trace: u8| {
        let traces = list["traces"].as_array().expect("a list").iter();
        traces
            .clone()
            .find(|row| row["trace_id"] == trace_id(trace).to_string())
            .expect("listed")
            .clone()
    };
    assert_eq!(of(1)["status"], "too_large");
    assert_eq!(of(2)["status"], "ok");
}

#[test]
fn point_4_a_session_that_never_fits_is_refused_before_it_is_read() {
    let bridge = Serving::start("max_read_bytes = 8000000\n");
    let spans: Vec<Span> = (1..=40u16)
        .flat_map(|trace| {
            (0..40).map(move |number| {
                let mut span = call(1, number);
                let bytes = [[1; 14].as_slice(), &trace.to_be_bytes()].concat();
                span.trace_id = spanbridge::span::TraceId::from_bytes(&bytes).expect("an id");
                span
            })
        })
        .collect();
    send(&bridge, &spans);
    let session = "/api/v1/sessions/session%20of%20chat";
    let answer = bridge.get(&format!("{session}/contextforge"), None);
    assert_eq!(answer.status, 413, "{}", answer.text());
    assert!(answer.text().contains("since"), "{}", answer.text());
    let none = bridge.get(&format!("{session}/contextforge?until=1"), None);
    assert_eq!(none.status, 404, "{}", none.text());
}

/// Traces of some shapes, small enough for a test.
fn shapes() -> Vec<(&'static str, Vec<Span>)> {
    let text = |number: usize| format!("turn {number}: {}", "plain words of a person, ".repeat(30));
    let message = |role: &str, number: usize| format!(r#"[{{"role":"{role}","parts":[{{"type":"text","content":"{}"}}]}}]"#, text(number));
    let spoken = (0..1_000).map(|number| {
        let span = with(call(1, number), "gen_ai.input.messages", message("user", number as usize));
        with(span, "gen_ai.output.messages", message("assistant", number as usize + 10_000))
    });
    let tools = (0..2_000).map(|number| {
        let mut span = call(1, number);
        span.attributes = [
            ("gen_ai.operation.name".to_owned(), "execute_tool".into()),
            ("gen_ai.tool.name".to_owned(), "search".into()),
            ("gen_ai.tool.call.id".to_owned(), format!("call-{number}").into()),
            (
                "gen_ai.tool.call.arguments".to_owned(),
                format!(r#"{{"query":"{}"}}"#, text(number as usize)).into(),
            ),
            ("gen_ai.tool.call.result".to_owned(), text(number as usize).into()),
        ]
        .into_iter()
        .collect();
        span
    });
    let numbers = AnyValue::Array((0..200_000).map(AnyValue::Int).collect());
    let pairs = (0..50_000).map(|number| (format!("key {number}"), AnyValue::Bool(true))).collect();
    vec![
        ("turns", spoken.collect()),
        ("tools", tools.collect()),
        ("bare calls", (0..3_000).map(|number| call(1, number)).collect()),
        ("numbers", vec![with(call(1, 0), "numbers", numbers)]),
        ("pairs", vec![with(call(1, 0), "pairs", AnyValue::KvList(pairs))]),
        (
            "arguments",
            vec![{
                let list = vec!["0"; 300_000].join(",");
                with(call(1, 0), "gen_ai.tool.definitions", format!("[{list}]"))
            }],
        ),
        (
            "one text",
            vec![with(call(1, 0), "gen_ai.input.messages", message("user", 0) + &" ".repeat(4 << 20))],
        ),
    ]
}

/// What is reserved bounds what is taken: no trace and no format costs more than the budget lets in.
#[test]
fn point_4_reading_takes_no_more_memory_than_it_reserved() {
    const BUDGET: u64 = 200_000_000;
    let config = format!("max_read_bytes = {BUDGET}\n");
    for (name, spans) in shapes() {
        let bridge = Serving::start(&config);
        let bytes = send(&bridge, &spans) as u64;
        assert_eq!(bridge.send(2, "chat", None).status, 200);
        let (_, mut directory) = bridge.stop();
        for format in ["", "/contextforge", "/reflex", "/openreward", "/synth", "/invariant"] {
            let bridge = Serving::start_in(directory, &config);
            // What the first reading sets up, such as the tables of dialects, is no part of a trace's cost.
            let _ = bridge.get(&format!("/api/v1/traces/{}/contextforge", trace_id(2)), None);
            bridge.forget_peak();
            let before = bridge.peak();
            let answer = bridge.get(&format!("/api/v1/traces/{}{format}", trace_id(1)), None);
            let grown = bridge.peak() - before;
            let told = format!(
                "{name}{format}: {}, {:.1} MB of spans, {:.1} MB of answer, {:.1} MB of memory",
                answer.status,
                bytes as f64 / 1e6,
                answer.body.len() as f64 / 1e6,
                grown as f64 / 1e6
            );
            assert!(matches!(answer.status, 200 | 413), "{name}{format}: {}", answer.text());
            assert!(grown < BUDGET, "{told}");
            if answer.status == 413 {
                assert!(grown < 64 * MB, "{name}{format}: {} MB to refuse it", grown / MB);
            }
            if matches!(name, "turns" | "tools" | "one text") {
                assert_eq!(answer.status, 200, "{name}{format}: {}", answer.text());
            }
            assert!(
                grown < 10 * bytes + 64 * MB,
                "{name}{format}: {} MB for {} MB",
                grown / MB,
                bytes / MB
            );
            (_, directory) = bridge.stop();
        }
    }
}

/// A long trace is read within the budget, and its list, its documents and everyone who asks at once share one run.
#[test]
fn point_6_a_trace_of_very_many_spans_is_read_and_built_once() {
    let is_full = crate::long_form::is_long_form();
    // In full as it comes: 100,000 spans of 68 MB. A fifth of the budget for a tenth of it: enough for one run, and not for two.
    let (count, budget) = if is_full { (100_000, 2 << 30) } else { (10_000, 230_000_000u64) };
    let config = if is_full {
        String::new()
    } else {
        format!("max_read_bytes = {budget}\n")
    };
    let bridge = Serving::start(&config);
    let text = |number: u32| format!("turn {number}: {}", "plain words of a person ".repeat(6));
    let message = |role: &str, number: u32| format!(r#"[{{"role":"{role}","parts":[{{"type":"text","content":"{}"}}]}}]"#, text(number));
    for first in (0..count).step_by(10_000) {
        let spans: Vec<Span> = (first..first + 10_000)
            .map(|number| {
                let span = with(call(1, number), "gen_ai.input.messages", message("user", number));
                with(span, "gen_ai.output.messages", message("assistant", number + count))
            })
            .collect();
        send(&bridge, &spans);
    }
    let (_, directory) = bridge.stop();
    let bridge = Serving::start_in(directory, &config);
    let before = bridge.peak();
    let path = |format: &str| format!("/api/v1/traces/{}/{format}", trace_id(1));
    let took = |path: &str| {
        let begin = Instant::now();
        let answer = bridge.get(path, None);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text().get(..500).unwrap_or_default());
        (begin.elapsed(), answer)
    };
    let (_, list) = took("/api/v1/traces");
    let row = &list.json()["traces"][0];
    assert_eq!((&row["status"], &row["model_calls"]), (&Value::from("ok"), &Value::from(count)));
    assert!(bridge.metric("spanbridge_api_reserved_bytes", None) > 0, "the run is kept");
    let (_, document) = took(&path("messages"));
    assert!(document.text().contains(&text(count - 1)));
    // Two at once, while there is memory for one run.
    std::thread::scope(|scope| {
        let asked = ["contextforge", "messages"].map(|format| scope.spawn(move || took(&path(format)).1.body.len()));
        let [first, second] = asked.map(|asked| asked.join().expect("is answered"));
        assert!(first > 0 && second == document.body.len());
    });
    let grown = bridge.peak() - before;
    assert!(grown < budget, "{} MB of memory", grown / MB);
    // What is new is read anew.
    send(&bridge, &[call(1, count)]);
    let row = &took("/api/v1/traces").1.json()["traces"][0];
    assert_eq!(row["model_calls"], Value::from(count + 1));
}

/// The model calls of a written conversation share what was said before them. A format that writes it again for each call is refused
/// where that takes too much.
#[test]
fn point_4_a_long_conversation_of_blocks_is_read_once() {
    const BUDGET: u64 = 128_000_000;
    let config = format!("max_read_bytes = {BUDGET}\n");
    let bridge = Serving::start(&config);
    let write = |trace: u8, blocks: usize, text: &str| {
        let block = |number: usize| {
            serde_json::json!({
                "block_type": "MESSAGE", "sub_type": "MESSAGE",
                "payload": {"role": "assistant", "content": format!("{number} {text}")},
            })
        };
        let body = Value::from((0..blocks).map(block).collect::<Vec<_>>()).to_string();
        let url = format!(
            "http://{}/v1/organizations/default/traces/tr_{}/blocks",
            bridge.api,
            trace_id(trace)
        );
        let request = agent(None, None).post(url).header("content-type", "application/json");
        assert_eq!(request.send(body).expect("an answer").status(), 201);
    };
    write(1, 900, "x");
    write(2, 250, "x");
    write(3, 60, &"words ".repeat(700));
    let (_, directory) = bridge.stop();
    let bridge = Serving::start_in(directory, &config);
    let before = bridge.peak();
    for trace in [1, 2, 3] {
        let answer = bridge.get(&format!("/api/v1/traces/{}/openreward", trace_id(trace)), None);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let list = bridge.get("/api/v1/traces", None).json();
    let rows = list["traces"].as_array().expect("a list");
    assert!(rows.iter().all(|row| row["status"] == "ok"), "{rows:?}");
    let answer = bridge.get(&format!("/api/v1/traces/{}/contextforge", trace_id(1)), None);
    assert_eq!(answer.status, 413, "{}", answer.text());
    let grown = bridge.peak() - before;
    assert!(grown < 64 * MB, "{} MB", grown / MB);
    for trace in [2, 3] {
        let answer = bridge.get(&format!("/api/v1/traces/{}/contextforge", trace_id(trace)), None);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let grown = bridge.peak() - before;
    assert!(grown < BUDGET, "{} MB", grown / MB);
}

#[test]
fn point_4_lists_are_pages() {
    let bridge = Serving::start("");
    for trace in 1..=5 {
        assert_eq!(bridge.send(trace, &format!("chat {trace}"), None).status, 200);
    }
    for order in ["newest", "oldest"] {
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let page = bridge.get(&format!("/api/v1/traces?limit=2&order={order}{after}"), None).json();
            let traces = page["traces"].as_array().expect("a list");
            assert!(traces.len() <= 2);
            found.extend(traces.iter().map(|row| row["trace_id"].as_str().expect("an id").to_owned()));
            match page["next"].as_str() {
                Some(next) => after = format!("&after={next}"),
                None => break,
            }
        }
        let mut all: Vec<String> = (1..=5).map(|trace| trace_id(trace).to_string()).collect();
        if order == "newest" {
            all.reverse();
        }
        assert_eq!(found, all, "{order}");
    }
    let (mut sessions, mut after) = (Vec::new(), String::new());
    loop {
        let page = bridge.get(&format!("/api/v1/sessions?limit=2{after}"), None).json();
        sessions.extend(
            page["sessions"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|row| row["session"].to_string()),
        );
        match page["next"].as_str() {
            Some(next) => after = format!("&after={}", spanbridge::web::percent_encoded(next)),
            None => break,
        }
    }
    sessions.sort();
    sessions.dedup();
    assert_eq!(sessions.len(), 5);
    for query in ["limit=none", "limit=0", "limit=1001", "after=x", "after=1.2"] {
        let answer = bridge.get(&format!("/api/v1/traces?{query}"), None);
        assert_eq!(answer.status, 400, "{query}: {}", answer.text());
    }
    let url = format!("http://{}", bridge.api);
    let listed = super::serving::run(&["ls", "--server", &url, "-n", "0", "--json"], &[]);
    assert_eq!(super::serving::text(&listed.stdout).lines().count(), 5);
}

/// Several documents are one JSON value, or one a line: never one after the other as if they were one.
#[test]
fn several_documents_are_an_array_or_lines() {
    let bridge = Serving::start("");
    for trace in 1..=2 {
        let mut span = call(trace, 0);
        span.attributes.push(
            "gen_ai.output.messages",
            r#"[{"role":"assistant","parts":[{"type":"text","content":"b"}]}]"#,
        );
        send(&bridge, &[span]);
    }
    let session = "/api/v1/sessions/session%20of%20chat/contextforge";
    let several = bridge.get(session, None);
    assert_eq!((several.status, several.header("content-type")), (200, "application/json"));
    assert_eq!(several.json().as_array().map(Vec::len), Some(2), "{}", several.text());
    let lines = bridge.get(&format!("{session}?documents=ndjson"), None);
    assert_eq!(lines.header("content-type"), "application/x-ndjson");
    let documents: Vec<Value> = lines.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(Value::from(documents), several.json());
    let one = format!("/api/v1/traces/{}/contextforge", trace_id(1));
    assert!(bridge.get(&one, None).json().is_object());
    assert_eq!(
        bridge.get(&format!("{one}?documents=array"), None).json().as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(bridge.get(&format!("{one}?documents=both"), None).status, 400);
    let mut stream = TcpStream::connect(bridge.api).expect("connects");
    let head = format!("GET {session} HTTP/1.1\r\nhost: localhost\r\naccept: application/x-ndjson\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(
        answer.to_ascii_lowercase().contains("content-type: application/x-ndjson"),
        "{answer}"
    );
}
