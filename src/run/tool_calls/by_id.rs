//! Finds the call that a tool's span ran by the call's id.
//!
//! Ids are not unique: models and servers number calls from 0 in every answer, and agents of one trace share the numbers.
//! So name and arguments must agree, and among several calls the nearest in the span tree is chosen.

use crate::hash::HashMap;
use crate::operation::is_counter;
use crate::run::arguments::{self, Fit};
use crate::run::conversation::{CallRef, Conversations, DraftCall};
use crate::run::id::{ConversationId, IdVec, NodeId, ScopeId};
use crate::run::names;
use crate::run::node::{Node, Nodes};
use crate::run::scopes::Scopes;
use crate::span::UnixNanos;

/// Maximum number of calls with one id examined.
const MAX_CALLS_PER_ID: usize = 64;

/// The calls of all conversations.
pub(super) struct CallsById {
    /// The conversation of each scope.
    of_scope: HashMap<ScopeId, ConversationId>,
    /// Scopes of sub-agents without their own span, by the tool around them.
    of_tool: HashMap<NodeId, ScopeId>,
    /// Conversation and call, by the call's id and the end of the tool's name.
    by_id: HashMap<String, HashMap<String, Vec<CallRef>>>,
}

impl CallsById {
    pub(super) fn of(nodes: &Nodes, scopes: &Scopes, conversations: &Conversations) -> Self {
        let mut out = Self {
            of_scope: HashMap::default(),
            of_tool: HashMap::default(),
            by_id: HashMap::default(),
        };
        for (scope, draft) in scopes.list.enumerate() {
            if let (Some(tool), None) = (draft.tool, draft.node) {
                let _ = out.of_tool.insert(tool, scope);
            }
        }
        for (at, conversation) in conversations.enumerate() {
            out.of_scope.extend(conversation.scopes.iter().map(|scope| (*scope, at)));
            for (id, calls) in conversation.calls_by_id() {
                let of_id = out.by_id.entry(id.clone()).or_default();
                for call in calls {
                    let Some(draft) = conversation.calls.get(*call) else { continue };
                    let place = CallRef {
                        conversation: at,
                        call: *call,
                    };
                    let end = tail(&draft.call.name);
                    match of_id.get_mut(end) {
                        Some(list) => list.push(place),
                        None => _ = of_id.insert(end.to_owned(), vec![place]),
                    }
                }
            }
        }
        let began = |place: &CallRef| Some(nodes.get(place.of(conversations)?.by?)?.start);
        for list in out.by_id.values_mut().flat_map(HashMap::values_mut) {
            list.sort_by_cached_key(|place| (began(place), *place));
        }
        out
    }

    /// The conversation of the tool's agent.
    pub(super) fn conversation_of(&self, scopes: &Scopes, tool: NodeId) -> Option<ConversationId> {
        self.of_scope.get(&scopes.scope_of(tool)).copied()
    }

    /// For each scope without a conversation, the one of the agent around it. The work of an agent called by a tool is separate.
    pub(super) fn conversations_around(&self, scopes: &Scopes) -> IdVec<ScopeId, Option<ConversationId>> {
        let mut out: IdVec<ScopeId, Option<ConversationId>> = IdVec::with_capacity(scopes.list.len());
        for (scope, draft) in scopes.list.enumerate() {
            let is_part = draft.tool.is_none() && !draft.is_auxiliary && !draft.is_unrelated;
            let around = || {
                draft
                    .parent
                    .filter(|_| is_part)
                    .and_then(|parent| out.get(parent).copied().flatten())
            };
            let conversation = self.of_scope.get(&scope).copied().or_else(around);
            out.push(conversation);
        }
        out
    }

    /// Gives a tool to the call that asked for it. A second span of one call is another attempt.
    pub(super) fn give(&self, nodes: &Nodes, scopes: &Scopes, conversations: &mut Conversations, tool: NodeId) -> bool {
        let found = nodes
            .get(tool)
            .and_then(|node| self.find(nodes, scopes, conversations, (tool, node)));
        let call = found.and_then(|place| place.of_mut(conversations));
        call.map(|call| call.tools.push(tool)).is_some()
    }

