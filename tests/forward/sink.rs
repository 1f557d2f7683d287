//! An OTLP/HTTP backend that keeps what it accepts and answers as it is told.

use std::convert::Infallible;
use std::io::Read as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use spanbridge::otlp::decode;
use spanbridge::span::{Span, json};
use tokio::net::TcpListener;

/// One request that came.
#[derive(Debug, Clone)]
pub(crate) struct Came {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Came {
    pub(crate) fn spans(&self) -> Vec<Span> {
        let body = self.body.as_slice();
        // A gRPC message has five bytes before it.
        if self.headers.get("content-type").is_some_and(|value| value == "application/json") {
            return json::traces(body).expect("JSON").items;
        }
        let is_grpc = self.headers.get("content-type").is_some_and(|value| value == "application/grpc");
        let message = if is_grpc { body.get(5..).expect("a message") } else { body };
        decode::traces(message).expect("a request").items
    }
}

/// What is answered.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Status(u16, Vec<(&'static str, String)>, Vec<u8>),
    Never,
}

impl Answer {
    pub(crate) fn ok() -> Self {
        Self::Status(200, vec![("content-type", "application/x-protobuf".to_owned())], Vec::new())
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::Status(status, Vec::new(), b"for a test".to_vec())
    }
}

type Decide = dyn Fn(&Came) -> Answer + Send + Sync;

#[derive(Debug, Clone)]
pub(crate) struct Sink {
    pub(crate) address: SocketAddr,
    came: Arc<Mutex<Vec<(Came, bool)>>>,
}

impl Sink {
    pub(crate) async fn start(decide: impl Fn(&Came) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        let sink = Self {
            address: listener.local_addr().expect("an address"),
            came: Arc::default(),
        };
        let (came, decide) = (Arc::clone(&sink.came), Arc::<Decide>::from(Box::new(decide) as Box<Decide>));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (came, decide) = (Arc::clone(&came), Arc::clone(&decide));
                tokio::spawn(async move {
                    let service = service_fn(move |request| answer(request, Arc::clone(&came), Arc::clone(&decide)));
                    let _ = Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        sink
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests.
    pub(crate) fn came(&self) -> Vec<Came> {
        self.came.lock().expect("no panic").iter().map(|(came, _)| came.clone()).collect()
    }

    /// The spans of all requests that were accepted, in their order.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let came = self.came.lock().expect("no panic");
        let accepted = came
            .iter()
            .filter(|(came, accepted)| *accepted && (came.path.ends_with("/v1/traces") || came.path.contains("TraceService")));
        accepted.flat_map(|(came, _)| came.spans()).collect()
    }

    /// Waits until so many spans were accepted.
    pub(crate) async fn wait_for(&self, spans: usize) -> Vec<Span> {
        for _ in 0..1_500 {
            let now = self.spans();
            if now.len() >= spans {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{} of {spans} spans came", self.spans().len());
    }
}

async fn answer(
    request: Request<Incoming>,
    all: Arc<Mutex<Vec<(Came, bool)>>>,
    decide: Arc<Decide>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let bytes = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let encoding = head.headers.get("content-encoding").map(|value| value.to_str().expect("text"));
    let body = match encoding {
        None => bytes.to_vec(),
        Some("gzip") => {
            let mut out = Vec::new();
            flate2::read::GzDecoder::new(&*bytes).read_to_end(&mut out).expect("gzip");
            out
        }
        Some("zstd") => zstd::stream::decode_all(&*bytes).expect("zstd"),
        Some(other) => panic!("content-encoding {other}"),
    };
    let came = Came {
        path: head.uri.path().to_owned(),
        headers: head.headers,
        body,
    };
    let answer = decide(&came);
    let refuses = |(name, value): &(&str, String)| *name == "grpc-status" && value != "0";
    let accepted = matches!(&answer, Answer::Status(200, headers, _) if !headers.iter().any(refuses));
    all.lock().expect("no panic").push((came, accepted));
    match answer {
        Answer::Never => std::future::pending().await,
        Answer::Status(status, headers, body) => {
            let mut response = Response::new(Full::new(Bytes::from(body)));
            *response.status_mut() = StatusCode::from_u16(status).expect("a status");
            for (name, value) in headers {
                response.headers_mut().insert(name, value.parse().expect("a value"));
            }
            Ok(response)
        }
    }
}
