//! A value of a document with its place, so that every refusal can name the place; times and durations.

use serde_json::{Map, Value};

use super::error::DisassembleError;
use crate::document::shape::{kind_of, shown};
use crate::document::violations::{Violation, Violations};
use crate::span::UnixNanos;

/// A value and its place.
#[derive(Debug, Clone)]
pub(in crate::formats) struct At<'a> {
    pub(in crate::formats) value: &'a Value,
    pub(in crate::formats) path: String,
    /// The place as a JSON pointer.
    pub(in crate::formats) pointer: String,
    /// The place relative to the start of the document's trace, independent of where the document is. Ids are derived from it.
    pub(in crate::formats) own: String,
    format: &'static str,
}

impl<'a> At<'a> {
    pub(in crate::formats) fn root(format: &'static str, value: &'a Value, path: String) -> Self {
        Self {
            value,
            own: path.clone(),
            path,
            pointer: String::new(),
            format,
        }
    }

    /// A value that is read as a separate document, at a place below this one.
    pub(in crate::formats) fn below<'v>(&self, place: &str, value: &'v Value) -> At<'v> {
        At {
            value,
            path: format!("{}{place}", self.path),
            pointer: String::new(),
            own: format!("{}{place}", self.own),
            format: self.format,
        }
    }

    pub(in crate::formats) fn refuse(&self, reason: impl Into<String>) -> DisassembleError {
        DisassembleError::Refused {
            format: self.format,
            path: self.path.clone(),
            reason: reason.into(),
        }
    }

    /// Refuses the document if it breaks a rule, naming the first one.
    pub(in crate::formats) fn refuse_first(&self, found: Violations) -> Result<(), DisassembleError> {
        match found.into_list().0.into_iter().next() {
            Some(Violation { path, message }) => Err(DisassembleError::Refused {
                format: self.format,
                path,
                reason: message,
            }),
            None => Ok(()),
        }
    }

    fn member(&self, key: &str, value: &'a Value) -> Self {
        let plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let place = if plain {
            format!(".{key}")
        } else {
            format!("[{}]", Value::from(key))
        };
        Self {
            value,
            path: format!("{}{place}", self.path),
            own: format!("{}{place}", self.own),
            pointer: format!("{}/{}", self.pointer, key.replace('~', "~0").replace('/', "~1")),
            format: self.format,
        }
    }

    /// A member, which may be null.
    pub(in crate::formats) fn get(&self, key: &str) -> Option<Self> {
        self.value.get(key).map(|value| self.member(key, value))
    }

    /// A member that is not null.
    pub(in crate::formats) fn some(&self, key: &str) -> Option<Self> {
        self.get(key).filter(|at| !at.value.is_null())
    }

    /// A required member.
    pub(in crate::formats) fn need(&self, key: &str) -> Result<Self, DisassembleError> {
        self.get(key).ok_or_else(|| self.refuse(format!("`{key}` is missing")))
    }

    pub(in crate::formats) fn items(&self) -> Result<Vec<Self>, DisassembleError> {
        let list = self
            .value
            .as_array()
            .ok_or_else(|| self.refuse(format!("expected a list, found {}", kind_of(self.value))))?;
        let item = |(index, value)| Self {
            value,
            path: format!("{}[{index}]", self.path),
            own: format!("{}[{index}]", self.own),
            pointer: format!("{}/{index}", self.pointer),
            format: self.format,
        };
        Ok(list.iter().enumerate().map(item).collect())
    }

    pub(in crate::formats) fn object(&self) -> Result<&'a Map<String, Value>, DisassembleError> {
        self.value
            .as_object()
            .ok_or_else(|| self.refuse(format!("expected an object, found {}", kind_of(self.value))))
    }

    pub(in crate::formats) fn text(&self) -> Result<&'a str, DisassembleError> {
        self.value
            .as_str()
            .ok_or_else(|| self.refuse(format!("expected text, found {}", kind_of(self.value))))
    }

    /// An integer, which may be written 12.0; `None` if it does not fit an `i64`.
    #[expect(clippy::cast_possible_truncation, reason = "it is small, and has no fraction")]
    pub(in crate::formats) fn integer(&self) -> Result<Option<i64>, DisassembleError> {
        const EXACT: f64 = 9e15;
        let number = self.value.as_f64().filter(|number| number.fract() == 0.0);
        let number = number.ok_or_else(|| self.refuse(format!("a whole number is wanted, found {}", shown(self.value))))?;
        let small = || (number.abs() < EXACT).then_some(number as i64);
        Ok(self.value.as_i64().or_else(small))
    }

    /// The object in a member; empty if the member is missing or null.
    pub(in crate::formats) fn object_of(&self, key: &str) -> Result<Map<String, Value>, DisassembleError> {
        Ok(self.some(key).map(|at| at.object().cloned()).transpose()?.unwrap_or_default())
    }

    /// The items of a list in a member; none if the member is missing or null.
    pub(in crate::formats) fn items_of(&self, key: &str) -> Result<Vec<Self>, DisassembleError> {
        self.some(key).map_or_else(|| Ok(Vec::new()), |list| list.items())
    }

    /// The text of a member; `None` if it is missing or null.
    pub(in crate::formats) fn text_of(&self, key: &str) -> Result<Option<&'a str>, DisassembleError> {
        self.some(key).map(|at| at.text()).transpose()
    }
}

/// Parses a time in ISO 8601; without an offset it is UTC.
pub(in crate::formats) fn time(text: &str) -> Option<UnixNanos> {
    let text = text.trim();
    let stamp = text
        .parse::<jiff::Timestamp>()
        .or_else(|_| format!("{text}Z").parse::<jiff::Timestamp>());
    u64::try_from(stamp.ok()?.as_nanosecond()).ok().map(UnixNanos)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_one_in_hours_and_minutes_with_or_without_a_colon() {
        let ten = Some(UnixNanos(1_767_261_600_000_000_000));
        for same in [
            "2026-01-01T10:00:00Z",
            "2026-01-01T12:00:00+02:00",
            "2026-01-01T12:00:00+0200",
            "2026-01-01T12:00:00+02",
            "2026-01-01T04:30:00-0530",
            "2026-01-01T10:00:00",
        ] {
            assert_eq!(time(same), ten, "{same}");
        }
        for none in ["2026-01-01T12:00:00+198:00", "2026-01-01T12:00:00+9900", "yesterday", ""] {
            assert_eq!(time(none), None, "{none}");
        }
    }
}
