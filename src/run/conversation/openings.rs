//! Finds the conversation that a scope continues. A trace may contain thousands of sub-agents.

use std::ops::Range;

use super::draft::{Conversations, DraftConversation, DraftMessage};
use super::keys::{Key, Keys, canonical};
use crate::hash::{HashMap, HashSet};
use crate::operation::{Message, Role, ToolCall, is_counter};
use crate::run::id::{ConversationId, NodeId};
use crate::run::names;
use crate::run::node::Nodes;

/// Indexes by which conversations are recognised, within the tool around them.
#[derive(Default)]
pub(super) struct Openings {
    /// Conversations by their first user message.
    first_words: HashMap<(Option<NodeId>, Key), Vec<ConversationId>>,
    /// The latest conversation that contains a call, by its id, tool and arguments.
    calls: HashMap<(Option<NodeId>, String), ConversationId>,
    /// Calls not yet in [`Self::calls`]: most runs have one conversation, whose calls are never looked up.
    noted: Vec<(Option<NodeId>, ConversationId, Range<usize>)>,
    /// How many calls of each conversation are known.
    known_calls: HashMap<ConversationId, usize>,
}

fn call_name(call: &ToolCall) -> Option<String> {
    Some(format!("{}\0{}\0{}", call.id.as_ref()?, call.name, canonical(call)))
}

impl Openings {
    pub(super) fn note(&mut self, tool: Option<NodeId>, opening: Key, conversation: ConversationId) {
        self.first_words.entry((tool, opening)).or_default().push(conversation);
    }

    /// Notes the new calls of a conversation.
    pub(super) fn note_calls(&mut self, tool: Option<NodeId>, at: ConversationId, conversation: &DraftConversation) {
        let known = self.known_calls.entry(at).or_default();
        let count = conversation.calls.len();
        if count > *known {
            self.noted.push((tool, at, *known..count));
        }
        *known = count;
    }

    /// The latest conversation in the tool that this call continues: the call's input repeats all user messages, and an
    /// answer or follows an agent that passed the run to this one; or, if the history was cut, it repeats calls.
    pub(super) fn continued(
        &mut self,
        nodes: &Nodes,
        list: &Conversations,
        (tool, call, agent): (Option<NodeId>, NodeId, Option<&str>),
        keys: &mut Keys,
    ) -> Option<ConversationId> {
        if self.first_words.is_empty() {
            return None;
        }
        let input = nodes.get(call)?.operation.input_messages.as_ref()?;
        let known: HashSet<Key> = input.iter().flat_map(|message| keys.of(message)).collect();
        let mut opened: Vec<ConversationId> = known
            .iter()
            .filter_map(|key| self.first_words.get(&(tool, *key)))
            .flatten()
            .copied()
            .collect();
        opened.sort_unstable();
        let opened = opened.into_iter().rev().find(|at| {
            let messages = || list.get(*at).into_iter().flat_map(|conversation| &conversation.messages);
            let mut of_users = messages().filter(|draft| draft.message.role == Role::User);
            let mut turns = messages().filter(|draft| draft.is_turn);
            let passes = |draft: &DraftMessage| {
                let mut calls = draft.message.tool_calls.iter();
                agent.is_some_and(|agent| calls.any(|call| names::is_transfer_to(&call.name, agent)))
            };
            of_users.all(|draft| draft.keys.iter().all(|key| known.contains(key)))
                && (turns.any(|draft| draft.keys.iter().any(|key| known.contains(key)))
                    || messages().rev().find(|draft| draft.is_turn).is_some_and(passes))
        });
        opened.or_else(|| self.with_calls(list, input, tool))
    }

    /// The conversation of the last calls in an input. One call with a counter as its id is not enough: a model may restart its count.
    fn with_calls(&mut self, list: &Conversations, input: &[Message], tool: Option<NodeId>) -> Option<ConversationId> {
        for (tool, at, new) in self.noted.drain(..) {
            let new = list
                .get(at)
                .map(|conversation| conversation.calls.iter().skip(new.start).take(new.len()));
            let names = new.into_iter().flatten().filter_map(|draft| call_name(&draft.call));
            self.calls.extend(names.map(|name| ((tool, name), at)));
        }
        let calls = input.iter().rev().flat_map(|message| &message.tool_calls);
        let known = calls.filter_map(|call| Some((call, *self.calls.get(&(tool, call_name(call)?))?)));
        let mut counted: HashMap<ConversationId, usize> = HashMap::default();
        for (call, at) in known {
            let times = counted.entry(at).or_default();
            *times += 1;
            if *times > 1 || !call.id.as_deref().is_some_and(is_counter) {
                return Some(at);
            }
        }
        None
    }
}
