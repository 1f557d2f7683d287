//! One export request: how it is sent, and what the answer means.

mod grpc;
mod http;
mod status;
mod tls;

use std::fmt;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{CONTENT_ENCODING, HeaderName, HeaderValue, USER_AGENT};
use ::http::{Request, Response};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use super::destination::{Compression, Destination, Protocol};
use super::error::ConfigError;
use super::via::{self, Via};
use crate::span::Signal;

/// More of an answer is not read: the protocol keeps answers below this.
const ANSWER_BYTES: usize = 4 << 20;

/// What a destination did with a request that it accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accepted {
    /// Items that it refused for good, without saying which.
    pub rejected: u64,
    /// What it says; empty if nothing.
    pub message: String,
}

/// What a failed request calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// No answer: not reached, broken off, or too slow. The same request is sent again.
    Transport,
    /// It asks to come again.
    Overloaded,
    /// RESOURCE_EXHAUSTED without a hint: too large, or too much.
    Exhausted,
    /// The request is at fault: it is divided until what is at fault is alone.
    Request,
    /// The server is at fault, or this request makes it fail.
    Server,
    /// Nothing can be sent, whatever it is: no right, no such path, a loop. Waits for somebody to mend it.
    Refused,
    /// It does not take this signal.
    Unsupported,
}

/// A request that was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What it calls for.
    pub class: Class,
    /// What happened, in one line.
    pub reason: String,
    /// How long the destination asks to wait.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl Failure {
    fn new(class: Class, reason: impl Into<String>) -> Self {
        let reason: String = reason.into();
        // One line, without what a terminal would obey.
        let line: String = reason
            .chars()
            .map(|letter| if letter.is_control() { ' ' } else { letter })
            .take(500)
            .collect();
        Self {
            class,
            reason: line.trim().to_owned(),
            retry_after: None,
        }
    }
}

/// Sends requests to one destination.
#[derive(Debug)]
pub struct Exporter {
    destination: Arc<Destination>,
    via: Arc<Via>,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Exporter {
    /// An exporter; it connects with the first request.
    ///
    /// # Errors
    ///
    /// A certificate or key cannot be used.
    pub fn new(destination: Arc<Destination>, via: Arc<Via>) -> Result<Self, ConfigError> {
        let connector = tls::connector(&destination)?;
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_idle_timeout(Duration::from_secs(60));
        if destination.protocol == Protocol::Grpc {
            builder.http2_only(true);
        }
        Ok(Self {
            client: builder.build(connector),
            destination,
            via,
        })
    }

    /// Sends a request and waits for the answer, as long as the destination's timeout.
    ///
    /// # Errors
    ///
    /// It was not accepted.
    pub async fn export(&self, signal: Signal, message: Bytes) -> Result<Accepted, Failure> {
        let timeout = self.destination.timeout;
        let answer = async {
            match self.destination.protocol {
                Protocol::Grpc => self.grpc(signal, message).await,
                Protocol::HttpProtobuf | Protocol::HttpJson => self.http(signal, message).await,
            }
        };
        let timed_out = |_| Failure::new(Class::Transport, format!("no answer within {} s", timeout.as_secs_f64()));
        tokio::time::timeout(timeout, answer).await.map_err(timed_out)?
    }

    /// Sends a request without items, which every destination accepts.
    ///
    /// # Errors
    ///
    /// It was not accepted.
    pub async fn probe(&self, signal: Signal) -> Result<Accepted, Failure> {
        self.export(signal, Bytes::new()).await
    }

    fn uri(&self, path: &str) -> Result<::http::Uri, Failure> {
        let uri = &self.destination.uri;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let scheme = uri.scheme_str().unwrap_or("http");
        format!("{scheme}://{authority}{path}")
            .parse()
            .map_err(|_| Failure::new(Class::Refused, format!("{path} is no path of a URL")))
    }

    fn request(&self, path: &str, headers: &[(HeaderName, HeaderValue)], body: Bytes) -> Result<Request<Full<Bytes>>, Failure> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = ::http::Method::POST;
        *request.uri_mut() = self.uri(path)?;
        let own = request.headers_mut();
        own.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("spanbridge/", env!("CARGO_PKG_VERSION"))),
        );
        for header in &self.destination.headers {
            let (name, value) = header.look_up().map_err(|error| Failure::new(Class::Refused, error.to_string()))?;
            own.insert(name, value);
        }
        for (name, value) in headers {
            own.insert(name, value.clone());
        }
        if let Some(value) = self.via.value() {
            own.insert(HeaderName::from_static(via::HEADER), value);
        }
        Ok(request)
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Failure> {
        self.client.request(request).await.map_err(|error| transport(&error))
    }

    fn encoding(&self) -> Option<&'static str> {
        match self.destination.compression {
            Compression::None => None,
            Compression::Gzip => Some("gzip"),
            Compression::Zstd => Some("zstd"),
        }
    }

    fn compressed(&self, message: Bytes) -> Result<Bytes, Failure> {
        let failure = |error: std::io::Error| Failure::new(Class::Request, format!("cannot compress: {error}"));
        match self.destination.compression {
            Compression::None => Ok(message),
            Compression::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(&message).map_err(failure)?;
                encoder.finish().map(Bytes::from).map_err(failure)
            }
            Compression::Zstd => zstd::bulk::compress(&message, 1).map(Bytes::from).map_err(failure),
        }
    }
}

