//! OTLP/gRPC: a unary call over HTTP/2.

use ::http::header::{CONTENT_TYPE, HeaderName, HeaderValue, TE};
use ::http::{HeaderMap, StatusCode};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::{BufMut as _, Bytes, BytesMut};
use prost::Message as _;

use super::connection::{Connection, body};
use super::http;
use super::outcome::{Accepted, Class, Failure};
use super::secrets::Secrets;
use super::status::{accepted, retry_delay};
use crate::otlp::answers::Status;
use crate::span::Signal;

/// The names of gRPC's status codes.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// Bytes before a message: the compression flag and the length.
const FRAME: usize = 5;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) async fn export(connection: &Connection, signal: Signal, message: Bytes) -> Result<Accepted, Failure> {
    let service = match signal {
        Signal::Logs => "logs.v1.LogsService",
        Signal::Metrics => "metrics.v1.MetricsService",
        Signal::Traces => "trace.v1.TraceService",
    };
    let mut headers = vec![
        (CONTENT_TYPE, HeaderValue::from_static("application/grpc")),
        (TE, HeaderValue::from_static("trailers")),
    ];
    let encoding = connection.encoding();
    if let Some(encoding) = encoding {
        headers.push((HeaderName::from_static("grpc-encoding"), HeaderValue::from_static(encoding)));
    }
    let message = connection.compressed(message)?;
    let length = u32::try_from(message.len()).map_err(|_| Failure::new(Class::Request, "the message has 4 GiB or more"))?;
    let mut framed = BytesMut::with_capacity(message.len() + FRAME);
    framed.put_u8(encoding.is_some().into());
    framed.put_u32(length);
    framed.put(message);
    let path = format!("/opentelemetry.proto.collector.{service}/Export");
    let response = connection.send(connection.request(&path, &headers, framed.freeze())?).await?;
    let http_status = response.status();
    let head = response.headers().clone();
    if http_status != StatusCode::OK {
        return Err(http::failure(signal, http_status, &head, &[], &connection.secrets()));
    }
    let (bytes, trailers) = body(response).await?;
    let status = trailers
        .as_ref()
        .filter(|trailers| trailers.contains_key("grpc-status"))
        .unwrap_or(&head);
    let code = status.get("grpc-status").and_then(|code| code.to_str().ok()?.parse().ok());
    match code {
        Some(0) => Ok(answer(&bytes, &connection.secrets())),
        Some(code) => Err(failure(signal, code, status, &connection.secrets())),
        None => Err(Failure::new(
            Class::Transport,
            "the answer has no grpc-status; is this an OTLP/gRPC port?",
        )),
    }
}

fn answer(frames: &[u8], secrets: &Secrets) -> Accepted {
    match frames.split_first() {
        // Only uncompressed messages are accepted.
        Some((0, rest)) => accepted(rest.get(FRAME - 1..).unwrap_or_default(), secrets),
        _ => Accepted::default(),
    }
}

/// Classifies an answer with a code other than OK.
pub(super) fn failure(signal: Signal, code: usize, headers: &HeaderMap, secrets: &Secrets) -> Failure {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let status = text("grpc-status-details-bin")
        .and_then(|value| BASE64.decode(value).ok())
        .and_then(|bytes| Status::decode(&*bytes).ok());
    let retry_after = status.as_ref().and_then(retry_delay);
    let class = match code {
        1 | 4 | 10 | 11 | 14 | 15 => Class::Overloaded,
        8 if retry_after.is_some() => Class::Overloaded,
        8 => Class::Exhausted,
        3 => Class::Request,
        12 if signal != Signal::Traces => Class::Unsupported,
        5 | 7 | 9 | 12 | 16 => Class::Refused,
        _ => Class::Server,
    };
    let name = CODES.get(code).copied().unwrap_or("an unknown code");
    let said = text("grpc-message").map(unescaped).unwrap_or_default();
    let mut failure = Failure::new(class, format!("{name}: {}", secrets.cleaned(&said)));
    failure.retry_after = retry_after;
    failure
}

/// Decodes the percent escapes of gRPC messages.
fn unescaped(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let escaped = (*first == b'%').then(|| behind.get(..2)).flatten();
        let byte = escaped.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        out.push(byte.unwrap_or(*first));
        rest = match byte {
            Some(_) => behind.get(2..).unwrap_or_default(),
            None => behind,
        };
    }
    String::from_utf8_lossy(&out).into_owned()
}
