//! Reads messages in flattened keys (`0.message.role`, `0.message.content`, `0.message.tool_calls.0.tool_call.id`) without building a tree.
//! Handles only members that nearly every message has; groups with any others are left to the tree.

use super::arguments;
use super::builder::Builder;
use super::object::may_be_written_turns;
use crate::hash::Keyed;
use crate::operation::{Message, Role, ToolCall};
use crate::span::AnyValue;

/// Members of one message.
#[derive(Default)]
struct Members<'a> {
    /// Whether they are below `message.`, as OpenInference writes them.
    wrapped: bool,
    role: Option<&'a str>,
    content: Option<&'a str>,
    name: Option<&'a str>,
    tool_call_id: Option<&'a str>,
    finish_reason: Option<&'a str>,
    calls: Keyed<u32, Call<'a>>,
}

#[derive(Default)]
struct Call<'a> {
    /// Whether they are below `tool_call.`, and name and arguments below `function.`.
    wrapped: bool,
    id: Option<&'a str>,
    name: Option<&'a str>,
    arguments: Option<&'a str>,
}

/// Reads the messages in these keys (without prefix): the same as [`super::read`] on their tree, plus blank messages. `None` if the tree is
/// needed.
pub(super) fn read<'a>(group: impl Iterator<Item = (&'a str, &'a AnyValue)>) -> Option<Vec<Message>> {
    let mut list: Keyed<u32, Members<'_>> = Keyed::default();
    for (key, value) in group {
        let AnyValue::String(text) = value else { return None };
        let (index, rest) = numbered(key)?;
        let (wrapped, member) = unwrapped(rest, "message.");
        let begun = || Members {
            wrapped,
            ..Members::default()
        };
        let message = list.get_or_insert_with(&index, begun);
        if message.wrapped != wrapped {
            return None;
        }
        let slot = match member {
            "role" => &mut message.role,
            "content" => &mut message.content,
            "name" => &mut message.name,
            "tool_call_id" => &mut message.tool_call_id,
            "finish_reason" => &mut message.finish_reason,
            other => call_member(&mut message.calls, other.strip_prefix("tool_calls.")?)?,
        };
        *slot = Some(text);
    }
    let list = in_order(list);
    let mut out = Vec::with_capacity(list.len());
    for message in list {
        message.build(&mut out)?;
    }
    Some(out)
}

fn call_member<'l, 'a>(calls: &'l mut Keyed<u32, Call<'a>>, key: &str) -> Option<&'l mut Option<&'a str>> {
    let (index, rest) = numbered(key)?;
    let (wrapped, member) = unwrapped(rest, "tool_call.");
    let begun = || Call {
        wrapped,
        ..Call::default()
    };
    let call = Some(calls.get_or_insert_with(&index, begun)).filter(|call| call.wrapped == wrapped)?;
    match (member, wrapped) {
        ("id", _) => Some(&mut call.id),
        ("function.name", true) | ("name", false) => Some(&mut call.name),
        ("function.arguments", true) | ("arguments", false) => Some(&mut call.arguments),
        _ => None,
    }
}

/// Sorts the items by index, whatever the order of the keys.
fn in_order<T>(items: Keyed<u32, T>) -> Vec<T> {
    let mut list = items.into_list();
    list.sort_by_key(|(index, _)| *index);
    list.into_iter().map(|(_, item)| item).collect()
}

/// Splits the leading index off a key.
fn numbered(key: &str) -> Option<(u32, &str)> {
    let (digits, rest) = key.split_once('.')?;
    let canonical = digits.len() < 10 && digits.bytes().all(|digit| digit.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    Some((digits.parse().ok().filter(|_| canonical)?, rest))
}

fn unwrapped<'a>(key: &'a str, wrapper: &str) -> (bool, &'a str) {
    key.strip_prefix(wrapper).map_or((false, key), |member| (true, member))
}

fn said(text: Option<&str>) -> Option<String> {
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}

