//! What an attacker sends: nothing of it is stored, costs memory or ends the bridge.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use super::body::{self, fresh};
use super::bridge::Bridge;
use super::wire;

type Frames = Box<dyn Iterator<Item = Vec<u8>>>;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("small").to_be_bytes();
    let mut bytes = length.get(1..).unwrap_or_default().to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A header field that is neither indexed nor compressed.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut bytes = vec![0];
    for text in [name, value] {
        bytes.push(u8::try_from(text.len()).ok().filter(|length| *length < 127).expect("short"));
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

fn request_head() -> Vec<u8> {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "localhost"),
        (":path", super::row::TRACES),
        ("content-type", "application/grpc"),
    ];
    fields.iter().flat_map(|(name, value)| literal(name, value)).collect()
}

/// The bridge still runs, holds nothing, and takes spans.
fn unharmed(bridge: &mut Bridge) {
    assert!(bridge.runs(), "it has ended");
    let trace = fresh();
    let good = ("content-type", "application/x-protobuf");
    assert_eq!(
        wire::http1(&bridge.http, "POST", "/v1/traces", &[good], &body::protobuf(trace)).status,
        200
    );
    assert_eq!(bridge.stored(trace), 2);
    for _ in 0..1_000 {
        if bridge.metric("spanbridge_receiver_in_flight_bytes") == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("bytes stay in flight");
}

/// Sends frames until the other side closes or all are sent, and reads what comes: whether a GOAWAY or an end was among it.
fn hostile_frames(address: &str, frames: impl Iterator<Item = Vec<u8>>) -> bool {
    let mut stream = wire::connect(address);
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("sets");
    stream.write_all(PREFACE).expect("writes");
    let mut reader = stream.try_clone().expect("clones");
    let heard = std::thread::spawn(move || {
        loop {
            let mut head = [0; 9];
            if let Err(error) = reader.read_exact(&mut head) {
                return !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut);
            }
            let [a, b, c, kind, ..] = head;
            let mut rest = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            if kind == 7 || reader.read_exact(&mut rest).is_err() {
                return true;
            }
        }
    });
    for frame in frames {
        if stream.write_all(&frame).is_err() {
            break;
        }
    }
    heard.join().expect("reads")
}

#[test]
fn hostile_http2_frames_cost_the_connection_and_nothing_else() {
    let mut bridge = Bridge::start(&[]);
    let settings = || frame(4, 0, 0, &[]);
    let reset = |stream| [frame(1, 4, stream, &request_head()), frame(3, 0, stream, &8u32.to_be_bytes())].concat();
    let open = || std::iter::once(settings());
    let cases: Vec<(&str, Frames)> = vec![
        (
            "streams opened and reset at once",
            Box::new(open().chain((0..20_000).map(move |number| reset(2 * number + 1)))),
        ),
        (
            "CONTINUATION without end",
            Box::new(
                open()
                    .chain([frame(1, 0, 1, &request_head())])
                    .chain((0..20_000).map(|_| frame(9, 0, 1, &literal("x", &"y".repeat(100))))),
            ),
        ),
        (
            "a frame larger than allowed",
            Box::new(open().chain([[&[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1], &[0; 64][..]].concat()])),
        ),
        (
            "DATA on a stream that is not open",
            Box::new(open().chain([frame(0, 0, 5, b"data")])),
        ),
        ("HEADERS on stream 0", Box::new(open().chain([frame(1, 4, 0, &request_head())]))),
        ("an even stream", Box::new(open().chain([frame(1, 4, 2, &request_head())]))),
        ("HPACK that is none", Box::new(open().chain([frame(1, 4, 1, &[0xff; 32])]))),
        (
            "a window that overflows",
            Box::new(open().chain((0..3).map(|_| frame(8, 0, 0, &0x7fff_ffffu32.to_be_bytes())))),
        ),
        (
            "settings that do not exist in size",
            Box::new(open().chain([frame(4, 0, 0, &[0, 1, 2])])),
        ),
        (
            "padding longer than its frame",
            Box::new(open().chain([frame(1, 4, 1, &request_head()), frame(0, 8, 1, &[200, 1, 2])])),
        ),
    ];
    for (name, frames) in cases {
        assert!(hostile_frames(&bridge.grpc, frames), "{name}: neither GOAWAY nor an end");
        unharmed(&mut bridge);
    }
    // These are lawful, if useless: the connection may live on.
    let pings = (0..50_000).map(|_| frame(6, 0, 0, &[0; 8]));
    hostile_frames(
        &bridge.grpc,
        std::iter::once(settings()).chain(pings).chain([frame(7, 0, 0, &[0; 8])]),
    );
    hostile_frames(&bridge.grpc, [frame(6, 0, 0, &[0; 8]), frame(7, 0, 0, &[0; 8])].into_iter());
    let many = (0..20_000).map(|_| frame(4, 0, 0, &[]));
    hostile_frames(&bridge.grpc, many.chain([frame(7, 0, 0, &[0; 8])]));
    unharmed(&mut bridge);
}

