//! Changes put into a value.

use serde_json::Value;

use super::digest;

/// Puts the changes into the value; the places of those that do not fit are given back.
pub(super) fn apply(value: &mut Value, edits: &[Value]) -> Vec<String> {
    let mut misfits = Vec::new();
    for edit in edits {
        let at = edit.get("at").and_then(Value::as_str).unwrap_or_default();
        if put(value, at, edit).is_none() {
            misfits.push(at.to_owned());
        }
    }
    misfits
}

/// `None`: what stands there is not what was there when the change was written.
fn put(value: &mut Value, at: &str, edit: &Value) -> Option<()> {
    if let Some(from) = edit.get("from").and_then(Value::as_array) {
        return rearrange(value.pointer_mut(at)?, edit.get("length")?.as_u64()?, from);
    }
    let was = edit.get("was").and_then(Value::as_str);
    match (was, edit.get("is")) {
        (Some(was), Some(is)) => {
            let slot = value.pointer_mut(at).filter(|slot| digest(slot) == was)?;
            *slot = is.clone();
        }
        (Some(was), None) => {
            value.pointer(at).filter(|slot| digest(slot) == was)?;
            let (above, key) = at.rsplit_once('/')?;
            value.pointer_mut(above)?.as_object_mut()?.shift_remove(&plain(key))?;
        }
        (None, Some(is)) => {
            let (above, key) = at.rsplit_once('/')?;
            let object = value.pointer_mut(above)?.as_object_mut()?;
            let key = plain(key);
            if object.contains_key(&key) {
                return None;
            }
            object.insert(key, is.clone());
        }
        (None, None) => return None,
    }
    Some(())
}

fn rearrange(slot: &mut Value, length: u64, from: &[Value]) -> Option<()> {
    let list = slot.as_array_mut().filter(|list| list.len() as u64 == length)?;
    let mut old: Vec<Value> = std::mem::take(list);
    let item = |from: &Value| {
        let index = usize::try_from(from.as_u64()?).ok()?;
        old.get_mut(index).map(std::mem::take)
    };
    *list = from.iter().map(item).map(Option::unwrap_or_default).collect();
    Some(())
}

fn plain(key: &str) -> String {
    key.replace("~1", "/").replace("~0", "~")
}
