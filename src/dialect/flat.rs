//! Converts flattened indexed keys (`llm.input_messages.0.message.role`) to lists and maps.

use serde_json::Value;

use crate::hash::Keyed;
use crate::span::AnyValue;

/// The value built from flattened keys.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    /// The list or map.
    pub(super) value: Value,
    /// Places of attributes that do not fit in it.
    pub(super) strays: Vec<usize>,
}

/// A node under construction; if it has a numbered child, it is a list.
#[derive(Default)]
struct Node<'a> {
    value: Option<(usize, &'a AnyValue)>,
    children: Keyed<String, Node<'a>>,
}

impl Node<'_> {
    /// Converts the node to a list or map. A value next to members, or a name next to numbers, fits in neither.
    fn into_value(self, strays: &mut Vec<usize>) -> Value {
        let children = self.children.into_list();
        if children.is_empty() {
            return self.value.map_or(Value::Null, |(_, value)| value.to_json());
        }
        strays.extend(self.value.map(|(place, _)| place));
        if !children.iter().any(|(name, _)| is_index(name)) {
            return children.into_iter().map(|(name, node)| (name, node.into_value(strays))).collect();
        }
        let (mut items, others): (Vec<_>, Vec<_>) = children.into_iter().partition(|(name, _)| is_index(name));
        others.into_iter().for_each(|(_, node)| node.stray(strays));
        items.sort_by(|(one, _), (other, _)| by_number(one).cmp(&by_number(other)));
        items.into_iter().map(|(_, node)| node.into_value(strays)).collect()
    }

    fn stray(self, strays: &mut Vec<usize>) {
        strays.extend(self.value.map(|(place, _)| place));
        self.children.into_list().into_iter().for_each(|(_, node)| node.stray(strays));
    }
}

fn is_index(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|digit| digit.is_ascii_digit())
}

/// Sort key for digits by numeric value, however many there are.
fn by_number(digits: &str) -> (usize, &str) {
    let number = digits.trim_start_matches('0');
    (number.len(), number)
}

/// Maximum number of segments of a key; real keys have a dozen. The tree is walked recursively, so longer keys are left out.
const MAX_SEGMENTS: usize = 64;

/// Builds the tree of these keys (without prefix), each with the place of its attribute. Gaps between indices close up.
pub(super) fn tree<'a>(members: impl IntoIterator<Item = (usize, &'a str, &'a AnyValue)>) -> Tree {
    let mut root = Node::default();
    let mut strays = Vec::new();
    for (place, key, value) in members {
        if key.split('.').nth(MAX_SEGMENTS).is_some() {
            strays.push(place);
            continue;
        }
        let mut node = &mut root;
        for segment in key.split('.') {
            node = node.children.get_or_insert_with(segment, Node::default);
        }
        node.value = Some((place, value));
    }
    let value = root.into_value(&mut strays);
    Tree { value, strays }
}

/// The number of different first segments.
pub(super) fn count<'a>(keys: impl IntoIterator<Item = &'a str>) -> u64 {
    let mut heads: Vec<&str> = keys.into_iter().map(|key| key.split('.').next().unwrap_or(key)).collect();
    heads.sort_unstable();
    heads.dedup();
    heads.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &AnyValue)]) -> (String, Vec<usize>) {
        let tree = tree(pairs.iter().enumerate().map(|(place, (key, value))| (place, *key, *value)));
        (tree.value.to_string(), tree.strays)
    }

    #[test]
    fn gaps_close_and_order_is_by_number() {
        let one = AnyValue::from("a");
        let two = AnyValue::from(2);
        let pairs = [
            ("99999999999999999999999.message.role", &one),
            ("10.message.role", &one),
            ("2.message.content", &two),
        ];
        let list = r#"[{"message":{"content":2}},{"message":{"role":"a"}},{"message":{"role":"a"}}]"#;
        assert_eq!(of(&pairs), (list.to_owned(), Vec::new()));
        assert_eq!(count(["0.a", "0.b", "7"]), 2);
    }

    #[test]
    fn what_does_not_belong_strays() {
        let (text, other) = (AnyValue::from("text"), AnyValue::from("other"));
        let list = |more: &'static str| of(&[("0.content", &text), (more, &other), ("1.content", &text)]);
        let without = r#"[{"content":"text"},{"content":"text"}]"#.to_owned();
        for key in ["name", "name.first", "0", "1", "", "-1"] {
            assert_eq!(list(key), (without.clone(), vec![1]), "{key}");
        }
        let with = r#"[{"content":["other"]},{"content":"text"}]"#.to_owned();
        assert_eq!(list("0.content.0"), (with, vec![0]));
    }

    #[test]
    fn a_key_of_any_depth_is_read() {
        let (deep, text) = (AnyValue::from("deep"), AnyValue::from("text"));
        let key = format!("0{}", ".a".repeat(1_000_000));
        let pairs = [(key.as_str(), &deep), ("0.b", &text)];
        assert_eq!(of(&pairs), (r#"[{"b":"text"}]"#.to_owned(), vec![0]));
    }
}