    fn find(&self, nodes: &Nodes, scopes: &Scopes, conversations: &Conversations, (tool, node): (NodeId, &Node)) -> Option<CallRef> {
        let used = node.operation.tool.as_ref()?;
        let of_id = self.by_id.get(used.call_id.as_ref()?)?;
        let draft = |place: CallRef| place.of(conversations);
        let agrees = |draft: &DraftCall| {
            used.name.as_ref().is_none_or(|name| names::same_tool(name, &draft.call.name))
                && arguments::fit(used.arguments.as_ref(), draft.call.arguments.as_ref()) >= Fit::Unknown
        };
        let began = |draft: &DraftCall| draft.by.and_then(|by| nodes.get(by)).map(|call| call.start);
        let end = used.name.as_deref().map(tail);
        let lists = of_id.iter().filter(|(name, _)| end.is_none_or(|end| end == name.as_str()));
        let mut places: Vec<CallRef> = Vec::new();
        for (_, list) in lists {
            places.extend(latest(list, node.start, |place| draft(place).and_then(began)));
        }
        places.retain(|place| draft(*place).is_some_and(agrees));
        if let [] | [_] = places.as_slice() {
            // The only call with this id is the one, unless the id is a counter and the call is in another agent's conversation.
            let mut all = of_id.values().flatten();
            let only = all.next().filter(|_| all.next().is_none());
            let decides = |place: &&CallRef| {
                !is_counter(used.call_id.as_deref().unwrap_or_default()) || self.is_near(nodes, scopes, tool, place.conversation)
            };
            return places.first().or_else(|| only.filter(decides)).copied();
        }
        let distances: HashMap<NodeId, usize> = nodes.ancestors(tool).enumerate().map(|(steps, up)| (up, steps)).collect();
        let distance_to = |draft: &DraftCall| nodes.ancestors(draft.by?).find_map(|up| distances.get(&up).copied());
        let rank = |place: CallRef| {
            let draft = draft(place)?;
            let before = began(draft).is_none_or(|began| began <= node.start);
            // `None`, without a common ancestor, is the farthest.
            let near = distance_to(draft).map(std::cmp::Reverse);
            let fit = arguments::fit(used.arguments.as_ref(), draft.call.arguments.as_ref());
            // Several calls of one answer with this id each have their own run.
            let in_answer = (fit, draft.tools.is_empty(), std::cmp::Reverse(draft.index));
            Some((before, near, began(draft), in_answer, place))
        };
        places.into_iter().max_by_key(|place| rank(*place))
    }

    /// Whether a conversation belongs to the tool's agent, or to a sub-agent around it.
    fn is_near(&self, nodes: &Nodes, scopes: &Scopes, tool: NodeId, conversation: ConversationId) -> bool {
        let around = nodes.ancestors(tool).filter_map(|up| self.of_tool.get(&up).copied());
        let mut scopes = around.chain([scopes.scope_of(tool)]);
        scopes.any(|scope| self.of_scope.get(&scope) == Some(&conversation))
    }
}

/// The latest calls that began before a time, and some after it.
fn latest(list: &[CallRef], start: UnixNanos, began: impl Fn(CallRef) -> Option<UnixNanos>) -> &[CallRef] {
    if list.len() <= MAX_CALLS_PER_ID {
        return list;
    }
    let behind = list.partition_point(|place| began(*place).is_none_or(|began| began <= start));
    let end = (behind + 1).min(list.len());
    list.get(end.saturating_sub(MAX_CALLS_PER_ID)..end).unwrap_or_default()
}

/// The last part of a tool's name, which all names of one tool share: without a server's or class's name and leading
/// underscores.
fn tail(name: &str) -> &str {
    let begin = name.rfind(['.', '/', ':']).map_or(0, |at| at + 1);
    let begin = name.rfind("__").map_or(begin, |at| begin.max(at + 2));
    name.get(begin..).unwrap_or(name).trim_start_matches('_')
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
}
