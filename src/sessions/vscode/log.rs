//! A log of changes to a document, which VS Code writes instead of the whole document if only a part changed.

use serde_json::{Map, Value};

use crate::sessions::get;

/// Applies a line of the log.
pub(super) fn apply(document: &mut Value, mut line: Value) {
    let value = line.get_mut("v").map(Value::take);
    let path = get::list(&line, "/k");
    match get::count(&line, "/kind") {
        Some(0) => *document = value.unwrap_or_default(),
        // Sets a value.
        Some(1) => {
            if let Some(slot) = slot(document, path) {
                *slot = value.unwrap_or_default();
            }
        }
        // Appends items to a list, after its first ones.
        Some(2) => {
            let Some(slot) = slot(document, path) else { return };
            if !slot.is_array() {
                *slot = Value::Array(Vec::new());
            }
            let Some(list) = slot.as_array_mut() else { return };
            if let Some(kept) = get::count(&line, "/i") {
                list.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
            }
            if let Some(Value::Array(mut items)) = value {
                list.append(&mut items);
            }
        }
        Some(3) => {
            if let Some((last, above)) = path.split_last()
                && let Some(Value::Object(members)) = slot(document, above)
                && let Some(key) = last.as_str()
            {
                members.shift_remove(key);
            }
        }
        _ => {}
    }
}

/// The slot at a path. Missing object members are created, list items are not.
fn slot<'d>(document: &'d mut Value, path: &[Value]) -> Option<&'d mut Value> {
    path.iter().try_fold(document, |value, step| match step.as_str() {
        Some(key) => {
            if value.is_null() {
                *value = Value::Object(Map::new());
            }
            Some(value.as_object_mut()?.entry(key).or_insert(Value::Null))
        }
        None => value.as_array_mut()?.get_mut(usize::try_from(step.as_u64()?).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_changes_make_the_document() {
        let mut document = Value::Null;
        for line in [
            json!({"kind": 0, "v": {"requests": [], "sessionId": "s"}}),
            json!({"kind": 2, "k": ["requests"], "v": [{"requestId": "r1", "response": []}]}),
            json!({"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "a"}, {"value": "b"}]}),
            json!({"kind": 2, "k": ["requests", 0, "response"], "i": 1, "v": [{"value": "c"}]}),
            json!({"kind": 1, "k": ["requests", 0, "result"], "v": {"timings": 1}}),
            json!({"kind": 1, "k": ["requests", 7, "result"], "v": {}}),
            json!({"kind": 1, "k": ["draft", "text"], "v": "x"}),
            json!({"kind": 3, "k": ["draft", "text"]}),
        ] {
            apply(&mut document, line);
        }
        let wanted = json!({
            "requests": [{"requestId": "r1", "response": [{"value": "a"}, {"value": "c"}], "result": {"timings": 1}}],
            "sessionId": "s",
            "draft": {},
        });
        assert_eq!(document, wanted);
    }
}
