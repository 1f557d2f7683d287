//! When two values are the same: as JSON has it, wherever they stand; the order of keys does not count.

use std::borrow::Cow;

use serde_json::Value;

use super::{Json, Object};

impl PartialEq for Json<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Values(a), Self::Values(b)) => a == b,
            (Self::List(list), Self::Values(values)) | (Self::Values(values), Self::List(list)) => {
                list.len() == values.len() && list.iter().zip(*values).all(|(one, value)| one == value)
            }
            _ => false,
        }
    }
}

impl PartialEq<Value> for Json<'_> {
    fn eq(&self, other: &Value) -> bool {
        *self == Json::from(other)
    }
}

impl PartialEq for Object<'_> {
    fn eq(&self, other: &Self) -> bool {
        let has = |(key, value): (&str, Cow<'_, Json<'_>>)| other.get(key).is_some_and(|have| *have == *value);
        self.len() == other.len() && self.iter().all(has)
    }
}
