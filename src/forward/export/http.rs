//! OTLP/HTTP, with protobuf or JSON.

use std::time::{Duration, SystemTime};

use ::http::header::{CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER};
use ::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use jiff::fmt::rfc2822;
use prost::Message as _;

use super::connection::{Connection, body, encoding_header};
use super::outcome::{Accepted, Class, Failure};
use super::secrets::Secrets;
use super::status::{accepted, accepted_json, retry_delay};
use crate::forward::cost;
use crate::forward::memory::{MEMORY, share};
use crate::forward::settings::Protocol;
use crate::otlp::answers::Status;
use crate::otlp::{decode, metrics};
use crate::span::{Signal, json};

pub(super) async fn export(connection: &Connection, signal: Signal, message: Bytes) -> Result<Accepted, Failure> {
    let (content_type, message) = match connection.destination.protocol {
        Protocol::HttpJson => ("application/json", as_json(signal, message).await?),
        // Phoenix requires exactly this type.
        _ => ("application/x-protobuf", message),
    };
    let mut headers = vec![(CONTENT_TYPE, HeaderValue::from_static(content_type))];
    headers.extend(connection.encoding().map(encoding_header));
    let request = connection.request(&connection.destination.path(signal), &headers, connection.compressed(message)?)?;
    let response = connection.send(request).await?;
    let status = response.status();
    let head = response.headers().clone();
    let (bytes, _) = body(response).await?;
    let secrets = connection.secrets();
    if !status.is_success() {
        return Err(failure(signal, status, &head, &bytes, &secrets));
    }
    match content_type_of(&head) {
        "application/json" => accepted_json(&bytes, &secrets),
        _ if bytes.first() == Some(&b'{') => accepted_json(&bytes, &secrets),
        "text/html" => Err(Failure::new(
            Class::Refused,
            format!("{status} with an HTML page: this is not an OTLP endpoint; check the URL"),
        )),
        _ => Ok(accepted(&bytes, &secrets)),
    }
}

/// Converts a message to JSON, within the memory limit.
async fn as_json(signal: Signal, message: Bytes) -> Result<Bytes, Failure> {
    let (cost, limit) = (cost::of_json(&message, signal), share(message.len()));
    if cost > limit {
        let reason = format!("writing it as JSON takes about {cost} bytes of memory; the limit is {limit}");
        return Err(Failure::new(Class::Request, reason));
    }
    let written = tokio::task::spawn_blocking(move || {
        let _reserved = MEMORY.reserve(cost);
        json_text(signal, &message)
    });
    let failed = |_| Failure::new(Class::Request, "it cannot be written as JSON");
    let text = written.await.map_err(failed)?;
    text.map(Bytes::from).map_err(|reason| Failure::new(Class::Request, reason))
}

fn json_text(signal: Signal, message: &[u8]) -> Result<Vec<u8>, String> {
    let value = match signal {
        Signal::Metrics => return metrics::to_json(message).map_err(|error| error.to_string()),
        Signal::Traces => json::spans(&decode::traces(message).map_err(|error| error.to_string())?.items),
        Signal::Logs => json::log_records(&decode::logs(message).map_err(|error| error.to_string())?.items),
    };
    serde_json::to_vec(&value).map_err(|error| error.to_string())
}

fn content_type_of(headers: &HeaderMap) -> &str {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.and_then(|value| value.split(';').next()).unwrap_or_default().trim()
}

/// Classifies an unsuccessful answer.
pub(super) fn failure(signal: Signal, status: StatusCode, headers: &HeaderMap, body: &[u8], secrets: &Secrets) -> Failure {
    let rpc = (content_type_of(headers) == "application/x-protobuf")
        .then(|| Status::decode(body).ok())
        .flatten();
    let said = match &rpc {
        Some(rpc) => rpc.message.clone(),
        None => String::from_utf8_lossy(body).into_owned(),
    };
    let class = match status.as_u16() {
        408 | 429 | 502 | 503 | 504 => Class::Overloaded,
        400 | 413 | 422 => Class::Request,
        404 | 405 | 501 if signal != Signal::Traces => Class::Unsupported,
        // Not retryable, and no other request would succeed.
        501 | 505 | 508 => Class::Refused,
        // Not retryable by the specification either, but backends answer 500 while they start or are full. A probe finds a
        // request that makes the server fail.
        500..=599 => Class::Server,
        _ => Class::Refused,
    };
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let to = location
        .map(|location| format!(" to {}", secrets.cleaned(location)))
        .unwrap_or_default();
    let mut failure = Failure::new(class, format!("{status}{to}: {}", secrets.cleaned(&said)));
    failure.retry_after = retry_after(headers).or_else(|| retry_delay(rpc.as_ref()?));
    failure
}

/// Parses seconds or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let seconds = at.as_second() - i64::try_from(now.as_secs()).ok()?;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()))
}
