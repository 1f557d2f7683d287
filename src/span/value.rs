//! OTLP's `AnyValue` and attribute lists.

use base64::Engine as _;
use serde_json::Value;

/// An OTLP value. Every type of the protocol is kept as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum AnyValue {
    /// Nothing set.
    #[default]
    Empty,
    /// Text.
    String(String),
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// A floating-point number; may be NaN or infinite.
    Double(f64),
    /// A list.
    Array(Vec<AnyValue>),
    /// A map in recorded order; a key may occur twice.
    KvList(Vec<(String, AnyValue)>),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl AnyValue {
    /// The text, if this is text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether no value is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Converts to JSON: bytes become base64, NaN and infinities become null, and the last of equal keys wins.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Empty => Value::Null,
            Self::String(text) => Value::String(text.clone()),
            Self::Bool(flag) => Value::Bool(*flag),
            Self::Int(number) => Value::from(*number),
            Self::Double(number) => serde_json::Number::from_f64(*number).map_or(Value::Null, Value::Number),
            Self::Array(values) => Value::Array(values.iter().map(Self::to_json).collect()),
            Self::KvList(pairs) => Value::Object(pairs.iter().map(|(key, value)| (key.clone(), value.to_json())).collect()),
            Self::Bytes(bytes) => Value::String(base64::engine::general_purpose::STANDARD.encode(bytes)),
        }
    }

    /// Converts a JSON value. Integers beyond `i64` become doubles.
    #[must_use]
    pub fn from_json(value: &Value) -> Self {
        match value {
            Value::Null => Self::Empty,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Number(number) => number
                .as_i64()
                .map_or_else(|| Self::Double(number.as_f64().unwrap_or(f64::NAN)), Self::Int),
            Value::String(text) => Self::String(text.clone()),
            Value::Array(values) => Self::Array(values.iter().map(Self::from_json).collect()),
            Value::Object(map) => Self::KvList(map.iter().map(|(key, value)| (key.clone(), Self::from_json(value))).collect()),
        }
    }
}

impl From<&str> for AnyValue {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for AnyValue {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<i64> for AnyValue {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for AnyValue {
    fn from(number: f64) -> Self {
        Self::Double(number)
    }
}

impl From<bool> for AnyValue {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

/// Attributes in recorded order. A key may occur twice; [`Attributes::get`] returns the last value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attributes(pub Vec<(String, AnyValue)>);

impl Attributes {
    /// The last value with this key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&AnyValue> {
        self.0.iter().rev().find(|(have, _)| have == key).map(|(_, value)| value)
    }

    /// The last value with this key, if it is text.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(AnyValue::as_str)
    }

    /// Adds an attribute at the end.
    pub fn push(&mut self, key: impl Into<String>, value: impl Into<AnyValue>) {
        self.0.push((key.into(), value.into()));
    }

    /// All attributes in recorded order.
    pub fn iter(&self) -> impl Iterator<Item = &(String, AnyValue)> {
        self.0.iter()
    }

    /// The number of attributes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, AnyValue)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (String, AnyValue)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}
