//! Lists in which only some members have the expected type.

use serde_json::Value;

pub(super) fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(super) fn texts(value: Option<Value>) -> Vec<String> {
    let text = |text: &Value| text.as_str().map(str::to_owned);
    list(value.as_ref()).iter().filter_map(text).collect()
}
