//! Tools outside of the agent that asked for them: the call stands in a conversation of the tool's scope or one below.

use super::conversation::Conversation;
use super::names::{self, Fit};
use super::node::Nodes;
use super::scope::{Nesting, Scopes};
use super::stitch::{Open, by_name};
use crate::hash::HashMap;
use crate::operation::Kind;

/// What is open in each conversation. A trace may hold thousands of conversations and of tools that none of them asked for.
pub(super) struct Beside<'a> {
    scopes: &'a Scopes,
    nesting: Nesting,
    open: Vec<Open>,
    /// Conversations with open calls, by the end of the tool's name.
    by_tail: HashMap<String, Vec<usize>>,
    all: Vec<usize>,
}

impl<'a> Beside<'a> {
    pub(super) fn of(scopes: &'a Scopes, conversations: &[Conversation]) -> Self {
        let open: Vec<Open> = conversations.iter().map(Open::of).collect();
        let mut by_tail: HashMap<String, Vec<usize>> = HashMap::default();
        for (at, open) in open.iter().enumerate() {
            for tail in open.tails() {
                by_tail.entry(tail.clone()).or_default().push(at);
            }
        }
        Self {
            scopes,
            nesting: scopes.nesting(),
            open,
            by_tail,
            all: (0..conversations.len()).collect(),
        }
    }

    /// Gives the tool to the first conversation with an open call of its name whose arguments fit at least so well.
    pub(super) fn give(&mut self, nodes: &mut Nodes, conversations: &mut [Conversation], tool: usize, least: Fit) -> bool {
        let around = self.scopes.scope_of(tool);
        let name = || nodes.get(tool)?.operation.tool.as_ref()?.name.as_deref();
        let asking = if nodes.kind(tool) == Kind::Handoff {
            &self.all
        } else {
            match name().and_then(|name| self.by_tail.get(names::tail(name))) {
                Some(asking) => asking,
                None => return false,
            }
        };
        asking.iter().any(|at| {
            let (Some(conversation), Some(open)) = (conversations.get_mut(*at), self.open.get_mut(*at)) else {
                return false;
            };
            conversation.scopes.iter().any(|scope| self.nesting.is_within(*scope, around))
                && by_name(nodes, conversation, open, tool, least)
        })
    }
}
