//! What a later input tells of an answer that its own span does not: text, ids, further calls.

use std::collections::VecDeque;

use super::super::fill;
use super::super::keys::{Keys, canonical};
use super::super::node::Nodes;
use super::Conversation;
use crate::hash::HashMap;
use crate::operation::{Message, ToolCall};

/// Calls of an answer that only a later input holds, where it holds all that the answer's own span has. An id that is known
/// is a call of another answer: a client may join answers.
fn further_calls(own: &Message, later: &Message, known: &HashMap<String, Vec<usize>>) -> Vec<ToolCall> {
    let ids = || later.tool_calls.iter().filter_map(|call| call.id.as_ref());
    let is_told = |call: &ToolCall| call.id.as_ref().is_some_and(|id| ids().any(|told| told == id));
    if own.tool_calls.is_empty() || !own.tool_calls.iter().all(is_told) {
        return Vec::new();
    }
    let is_new = |call: &&ToolCall| call.id.as_ref().is_some_and(|id| !known.contains_key(id));
    later.tool_calls.iter().filter(is_new).cloned().collect()
}

impl Conversation {
    /// The same calls under other ids: answers may name these.
    pub(super) fn learn_ids(&mut self, at: usize, message: &Message) {
        let unknown = |call: &&ToolCall| call.id.as_ref().is_some_and(|id| !self.by_id.contains_key(id));
        if !message.tool_calls.iter().any(|call| unknown(&call)) {
            return;
        }
        let mut twins: HashMap<(String, String), VecDeque<usize>> = HashMap::default();
        let key = |call: &ToolCall| (call.name.clone(), canonical(call));
        for at in self.sayings.get(at).into_iter().flat_map(|saying| &saying.calls) {
            if let Some(asked) = self.calls.get(*at) {
                twins.entry(key(&asked.call)).or_default().push_back(*at);
            }
        }
        for call in &message.tool_calls {
            let Some(id) = call.id.as_ref().filter(|id| !self.by_id.contains_key(*id)) else {
                continue;
            };
            if let Some(twin) = twins.get_mut(&key(call)).and_then(VecDeque::pop_front) {
                let _ = self.by_id.insert(id.clone(), vec![twin]);
            }
        }
    }

    /// A later input may hold more of an answer than the call's own span: its text, its calls' arguments, further calls.
    pub(super) fn complete(&mut self, nodes: &mut Nodes, at: usize, message: &Message, keys: &mut Keys) {
        let Some(saying) = self.sayings.get_mut(at) else { return };
        if !saying.is_turn {
            return;
        }
        let had_calls = saying.message.tool_calls.len();
        let text_only = message.tool_calls.is_empty();
        let fills = !saying.message.has_words() || !text_only;
        if !fills {
            return;
        }
        let more = further_calls(&saying.message, message, &self.by_id);
        let is_enriched = fill::enrich(&mut saying.message, message);
        if !is_enriched && more.is_empty() {
            return;
        }
        saying.message.tool_calls.extend(more);
        let (filled, node) = (saying.message.clone(), saying.node);
        saying.keys = keys.of(&filled);
        if let Some(output) = node
            .and_then(|node| nodes.get_mut(node))
            .and_then(|node| node.operation.output_messages.as_mut())
            && let Some(first) = output.first_mut()
        {
            *first = filled.clone();
        }
        let refs = self.sayings.get(at).map(|saying| saying.calls.clone()).unwrap_or_default();
        for (asked, call) in refs.into_iter().zip(&filled.tool_calls) {
            if let Some(asked) = self.calls.get_mut(asked) {
                asked.call = call.clone();
            }
        }
        if filled.tool_calls.len() > had_calls {
            self.register(at);
        }
    }

    /// Takes a call that no output shows as one that this turn asked for. Gives the call's place.
    pub(in crate::run) fn ask(&mut self, at: usize, call: ToolCall) -> Option<usize> {
        let saying = self.sayings.get_mut(at)?;
        saying.message.tool_calls.push(call);
        self.register(at);
        self.sayings.get(at)?.calls.last().copied()
    }

    pub(super) fn extend(&mut self, nodes: &mut Nodes, at: usize, by: usize, message: &Message, keys: &mut Keys) {
        let Some(saying) = self.sayings.get_mut(at) else { return };
        saying.message.parts.extend(message.parts.iter().cloned());
        saying.message.tool_calls.extend(message.tool_calls.iter().cloned());
        saying.keys = keys.of(&saying.message);
        if let Some(node) = nodes.get_mut(by) {
            node.operation.output_messages = Some(vec![saying.message.clone()]);
        }
        self.register(at);
    }
}