/// An error of the connection, with its causes.
fn transport(error: &dyn std::error::Error) -> Failure {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.ends_with(&more) {
            words = format!("{words}: {more}");
        }
        cause = error.source();
    }
    Failure::new(Class::Transport, words)
}

/// The body of an answer, and its trailers.
async fn body(response: Response<Incoming>) -> Result<(Bytes, Option<::http::HeaderMap>), Failure> {
    let collected = Limited::new(response.into_body(), ANSWER_BYTES).collect().await;
    let collected = collected.map_err(|error| transport(&*error))?;
    let trailers = collected.trailers().cloned();
    Ok((collected.to_bytes(), trailers))
}

fn encoding_header(name: &'static str) -> (HeaderName, HeaderValue) {
    (CONTENT_ENCODING, HeaderValue::from_static(name))
}

#[cfg(test)]
mod tests {
    use ::http::{HeaderMap, StatusCode};

    use super::Class::{self, Exhausted, Overloaded, Refused, Request, Server, Unsupported};
    use super::{grpc, http};
    use crate::span::Signal;

    /// What the specification calls retryable is sent again, what a request is at fault for is divided, and what somebody has to mend
    /// waits for that.
    #[test]
    fn every_answer_calls_for_what_the_specification_says() {
        let by_code: [(usize, Class); 17] = [
            (1, Overloaded),
            (2, Server),
            (3, Request),
            (4, Overloaded),
            (5, Refused),
            (6, Server),
            (7, Refused),
            (8, Exhausted),
            (9, Refused),
            (10, Overloaded),
            (11, Overloaded),
            (12, Refused),
            (13, Server),
            (14, Overloaded),
            (15, Overloaded),
            (16, Refused),
            (99, Server),
        ];
        for (code, class) in by_code {
            assert_eq!(grpc::failure(Signal::Traces, code, &HeaderMap::new()).class, class, "gRPC {code}");
        }
        let by_status = [
            (301, Refused),
            (400, Request),
            (401, Refused),
            (403, Refused),
            (404, Refused),
            (408, Overloaded),
            (413, Request),
            (415, Refused),
            (422, Request),
            (429, Overloaded),
            (500, Server),
            (502, Overloaded),
            (503, Overloaded),
            (504, Overloaded),
            (508, Refused),
        ];
        for (status, class) in by_status {
            let status = StatusCode::from_u16(status).expect("a status");
            assert_eq!(
                http::failure(Signal::Traces, status, &HeaderMap::new(), &[]).class,
                class,
                "HTTP {status}"
            );
        }
        for signal in [Signal::Logs, Signal::Metrics] {
            assert_eq!(grpc::failure(signal, 12, &HeaderMap::new()).class, Unsupported);
            assert_eq!(
                http::failure(signal, StatusCode::NOT_FOUND, &HeaderMap::new(), &[]).class,
                Unsupported
            );
        }
    }
}
