//! What readers see of data that is odd or damaged, and of a bridge that ends.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use prost::Message;
use spanbridge::otlp::encode;
use spanbridge::span::AnyValue;
use tonic::Code;

use super::serving::{Serving, run, span, text, trace_id};

const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");

#[test]
fn point_10_the_deepest_value_that_is_taken_is_shown_and_exported() {
    let bridge = Serving::start("");
    // The deepest that the receiver takes, of maps and of lists.
    let mut trace = 0;
    let mut deepest = |wrap: fn(AnyValue) -> AnyValue| {
        trace += 1;
        let mut value = AnyValue::Int(1);
        let mut levels = 0;
        loop {
            value = wrap(value);
            let mut span = span(trace, "chat");
            span.attributes.push("gen_ai.operation.name", "chat");
            span.attributes.push(
                "gen_ai.output.messages",
                r#"[{"role":"assistant","parts":[{"type":"text","content":"b"}]}]"#,
            );
            span.attributes.push("deep", value.clone());
            if bridge.post("/v1/traces", &[PROTOBUF], &encode::traces(&[span])).status != 200 {
                return levels;
            }
            levels += 1;
        }
    };
    let maps = deepest(|value| AnyValue::KvList(vec![("key".to_owned(), value)]));
    let lists = deepest(|value| AnyValue::Array(vec![value]));
    assert!(maps >= 31 && lists >= 31, "{maps} {lists}");
    assert_eq!(bridge.send(9, "beside", None).status, 200);
    let url = format!("http://{}", bridge.api);
    for format in ["contextforge", "reflex", "openreward", "synth", "invariant"] {
        let exported = run(&["export", "--server", &url, "--to", format], &[]);
        assert!(exported.status.success(), "{format}: {}", text(&exported.stderr));
        assert!(text(&exported.stdout).lines().count() >= 2, "{format}");
    }
    for trace in 1..=2 {
        for more in [&[][..], &["--spans"]] {
            let id = trace_id(trace).to_string();
            let shown = run(&[&["show", "--server", &url, &id], more].concat(), &[]);
            assert!(shown.status.success(), "{}", text(&shown.stderr));
        }
    }
}

#[test]
fn point_11_damage_is_said_by_export_and_by_the_api() {
    let bridge = Serving::start("compression_level = 0\n");
    for trace in 1..=3 {
        let mut span = span(trace, &format!("chat {trace}"));
        span.attributes.push("gen_ai.operation.name", "chat");
        span.attributes.push("mark", format!("mark of {trace}"));
        assert_eq!(bridge.post("/v1/traces", &[PROTOBUF], &encode::traces(&[span])).status, 200);
    }
    let (_, directory) = bridge.stop();
    let path = directory.path().join("data/0000000001.log");
    let mut log = fs::read(&path).expect("reads");
    let at = log.windows(9).position(|window| window == b"mark of 2").expect("is there");
    log[at] ^= 1;
    fs::write(&path, log).expect("written");
    let bridge = Serving::start_in(directory, "compression_level = 0\n");
    let url = format!("http://{}", bridge.api);
    let exported = run(&["export", "--server", &url, "--to", "contextforge"], &[]);
    let said = text(&exported.stderr);
    assert_eq!(exported.status.code(), Some(1), "{said}");
    assert_eq!(text(&exported.stdout).lines().count(), 2, "the others are exported");
    assert!(said.contains("1 of 3 traces") && said.contains(&trace_id(2).to_string()), "{said}");
    assert!(said.contains("damaged on the disk"), "{said}");
    let documents = format!("/api/v1/traces/{}/contextforge", trace_id(2));
    for path in [&documents, &"/api/v1/sessions/session%20of%20chat%202/contextforge".to_owned()] {
        let answer = bridge.get(path, None);
        assert_eq!(answer.status, 500, "{}", answer.text());
        let error = answer.json();
        assert_eq!(error["error"]["code"], "DAMAGED");
        let words = error["error"]["message"].as_str().expect("words");
        assert!(words.contains("is damaged") && words.contains("damaged=allow"), "{words}");
    }
    // Nothing is left of it.
    assert_eq!(bridge.get(&format!("{documents}?damaged=allow"), None).status, 404);
    let raw = bridge.get(&format!("/api/v1/traces/{}", trace_id(2)), None).json();
    assert_eq!(raw["damaged"].as_array().map(Vec::len), Some(1));
    let shown = run(&["show", "--server", &url, &trace_id(2).to_string()], &[]);
    assert_eq!(shown.status.code(), Some(1));
    assert!(text(&shown.stderr).contains("damaged on the disk"));
    assert_eq!(
        bridge.get(&format!("/api/v1/traces/{}/contextforge", trace_id(1)), None).status,
        200
    );
}

