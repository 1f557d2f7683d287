//! Applies changes to a value.

use serde_json::Value;

use super::edit::{self, plain};

/// Applies the changes to the value; returns the places of those that do not fit.
///
/// Changes written by this program replace parts that do not overlap, so together they hash each byte of the value at most once.
/// Anyone can send the attribute, so the amount that changes may hash is limited.
pub(super) fn apply(value: &mut Value, edits: &[Value]) -> Vec<String> {
    let mut hashable = value.to_string().len() + edits.len() * "null".len();
    let mut misfits = Vec::new();
    for edit in edits {
        let at = edit.get("at").and_then(Value::as_str).unwrap_or_default();
        if put(value, at, edit, &mut hashable).is_none() {
            misfits.push(at.to_owned());
        }
    }
    misfits
}

/// Whether the value has this digest. Deducts its length from the amount that may still be hashed.
fn was(value: &Value, digest: &str, hashable: &mut usize) -> bool {
    let text = value.to_string();
    match hashable.checked_sub(text.len()) {
        Some(rest) => {
            *hashable = rest;
            edit::digest(&text) == digest
        }
        None => {
            *hashable = 0;
            false
        }
    }
}

/// `None`: the value at this place is not the one that the change was written for.
fn put(value: &mut Value, at: &str, edit: &Value, hashable: &mut usize) -> Option<()> {
    if let Some(from) = edit.get("from").and_then(Value::as_array) {
        return rearrange(value.pointer_mut(at)?, edit.get("length")?.as_u64()?, from);
    }
    match (edit.get("was").and_then(Value::as_str), edit.get("is")) {
        (Some(digest), Some(is)) => {
            let slot = value.pointer_mut(at).filter(|slot| was(slot, digest, hashable))?;
            *slot = is.clone();
        }
        (Some(digest), None) => {
            value.pointer(at).filter(|slot| was(slot, digest, hashable))?;
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
