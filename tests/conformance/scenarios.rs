//! Points that take a state: overload, a full disk, the end, health as it changes, pings, sums.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use prost::Message as _;
use tonic::codec::CompressionEncoding;

use super::body::{self, framed, fresh};
use super::bridge::Bridge;
use super::row::{Bridges, Row, TRACES, Verdict, Via, What, at_most, contains, same, status_of};
use super::wire::{self, Answer};

pub(crate) const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");
pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");
pub(crate) const GRPC: (&str, &str) = ("content-type", "application/grpc");

/// Polls until it holds, a minute at most.
fn wait_for(what: &str, mut holds: impl FnMut() -> bool) -> Verdict {
    for _ in 0..6_000 {
        if holds() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(format!("{what}: not within a minute"))
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(work)
}

fn the_default_limit_is_64_mib(bridges: &Bridges) -> Verdict {
    let trace = fresh();
    let taken = wire::http1(
        &bridges.plain.http,
        "POST",
        "/v1/traces",
        &[PROTOBUF],
        &body::sized(trace, 64 << 20),
    );
    same("status of 64 MiB", &200, &taken.status)?;
    same("spans stored", &2, &bridges.plain.stored(trace))?;
    let refused = wire::http1(
        &bridges.plain.http,
        "POST",
        "/v1/traces",
        &[PROTOBUF],
        &body::sized(trace, (64 << 20) + 1),
    );
    same("status of a byte more", &413, &refused.status)
}

fn sums(_: &Bridges) -> Verdict {
    let bridge = Bridge::start(&[]);
    let post = |path: &str, body: &[u8]| wire::http1(&bridge.http, "POST", path, &[PROTOBUF], body);
    let (one, two) = (fresh(), fresh());
    // Received: 2 + 2 + 2 + 3.
    post("/v1/traces", &body::protobuf(one));
    post("/v1/traces", &body::protobuf(one));
    post("/v1/traces", &body::partly_bad(two));
    post("/v1/traces", &body::all_bad(3));
    let count = |name: &str| bridge.metric(name);
    let (accepted, refused) = (count("otelcol_receiver_accepted_spans"), count("otelcol_receiver_refused_spans"));
    same("accepted", &5, &accepted)?;
    same("duplicates", &2, &count("spanbridge_receiver_duplicate_spans_total"))?;
    same("rejected", &4, &refused)?;
    same(
        "by reason",
        &4,
        &count("spanbridge_receiver_rejected_items_total{reason=\"trace_id\"}"),
    )?;
    same("received", &9, &(accepted + refused))
}

/// Refused with a hint, on all transports and encodings.
fn hinted(address: &str, seconds: &str, words: &str) -> Verdict {
    let retry = |answer: &Answer, via, json| {
        let status = status_of(answer, via, json)?;
        same("code", &14, &status.code)?;
        contains("message", words, &status.message)?;
        let details: Vec<&str> = status.details.iter().filter_map(|any| any.type_url.rsplit('/').next()).collect();
        same("details", &vec!["google.rpc.RetryInfo"], &details)
    };
    for (header, body, json) in [(PROTOBUF, body::protobuf(1), false), (JSON, body::json(1), true)] {
        let answer = wire::http1(address, "POST", "/v1/traces", &[header], &body);
        same("status", &503, &answer.status)?;
        same("retry-after", &Some(seconds), &answer.header("retry-after"))?;
        retry(&answer, Via::Http1, json)?;
    }
    let answer = wire::http2(address, "POST", TRACES, &[GRPC], &framed(0, &body::protobuf(1)));
    same("grpc-status", &Some("14"), &answer.metadata("grpc-status"))?;
    same(
        "a hint where gRPC's C core looks",
        &true,
        &answer.metadata("google.rpc.retryinfo-bin").is_some(),
    )?;
    retry(&answer, Via::Grpc, false)
}

fn overload(_: &Bridges) -> Verdict {
    let bridge = Bridge::start(&["--max-in-flight-bytes", "100000"]);
    let mut slow = wire::connect(&bridge.http);
    let head = "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\ncontent-length: 100000\r\n\r\n";
    slow.write_all(head.as_bytes()).expect("writes");
    slow.write_all(&[0; 99_900]).expect("writes");
    wait_for("the slow request takes its place", || {
        bridge.metric("spanbridge_receiver_in_flight_bytes") >= 99_900
    })?;
    hinted(&bridge.http, "1", "bytes of requests are in progress")?;
    drop(slow);
    let trace = fresh();
    wait_for("it is taken again", || {
        wire::http1(&bridge.http, "POST", "/v1/traces", &[PROTOBUF], &body::protobuf(trace)).status == 200
    })?;
    same("spans stored", &2, &bridge.stored(trace))
}

fn the_deadline(_: &Bridges) -> Verdict {
    let bridge = Bridge::start(&[]);
    let answer = block_on(async {
        let mut client = wire::h2_client(&bridge.grpc).await;
        let request = wire::h2_request(&bridge.grpc, "POST", TRACES, &[GRPC, ("grpc-timeout", "200m")]);
        let (response, mut body) = client.send_request(request, false).expect("sends");
        // The body never ends.
        body.send_data(Bytes::from_static(b"\0\0\0"), false).expect("sends");
        let answer = tokio::time::timeout(Duration::from_secs(20), response).await;
        answer
            .map(|response| wire::list(response.expect("an answer").headers()))
            .unwrap_or_default()
    });
    let answer = Answer {
        headers: answer,
        ..Answer::default()
    };
    same("grpc-status", &Some("4"), &answer.metadata("grpc-status"))
}

fn watching(_: &Bridges) -> Verdict {
    let mut bridge = Bridge::start(&[]);
    let path = "/grpc.health.v1.Health/Watch";
    block_on(async {
        let mut client = wire::h2_client(&bridge.grpc).await;
        let mut open = |message: &[u8]| {
            let request = wire::h2_request(&bridge.grpc, "POST", path, &[GRPC, ("te", "trailers")]);
            let (response, mut body) = client.send_request(request, false).expect("sends");
            body.send_data(Bytes::from(framed(0, message)), true).expect("sends");
            response
        };
        let (known, unknown) = (open(b""), open(b"\x0a\x01x"));
        let mut known = known.await.expect("an answer").into_body();
        let mut unknown = unknown.await.expect("an answer").into_body();
        let within = Duration::from_secs(20);
        let first = tokio::time::timeout(within, known.data()).await.ok().flatten();
        same("first", &Some(framed(0, &[8, 1])), &first.and_then(Result::ok).map(Vec::from))?;
        let first = tokio::time::timeout(within, unknown.data()).await.ok().flatten();
        same(
            "an unknown service",
            &Some(framed(0, &[8, 3])),
            &first.and_then(Result::ok).map(Vec::from),
        )?;
        let more = tokio::time::timeout(Duration::from_millis(300), known.data()).await;
        same("it stays open", &true, &more.is_err())?;
        bridge.terminate();
        let last = tokio::time::timeout(within, known.data()).await.ok().flatten();
        same("at the end", &Some(framed(0, &[8, 2])), &last.and_then(Result::ok).map(Vec::from))?;
        let trailers = tokio::time::timeout(within, known.trailers())
            .await
            .ok()
            .and_then(Result::ok)
            .flatten();
        let answer = Answer {
            trailers: trailers.as_ref().map(wire::list).unwrap_or_default(),
            ..Answer::default()
        };
        same("grpc-status", &Some("14"), &answer.metadata("grpc-status"))
    })?;
    same("the bridge ends in order", &true, &bridge.wait())
}

/// SDKs ping every few seconds, with and without a call; a ping too many must not cost the connection.
fn pings(bridges: &Bridges) -> Verdict {
    let mut stream = wire::connect(&bridges.plain.grpc);
    let mut opening = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    opening.extend_from_slice(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
    stream.write_all(&opening).expect("writes");
    let mut acknowledged = 0;
    for number in 0..300u64 {
        let mut ping = vec![0, 0, 8, 6, 0, 0, 0, 0, 0];
        ping.extend(number.to_be_bytes());
        stream.write_all(&ping).map_err(|error| format!("ping {number}: {error}"))?;
        while acknowledged <= number {
            let mut head = [0; 9];
            stream
                .read_exact(&mut head)
                .map_err(|error| format!("after ping {number}: {error}"))?;
            let mut rest = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            stream
                .read_exact(&mut rest)
                .map_err(|error| format!("after ping {number}: {error}"))?;
            same("no GOAWAY", &false, &(head[3] == 7))?;
            acknowledged += u64::from(head[3] == 6 && head[4] == 1);
        }
    }
    Ok(())
}

fn tonic_sends(bridges: &Bridges) -> Verdict {
    let url = format!("http://{}", bridges.plain.grpc);
    let packings = [
        None,
        Some(CompressionEncoding::Gzip),
        Some(CompressionEncoding::Zstd),
        Some(CompressionEncoding::Deflate),
    ];
    let traces = packings.map(|packing| (fresh(), packing));
    block_on(async {
        let endpoint = tonic::transport::Endpoint::from_shared(url).expect("a URL");
        let endpoint = endpoint
            .http2_keep_alive_interval(Duration::from_millis(20))
            .keep_alive_while_idle(true);
        let channel = endpoint.connect().await.expect("connects");
        for (trace, packing) in traces {
            let mut client = TraceServiceClient::new(channel.clone());
            if let Some(packing) = packing {
                client = client.send_compressed(packing).accept_compressed(packing);
            }
            let request = ExportTraceServiceRequest::decode(&*body::protobuf(trace)).expect("decodes");
            let response = client.export(request).await.map_err(|status| format!("{packing:?}: {status}"))?;
            same("partial_success", &None, &response.into_inner().partial_success)?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Verdict::Ok(())
    })?;
    traces
        .iter()
        .try_for_each(|(trace, _)| same("spans stored", &2, &bridges.plain.stored(*trace)))
}

/// A client that sends far more than the limit reads RESOURCE_EXHAUSTED, not a broken connection.
fn tonic_sends_too_much(bridges: &Bridges) -> Verdict {
    let url = format!("http://{}", bridges.small.grpc);
    let status = block_on(async {
        let channel = tonic::transport::Endpoint::from_shared(url)
            .expect("a URL")
            .connect()
            .await
            .expect("connects");
        let request = ExportTraceServiceRequest::decode(&*body::sized(1, 20 << 20)).expect("decodes");
        TraceServiceClient::new(channel).export(request).await.map(drop)
    });
    same(
        "code",
        &Some(tonic::Code::ResourceExhausted),
        &status.err().map(|status| status.code()),
    )
}

fn announced_and_not_sent(bridges: &Bridges) -> Verdict {
    let mut stream = wire::connect(&bridges.small.http);
    let head = "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 99999999\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("writes");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    same("the first line", &Some("HTTP/1.1 413 Payload Too Large"), &answer.lines().next())?;
    at_most("times that it goes on to 100", 0, answer.matches("100 Continue").count())
}

fn expected_and_sent(bridges: &Bridges) -> Verdict {
    let trace = fresh();
    let body = body::protobuf(trace);
    let mut stream = wire::connect(&bridges.plain.http);
    let length = body.len();
    let head = format!(
        "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{}: {}\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n",
        PROTOBUF.0, PROTOBUF.1
    );
    stream.write_all(head.as_bytes()).expect("writes");
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).map_err(|error| error.to_string())?;
    same(
        "it is told to go on",
        &"HTTP/1.1 100 Continue\r\n\r\n".to_owned(),
        &String::from_utf8_lossy(&go_on).into_owned(),
    )?;
    stream.write_all(&body).expect("writes");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(|error| error.to_string())?;
    same("status", &Some(200), &wire::parse(&answer).map(|answer| answer.status))?;
    same("spans stored", &2, &bridges.plain.stored(trace))
}

fn chunked(bridges: &Bridges) -> Verdict {
    let trace = fresh();
    let body = body::protobuf(trace);
    let mut text = Vec::new();
    for chunk in body.chunks(7) {
        text.extend(format!("{:x};ext=1\r\n", chunk.len()).into_bytes());
        text.extend_from_slice(chunk);
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"0\r\nx-trailer: 1\r\n\r\n");
    let answer = wire::http1(
        &bridges.plain.http,
        "POST",
        "/v1/traces",
        &[PROTOBUF, ("transfer-encoding", "chunked")],
        &text,
    );
    same("status", &200, &answer.status)?;
    same("spans stored", &2, &bridges.plain.stored(trace))
}

fn values_of_json(bridges: &Bridges) -> Verdict {
    let trace = fresh();
    let id = body::trace_id(trace).to_string();
    let text = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{}","spanId":"00000000000000AB","kind":3,"startTimeUnixNano":"1","endTimeUnixNano":9007199254740993,
        "attributes":[{{"key":"big","value":{{"intValue":"9223372036854775807"}}}},{{"key":"small","value":{{"intValue":-5}}}},{{"key":"bytes","value":{{"bytesValue":"+/8="}}}}]}}]}}]}}]}}"#,
        id.to_uppercase()
    );
    same(
        "status",
        &200,
        &wire::http1(&bridges.plain.http, "POST", "/v1/traces", &[JSON], text.as_bytes()).status,
    )?;
    let stored = bridges.plain.trace(trace);
    let span = stored.pointer("/resourceSpans/0/scopeSpans/0/spans/0").cloned().unwrap_or_default();
    let at = |path: &str| span.pointer(path).cloned().unwrap_or_default();
    same("traceId", &serde_json::json!(id), &at("/traceId"))?;
    same("spanId", &serde_json::json!("00000000000000ab"), &at("/spanId"))?;
    same("kind", &serde_json::json!(3), &at("/kind"))?;
    same("endTimeUnixNano", &serde_json::json!("9007199254740993"), &at("/endTimeUnixNano"))?;
    same(
        "the largest integer",
        &serde_json::json!("9223372036854775807"),
        &at("/attributes/0/value/intValue"),
    )?;
    same("a number", &serde_json::json!("-5"), &at("/attributes/1/value/intValue"))?;
    same("bytes", &serde_json::json!("+/8="), &at("/attributes/2/value/bytesValue"))
}

