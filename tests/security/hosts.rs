//! A page in a browser on this machine is no program on it: the name in a request tells them apart, and the origin of what writes.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use spanbridge::otlp::encode;

use super::serving::{Serving, span, token};

/// The status and the text of the answer to a request with these lines in its head.
fn ask(address: SocketAddr, line: &str, head: &[&str], body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("connects");
    let mut request = format!("{line} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for line in head {
        request.push_str(&format!("{line}\r\n"));
    }
    request.push_str("\r\n");
    stream.write_all(&[request.as_bytes(), body].concat()).expect("sends");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("no status: {answer}")), answer)
}

const PROTOBUF: &str = "content-type: application/x-protobuf";

#[test]
fn a_name_that_is_not_this_machines_reads_and_writes_nothing() {
    let bridge = Serving::start("allowed_host = [\"bridge.example\"]\n");
    assert_eq!(bridge.send(1, "private 5481", None).status, 200);
    let traces = |host: &str| ask(bridge.api, "GET /api/v1/traces", &[&format!("host: {host}")], b"");
    let port = bridge.api.port();
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        &format!("localhost.evil.example:{port}"),
        "10.0.0.1",
    ] {
        let (status, said) = traces(host);
        assert!(
            status == 403 && said.contains("--allowed-host") && !said.contains("5481"),
            "{host}: {said}"
        );
    }
    for host in ["localhost", "127.0.0.1", "[::1]", "127.0.0.2", "bridge.example"] {
        let (status, said) = traces(&format!("{host}:{port}"));
        assert!(status == 200 && said.contains("5481"), "{host}: {said}");
    }
    // The name in the request line counts as well, and each of several.
    let (status, _) = ask(bridge.api, "GET http://evil.example/api/v1/traces", &["host: localhost"], b"");
    assert_eq!(status, 403);
    let body = encode::traces(&[span(2, "forged")]);
    for address in [bridge.http, bridge.grpc] {
        let (status, said) = ask(address, "POST /v1/traces", &["host: evil.example", PROTOBUF], &body);
        assert!(status == 403 && said.contains("--allowed-host"), "{said}");
    }
    assert_eq!(traces("localhost").1.matches("forged").count(), 0);
    assert_eq!(ask(bridge.http, "POST /v1/traces", &["host: localhost", PROTOBUF], &body).0, 200);
    let line = bridge.get("/metrics", None).text();
    assert!(
        line.lines().any(|line| line.contains("\"host\"") && !line.ends_with(" 0")),
        "it is counted: {line}"
    );
}

#[test]
fn a_page_writes_only_where_its_origin_is_allowed() {
    let page = "https://app.example";
    let bridge = Serving::start(&format!("cors_origin = [\"{page}\"]\n"));
    let body = encode::traces(&[span(1, "from a page")]);
    let send = |origin: &str| {
        ask(
            bridge.http,
            "POST /v1/traces",
            &["host: localhost", PROTOBUF, &format!("origin: {origin}")],
            &body,
        )
    };
    for origin in ["https://evil.example", "null", "http://localhost:4318"] {
        let (status, said) = send(origin);
        assert!(status == 403 && said.contains("--cors-origin"), "{origin}: {said}");
    }
    let (status, said) = send(page);
    assert!(
        status == 200 && said.contains("access-control-allow-origin: https://app.example"),
        "{said}"
    );
}

#[test]
fn where_a_token_is_asked_for_any_name_will_do() {
    let given = token("reader", &["read"], "default/default");
    let bridge = Serving::start(&given.config);
    let bearer = format!("authorization: Bearer {}", given.token);
    assert_eq!(
        ask(bridge.api, "GET /api/v1/traces", &["host: bridge.example", &bearer], b"").0,
        200
    );
    assert_eq!(ask(bridge.api, "GET /api/v1/traces", &["host: bridge.example"], b"").0, 401);
}