#[test]
fn heads_that_are_too_large_or_ambiguous_are_refused() {
    let mut bridge = Bridge::start(&[]);
    let stored = fresh();
    let body = body::protobuf(stored);
    let length = body.len();
    let start = "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n";
    let inner = "GET /v1/inner HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let cases: Vec<(&str, String, &[u16])> = vec![
        (
            "a header of a megabyte",
            format!("{start}x: {}\r\n\r\n", "y".repeat(1 << 20)),
            &[431],
        ),
        ("ten thousand headers", format!("{start}{}\r\n", "x: y\r\n".repeat(10_000)), &[431]),
        (
            "a target of a megabyte",
            format!("POST /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "y".repeat(1 << 20)),
            &[414, 431],
        ),
        (
            "two lengths that differ",
            format!("{start}content-length: 3\r\ncontent-length: {length}\r\n\r\n{inner}"),
            &[400],
        ),
        (
            "a list of lengths",
            format!("{start}content-length: 3, {length}\r\n\r\n{inner}"),
            &[400],
        ),
        (
            "a length with a sign",
            format!("{start}content-length: +{length}\r\n\r\n{inner}"),
            &[400],
        ),
        (
            "a length that overflows",
            format!("{start}content-length: 99999999999999999999999\r\n\r\n"),
            &[400],
        ),
        (
            "a length below nothing",
            format!("{start}content-length: -1\r\n\r\n{inner}"),
            &[400],
        ),
        (
            "a coding that is not chunked",
            format!("{start}transfer-encoding: gzip\r\n\r\n{inner}"),
            &[400],
        ),
        (
            "chunked that is not last",
            format!("{start}transfer-encoding: chunked, identity\r\n\r\n{inner}"),
            &[400],
        ),
        (
            "chunked by another name",
            format!("{start}transfer-encoding: xchunked\r\n\r\n{inner}"),
            &[400],
        ),
        (
            "a chunk size that is none",
            format!("{start}transfer-encoding: chunked\r\n\r\nzz\r\n{inner}"),
            &[400],
        ),
        (
            "a chunk size that overflows",
            format!("{start}transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{inner}"),
            &[400],
        ),
        (
            "a space before the colon",
            format!("{start}content-length : 3\r\n\r\n{inner}"),
            &[400],
        ),
        ("a folded header", format!("{start}x: y\r\n content-length: 3\r\n\r\n"), &[400]),
        ("a NUL in a header", format!("{start}x: a\0b\r\n\r\n"), &[400]),
        ("no HTTP", "hello\r\n\r\n".to_owned(), &[400]),
    ];
    for (name, request, statuses) in cases {
        let raw = wire::raw(&bridge.http, request.as_bytes());
        let text = String::from_utf8_lossy(&raw);
        let status = text
            .strip_prefix("HTTP/1.1 ")
            .and_then(|rest| rest.get(..3))
            .and_then(|status| status.parse().ok());
        assert!(status.is_some_and(|status| statuses.contains(&status)), "{name}: {text}");
        assert_eq!(
            text.matches("HTTP/1.1 ").count(),
            1,
            "{name}: one answer and no second request: {text}"
        );
        unharmed(&mut bridge);
    }
    // Both framings: the chunks count, and the connection ends, so that nothing behind them is another request.
    let mut both = format!("{start}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n").into_bytes();
    both.extend_from_slice(&body);
    both.extend_from_slice(b"\r\n0\r\n\r\n");
    both.extend_from_slice(inner.as_bytes());
    let raw = wire::raw(&bridge.http, &both);
    let text = String::from_utf8_lossy(&raw);
    assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "a second request was read: {text}");
    unharmed(&mut bridge);
}

