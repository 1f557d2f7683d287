//! Which conversation goes on in a scope of its own. A trace may hold thousands of sub-agents.

use super::Conversation;
use crate::hash::{HashMap, HashSet};
use crate::operation::Role;
use crate::run::keys::{Key, Keys};
use crate::run::node::Nodes;

/// Conversations by the tool around them and the first words of a user.
#[derive(Default)]
pub(super) struct Openings(HashMap<(Option<usize>, Key), Vec<usize>>);

impl Openings {
    pub(super) fn note(&mut self, tool: Option<usize>, opening: Key, conversation: usize) {
        self.0.entry((tool, opening)).or_default().push(conversation);
    }

    /// The latest conversation in the tool that goes on with this call: its input repeats all of the users' words, and an
    /// answer.
    pub(super) fn continued(
        &self,
        nodes: &Nodes,
        list: &[Conversation],
        (tool, index): (Option<usize>, usize),
        keys: &mut Keys,
    ) -> Option<usize> {
        if self.0.is_empty() {
            return None;
        }
        let input = nodes.get(index)?.operation.input_messages.as_ref()?;
        let known: HashSet<Key> = input.iter().flat_map(|message| keys.of(message)).collect();
        let mut opened: Vec<usize> = known
            .iter()
            .filter_map(|key| self.0.get(&(tool, *key)))
            .flatten()
            .copied()
            .collect();
        opened.sort_unstable();
        opened.into_iter().rev().find(|at| {
            let sayings = || list.get(*at).into_iter().flat_map(|conversation| &conversation.sayings);
            let mut asked = sayings().filter(|saying| saying.message.role == Role::User);
            let mut turns = sayings().filter(|saying| saying.is_turn);
            asked.all(|saying| saying.keys.iter().all(|key| known.contains(key)))
                && turns.any(|saying| saying.keys.iter().any(|key| known.contains(key)))
        })
    }
}
