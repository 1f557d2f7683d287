//! Unwraps LangChain's object dumps, `{"lc": 1, "type": "constructor", "id": [.., class], "kwargs": {..}}`.

use serde_json::{Map, Value};

/// Maximum depth of dumps. In practice there are a dozen levels of state, messages and blocks.
const MAX_DEPTH: usize = 32;

/// Replaces the dumps in a value with their content.
pub(crate) fn open(value: Value) -> Value {
    opened(value, 0)
}

fn opened(value: Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return value;
    }
    match value {
        Value::Array(items) => items.into_iter().map(|item| opened(item, depth + 1)).collect(),
        Value::Object(map) => {
            let map = match inside(map) {
                Ok(kwargs) => kwargs,
                Err(map) => map,
            };
            let members = map.into_iter().map(|(key, value)| (key, opened(value, depth + 1)));
            Value::Object(members.collect())
        }
        other => other,
    }
}

/// The arguments of a dumped object, with its class as `type` unless they have one; any other map is returned as the error.
fn inside(mut map: Map<String, Value>) -> Result<Map<String, Value>, Map<String, Value>> {
    if !(map.get("lc").is_some_and(Value::is_number) && map.get("kwargs").is_some_and(Value::is_object)) {
        return Err(map);
    }
    let class = map.get("id").and_then(Value::as_array).and_then(|path| path.last()).cloned();
    let Some(Value::Object(mut kwargs)) = map.remove("kwargs") else {
        return Err(map);
    };
    if let Some(class) = class.filter(Value::is_string) {
        let _ = kwargs.entry("type").or_insert(class);
    }
    Ok(kwargs)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dumps_are_opened_wherever_they_stand() {
        let dump = |kwargs: Value| json!({"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"], "kwargs": kwargs});
        let state = json!({"messages": [[dump(json!({"content": "22C", "type": "ai"}))]], "lc": "mine"});
        assert_eq!(open(state), json!({"messages": [[{"content": "22C", "type": "ai"}]], "lc": "mine"}));
        let command = json!({"lc": 1, "type": "constructor", "id": ["Command"], "kwargs": {"update": dump(json!({"content": ""}))}});
        assert_eq!(
            open(command),
            json!({"update": {"content": "", "type": "AIMessage"}, "type": "Command"})
        );
    }
}
