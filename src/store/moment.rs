//! Times as people write them: a moment, a day, or how long ago.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

use super::clock::now;

/// Parses a moment to nanoseconds since 1970.
pub(crate) fn moment(text: &str) -> Result<u64, String> {
    let nanos = ago(text).or_else(|| day(text)).or_else(|| instant(text));
    nanos.ok_or_else(|| "write 2026-11-21T10:00:00Z, 2026-11-21 (UTC), or how long ago: 90s, 15m, 2h, 7d".to_owned())
}

fn instant(text: &str) -> Option<u64> {
    let moment: Timestamp = text.parse().ok()?;
    u64::try_from(moment.as_nanosecond()).ok()
}

fn day(text: &str) -> Option<u64> {
    // The parser also accepts a date with a time and drops the time.
    let date: Date = text.parse().ok().filter(|_| text.len() == "2026-11-21".len())?;
    let moment = Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()?;
    u64::try_from(moment.as_nanosecond()).ok()
}

fn ago(text: &str) -> Option<u64> {
    let (at, unit) = text.char_indices().next_back()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return None,
    };
    let number: u64 = text.get(..at)?.parse().ok()?;
    let nanos = number.checked_mul(seconds)?.checked_mul(1_000_000_000)?;
    Some(now().saturating_sub(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        assert_eq!(moment("2026-01-01T11:00:00.5+01:00"), Ok(1_767_261_600_500_000_000));
        assert_eq!(moment("2026-01-01"), Ok(1_767_225_600_000_000_000));
        assert!(moment("2h").is_ok_and(|nanos| nanos + 7_100_000_000_000 < now()));
        for wrong in [
            "",
            "yesterday",
            "2026-13-01",
            "12",
            "h",
            "99999999999999d",
            "2026-02-31",
            "2026-01-01T10:00:00",
        ] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
