//! The call that a tool's span ran, by the call's id.
//!
//! Ids are not unique: models and servers number calls from 0 in every answer, and agents of one trace share the numbers.
//! So name and arguments have to agree, and of several calls the one nearest in the tree of spans is meant.

use super::conversation::{Asked, Conversation};
use super::names::{self, Fit};
use super::node::{Node, Nodes};
use super::scope::Scopes;
use crate::hash::HashMap;
use crate::span::UnixNanos;

/// How many calls of one id are looked at.
const LOOKED_AT: usize = 64;

/// The calls of all conversations.
pub(super) struct AskedBy {
    /// The conversation of each scope.
    of_scope: HashMap<usize, usize>,
    /// Scopes of sub-agents without a span of their own, by the tool around them.
    of_tool: HashMap<usize, usize>,
    /// Conversation and call, by the call's id and the end of the tool's name.
    by_id: HashMap<String, HashMap<String, Vec<(usize, usize)>>>,
}

impl AskedBy {
    pub(super) fn of(nodes: &Nodes, scopes: &Scopes, conversations: &[Conversation]) -> Self {
        let mut out = Self {
            of_scope: HashMap::default(),
            of_tool: HashMap::default(),
            by_id: HashMap::default(),
        };
        for (scope, draft) in scopes.list.iter().enumerate() {
            if let (Some(tool), None) = (draft.tool, draft.node) {
                let _ = out.of_tool.insert(tool, scope);
            }
        }
        for (at, conversation) in conversations.iter().enumerate() {
            out.of_scope.extend(conversation.scopes.iter().map(|scope| (*scope, at)));
            for (id, calls) in conversation.calls_by_id() {
                let of_id = out.by_id.entry(id.clone()).or_default();
                for call in calls {
                    let Some(asked) = conversation.calls.get(*call) else { continue };
                    let end = tail(&asked.call.name);
                    match of_id.get_mut(end) {
                        Some(list) => list.push((at, *call)),
                        None => _ = of_id.insert(end.to_owned(), vec![(at, *call)]),
                    }
                }
            }
        }
        let began = |(at, call): &(usize, usize)| {
            let asked = conversations.get(*at)?.calls.get(*call)?;
            Some(nodes.get(asked.by?)?.start)
        };
        for list in out.by_id.values_mut().flat_map(HashMap::values_mut) {
            list.sort_by_cached_key(|place| (began(place), *place));
        }
        out
    }

    /// The conversation of the tool's agent.
    pub(super) fn conversation_of(&self, scopes: &Scopes, tool: usize) -> Option<usize> {
        self.of_scope.get(&scopes.scope_of(tool)).copied()
    }

    /// Gives a tool to the call that asked for it. A second span of one call is another attempt.
    pub(super) fn give(&self, nodes: &Nodes, scopes: &Scopes, conversations: &mut [Conversation], tool: usize) -> bool {
        let found = nodes
            .get(tool)
            .and_then(|node| self.find(nodes, scopes, conversations, (tool, node)));
        let asked = found.and_then(|(at, call)| conversations.get_mut(at)?.calls.get_mut(call));
        asked.map(|asked| asked.tools.push(tool)).is_some()
    }

