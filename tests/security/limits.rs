//! What one client can take from the bridge.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use tonic::Code;

use super::serving::Serving;

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connects");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket");
    stream
}

/// What comes until the other side closes.
fn to_the_end(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("it was not closed: {error}"),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn head(lines: usize) -> String {
    let fields: String = (0..lines).map(|number| format!("x-{number}: 1\r\n")).collect();
    format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{fields}\r\n")
}

fn first_line(address: SocketAddr, request: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).expect("sent");
    to_the_end(stream).lines().next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_are_bounded_in_number_and_size() {
    let bridge = Serving::start("max_headers = 12\nmax_header_bytes = 9000\n");
    assert_eq!(first_line(bridge.api, &head(10)), "HTTP/1.1 200 OK");
    assert_eq!(first_line(bridge.api, &head(11)), "HTTP/1.1 431 Request Header Fields Too Large");
    let long = |length: usize| format!("GET /healthz HTTP/1.1\r\nconnection: close\r\nx: {}\r\n\r\n", "a".repeat(length));
    assert_eq!(first_line(bridge.api, &long(8_000)), "HTTP/1.1 200 OK");
    assert_eq!(
        first_line(bridge.api, &long(10_000)),
        "HTTP/1.1 431 Request Header Fields Too Large"
    );

    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{}", bridge.grpc)).expect("a URL");
    let mut client = TraceServiceClient::new(endpoint.connect().await.expect("connects"));
    client.export(ExportTraceServiceRequest::default()).await.expect("taken");
    let mut request = tonic::Request::new(ExportTraceServiceRequest::default());
    for number in 0..12 {
        let key: tonic::metadata::MetadataKey<_> = format!("x-{number}").parse().expect("a key");
        request.metadata_mut().insert(key, "1".parse().expect("text"));
    }
    let status = client.export(request).await.expect_err("refused");
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().ends_with("header fields, the limit is 12"), "{}", status.message());
    let mut request = tonic::Request::new(ExportTraceServiceRequest::default());
    request.metadata_mut().insert("x", "a".repeat(20_000).parse().expect("text"));
    assert!(client.export(request).await.is_err(), "a large head over HTTP/2");
    client
        .export(ExportTraceServiceRequest::default())
        .await
        .expect("the bridge is still there");
}

