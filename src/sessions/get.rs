//! Members of JSON records, by JSON pointer.

use serde_json::Value;

use crate::span::UnixNanos;

/// The value at a pointer. `Value::pointer` copies each name, to unescape it.
fn at<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    if pointer.contains('~') {
        return value.pointer(pointer);
    }
    pointer.split('/').skip(1).try_fold(value, |value, name| match value {
        Value::Object(members) => members.get(name),
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => None,
    })
}

/// A text; `None` if it is missing or empty.
pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    at(value, pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// An owned text.
pub(super) fn owned(value: &Value, pointer: &str) -> Option<String> {
    text(value, pointer).map(str::to_owned)
}

/// A count.
pub(super) fn count(value: &Value, pointer: &str) -> Option<u64> {
    at(value, pointer).and_then(Value::as_u64)
}

/// A number.
pub(super) fn number(value: &Value, pointer: &str) -> Option<f64> {
    at(value, pointer).and_then(Value::as_f64)
}

/// Whether the value is `true`.
pub(super) fn flag(value: &Value, pointer: &str) -> bool {
    at(value, pointer) == Some(&Value::Bool(true))
}

/// The items of a list; empty if there is no list.
pub(super) fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    at(value, pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A member that is not null.
pub(super) fn some<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    at(value, pointer).filter(|value| !value.is_null())
}

/// A time in ISO 8601.
pub(super) fn time(value: &Value, pointer: &str) -> Option<UnixNanos> {
    let stamp: jiff::Timestamp = text(value, pointer)?.parse().ok()?;
    u64::try_from(stamp.as_nanosecond()).ok().map(UnixNanos)
}

/// A time in milliseconds since 1970.
pub(super) fn millis(value: &Value, pointer: &str) -> Option<UnixNanos> {
    count(value, pointer)
        .or_else(|| whole(number(value, pointer)?))
        .map(|millis| UnixNanos(millis.saturating_mul(1_000_000)))
}

/// A duration in milliseconds, as nanoseconds.
pub(super) fn nanos(value: &Value, pointer: &str) -> Option<u64> {
    whole(number(value, pointer)? * 1e6)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "in range, as the filter has it"
)]
fn whole(number: f64) -> Option<u64> {
    (0.0..1.8e19).contains(&number).then_some(number as u64)
}
