//! What idle connections cost in memory (`cargo bench --bench connections`; `ulimit -n` must allow them here and in the server).
//!
//! For each state a new server, that many connections which all stay open, and the resident memory two seconds later.
#![expect(clippy::unwrap_used, reason = "a benchmark")]

mod support;

use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rcgen::CertifiedKey;
use spanbridge::otlp::encode;
use spanbridge::span::{Span, SpanId, TraceId, UnixNanos};
use support::server::Server;
use support::table::Table;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Below the server's limit of 10,000: it counts one more for a moment, that which found it listening.
const CONNECTIONS: usize = 9_990;

#[derive(Clone, Copy)]
enum State {
    Silent,
    Http1 { body: usize },
    Http2,
    Tls { body: usize },
}

const STATES: [(&str, State); 5] = [
    ("that send nothing", State::Silent),
    ("after an HTTP/1.1 request of 1 KB each", State::Http1 { body: 1_000 }),
    ("after an HTTP/1.1 request of 32 KB each", State::Http1 { body: 32_000 }),
    ("of HTTP/2 that send nothing", State::Http2),
    ("over TLS, after a request of 1 KB each", State::Tls { body: 1_000 }),
];

#[tokio::main]
async fn main() {
    let files = tempfile::tempdir().unwrap();
    let connector = certify(files.path());
    let mut table = Table::new("connections", &["connections", "MiB resident"]);
    for (name, state) in STATES {
        let mut further = Vec::new();
        if matches!(state, State::Tls { .. }) {
            let file = |name: &str| files.path().join(name).display().to_string();
            further = vec![
                format!("--tls-certificate={}", file("cert.pem")),
                format!("--tls-key={}", file("key.pem")),
            ];
        }
        let server = Server::bridge(&further);
        let mut open: Vec<Box<dyn Any>> = Vec::new();
        for number in 0..CONNECTIONS {
            open.push(connection(state, server.http, number, &connector).await);
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
        table.row(&[format!("{CONNECTIONS} {name}"), format!("{:.0}", server.usage().1)]);
    }
    let server = Server::bridge(&[]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    table.row(&["none, after the start".to_owned(), format!("{:.0}", server.usage().1)]);
    table.finish("Each state in a new server");
}

/// Writes a certificate of its own and its key, for a client that trusts it.
fn certify(directory: &Path) -> TlsConnector {
    let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(directory.join("cert.pem"), cert.pem()).unwrap();
    std::fs::write(directory.join("key.pem"), signing_key.serialize_pem()).unwrap();
    let mut trusted = RootCertStore::empty();
    trusted.add(cert.der().clone()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(trusted).with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

async fn connection(state: State, port: u16, number: usize, connector: &TlsConnector) -> Box<dyn Any> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    match state {
        State::Silent => Box::new(stream),
        State::Http1 { body } => Box::new(asked(stream, number, body).await),
        State::Http2 => {
            let (requests, connection) = h2::client::handshake(stream).await.unwrap();
            let task = tokio::spawn(connection);
            Box::new((requests.ready().await.unwrap(), task))
        }
        State::Tls { body } => {
            let name = ServerName::try_from("localhost").unwrap();
            let stream = connector.connect(name, stream).await.unwrap();
            Box::new(asked(stream, number, body).await)
        }
    }
}

/// Sends a span in a body of about this size, and reads the answer.
async fn asked<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, number: usize, body: usize) -> S {
    let id = (number as u64 + 1).to_be_bytes();
    let trace = TraceId::from_bytes(&[id, id].concat()).unwrap();
    let mut span = Span::new(trace, SpanId::from_bytes(&id).unwrap(), "step");
    (span.start, span.end) = (UnixNanos(1_767_261_600_000_000_000), UnixNanos(1_767_261_601_000_000_000));
    span.attributes.push("input.value", "x".repeat(body.saturating_sub(150)));
    let body = encode::traces(&[span]);
    let head = format!(
        "POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), &body].concat()).await.unwrap();
    let mut answer = vec![0; 4096];
    let length = stream.read(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(answer.get(..length).unwrap());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    stream
}