#[test]
fn a_head_that_does_not_come_is_not_waited_for() {
    let bridge = Serving::start("header_timeout_seconds = 1\nidle_timeout_seconds = 600\n");
    let mut slow = connect(bridge.http);
    slow.write_all(b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\n").expect("sent");
    let trickle = connect(bridge.api);
    let mut writer = trickle.try_clone().expect("a socket");
    let feeder = std::thread::spawn(move || {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(20) && writer.write_all(b"GET"[..1].as_ref()).is_ok() {
            std::thread::sleep(Duration::from_millis(200));
        }
        begin.elapsed()
    });
    // It never sends a byte.
    assert_eq!(to_the_end(connect(bridge.http)), "");
    assert_eq!(to_the_end(slow), "");
    to_the_end(trickle);
    assert!(
        feeder.join().expect("ends") < Duration::from_secs(20),
        "a trickle keeps a connection"
    );
    bridge.wait_for("reason=\"slow_head\"");
    // Half of what HTTP/2 begins with, and all of it without the frame that must follow.
    let begun = ["PRI * HTTP/2.0\r\n\r\nS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"];
    let ports = [bridge.http, bridge.grpc, bridge.api];
    let begin = Instant::now();
    let all = begun.iter().flat_map(|begun| ports.map(|port| (begun, connect(port))));
    let all: Vec<_> = all
        .map(|(begun, mut slow)| {
            slow.write_all(begun.as_bytes()).expect("sent");
            (begun, slow)
        })
        .collect();
    // All of them wait at one time.
    for (begun, mut slow) in all {
        let _ = slow.read_to_end(&mut Vec::new());
        assert!(begin.elapsed() < Duration::from_secs(20), "{begun:?} keeps a connection");
    }
    // A connection whose requests come whole may rest between them.
    let mut kept = connect(bridge.api);
    for _ in 0..2 {
        kept.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("sent");
        let mut answer = [0; 15];
        kept.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"HTTP/1.1 200 OK");
        std::thread::sleep(Duration::from_millis(1_500));
        kept.set_nonblocking(true).expect("a socket");
        let mut rest = [0; 500];
        assert!(kept.read(&mut rest).expect("the connection is still there") > 0);
        kept.set_nonblocking(false).expect("a socket");
    }
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let bridge = Serving::start("body_timeout_seconds = 1\nrequest_timeout_seconds = 3\n");
    let request = "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\nconnection: close\r\n\r\n";
    let mut stalled = connect(bridge.http);
    stalled.write_all(request.as_bytes()).expect("sent");
    stalled.write_all(b"{").expect("sent");
    let answer = to_the_end(stalled);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("no data for 1 s, or less than 16 KiB a second"), "{answer}");
    let trickle = connect(bridge.http);
    let mut writer = trickle.try_clone().expect("a socket");
    writer.write_all(request.as_bytes()).expect("sent");
    let feeder = std::thread::spawn(move || {
        for _ in 0..100 {
            if writer.write_all(&[b' '; 8_192]).is_err() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        false
    });
    let answer = to_the_end(trickle);
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("the body was not complete after 3 s"), "{answer}");
    assert!(feeder.join().expect("ends"), "the connection stayed open");
    for reason in ["slow", "late"] {
        let name = format!("spanbridge_receiver_refused_requests_total{{reason=\"{reason}\"}}");
        assert_eq!(bridge.metric(&name, None), 1, "{reason}");
    }
}

#[test]
fn connections_are_bounded_and_a_further_one_is_closed_at_once() {
    let bridge = Serving::start("max_connections = 3\nidle_timeout_seconds = 600\n");
    // Those that do nothing make room.
    let idle: Vec<TcpStream> = (0..3).map(|_| connect(bridge.http)).collect();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(first_line(bridge.http, &head(0)), "HTTP/1.1 404 Not Found");
    drop(idle);
    // Those at work do not: their bodies are on the way.
    let begun = "POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{";
    let held: Vec<TcpStream> = (0..3)
        .map(|_| {
            let mut stream = connect(bridge.http);
            stream.write_all(begun.as_bytes()).expect("sent");
            std::thread::sleep(Duration::from_millis(100));
            stream
        })
        .collect();
    assert_eq!(to_the_end(connect(bridge.http)), "");
    bridge.wait_for("reason=\"limit\"");
    // Another port has its own.
    assert_eq!(bridge.metric("spanbridge_closed_connections_total{reason=\"limit\"}", None), 1);
    drop(held);
    let begin = Instant::now();
    while first_line(bridge.http, &head(0)) != "HTTP/1.1 404 Not Found" {
        assert!(begin.elapsed() < Duration::from_secs(20), "there is no room again");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn connections_that_do_nothing_are_closed() {
    let bridge = Serving::start("idle_timeout_seconds = 1\n");
    // Nothing sent; one request and then nothing; HTTP/2 and then nothing.
    let silent = connect(bridge.http);
    let mut once = connect(bridge.api);
    once.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("sent");
    let mut http2 = connect(bridge.grpc);
    http2
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .expect("sent");
    assert_eq!(to_the_end(silent), "");
    assert!(to_the_end(once).starts_with("HTTP/1.1 200 OK"));
    assert!(
        to_the_end(http2).contains('\u{7}'),
        "the end of HTTP/2 is said: GOAWAY has the type 7"
    );
    let begin = Instant::now();
    while bridge.metric("spanbridge_closed_connections_total{reason=\"idle\"}", None) < 3 {
        assert!(begin.elapsed() < Duration::from_secs(20), "they are counted");
    }
}