pub(crate) fn rows() -> Vec<Row> {
    let row = |point, rule, spec, scenario| Row {
        point,
        rule,
        spec,
        what: What::Scenario(scenario),
    };
    let retry = "otlp: OTLP/gRPC Throttling; OTLP/HTTP Throttling";
    vec![
        row(
            "2.default",
            "64 MiB by default: that much is taken, a byte more is not",
            "otlp: request size limits",
            the_default_limit_is_64_mib,
        ),
        row(
            "3.early",
            "a length over the limit is refused before the body is asked for",
            "rfc 9110, 10.1.1",
            announced_and_not_sent,
        ),
        row(
            "13.expect",
            "Expect: 100-continue is answered",
            "rfc 9110, 10.1.1",
            expected_and_sent,
        ),
        row("13.chunked", "chunks, chunk extensions and trailers", "rfc 9112, 7.1", chunked),
        row(
            "3.grpc",
            "a client far over the limit reads RESOURCE_EXHAUSTED",
            "otlp: OTLP/gRPC Response, Failures",
            tonic_sends_too_much,
        ),
        row(
            "7.sum",
            "accepted + duplicates + rejected = received, with stable reasons",
            "otlp: Partial Success",
            sums,
        ),
        row(
            "8.overload",
            "overload: UNAVAILABLE + RetryInfo, 503 + Retry-After; then it is taken",
            retry,
            overload,
        ),
        row(
            "12.values",
            "ids, integers, enums and bytes arrive as they were meant",
            "otlp: JSON Protobuf Encoding",
            values_of_json,
        ),
        row(
            "15.deadline",
            "grpc-timeout: DEADLINE_EXCEEDED when it has passed",
            "grpc: PROTOCOL-HTTP2.md",
            the_deadline,
        ),
        row(
            "15.watch",
            "Watch: SERVING, stays open, NOT_SERVING at the end; SERVICE_UNKNOWN for others",
            "grpc: health-checking.md",
            watching,
        ),
        row("15.ping", "pings, as many as SDKs send and more", "grpc: keepalive", pings),
        row(
            "15.tonic",
            "tonic, with keepalive of 20 ms and each of its compressions",
            "otlp: OTLP/gRPC",
            tonic_sends,
        ),
    ]
}
