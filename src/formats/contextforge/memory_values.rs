//! Values of memory operations, in ContextForge's form.

use serde_json::{Map, Value};

use super::table;
use crate::document::json::{Json, Object};
use crate::operation::Memory;

/// Whether a write changes existing values.
pub(super) fn replaces(memory: &Memory) -> bool {
    let changes = memory.changes.as_ref().and_then(Value::as_array);
    let mut before = changes.into_iter().flatten().filter_map(|change| change.get("old_value"));
    before.any(|old| !old.is_null())
}

pub(super) fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

pub(super) fn texts(value: &Value) -> Option<Json<'_>> {
    match value {
        Value::String(text) => Some(Json::List(vec![text.into()])),
        Value::Array(items) => items.iter().all(Value::is_string).then(|| value.into()),
        _ => None,
    }
}

/// Changes, each with its path first.
pub(super) fn changes<'a>(value: &'a Value) -> Option<Json<'a>> {
    let list: Option<Vec<Json<'a>>> = value.as_array()?.iter().map(|one| change(one.as_object()?)).collect();
    list.map(Json::from)
}

fn change(recorded: &Map<String, Value>) -> Option<Json<'_>> {
    recorded.get("path")?.as_str()?;
    let (own, others): (Vec<_>, Vec<_>) = recorded.iter().partition(|(name, _)| table::CHANGE.has(name));
    let own = own.into_iter().filter(|(_, value)| !value.is_null());
    let mut out = Object::new();
    out.extend(own.map(|(name, value)| (name.into(), value.into())));
    let mut out = table::CHANGE.in_order(out);
    out.extend(others.into_iter().map(|(name, value)| (name.into(), value.into())));
    Some(out.into())
}
