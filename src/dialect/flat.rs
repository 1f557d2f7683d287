//! Flattened indexed keys (`llm.input_messages.0.message.role`) made into lists and maps.

use serde_json::{Map, Value};

use crate::hash::Keyed;
use crate::span::AnyValue;

/// A tree under construction: numbers are list indices where all siblings are numbers.
#[derive(Default)]
struct Node {
    value: Option<Value>,
    children: Keyed<String, Node>,
}

impl Node {
    fn into_value(self) -> Value {
        let children = self.children.into_list();
        if children.is_empty() {
            return self.value.unwrap_or(Value::Null);
        }
        if children
            .iter()
            .all(|(name, _)| name.bytes().all(|digit| digit.is_ascii_digit()) && name.len() < 10)
        {
            let mut items: Vec<(u64, Value)> = children
                .into_iter()
                .map(|(name, node)| (name.parse().unwrap_or(u64::MAX), node.into_value()))
                .collect();
            items.sort_by_key(|(index, _)| *index);
            return Value::Array(items.into_iter().map(|(_, value)| value).collect());
        }
        let mut map: Map<String, Value> = children.into_iter().map(|(name, node)| (name, node.into_value())).collect();
        if let Some(value) = self.value {
            let _ = map.insert("value".to_owned(), value);
        }
        Value::Object(map)
    }
}

/// Keys have a dozen segments at most. What comes behind so many stays one name: the tree is walked by recursion.
const DEEPEST: usize = 64;

/// The tree that these keys (after the prefix) span. Gaps between indices close up.
pub(super) fn tree<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a AnyValue)>) -> Value {
    let mut root = Node::default();
    for (key, value) in pairs {
        let mut node = &mut root;
        for segment in key.splitn(DEEPEST, '.') {
            node = node.children.get_or_insert_with(segment, Node::default);
        }
        node.value = Some(value.to_json());
    }
    root.into_value()
}

/// How many different first segments these keys have.
pub(super) fn count<'a>(keys: impl IntoIterator<Item = &'a str>) -> u64 {
    let mut heads: Vec<&str> = keys.into_iter().map(|key| key.split('.').next().unwrap_or(key)).collect();
    heads.sort_unstable();
    heads.dedup();
    heads.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_close_and_order_is_by_number() {
        let one = AnyValue::from("a");
        let two = AnyValue::from(2);
        let value = tree([("10.message.role", &one), ("2.message.content", &two)]);
        assert_eq!(value.to_string(), r#"[{"message":{"content":2}},{"message":{"role":"a"}}]"#);
        assert_eq!(count(["0.a", "0.b", "7"]), 2);
    }

    #[test]
    fn a_key_of_any_depth_is_read() {
        let key = ".a".repeat(1_000_000);
        let value = tree([(key.as_str(), &AnyValue::from("deep"))]);
        assert!(value.to_string().contains(r#".a.a":"deep"}"#), "the rest of the key is one name");
    }
}
