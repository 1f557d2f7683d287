//! Fields that sessions, events and messages share.

use serde_json::{Map, Value};

use crate::formats::back::{At, Result};
use crate::formats::shape::kind_of;
use crate::span::UnixNanos;

/// Exact times, where our own documents have them.
pub(super) fn exact(said: &mut Map<String, Value>) -> (Option<UnixNanos>, Option<UnixNanos>) {
    let mut nanos = |key: &str| {
        let value = said.shift_remove(key)?;
        value.as_str()?.parse().ok().map(UnixNanos)
    };
    (nanos("spanbridge.started_at_unix_nano"), nanos("spanbridge.ended_at_unix_nano"))
}

/// The metadata of a session, an event or a message, null as none.
pub(super) fn metadata(at: &At<'_>) -> Result<Map<String, Value>> {
    match at.some("metadata") {
        Some(metadata) => metadata.object().cloned(),
        None => Ok(Map::new()),
    }
}

/// Seconds since 1970 in `time_record.event_time`, to the microsecond; 0 is none.
pub(super) fn event_time(at: &At<'_>) -> Result<Option<UnixNanos>> {
    let Some(time) = at.some("time_record").and_then(|record| record.some("event_time")) else {
        return Ok(None);
    };
    let seconds = time.value.as_f64();
    let seconds = seconds.ok_or_else(|| time.refuse(format!("a number of seconds is wanted, found {}", kind_of(time.value))))?;
    if !(0.0..1.8e10).contains(&seconds) {
        return Err(time.refuse("no time in seconds since 1970"));
    }
    Ok((seconds > 0.0).then(|| UnixNanos(microseconds(seconds).saturating_mul(1_000))))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "in range, as the caller checked"
)]
fn microseconds(seconds: f64) -> u64 {
    (seconds * 1e6).round() as u64
}
