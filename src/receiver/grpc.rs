//! OTLP/gRPC: unary calls over HTTP/2 with our own framing, so that we control limits, codes and details, and the bytes of a
//! request reach the log unchanged.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response};
use prost::Message as _;

use super::admission::Reservation;
use super::export::{Export, Form, Transport};
use super::headers::encoding;
use super::health::{self, CheckRequest, OpenWatches, Serving, Watch};
use super::reject::Rejection;
use super::response_body::{Body, full};
use super::service::Receiver;
use super::status;
use crate::span::Signal;

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
/// Where clients based on gRPC's C core look for the hint.
const RETRY_INFO: HeaderName = HeaderName::from_static("google.rpc.retryinfo-bin");
const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");

const HEALTH_CHECK: &str = "/grpc.health.v1.Health/Check";
const HEALTH_WATCH: &str = "/grpc.health.v1.Health/Watch";

/// Bytes before a message: a compression flag and the length.
const FRAME: usize = 5;

/// Whether a path is answered without a token: it reveals only that the bridge is running.
pub(super) fn is_health(path: &str) -> bool {
    path == HEALTH_CHECK || path == HEALTH_WATCH
}

pub(super) async fn handle<B>(receiver: Arc<Receiver>, request: Request<B>) -> Response<Body>
where
    B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let (head, mut body) = request.into_parts();
    let called = async {
        match head.uri.path() {
            HEALTH_WATCH => watch(&receiver, head.extensions.get(), &mut body).await,
            path => Ok(success(&call(&receiver, path, &head.headers, &mut body).await?)),
        }
    };
    match within(&head.headers, called).await {
        Ok(response) => response,
        Err(rejection) => {
            receiver.counters.refused(&rejection);
            refuse(&rejection)
        }
    }
}

async fn call<B>(receiver: &Receiver, path: &str, headers: &HeaderMap, body: &mut B) -> Result<Vec<u8>, Rejection>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let signal = match path {
        "/opentelemetry.proto.collector.trace.v1.TraceService/Export" => Signal::Traces,
        "/opentelemetry.proto.collector.logs.v1.LogsService/Export" => Signal::Logs,
        "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export" => Signal::Metrics,
        HEALTH_CHECK => return check(receiver, body).await,
        _ => return Err(Rejection::Unimplemented { path: path.to_owned() }),
    };
    let encoding = encoding(headers, &ENCODING)?;
    let mut reservation = Reservation::new(&receiver.budget)?;
    let limit = receiver.limits.request_bytes.saturating_add(FRAME);
    let framed = receiver.read_body(body, &mut reservation, limit, frame_length).await?;
    let (compressed, message) = unframe(framed.into())?;
    let encoding = match compressed {
        true => Some(encoding.ok_or(Rejection::CompressedFlag)?),
        false => None,
    };
    let export = Export {
        signal,
        transport: Transport::Grpc,
        form: Form::Protobuf,
        of_document: false,
        encoding,
        body: message,
        reservation,
    };
    Ok(status::response_protobuf(&receiver.take(export).await?))
}

/// The service named in a call to the health service.
async fn asked<B>(receiver: &Receiver, body: &mut B) -> Result<String, Rejection>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    const AT_MOST: usize = 4 << 10;
    let seconds = receiver.limits.body_seconds;
    let read = tokio::time::timeout(Duration::from_secs(seconds), Limited::new(body, AT_MOST).collect()).await;
    let body = read.map_err(|_| Rejection::Slow { seconds })?.map_err(|_| Rejection::Broken)?;
    let (_, message) = unframe(body.to_bytes())?;
    let asked = CheckRequest::decode(message).map_err(|_| Rejection::Frame {
        what: "it is not a HealthCheckRequest",
    })?;
    Ok(asked.service)
}

async fn check<B>(receiver: &Receiver, body: &mut B) -> Result<Vec<u8>, Rejection>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let service = asked(receiver, body).await?;
    if !health::known(&service) {
        return Err(Rejection::UnknownService { service });
    }
    Ok(now(receiver).response())
}

fn now(receiver: &Receiver) -> Serving {
    match *receiver.serving.borrow() {
        true => Serving::Yes,
        false => Serving::No,
    }
}

/// Answers a `Watch` call, which stays open until shutdown begins.
async fn watch<B>(receiver: &Receiver, connection: Option<&OpenWatches>, body: &mut B) -> Result<Response<Body>, Rejection>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let open = health::open_watch(&receiver.watches, connection)?;
    let known = health::known(&asked(receiver, body).await?);
    let serving = receiver.serving.subscribe();
    let framed = |state: Serving| Bytes::from(framed(&state.response()));
    let (first, last) = match known {
        true => (now(receiver), Some(Serving::No).filter(|_| *serving.borrow())),
        false => (Serving::UnknownService, None),
    };
    let mut trailers = HeaderMap::new();
    describe(&Rejection::ShuttingDown, &mut trailers);
    let body = Watch::new(serving, open, framed(first), last.map(framed), trailers);
    Ok(respond(body.boxed_unsync()))
}

