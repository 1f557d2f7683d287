//! Tools outside of the agent that asked for them: the call stands in a conversation of the tool's scope or one below.

use super::conversation::Conversation;
use super::names::Fit;
use super::node::Nodes;
use super::open::Open;
use super::scope::{Nesting, Scopes};
use super::stitch::by_name;

/// What is open in all conversations. A trace may hold thousands of them, and of tools that none of them asked for.
pub(super) struct Beside<'a> {
    scopes: &'a Scopes,
    nesting: Nesting,
    open: Open,
}

impl<'a> Beside<'a> {
    pub(super) fn of(nodes: &Nodes, scopes: &'a Scopes, conversations: &[Conversation]) -> Self {
        let nesting = scopes.nesting();
        let of_scopes = |(which, conversation): (usize, &Conversation)| {
            let nests = conversation.scopes.iter().filter_map(|scope| nesting.within(*scope));
            nests.map(|nest| (nest.start, which)).collect::<Vec<_>>()
        };
        let mut places: Vec<(usize, usize)> = conversations.iter().enumerate().flat_map(of_scopes).collect();
        places.sort_unstable();
        let all = places
            .into_iter()
            .filter_map(|(nest, which)| Some((nest, which, conversations.get(which)?)));
        let open = Open::of_all(nodes, all);
        Self { scopes, nesting, open }
    }

    /// Gives the tool to the first open call of its name whose arguments fit at least so well; a handoff else to the first that
    /// passes the run to its agent.
    pub(super) fn give(&mut self, nodes: &mut Nodes, conversations: &mut [Conversation], tool: usize, least: Fit) -> bool {
        let within = self.nesting.within(self.scopes.scope_of(tool));
        within.is_some_and(|within| by_name(nodes, conversations, &mut self.open, tool, least, &within))
    }
}
