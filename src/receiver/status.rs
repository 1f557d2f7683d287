//! `google.rpc.Status` and the export responses, in protobuf and JSON.

use prost::Message;
use serde_json::{Value, json};

use super::export::Taken;
use super::reject::Rejection;
use crate::otlp::answers::{Any, Duration, ExportResponse, PartialSuccess, RetryInfo, Status};
use crate::span::Signal;

/// Maximum bytes of a partial success, far below the 4 MiB that clients accept.
const PARTIAL_BYTES: usize = 8 << 10;

/// Maximum bytes of a rejection: over gRPC it is sent in headers, twice and in base64, and some clients accept only 8 KiB of headers.
const REJECTION_BYTES: usize = 1 << 10;

#[derive(Clone, PartialEq, Message)]
struct BadRequest {
    #[prost(message, repeated, tag = "1")]
    field_violations: Vec<FieldViolation>,
}

#[derive(Clone, PartialEq, Message)]
struct FieldViolation {
    #[prost(string, tag = "1")]
    field: String,
    #[prost(string, tag = "2")]
    description: String,
}

/// The message of a rejection, shortened so that any client accepts it.
pub(super) fn message(rejection: &Rejection) -> String {
    shortened(rejection.to_string(), REJECTION_BYTES)
}

fn shortened(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit));
        text.push_str(" ...");
    }
    text
}

/// A `google.rpc.Status` in protobuf.
pub(super) fn status_protobuf(rejection: &Rejection) -> Vec<u8> {
    let response_status = rejection.response_status();
    let mut details = Vec::new();
    let any = |name: &str, value: Vec<u8>| Any {
        type_url: format!("type.googleapis.com/google.rpc.{name}"),
        value,
    };
    if let Some(field) = rejection.violation() {
        let violation = FieldViolation {
            field,
            description: message(rejection),
        };
        let detail = BadRequest {
            field_violations: vec![violation],
        };
        details.push(any("BadRequest", detail.encode_to_vec()));
    }
    if let Some(retry) = retry_info(rejection) {
        details.push(any("RetryInfo", retry));
    }
    Status {
        code: response_status.code,
        message: message(rejection),
        details,
    }
    .encode_to_vec()
}

/// A `google.rpc.Status` in protobuf's JSON form.
pub(super) fn status_json(rejection: &Rejection) -> Value {
    let response_status = rejection.response_status();
    let mut details = Vec::new();
    if let Some(field) = rejection.violation() {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": [{ "field": field, "description": message(rejection) }],
        }));
    }
    if let Some(seconds) = response_status.retry {
        details.push(json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{seconds}s") }));
    }
    json!({ "code": response_status.code, "message": message(rejection), "details": details })
}

/// A `google.rpc.RetryInfo` in protobuf; `None` if a retry is pointless.
pub(super) fn retry_info(rejection: &Rejection) -> Option<Vec<u8>> {
    let seconds = i64::try_from(rejection.response_status().retry?).unwrap_or(i64::MAX);
    let detail = RetryInfo {
        retry_delay: Some(Duration { seconds, nanos: 0 }),
    };
    Some(detail.encode_to_vec())
}

/// The message about refused items; `None` on full success, which leaves `partial_success` unset.
fn partial(taken: &Taken) -> Option<(i64, String)> {
    let replaced = match taken.replaced {
        0 => None,
        times => Some(format!(
            "{times} times half a surrogate pair or bytes that are not UTF-8 were replaced by U+FFFD"
        )),
    };
    let deleted = match taken.deleted {
        0 => None,
        count => Some(format!(
            "{count} of {} belong to traces that were deleted on request, and are not stored",
            taken.received
        )),
    };
    let count = taken.refused_count + taken.deleted;
    let Some(first) = taken.refused.first() else {
        let rejected = i64::try_from(count).unwrap_or(i64::MAX);
        return match (replaced, deleted) {
            (replaced, Some(deleted)) => Some((rejected, replaced.into_iter().chain([deleted]).collect::<Vec<_>>().join(". "))),
            (replaced, None) => replaced.map(|words| (0, format!("{words}; all items are stored"))),
        };
    };
    let mut words = format!("{count} of {} refused, the others are stored. {first}", taken.received);
    for refused in taken.refused.iter().skip(1).take(9) {
        words.push_str("; ");
        words.push_str(&refused.to_string());
    }
    if count > 10 {
        words.push_str("; ...");
    }
    for more in [replaced, deleted].into_iter().flatten() {
        words = format!("{more}. {words}");
    }
    Some((i64::try_from(count).unwrap_or(i64::MAX), shortened(words, PARTIAL_BYTES)))
}

/// The export response in protobuf; empty on full success.
pub(super) fn response_protobuf(taken: &Taken) -> Vec<u8> {
    let partial_success = partial(taken).map(|(rejected, error_message)| PartialSuccess { rejected, error_message });
    ExportResponse { partial_success }.encode_to_vec()
}

/// The export response in JSON; `{}` on full success.
pub(super) fn response_json(signal: Signal, taken: &Taken) -> Value {
    let Some((rejected, message)) = partial(taken) else {
        return json!({});
    };
    let key = match signal {
        Signal::Traces => "rejectedSpans",
        Signal::Logs => "rejectedLogRecords",
        Signal::Metrics => "rejectedDataPoints",
    };
    json!({ "partialSuccess": { key: rejected.to_string(), "errorMessage": message } })
}