#[test]
fn bodies_that_do_not_end_take_no_more_than_their_limit() {
    let mut bridge = Bridge::start(&["--max-request-bytes", "1048576"]);
    // Chunks without end.
    let mut stream = wire::connect(&bridge.http);
    let head = "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("writes");
    let chunk = [b"10000\r\n".to_vec(), vec![b' '; 0x10000], b"\r\n".to_vec()].concat();
    let mut sent = 0usize;
    while sent < 1 << 30 && stream.write_all(&chunk).is_ok() {
        sent += chunk.len();
    }
    assert!(sent < 1 << 30, "it reads on and on");
    // The same over HTTP/2: flow control holds the sender back.
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let code = runtime.block_on(async {
        let mut client = wire::h2_client(&bridge.grpc).await;
        let headers = [("content-type", "application/grpc")];
        let (response, mut body) = client
            .send_request(wire::h2_request(&bridge.grpc, "POST", super::row::TRACES, &headers), false)
            .expect("sends");
        let flood = tokio::spawn(async move {
            let piece = bytes::Bytes::from(vec![0; 16 << 10]);
            while body.send_data(piece.clone(), false).is_ok() {
                body.reserve_capacity(16 << 10);
                if std::future::poll_fn(|context| body.poll_capacity(context))
                    .await
                    .is_none_or(|got| got.is_err())
                {
                    break;
                }
            }
        });
        let response = tokio::time::timeout(Duration::from_secs(30), response)
            .await
            .expect("in time")
            .expect("an answer");
        flood.abort();
        wire::list(response.headers()).into_iter().find(|(name, _)| name == "grpc-status")
    });
    assert_eq!(code.map(|(_, code)| code).as_deref(), Some("8"));
    unharmed(&mut bridge);
}

/// 16 MiB each; before there were bounds, they took 25 to 100 times that.
#[test]
fn bodies_of_nothing_cost_little_more_than_their_bytes() {
    let mut bridge = Bridge::start(&[]);
    let protobuf = "application/x-protobuf";
    let length = 16 << 20;
    let mut unknown = vec![0x0a];
    prost::encoding::encode_varint(length as u64, &mut unknown);
    unknown.extend(b"\x20\x00".repeat(length / 2));
    let of = |open: &str, close: &str| [open, &vec!["{}"; length / 3].join(","), close].concat().into_bytes();
    let spans = r#"{"resourceSpans":[{"scopeSpans":[{"spans":["#;
    let attributes = r#"{"resourceSpans":[{"resource":{"attributes":["#;
    for (name, content_type, body, status) in [
        ("empty resources", protobuf, b"\x0a\x00".repeat(length / 2), 200),
        ("one resource of unknown fields", protobuf, unknown, 200),
        (
            "empty scopes",
            protobuf,
            [b"\x0a\x80\x80\x80\x08".as_slice(), &b"\x12\x00".repeat(length / 2)].concat(),
            200,
        ),
        ("empty spans in JSON", "application/json", of(spans, "]}]}]}"), 400),
        ("empty attributes in JSON", "application/json", of(attributes, "]}}]}"), 400),
        (
            "lists for spans in JSON",
            "application/json",
            of(spans, "]}]}]}")
                .into_iter()
                .map(|byte| if byte == b'{' { b'[' } else { byte })
                .collect(),
            400,
        ),
    ] {
        let headers = [("content-type", content_type), ("content-encoding", "gzip")];
        let answer = wire::http1(&bridge.http, "POST", "/v1/traces", &headers, &body::gzip(&body));
        assert_eq!(answer.status, status, "{name}: {}", String::from_utf8_lossy(&answer.body));
        match bridge.peak_memory() {
            Some(peak) => assert!(peak < 250, "{name}: {peak} MiB"),
            None => println!("the memory was not looked at: this system does not tell it"),
        }
    }
    unharmed(&mut bridge);
}
