//! Members of values by path.

use serde_json::Value;

use super::empty::is_empty;
use crate::dialect::rule::Rule;
use crate::hash::Members as _;

/// The member at the first of the rule's paths that exists.
pub(super) fn at_paths<'a>(rule: &Rule, value: &'a Value) -> Option<&'a Value> {
    rule.paths.iter().find_map(|path| at(value, path))
}

/// The member at a dotted path; `.` is the value itself.
pub(in crate::dialect) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if path == "." {
        return Some(value);
    }
    let mut current = value;
    let mut rest = Some(path);
    while let Some(path) = rest {
        let dot = path.bytes().position(|byte| byte == b'.');
        let segment = path.get(..dot.unwrap_or(path.len()))?;
        rest = dot.and_then(|dot| path.get(dot + 1..));
        current = match current {
            Value::Object(map) => map.member(segment)?,
            Value::Array(items) => items.get(segment.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    (!is_empty(current)).then_some(current)
}
