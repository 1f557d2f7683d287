//! Numbers with units on the command line.

use std::num::NonZeroU64;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Parses a number with a unit; without a unit, the default unit.
fn scaled(text: &str, units: &[(&str, u64)], wanted: &str) -> Result<NonZeroU64, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic() || letter == ' ');
    let unit = text.get(digits.len()..).unwrap_or_default().trim();
    let unit = units
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit))
        .map(|(_, factor)| *factor);
    let number = digits.parse::<u64>().ok().zip(unit);
    let number = number.and_then(|(number, unit)| NonZeroU64::new(number.checked_mul(unit)?));
    number.ok_or_else(|| format!("expected {wanted}"))
}

/// Parses hours: `36`, `36h`, `7d`, `2w`.
pub(super) fn hours(text: &str) -> Result<NonZeroU64, String> {
    let units = [("", 1), ("h", 1), ("d", 24), ("w", 7 * 24)];
    scaled(text, &units, "a whole number of hours (36), or of days or weeks (7d, 2w)")
}

/// Parses bytes: `1000000`, `500MB`, `10GiB`.
pub(super) fn bytes(text: &str) -> Result<NonZeroU64, String> {
    let (decimal, binary) = (1_000_u64, 1_024_u64);
    let units = [
        ("", 1),
        ("B", 1),
        ("kB", decimal),
        ("MB", decimal.pow(2)),
        ("GB", decimal.pow(3)),
        ("TB", decimal.pow(4)),
        ("KiB", binary),
        ("MiB", binary.pow(2)),
        ("GiB", binary.pow(3)),
        ("TiB", binary.pow(4)),
        ("K", binary),
        ("M", binary.pow(2)),
        ("G", binary.pow(3)),
        ("T", binary.pow(4)),
    ];
    scaled(text, &units, "a whole number of bytes, or one with a unit (500MB, 10GiB)")
}

/// A number in a configuration file, with or without a unit.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a whole number, or one with a unit in quotes")]
enum Written {
    Number(u64),
    Text(String),
}

fn written<'de, D>(file: D, parse: fn(&str) -> Result<NonZeroU64, String>) -> Result<Option<NonZeroU64>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = match Written::deserialize(file)? {
        Written::Number(number) => number.to_string(),
        Written::Text(text) => text,
    };
    parse(&text).map(Some).map_err(D::Error::custom)
}

/// [`hours`] in a configuration file.
pub(super) fn written_hours<'de, D: Deserializer<'de>>(file: D) -> Result<Option<NonZeroU64>, D::Error> {
    written(file, hours)
}

/// [`bytes`] in a configuration file.
pub(super) fn written_bytes<'de, D: Deserializer<'de>>(file: D) -> Result<Option<NonZeroU64>, D::Error> {
    written(file, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_behind_numbers() {
        for (text, number) in [("36", 36), ("36h", 36), ("7d", 168), ("2w", 336)] {
            assert_eq!(hours(text).map(NonZeroU64::get), Ok(number), "{text}");
        }
        for (text, number) in [
            ("1000", 1_000),
            ("10GB", 10_000_000_000),
            ("10 GiB", 10_737_418_240),
            ("1g", 1_073_741_824),
        ] {
            assert_eq!(bytes(text).map(NonZeroU64::get), Ok(number), "{text}");
        }
        for wrong in ["", "0", "d", "7y", "-1", "1.5d", "99999999999999999999", "9999999999999TB"] {
            assert!(hours(wrong).is_err() && bytes(wrong).is_err(), "{wrong}");
        }
    }
}
