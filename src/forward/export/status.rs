//! What the answers to export requests say.

use std::time::Duration;

use prost::Message as _;

use super::outcome::Accepted;
use crate::otlp::answers::{ExportResponse, RetryInfo, Status};

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
        let keys = ["rejectedSpans", "rejectedLogRecords", "rejectedDataPoints"];
        let value = keys.iter().find_map(|key| partial.get(key))?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    });
    let message = partial.and_then(|partial| partial.get("errorMessage")?.as_str());
    Accepted {
        rejected: rejected.unwrap_or_default(),
        message: message.unwrap_or_default().to_owned(),
    }
}

/// How long the server asks to wait.
pub(super) fn retry_delay(status: &Status) -> Option<Duration> {
    let info = status
        .details
        .iter()
        .find(|detail| detail.type_url.ends_with("google.rpc.RetryInfo"))?;
    let delay = RetryInfo::decode(&*info.value).ok()?.retry_delay.unwrap_or_default();
    let (seconds, nanos) = (u64::try_from(delay.seconds).ok()?, u32::try_from(delay.nanos).ok()?);
    Some(Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanos.into())))
}
