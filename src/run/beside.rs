//! Tools outside of the agent that asked for them: the call stands in a conversation of the tool's scope or one below.

use super::conversation::Conversation;
use super::names::{self, Fit};
use super::node::Nodes;
use super::scope::{Nesting, Scopes};
use super::stitch::{Open, by_name, handed_to};
use crate::hash::HashMap;

/// What is open in each conversation. A trace may hold thousands of conversations and of tools that none of them asked for.
pub(super) struct Beside<'a> {
    scopes: &'a Scopes,
    nesting: Nesting,
    open: Vec<Open>,
    /// Conversations with open calls, by the end of the tool's name.
    by_tail: HashMap<String, Vec<usize>>,
    /// Conversations with open calls that pass the run on, by the agent to which.
    by_target: HashMap<String, Vec<usize>>,
}

impl<'a> Beside<'a> {
    pub(super) fn of(scopes: &'a Scopes, conversations: &[Conversation]) -> Self {
        let open: Vec<Open> = conversations.iter().map(Open::of).collect();
        let mut by_tail: HashMap<String, Vec<usize>> = HashMap::default();
        let mut by_target: HashMap<String, Vec<usize>> = HashMap::default();
        for (at, open) in open.iter().enumerate() {
            for tail in open.tails() {
                by_tail.entry(tail.clone()).or_default().push(at);
            }
            for agent in open.targets() {
                by_target.entry(agent.clone()).or_default().push(at);
            }
        }
        Self {
            scopes,
            nesting: scopes.nesting(),
            open,
            by_tail,
            by_target,
        }
    }

    /// Gives the tool to the first conversation with an open call of its name whose arguments fit at least so well; a handoff
    /// else to the first that passes the run to its agent.
    pub(super) fn give(&mut self, nodes: &mut Nodes, conversations: &mut [Conversation], tool: usize, least: Fit) -> bool {
        let Some(node) = nodes.get(tool) else { return false };
        let around = self.scopes.scope_of(tool);
        let name = node.operation.tool.as_ref().and_then(|used| used.name.as_deref());
        let of_name = name.and_then(|name| self.by_tail.get(names::tail(name)));
        let of_target = handed_to(node).and_then(|agent| self.by_target.get(&names::plain(agent)));
        of_name.into_iter().chain(of_target).flatten().any(|at| {
            let (Some(conversation), Some(open)) = (conversations.get_mut(*at), self.open.get_mut(*at)) else {
                return false;
            };
            conversation.scopes.iter().any(|scope| self.nesting.is_within(*scope, around))
                && by_name(nodes, conversation, open, tool, least)
        })
    }
}
