//! The answers of export requests, and `google.rpc.Status`, as far as they are read.

use std::time::Duration;

use prost::Message;

use super::Accepted;

/// `ExportTraceServiceResponse` and its siblings, which have the same fields.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected: i64,
    #[prost(string, tag = "2")]
    error_message: String,
}

/// A `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    pub(super) message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Delay>,
}

#[derive(Clone, PartialEq, Message)]
struct Delay {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

/// What an answer in protobuf says; one that is none says nothing.
pub(super) fn accepted(body: &[u8]) -> Accepted {
    let partial = ExportResponse::decode(body).ok().and_then(|response| response.partial_success);
    partial.map_or_else(Accepted::default, |partial| Accepted {
        rejected: u64::try_from(partial.rejected).unwrap_or_default(),
        message: partial.error_message,
    })
}

/// What an answer in JSON says.
pub(super) fn accepted_json(body: &[u8]) -> Accepted {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(body) else {
        return Accepted::default();
    };
    let partial = value.get("partialSuccess");
    let rejected = partial.and_then(|partial| {
        let value = partial.get("rejectedSpans").or_else(|| partial.get("rejectedLogRecords"))?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    });
    let message = partial.and_then(|partial| partial.get("errorMessage")?.as_str());
    Accepted {
        rejected: rejected.unwrap_or_default(),
        message: message.unwrap_or_default().to_owned(),
    }
}

impl Status {
    /// How long the server asks to wait.
    pub(super) fn retry_delay(&self) -> Option<Duration> {
        let info = self
            .details
            .iter()
            .find(|detail| detail.type_url.ends_with("google.rpc.RetryInfo"))?;
        let delay = RetryInfo::decode(&*info.value).ok()?.retry_delay.unwrap_or_default();
        let (seconds, nanos) = (u64::try_from(delay.seconds).ok()?, u32::try_from(delay.nanos).ok()?);
        Some(Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanos.into())))
    }
}