impl Members<'_> {
    fn build(self, out: &mut Vec<Message>) -> Option<()> {
        let mut builder = Builder::new(Role::from_recorded(self.role?));
        let calls = in_order(self.calls);
        // A client may write a call, or a message with calls, as an assistant's text.
        if builder.message.role == Role::Assistant
            && self
                .content
                .is_some_and(|words| words.starts_with('{') && words.contains("\"arguments\"") || may_be_written_turns(words))
        {
            return None;
        }
        builder.message.name = said(self.name);
        builder.message.tool_call_id = said(self.tool_call_id);
        if builder.message.role == Role::User && builder.message.tool_call_id.is_some() && calls.is_empty() {
            // A tool's result recorded as a user's message.
            builder.message.role = Role::Tool;
        } else {
            builder.message.finish_reason = said(self.finish_reason);
        }
        if let Some(content) = self.content {
            builder.text(content);
        }
        calls.into_iter().filter_map(Call::build).for_each(|call| builder.call(call));
        builder.finish(out);
        Some(())
    }
}

impl Call<'_> {
    fn build(self) -> Option<ToolCall> {
        let id = said(self.id);
        // The run may fill in an empty name of a call with an id.
        let name = self.name.filter(|name| !name.is_empty() || id.is_some())?.to_owned();
        Some(match self.arguments {
            Some(arguments) => arguments::call_as_written(id, name, arguments),
            None => arguments::call(id, name, None),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Direction, read as read_value};
    use super::*;

    const MEMBERS: &[&str] = &[
        "role",
        "content",
        "name",
        "tool_call_id",
        "finish_reason",
        "tool_calls.0.tool_call.id",
        "tool_calls.0.tool_call.function.name",
        "tool_calls.0.tool_call.function.arguments",
        "tool_calls.10.tool_call.function.name",
        "tool_calls.2.name",
        "tool_calls.2.id",
        "tool_calls.2.arguments",
    ];
    const TEXTS: &[&str] = &[
        "user",
        "assistant",
        "tool",
        "MessageRole.SYSTEM",
        "",
        " ",
        "{\"a\": 1}",
        "[{\"type\": \"text\", \"text\": \"x\"}]",
        "\"{}\"",
        "null",
        "ResponseFunctionToolCall(arguments='{}', call_id='c', name='f', type='function_call')",
    ];

    proptest! {
        /// The short way and the tree give the same, wherever the short way gives anything.
        #[test]
        fn same_as_the_tree(
            picks in proptest::collection::vec(
                (0u32..24, any::<bool>(), proptest::sample::select(MEMBERS), proptest::sample::select(TEXTS)),
                0..60,
            ),
            one_shape in any::<bool>(),
        ) {
            let mut pairs: Vec<(String, AnyValue)> = Vec::new();
            for (index, wrapped, member, text) in picks {
                let wrapper = if wrapped || one_shape { "message." } else { "" };
                let key = format!("{index}.{wrapper}{member}");
                if pairs.iter().all(|(have, _)| *have != key) {
                    pairs.push((key, AnyValue::from(text)));
                }
            }
            // Most messages have a role.
            for index in 0..24 {
                let (key, first) = (format!("{index}.message.role"), format!("{index}."));
                if one_shape && pairs.iter().any(|(have, _)| have.starts_with(&first)) && pairs.iter().all(|(have, _)| *have != key) {
                    pairs.push((key, AnyValue::from("assistant")));
                }
            }
            let group: Vec<(&str, &AnyValue)> = pairs.iter().map(|(key, value)| (key.as_str(), value)).collect();
            for direction in [Direction::Input, Direction::Output] {
                if let Some(list) = super::super::flattened(group.iter().copied()) {
                    let placed = group.iter().enumerate().map(|(place, (key, value))| (place, *key, *value));
                    let tree = crate::dialect::flat::tree(placed);
                    prop_assert_eq!(list, read_value(&tree.value, direction).unwrap_or_default());
                    prop_assert!(tree.strays.is_empty());
                } else {
                    prop_assert!(!one_shape, "the short way gives up: {:?}", group);
                }
            }
        }
    }
}
