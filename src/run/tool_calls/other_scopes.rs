//! Tools outside the agent that asked for them: the call is in a conversation of the tool's scope or one below.

use std::ops::Range;

use super::unmatched::UnmatchedCalls;
use crate::run::conversation::Conversations;
use crate::run::id::{ConversationId, ScopeId};
use crate::run::node::Nodes;
use crate::run::scopes::{Nesting, Scopes};

/// Unmatched calls of all conversations. A trace may have thousands of conversations and of tools that none of them asked for.
pub(super) struct OtherScopes {
    nesting: Nesting,
    pub(super) unmatched: UnmatchedCalls,
}

impl OtherScopes {
    pub(super) fn of(nodes: &Nodes, scopes: &Scopes, conversations: &Conversations) -> Self {
        let nesting = scopes.nesting();
        let mut places: Vec<(usize, ConversationId)> = Vec::new();
        for (id, conversation) in conversations.enumerate() {
            let nests = conversation.scopes.iter().filter_map(|scope| nesting.within(*scope));
            places.extend(nests.map(|nest| (nest.start, id)));
        }
        places.sort_unstable();
        let unmatched = UnmatchedCalls::of_all(nodes, conversations, places);
        Self { nesting, unmatched }
    }

    /// The places of a scope and of the scopes within it.
    pub(super) fn within(&self, scope: ScopeId) -> Option<Range<usize>> {
        self.nesting.within(scope)
    }
}
