//! Builds OTLP/JSON attributes, ids, times and status from other forms.

use serde_json::{Map, Value, json};

use crate::span::json::derived_ids::derived;
use crate::span::json::fields::base64_bytes;

/// Attributes for data that a backend has in its own fields.
#[derive(Default)]
pub(super) struct Attributes(pub(super) Vec<Value>);

impl Attributes {
    pub(super) fn text(&mut self, key: &str, text: &str) {
        self.0.push(pair(key, json!({"stringValue": text})));
    }

    /// Adds text unchanged and other values as JSON text; skips null.
    pub(super) fn json(&mut self, key: &str, value: Option<&Value>) {
        match value {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => self.text(key, text),
            Some(other) => self.text(key, &other.to_string()),
        }
    }

    /// Adds a value in its own type; skips null.
    pub(super) fn value(&mut self, key: &str, value: Option<&Value>) {
        let value = value.filter(|value| !value.is_null());
        self.0.extend(value.map(|value| pair(key, any(value))));
    }

    /// Adds each member of an object under its own key: scalars unchanged, others as JSON text.
    pub(super) fn members(&mut self, prefix: &str, value: Option<&Value>) {
        let Some(Value::Object(map)) = value else {
            return self.json(prefix.trim_end_matches('.'), value);
        };
        for (name, value) in map {
            let key = format!("{prefix}{name}");
            match value {
                Value::Object(_) | Value::Array(_) => self.json(&key, Some(value)),
                _ => self.value(&key, Some(value)),
            }
        }
    }
}

/// Adds fields that nothing reads as attributes.
pub(super) fn with_rest(value: &Value, is_read: impl Fn(&str) -> bool, prefix: &str, attributes: &mut Attributes) {
    let is_empty = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    };
    for (name, value) in value.as_object().into_iter().flatten() {
        if !is_read(name) && !is_empty(value) {
            attributes.json(&format!("{prefix}{name}"), Some(value));
        }
    }
}

/// An id with this many hexadecimal digits: decoded if the text is a UUID or base64, else derived from the text.
pub(super) fn id(text: &str, digits: usize) -> String {
    let plain: String = text.chars().filter(|char| *char != '-').collect();
    let is_hex = plain.bytes().all(|digit| digit.is_ascii_hexdigit());
    match plain.len() {
        length if is_hex && (length == digits || length == 32) => plain.get(length - digits..).unwrap_or_default().to_ascii_lowercase(),
        _ => match base64_bytes(text).filter(|bytes| text.ends_with('=') && bytes.len() * 2 == digits) {
            Some(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            None => derived(text, digits),
        },
    }
}

/// Nanoseconds since 1970 from an ISO 8601 time; without an offset it counts as UTC.
pub(super) fn nanos(text: &str) -> Option<String> {
    let stamp = text.parse::<jiff::Timestamp>().or_else(|_| format!("{text}Z").parse());
    u64::try_from(stamp.ok()?.as_nanosecond()).ok().map(|nanos| nanos.to_string())
}

/// Reads an id in hexadecimal, in decimal as in Python, or as any text.
pub(super) fn hex_id(value: &Value, digits: usize) -> Option<String> {
    match value {
        Value::Number(number) => match number.as_u64() {
            Some(id) => Some(format!("{id:0digits$x}")),
            // Beyond 64 bits, derive one: the spans of a trace then share it.
            None => Some(derived(&number.to_string(), digits)),
        },
        value => value.as_str().map(|text| id(text.trim_start_matches("0x"), digits)),
    }
}

/// Nanoseconds since 1970 from an ISO 8601 time, or from a number in the unit that makes it a present-day time.
pub(super) fn moment(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        // Seconds and nanoseconds, as in the JavaScript SDK.
        Value::Array(parts) => {
            let [seconds, nanos] = [parts.first()?.as_u64()?, parts.get(1)?.as_u64()?];
            return Some(seconds.saturating_mul(1_000_000_000).saturating_add(nanos).to_string());
        }
        _ => return None,
    };
    let Ok(whole) = text.parse::<u64>() else {
        return match text.parse::<f64>() {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast keeps to the bounds")]
            Ok(number) if number > 0.0 => Some(((number * unit(number as u64) as f64) as u64).to_string()),
            _ => nanos(&text),
        };
    };
    Some(whole.saturating_mul(unit(whole)).to_string())
}

/// Nanoseconds per unit of a time, judging by its digits: seconds, milliseconds, microseconds or nanoseconds.
fn unit(time: u64) -> u64 {
    const UNITS: [(u64, u64); 3] = [
        (100_000_000_000, 1_000_000_000),
        (100_000_000_000_000, 1_000_000),
        (100_000_000_000_000_000, 1_000),
    ];
    UNITS.iter().find(|(end, _)| time < *end).map_or(1, |(_, nanos)| *nanos)
}

/// Pads an id that lacks leading zeros.
pub(super) fn padded(id: &str, digits: usize) -> String {
    format!("{id:0>digits$}")
}

pub(super) fn nanos_of_micros(micros: u64) -> String {
    micros.saturating_mul(1000).to_string()
}

pub(super) fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

pub(super) fn kind_number(word: &str) -> u32 {
    let words = ["internal", "server", "client", "producer", "consumer"];
    let place = words.iter().position(|known| known.eq_ignore_ascii_case(word));
    place.and_then(|place| u32::try_from(place + 1).ok()).unwrap_or(0)
}

/// `ERROR`, `Error`, `STATUS_CODE_ERROR`, `StatusCode.ERROR`.
pub(super) fn status_number(word: &str) -> u32 {
    match word.rsplit(['_', '.']).next().map(str::to_ascii_uppercase).as_deref() {
        Some("OK") => 1,
        Some("ERROR") => 2,
        _ => 0,
    }
}

pub(super) fn pair(key: &str, value: Value) -> Value {
    json!({"key": key, "value": value})
}

pub(super) fn pairs(map: Option<&Value>) -> Vec<Value> {
    let map = map.and_then(Value::as_object);
    map.into_iter().flatten().map(|(key, value)| pair(key, any(value))).collect()
}

/// Wraps a plain value as in OTLP/JSON.
pub(super) fn any(value: &Value) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(bool) => json!({"boolValue": bool}),
        Value::Number(number) if number.is_f64() => json!({"doubleValue": number}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::String(text) => json!({"stringValue": text}),
        Value::Array(items) => json!({"arrayValue": {"values": items.iter().map(any).collect::<Vec<_>>()}}),
        Value::Object(_) => json!({"kvlistValue": {"values": pairs(Some(value))}}),
    }
}

/// Flattens attributes nested by the parts of their keys: `llm.input_messages.0.message.role`. Values below `metadata` and the like were
/// sent as one JSON text, which reads the same in both forms.
pub(super) fn flatten(prefix: &str, map: &Map<String, Value>, out: &mut Vec<Value>) {
    for (key, value) in map {
        let key = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        match value {
            Value::Object(_) if key == "metadata" => out.push(pair(&key, any(&value.to_string().into()))),
            Value::Object(inner) => flatten(&key, inner, out),
            Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_object) => {
                for (index, item) in items.iter().enumerate() {
                    if let Some(inner) = item.as_object() {
                        flatten(&format!("{key}.{index}"), inner, out);
                    }
                }
            }
            _ => out.push(pair(&key, any(value))),
        }
    }
}
