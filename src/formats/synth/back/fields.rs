//! Fields that sessions, events and messages share.

use serde_json::{Map, Value};

use crate::document::shape::kind_of;
use crate::formats::back::{At, Result, seconds};
use crate::span::UnixNanos;

/// Exact times, as written by this program.
pub(super) fn exact(metadata: &mut Map<String, Value>) -> (Option<UnixNanos>, Option<UnixNanos>) {
    let mut nanos = |key: &str| {
        let value = metadata.shift_remove(key)?;
        value.as_str()?.parse().ok().map(UnixNanos)
    };
    (nanos("spanbridge.started_at_unix_nano"), nanos("spanbridge.ended_at_unix_nano"))
}

/// The time in `time_record.event_time`, in seconds since 1970, to the microsecond; 0 means that there is none.
pub(super) fn event_time(at: &At<'_>) -> Result<Option<UnixNanos>> {
    let Some(time) = at.some("time_record").and_then(|record| record.some("event_time")) else {
        return Ok(None);
    };
    let number = time.value.as_f64();
    let number = number.ok_or_else(|| time.refuse(format!("a number of seconds is wanted, found {}", kind_of(time.value))))?;
    let at = seconds(number).ok_or_else(|| time.refuse("no time in seconds since 1970"))?;
    Ok((number > 0.0).then_some(at))
}
