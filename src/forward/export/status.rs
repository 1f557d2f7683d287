//! The answers to export requests.

use std::time::Duration;

use prost::Message as _;
use serde_json::Value;

use super::outcome::{Accepted, Class, Failure};
use super::secrets::Secrets;
use crate::otlp::answers::{ExportResponse, RetryInfo, Status};

/// Parses an answer in protobuf.
pub(super) fn accepted(body: &[u8], secrets: &Secrets) -> Accepted {
    let partial = match ExportResponse::decode(body) {
        Ok(response) => response.partial_success.unwrap_or_default(),
        Err(error) => return unreadable(&error),
    };
    Accepted {
        rejected: u64::try_from(partial.rejected).unwrap_or_default(),
        message: secrets.cleaned(&partial.error_message),
        unreadable: None,
    }
}

fn unreadable(error: &dyn std::error::Error) -> Accepted {
    Accepted {
        unreadable: Some(error.to_string()),
        ..Accepted::default()
    }
}

/// Parses an answer in JSON.
///
/// # Errors
///
/// The answer says that the request was not accepted, whatever its status.
pub(super) fn accepted_json(body: &[u8], secrets: &Secrets) -> Result<Accepted, Failure> {
    let value = match serde_json::from_slice::<Value>(body) {
        Ok(value) => value,
        // Some servers answer without a body.
        Err(_) if body.is_empty() => return Ok(Accepted::default()),
        Err(error) => return Ok(unreadable(&error)),
    };
    let is_blank = |error: &Value| matches!(error, Value::Null | Value::Bool(false)) || error.as_array().is_some_and(Vec::is_empty);
    let error = ["error", "errors"]
        .iter()
        .find_map(|key| value.get(key))
        .filter(|error| !is_blank(error));
    if let Some(error) = error {
        let said = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
        return Err(Failure::new(
            Class::Server,
            format!("200 with an error: {}", secrets.cleaned(&said)),
        ));
    }
    let partial = value.get("partialSuccess");
    let rejected = partial.and_then(|partial| {
        let keys = ["rejectedSpans", "rejectedLogRecords", "rejectedDataPoints"];
        let value = keys.iter().find_map(|key| partial.get(key))?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    });
    let message = partial.and_then(|partial| partial.get("errorMessage")?.as_str());
    Ok(Accepted {
        rejected: rejected.unwrap_or_default(),
        message: secrets.cleaned(message.unwrap_or_default()),
        unreadable: None,
    })
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
        let none = Secrets::default();
        let json = |text: &[u8]| accepted_json(text, &none).expect("accepted");
        for readable in [
            accepted(b"", &none),
            accepted(&[0x0a, 0], &none),
            json(b""),
            json(b"{}"),
            json(br#"{"error":null}"#),
        ] {
            assert_eq!(readable, Accepted::default());
        }
        for unreadable in [accepted(b"stored", &none), json(b"<html>")] {
            assert!(unreadable.unreadable.is_some(), "{unreadable:?}");
            assert_eq!(unreadable.rejected, 0);
        }
    }

    #[test]
    fn an_error_with_a_status_of_success_is_a_failure() {
        let none = Secrets::default();
        for text in [r#"{"error":"no such project"}"#, r#"{"error":{"code":3}}"#, r#"{"errors":["no"]}"#] {
            let failure = accepted_json(text.as_bytes(), &none).expect_err("not accepted");
            assert_eq!(failure.class, Class::Server, "{text}");
        }
    }
}
