//! Conversions into JSON values of documents.

use serde_json::{Map, Number, Value};

use crate::document::json::{Json, Object, Text};

impl<'a, const N: usize> From<[(&'a str, Json<'a>); N]> for Object<'a> {
    fn from(fields: [(&'a str, Json<'a>); N]) -> Self {
        Self::of_fields(fields.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }
}

impl<'a> From<&'a Map<String, Value>> for Object<'a> {
    fn from(map: &'a Map<String, Value>) -> Self {
        Self::of_run(map)
    }
}

impl From<Map<String, Value>> for Object<'_> {
    fn from(map: Map<String, Value>) -> Self {
        Self::of_fields(map.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl<'a> From<&'a Map<String, Value>> for Json<'a> {
    fn from(map: &'a Map<String, Value>) -> Self {
        Self::Object(map.into())
    }
}

impl<'a> From<&'a Value> for Json<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(bool) => Self::Bool(*bool),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::Text(text.into()),
            Value::Array(list) => Self::Values(list),
            Value::Object(map) => Self::Object(map.into()),
        }
    }
}

impl From<Value> for Json<'_> {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(bool) => Self::Bool(bool),
            Value::Number(number) => Self::Number(number),
            Value::String(text) => Self::Text(text.into()),
            Value::Array(list) => Self::List(list.into_iter().map(Self::from).collect()),
            Value::Object(map) => Self::Object(map.into()),
        }
    }
}

impl From<Json<'_>> for Value {
    fn from(json: Json<'_>) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(bool) => Self::Bool(bool),
            Json::Number(number) => Self::Number(number),
            Json::Text(text) => Self::String(text.into_owned()),
            Json::List(list) => list.into_iter().map(Self::from).collect(),
            Json::Object(object) => {
                let fields = object.into_iter().map(|(key, value)| (key.into_owned(), value.into()));
                Self::Object(fields.collect())
            }
            Json::Values(list) => Self::Array(list.to_vec()),
            shared @ Json::Shared(..) => Self::Array(shared.shared().iter().cloned().map(Self::from).collect()),
        }
    }
}

impl<'a> From<Text<'a>> for Json<'a> {
    fn from(text: Text<'a>) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a str> for Json<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<&'a String> for Json<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Json<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<bool> for Json<'_> {
    fn from(bool: bool) -> Self {
        Self::Bool(bool)
    }
}

impl From<u64> for Json<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl From<u32> for Json<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<usize> for Json<'_> {
    fn from(number: usize) -> Self {
        Self::Number(number.into())
    }
}

impl From<i64> for Json<'_> {
    fn from(number: i64) -> Self {
        Self::Number(number.into())
    }
}

/// A number that is not finite becomes `null`.
impl From<f64> for Json<'_> {
    fn from(number: f64) -> Self {
        Number::from_f64(number).map_or(Self::Null, Self::Number)
    }
}

impl<'a> From<Object<'a>> for Json<'a> {
    fn from(object: Object<'a>) -> Self {
        Self::Object(object)
    }
}

impl<'a> From<Vec<Json<'a>>> for Json<'a> {
    fn from(list: Vec<Json<'a>>) -> Self {
        Self::List(list)
    }
}

impl<'a> From<&'a [String]> for Json<'a> {
    fn from(list: &'a [String]) -> Self {
        list.iter().collect()
    }
}

impl<'a, T: Into<Json<'a>>> From<Option<T>> for Json<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<'a, T: Into<Json<'a>>> FromIterator<T> for Json<'a> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}
