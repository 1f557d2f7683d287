//! OTLP/gRPC: unary calls over HTTP/2, framed by hand, so that limits, codes and details are ours, and the bytes of a
//! request reach the log as they came.

use std::sync::Arc;

use base64::Engine as _;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response};

use super::admission::Reservation;
use super::intake::{Export, Form};
use super::limits::Encoding;
use super::{Body, Receiver, Rejection, full, status};
use crate::span::Signal;

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// Answered without a token: it says nothing but that the bridge is there.
pub(super) const HEALTH: &str = "/grpc.health.v1.Health/Check";

/// A compressed flag and a length stand before the message.
const FRAME: usize = 5;

pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    content_type.is_some_and(|value| value.starts_with(b"application/grpc") && !value.starts_with(b"application/grpc-web"))
}

pub(super) async fn handle<B>(receiver: Arc<Receiver>, request: Request<B>) -> Response<Body>
where
    B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
{
    let (head, mut body) = request.into_parts();
    match call(&receiver, head.uri.path(), &head.headers, &mut body).await {
        Ok(message) => success(&message),
        Err(rejection) => {
            receiver.counters.refused(&rejection);
            refuse(&rejection)
        }
    }
}

async fn call<B>(receiver: &Receiver, path: &str, headers: &HeaderMap, body: &mut B) -> Result<Vec<u8>, Rejection>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
{
    let signal = match path {
        "/opentelemetry.proto.collector.trace.v1.TraceService/Export" => Signal::Traces,
        "/opentelemetry.proto.collector.logs.v1.LogsService/Export" => Signal::Logs,
        "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export" => Signal::Metrics,
        // HealthCheckResponse { status: SERVING }, for every service: they stand and fall together.
        HEALTH => return Ok(vec![0x08, 1]),
        _ => return Err(Rejection::Unimplemented { path: path.to_owned() }),
    };
    let encoding = encoding(headers)?;
    let mut reservation = Reservation::new(&receiver.budget)?;
    let limit = receiver.limits.request_bytes.saturating_add(FRAME);
    let framed = receiver.read_body(body, &mut reservation, limit).await?;
    let (compressed, message) = unframe(framed)?;
    let encoding = match (compressed, encoding) {
        (false, _) => None,
        (true, Some(encoding)) => Some(encoding),
        (true, None) => {
            return Err(Rejection::Frame {
                what: "it is compressed, but grpc-encoding names no compression",
            });
        }
    };
    let export = Export {
        signal,
        form: Form::Protobuf,
        encoding,
        body: message,
        reservation,
    };
    Ok(status::response_protobuf(&receiver.take(export).await?))
}

fn encoding(headers: &HeaderMap) -> Result<Option<Encoding>, Rejection> {
    let Some(value) = headers.get(ENCODING) else { return Ok(None) };
    match value.as_bytes() {
        b"identity" => Ok(None),
        b"gzip" => Ok(Some(Encoding::Gzip)),
        b"zstd" => Ok(Some(Encoding::Zstd)),
        other => Err(Rejection::ContentEncoding {
            encoding: String::from_utf8_lossy(other).chars().take(100).collect(),
        }),
    }
}

/// The one message of a unary call.
fn unframe(mut framed: Vec<u8>) -> Result<(bool, Vec<u8>), Rejection> {
    let Some((&[flag, a, b, c, d], rest)) = framed.split_first_chunk::<FRAME>() else {
        return Err(Rejection::Frame { what: "it is too short" });
    };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if rest.len() < length {
        return Err(Rejection::Frame {
            what: "it ends before its message does",
        });
    }
    if rest.len() > length {
        return Err(Rejection::Frame {
            what: "more than one message in a unary call",
        });
    }
    framed.drain(..FRAME);
    match flag {
        0 => Ok((false, framed)),
        1 => Ok((true, framed)),
        _ => Err(Rejection::Frame {
            what: "its compressed flag is neither 0 nor 1",
        }),
    }
}

fn success(message: &[u8]) -> Response<Body> {
    let mut framed = Vec::with_capacity(FRAME + message.len());
    framed.push(0);
    framed.extend(u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
    framed.extend_from_slice(message);
    let mut trailers = HeaderMap::new();
    trailers.insert(STATUS, HeaderValue::from_static("0"));
    let body = Full::new(Bytes::from(framed)).with_trailers(async move { Some(Ok(trailers)) });
    let mut response = Response::new(body.boxed_unsync());
    response.headers_mut().insert(CONTENT_TYPE, GRPC);
    response
}

/// An error without a message: all in the headers.
pub(super) fn refuse(rejection: &Rejection) -> Response<Body> {
    let verdict = rejection.verdict();
    let mut response = Response::new(full(Bytes::new()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, GRPC);
    headers.insert(STATUS, HeaderValue::from(verdict.code));
    if let Ok(message) = HeaderValue::from_str(&percent_encoded(&status::message(rejection))) {
        headers.insert(MESSAGE, message);
    }
    let details = base64::engine::general_purpose::STANDARD_NO_PAD.encode(status::status_protobuf(rejection));
    if let Ok(details) = HeaderValue::from_str(&details) {
        headers.insert(DETAILS, details);
    }
    if matches!(rejection, Rejection::ContentEncoding { .. }) {
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity,gzip,zstd"));
    }
    response
}

/// As gRPC writes messages: printable ASCII but `%` as it is. Headers are small: 1 KiB at most.
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
