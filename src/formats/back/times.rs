//! Times and durations as numbers.

use crate::span::UnixNanos;

/// Converts seconds since 1970, rounded to microseconds because an `f64` is not more precise. `None` before 1970 and after 2554, where
/// nanoseconds end.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "in range, as the filter has it"
)]
pub(in crate::formats) fn seconds(seconds: f64) -> Option<UnixNanos> {
    let in_range = (0.0..=18_446_744_073.709_553).contains(&seconds);
    in_range.then(|| UnixNanos(((seconds * 1e6).round() as u64).saturating_mul(1_000)))
}

/// Converts milliseconds to nanoseconds; a negative duration is 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
pub(in crate::formats) fn milliseconds(milliseconds: f64) -> u64 {
    (milliseconds * 1e6).round() as u64
}
