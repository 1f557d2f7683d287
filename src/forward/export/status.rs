//! What the answers to export requests say.

use std::time::Duration;

use prost::Message as _;

use super::outcome::Accepted;
use crate::otlp::answers::{ExportResponse, RetryInfo, Status};

/// What an answer in protobuf says.
pub(super) fn accepted(body: &[u8]) -> Accepted {
    let partial = match ExportResponse::decode(body) {
        Ok(response) => response.partial_success.unwrap_or_default(),
        Err(error) => return unreadable(&error),
    };
    Accepted {
        rejected: u64::try_from(partial.rejected).unwrap_or_default(),
        message: partial.error_message,
        unreadable: None,
    }
}

fn unreadable(error: &dyn std::error::Error) -> Accepted {
    Accepted {
        unreadable: Some(error.to_string()),
        ..Accepted::default()
    }
}

/// What an answer in JSON says.
pub(super) fn accepted_json(body: &[u8]) -> Accepted {
    let value = match serde_json::from_slice::<serde_json::Value>(body) {
        Ok(value) => value,
        // Some servers answer with no body.
        Err(_) if body.is_empty() => return Accepted::default(),
        Err(error) => return unreadable(&error),
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
        unreadable: None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_cannot_be_read_is_accepted_and_told() {
        for readable in [accepted(b""), accepted(&[0x0a, 0]), accepted_json(b""), accepted_json(b"{}")] {
            assert_eq!(readable, Accepted::default());
        }
        for unreadable in [accepted(b"stored"), accepted_json(b"<html>")] {
            assert!(unreadable.unreadable.is_some(), "{unreadable:?}");
            assert_eq!(unreadable.rejected, 0);
        }
    }
}