    fn find(&self, nodes: &Nodes, scopes: &Scopes, conversations: &[Conversation], (tool, node): (usize, &Node)) -> Option<(usize, usize)> {
        let used = node.operation.tool.as_ref()?;
        let of_id = self.by_id.get(used.call_id.as_ref()?)?;
        let asked = |(at, call): (usize, usize)| conversations.get(at)?.calls.get(call);
        let agrees = |asked: &Asked| {
            used.name.as_ref().is_none_or(|name| names::same_tool(name, &asked.call.name))
                && names::fit(used.arguments.as_ref(), asked.call.arguments.as_ref()) >= Fit::Unknown
        };
        let began = |asked: &Asked| asked.by.and_then(|by| nodes.get(by)).map(|call| call.start);
        let end = used.name.as_deref().map(tail);
        let lists = of_id.iter().filter(|(name, _)| end.is_none_or(|end| end == name.as_str()));
        let mut places: Vec<(usize, usize)> = Vec::new();
        for (_, list) in lists {
            places.extend(latest(list, node.start, |place| asked(place).and_then(began)));
        }
        places.retain(|place| asked(*place).is_some_and(agrees));
        if let [] | [_] = places.as_slice() {
            // Nobody else has a call of this id: it decides, if it is no number that others have too.
            let mut all = of_id.values().flatten();
            let only = all.next().filter(|_| all.next().is_none());
            let decides = |place: &&(usize, usize)| {
                !is_counter(used.call_id.as_deref().unwrap_or_default()) || self.is_near(nodes, scopes, tool, place.0)
            };
            return places.first().or_else(|| only.filter(decides)).copied();
        }
        let way: HashMap<usize, usize> = nodes.ancestors(tool).enumerate().map(|(steps, up)| (up, steps)).collect();
        let steps_to = |asked: &Asked| nodes.ancestors(asked.by?).find_map(|up| way.get(&up).copied());
        let rank = |place: (usize, usize)| {
            let asked = asked(place)?;
            let before = began(asked).is_none_or(|began| began <= node.start);
            let steps = steps_to(asked).unwrap_or(usize::MAX);
            Some((before, std::cmp::Reverse(steps), began(asked), place))
        };
        places.into_iter().max_by_key(|place| rank(*place))
    }

    /// Whether a conversation is that of the tool's agent, or of a sub-agent around it.
    fn is_near(&self, nodes: &Nodes, scopes: &Scopes, tool: usize, conversation: usize) -> bool {
        let around = nodes.ancestors(tool).filter_map(|up| self.of_tool.get(&up).copied());
        let mut scopes = around.chain([scopes.scope_of(tool)]);
        scopes.any(|scope| self.of_scope.get(&scope) == Some(&conversation))
    }
}

/// The calls that began last before a time, and some after it.
fn latest(list: &[(usize, usize)], start: UnixNanos, began: impl Fn((usize, usize)) -> Option<UnixNanos>) -> &[(usize, usize)] {
    if list.len() <= LOOKED_AT {
        return list;
    }
    let behind = list.partition_point(|place| began(*place).is_none_or(|began| began <= start));
    let end = (behind + 1).min(list.len());
    list.get(end.saturating_sub(LOOKED_AT)..end).unwrap_or_default()
}

/// The last part of a tool's name, which names of one tool have in common: what stays when a server's or class's name is taken
/// off, and the underscores before it.
fn tail(name: &str) -> &str {
    let begin = name.rfind(['.', '/', ':']).map_or(0, |at| at + 1);
    let begin = name.rfind("__").map_or(begin, |at| begin.max(at + 2));
    name.get(begin..).unwrap_or(name).trim_start_matches('_')
}

/// Whether an id is a number that begins anew in every answer: `call_1`, `search:0`.
pub(super) fn is_counter(id: &str) -> bool {
    let end = id.rsplit(['_', ':', '-', '.', '/', '|']).next().unwrap_or(id);
    let digits = end.trim_start_matches(|char: char| char.is_ascii_alphabetic());
    digits.len() <= 5 && digits.bytes().all(|byte| byte.is_ascii_digit()) && end.len() - digits.len() <= 4
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What is looked up by its tail is found by any name of the tool.
        #[test]
        fn names_of_one_tool_have_one_tail(server in "[a_.]{0,3}", between in "(__|[./:])", name in "[a_.:]{0,6}") {
            let long = format!("{server}{between}{name}");
            prop_assert!(!names::same_tool(&long, &name) || tail(&long) == tail(&name), "{}", long);
        }
    }

    #[test]
    fn counted_ids() {
        let counted = ["call_0", "call_12", "search:0", "functions.search:3", "0", "c1", "tool-7"].map(is_counter);
        assert_eq!(counted, [true; 7]);
        let unique = [
            "call_6c80309895694fd8a9863c4d",
            "toolu_e2512e1f58a84352a8f14b3d",
            "chatcmpl-tool-5ad6f3a1b2",
            "5198f36626044c4b",
            "9TaBcd3Xy",
        ]
        .map(is_counter);
        assert_eq!(unique, [false; 5]);
    }
}