#[test]
fn point_5_the_end_comes_within_ten_seconds_whatever_is_in_work() {
    let bridge = Serving::start("");
    let mut large = span(1, "chat");
    large.attributes.push("gen_ai.operation.name", "chat");
    large.attributes.push("text", "x".repeat(24 << 20));
    assert_eq!(bridge.post("/v1/traces", &[PROTOBUF], &encode::traces(&[large])).status, 200);
    let many = AnyValue::Array(vec![AnyValue::Empty; 400_000]);
    let mut costly = span(2, "chat");
    costly.attributes.push("gen_ai.operation.name", "chat");
    costly.attributes.push("list", many);
    assert_eq!(bridge.post("/v1/traces", &[PROTOBUF], &encode::traces(&[costly])).status, 200);
    let ask = |path: String| {
        let mut stream = TcpStream::connect(bridge.api).expect("connects");
        stream
            .write_all(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes())
            .expect("sent");
        stream
    };
    let mut held: Vec<TcpStream> = (0..8).map(|_| ask(format!("/api/v1/traces/{}", trace_id(1)))).collect();
    held.extend((0..8).map(|_| ask(format!("/api/v1/traces/{}/synth", trace_id(2)))));
    // An export whose body never comes.
    let mut export = TcpStream::connect(bridge.http).expect("connects");
    export
        .write_all(b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\ncontent-length: 100000\r\n\r\n")
        .expect("sent");
    held.push(export);
    std::thread::sleep(Duration::from_millis(300));
    let begin = Instant::now();
    let _ = bridge.stop();
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(10), "it ended after {took:?}");
}

#[derive(Clone, PartialEq, Message)]
struct Check {
    #[prost(string, tag = "1")]
    service: String,
}

#[derive(Clone, PartialEq, Message)]
struct Serves {
    #[prost(int32, tag = "1")]
    status: i32,
}

#[tokio::test(flavor = "multi_thread")]
async fn point_13_watches_are_bounded_on_a_connection() {
    let bridge = Serving::start("");
    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{}", bridge.grpc)).expect("a URL");
    let channel = endpoint.connect().await.expect("connects");
    let watch = || async {
        let mut client = tonic::client::Grpc::new(channel.clone());
        client.ready().await.expect("ready");
        let path = tonic::codegen::http::uri::PathAndQuery::from_static("/grpc.health.v1.Health/Watch");
        let codec = tonic_prost::ProstCodec::<Check, Serves>::default();
        client.server_streaming(tonic::Request::new(Check::default()), path, codec).await
    };
    let mut open = Vec::new();
    let refused = loop {
        match watch().await {
            Ok(stream) => open.push(stream.into_inner()),
            Err(status) => break status,
        }
        assert!(open.len() <= 100, "they are not bounded");
    };
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert_eq!(open.len(), 8);
    assert_eq!(open[0].message().await.expect("a message").expect("one").status, 1);
    // Spans are still taken on this connection, and one that has ended makes room.
    let mut client = opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient::new(channel.clone());
    client
        .export(opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest::default())
        .await
        .expect("taken");
    drop(open.pop());
    let begin = Instant::now();
    while let Err(status) = watch().await {
        assert_eq!(status.code(), Code::ResourceExhausted);
        assert!(begin.elapsed() < Duration::from_secs(20), "there is no room again");
    }
}
