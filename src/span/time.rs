//! Nanoseconds since 1970, and the time formats that documents use.

use jiff::Timestamp;
use jiff::tz::Offset;

/// Nanoseconds since 1970-01-01T00:00:00Z, the form of OTLP's times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnixNanos(pub u64);

impl UnixNanos {
    /// Seconds as a float; present-day times have a resolution of about 240 ns.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "documents want f64 seconds; order is decided on nanoseconds before"
    )]
    pub fn seconds(self) -> f64 {
        // Split off whole seconds first: dividing the full count loses more precision than documents show.
        let seconds = self.0 / 1_000_000_000;
        let nanos = self.0 % 1_000_000_000;
        seconds as f64 + nanos as f64 / 1e9
    }

    /// Seconds as a float, truncated to microseconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "microseconds fit")]
    pub fn seconds_micros(self) -> f64 {
        (self.0 / 1_000) as f64 / 1e6
    }

    /// Converts seconds as a float, to the microsecond (a present-day float is no more precise). Negative and non-finite numbers become 0.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, which is what is wanted"
    )]
    pub fn from_seconds(seconds: f64) -> Self {
        if !seconds.is_finite() || seconds <= 0.0 {
            return Self(0);
        }
        let whole = seconds.trunc();
        Self(
            (whole as u64)
                .saturating_mul(1_000_000_000)
                .saturating_add(((seconds - whole) * 1e6).round() as u64 * 1_000),
        )
    }

    /// Milliseconds since `earlier`, rounded to the nearest; 0 if this time is the earlier one.
    #[must_use]
    pub fn millis_since(self, earlier: Self) -> u64 {
        let nanos = self.0.saturating_sub(earlier.0);
        nanos / 1_000_000 + u64::from(nanos % 1_000_000 >= 500_000)
    }

    /// `2026-01-01T10:00:00.000Z`, with six digits if there are microseconds.
    #[must_use]
    pub fn rfc3339(self) -> String {
        self.format("Z", self.places())
    }

    /// `2026-01-01T10:00:00.000000Z`, always with six digits.
    #[must_use]
    pub fn rfc3339_micros(self) -> String {
        self.format("Z", 6)
    }

    /// `2026-01-01T10:00:00.000+00:00`, with six digits if there are microseconds.
    #[must_use]
    pub fn rfc3339_offset(self) -> String {
        self.format("+00:00", self.places())
    }

    fn places(self) -> usize {
        if (self.0 / 1_000).is_multiple_of(1_000) { 3 } else { 6 }
    }

    /// The date comes from jiff, but the digits are written here: large documents contain many times, and jiff's printer takes about
    /// 50 % longer.
    fn format(self, zone: &str, places: usize) -> String {
        let seconds = self.0 / 1_000_000_000;
        let micros = (self.0 % 1_000_000_000) as u32 / 1_000;
        // jiff can represent every 64-bit count of nanoseconds.
        let date = Timestamp::from_nanosecond(self.0.into()).map(|time| Offset::UTC.to_datetime(time).date());
        let [year, month, day] = date.map_or([0; 3], |date| {
            [date.year(), date.month().into(), date.day().into()].map(|number| u32::from(number.unsigned_abs()))
        });
        let of_day = (seconds % 86_400) as u32;
        let [y1, y2] = two_digits(year / 100);
        let [y3, y4] = two_digits(year % 100);
        let [m1, m2] = two_digits(month);
        let [d1, d2] = two_digits(day);
        let [h1, h2] = two_digits(of_day / 3600);
        let [n1, n2] = two_digits(of_day / 60 % 60);
        let [s1, s2] = two_digits(of_day % 60);
        let [f1, f2] = two_digits(micros / 10_000);
        let [f3, f4] = two_digits(micros / 100 % 100);
        let [f5, f6] = two_digits(micros % 100);
        let digits = [
            y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2, b'.', f1, f2, f3, f4, f5, f6,
        ];
        let text = std::str::from_utf8(&digits).unwrap_or_default();
        let mut out = String::with_capacity(32);
        out.push_str(text.get(..20 + places).unwrap_or_default());
        out.push_str(zone);
        out
    }
}

/// The digits of a number below 100.
fn two_digits(number: u32) -> [u8; 2] {
    [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]
}

/// A time unit that some clients use instead of nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Milliseconds,
    Microseconds,
}

impl TimeUnit {
    /// 2015-01-01 to 2100-01-01 in seconds: plausible present-day times.
    const OUR_DAYS: std::ops::Range<u64> = 1_420_070_400..4_102_444_800;

    /// The unit in which a time is plausible; `None` for nanoseconds, and if no unit makes it plausible.
    pub(crate) fn of(time: UnixNanos) -> Option<Self> {
        [Self::Milliseconds, Self::Microseconds]
            .into_iter()
            .find(|unit| Self::OUR_DAYS.contains(&(unit.nanos(time).0 / 1_000_000_000)))
    }

    /// Converts a time written in this unit to nanoseconds.
    pub(crate) fn nanos(self, time: UnixNanos) -> UnixNanos {
        let factor = match self {
            Self::Milliseconds => 1_000_000,
            Self::Microseconds => 1_000,
        };
        UnixNanos(time.0.saturating_mul(factor))
    }

    /// A time as shown in lists of traces, converted from the unit in which it is plausible. A single time cannot show whether all times of
    /// its trace agree on that unit.
    #[cfg(feature = "protobuf")]
    pub(crate) fn in_nanoseconds(time: u64) -> u64 {
        let time = UnixNanos(time);
        Self::of(time).map_or(time, |unit| unit.nanos(time)).0
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        assert_eq!(UnixNanos(1_767_261_600_000_000_000).rfc3339(), "2026-01-01T10:00:00.000Z");
        assert_eq!(UnixNanos(1_767_261_600_050_000_999).rfc3339(), "2026-01-01T10:00:00.050Z");
        assert_eq!(
            UnixNanos(1_767_261_600_050_001_999).rfc3339_offset(),
            "2026-01-01T10:00:00.050001+00:00"
        );
        assert_eq!(UnixNanos(951_782_400_000_000_000).rfc3339(), "2000-02-29T00:00:00.000Z");
        assert_eq!(UnixNanos(u64::MAX).rfc3339(), "2554-07-21T23:34:33.709551Z");
    }

    #[test]
    fn every_day_has_the_date_of_the_calendar() {
        for day in 0..=u64::MAX / 86_400_000_000_000 {
            let nanos = day * 86_400_000_000_000;
            let expected = jiff::Timestamp::from_nanosecond(nanos.into()).expect("in range").to_string();
            assert_eq!(UnixNanos(nanos).rfc3339(), expected.replace('Z', ".000Z"));
        }
    }

    #[test]
    fn seconds_go_there_and_back() {
        let time = UnixNanos(1_767_261_600_050_000_000);
        assert_eq!(UnixNanos::from_seconds(time.seconds()).rfc3339(), time.rfc3339());
        assert_eq!(UnixNanos::from_seconds(f64::NAN), UnixNanos(0));
        let micros = UnixNanos(1_767_261_600_050_001_999).seconds_micros();
        assert_eq!(micros.to_bits(), 1_767_261_600.050_001_f64.to_bits());
    }
}