/// Applies the deadline set by the client.
async fn within<T>(headers: &HeaderMap, work: impl Future<Output = Result<T, Rejection>>) -> Result<T, Rejection> {
    let Some(value) = headers.get(TIMEOUT) else { return work.await };
    let timeout = timeout(value.as_bytes()).ok_or_else(|| Rejection::Timeout {
        value: String::from_utf8_lossy(value.as_bytes()).chars().take(20).collect(),
    })?;
    let milliseconds = timeout.as_millis();
    let done = tokio::time::timeout(timeout, work).await;
    done.map_err(|_| Rejection::Deadline { milliseconds })?
}

fn timeout(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    if !(1..=8).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    match unit {
        b'H' => Some(Duration::from_secs(number * 3_600)),
        b'M' => Some(Duration::from_secs(number * 60)),
        b'S' => Some(Duration::from_secs(number)),
        b'm' => Some(Duration::from_millis(number)),
        b'u' => Some(Duration::from_micros(number)),
        b'n' => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

/// Length of a body whose first bytes are a message's frame; `None`: the frame header is incomplete.
fn frame_length(begin: &[u8]) -> Option<usize> {
    let [_, length @ ..] = *begin.first_chunk::<FRAME>()?;
    Some(FRAME.saturating_add(u32::from_be_bytes(length) as usize))
}

/// Removes the frame around the only message of a unary call.
fn unframe(framed: Bytes) -> Result<(bool, Bytes), Rejection> {
    let (Some(length), Some(flag)) = (frame_length(&framed), framed.first()) else {
        return Err(match framed.is_empty() {
            true => Rejection::Cardinality { what: "there is none" },
            false => Rejection::Frame { what: "it is too short" },
        });
    };
    if framed.len() < length {
        return Err(Rejection::Frame {
            what: "it ends before its message does",
        });
    }
    if framed.len() > length {
        return Err(Rejection::Cardinality { what: "there are more" });
    }
    match flag {
        0 => Ok((false, framed.slice(FRAME..))),
        1 => Ok((true, framed.slice(FRAME..))),
        _ => Err(Rejection::Frame {
            what: "its compressed flag is neither 0 nor 1",
        }),
    }
}

fn success(message: &[u8]) -> Response<Body> {
    let mut trailers = HeaderMap::new();
    trailers.insert(STATUS, HeaderValue::from_static("0"));
    let body = Full::new(Bytes::from(framed(message))).with_trailers(async move { Some(Ok(trailers)) });
    respond(body.boxed_unsync())
}

fn framed(message: &[u8]) -> Vec<u8> {
    let mut framed = Vec::with_capacity(FRAME + message.len());
    framed.push(0);
    framed.extend(u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
    framed.extend_from_slice(message);
    framed
}

fn respond(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, GRPC);
    response
}

/// An error without a message: everything is in the headers.
pub(super) fn refuse(rejection: &Rejection) -> Response<Body> {
    let mut response = respond(full(Bytes::new()));
    let headers = response.headers_mut();
    describe(rejection, headers);
    if matches!(rejection, Rejection::ContentEncoding { .. }) {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity,gzip,zstd,deflate"));
    }
    response
}

/// Adds an error's code, message and details as gRPC metadata.
fn describe(rejection: &Rejection, headers: &mut HeaderMap) {
    let response_status = rejection.response_status();
    let binary = |bytes: Vec<u8>| HeaderValue::from_str(&base64::engine::general_purpose::STANDARD_NO_PAD.encode(bytes));
    headers.insert(STATUS, HeaderValue::from(response_status.code));
    if let Ok(message) = HeaderValue::from_str(&percent_encoded(&status::message(rejection))) {
        headers.insert(MESSAGE, message);
    }
    if let Ok(details) = binary(status::status_protobuf(rejection)) {
        headers.insert(DETAILS, details);
    }
    if let Some(Ok(retry)) = status::retry_info(rejection).map(binary) {
        headers.insert(RETRY_INFO, retry);
    }
}

/// Encodes a message as gRPC requires: printable ASCII except `%` is kept. At most 1 KiB, because headers must be small.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if encoded.len() > 1_000 {
            encoded.push_str("...");
            break;
        }
        match byte {
            b'%' => encoded.push_str("%25"),
            b' '..=b'~' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
