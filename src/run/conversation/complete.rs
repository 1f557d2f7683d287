//! Completes answers from later inputs with what their own spans lack: text, ids, further calls.

use std::collections::VecDeque;

use super::draft::DraftConversation;
use super::garbled;
use super::keys::{Keys, canonical};
use crate::hash::{HashMap, HashSet};
use crate::operation::{Message, ToolCall, ToolCallId};
use crate::run::fill;
use crate::run::id::{CallId, MessageId};

/// Calls of an answer that only a later input contains, if it also contains all calls on the answer's own span. A known id belongs to
/// a call of another answer: a client may join answers.
fn further_calls(own: &Message, later: &Message, known: &HashMap<String, Vec<CallId>>) -> Vec<ToolCall> {
    if own.tool_calls.is_empty() || later.tool_calls.is_empty() {
        return Vec::new();
    }
    let recorded: HashSet<&ToolCallId> = later.tool_calls.iter().filter_map(|call| call.id.as_ref()).collect();
    let is_known = |call: &ToolCall| call.id.as_ref().is_some_and(|id| recorded.contains(id));
    if !own.tool_calls.iter().all(is_known) {
        return Vec::new();
    }
    let is_new = |call: &&ToolCall| call.id.as_deref().is_some_and(|id| !known.contains_key(id));
    later.tool_calls.iter().filter(is_new).cloned().collect()
}

impl DraftConversation {
    /// Learns other ids of the same calls: results may name these.
    pub(super) fn learn_ids(&mut self, id: MessageId, message: &Message) {
        let unknown = |call: &&ToolCall| call.id.as_deref().is_some_and(|id| !self.by_id.contains_key(id));
        if !message.tool_calls.iter().any(|call| unknown(&call)) {
            return;
        }
        let mut twins: HashMap<(String, String), VecDeque<CallId>> = HashMap::default();
        let key = |call: &ToolCall| (call.name.clone(), canonical(call));
        for at in self.messages.get(id).into_iter().flat_map(|draft| &draft.calls) {
            if let Some(draft) = self.calls.get(*at) {
                twins.entry(key(&draft.call)).or_default().push_back(*at);
            }
        }
        for call in &message.tool_calls {
            let Some(id) = call.id.as_deref().filter(|id| !self.by_id.contains_key(*id)) else {
                continue;
            };
            if let Some(twin) = twins.get_mut(&key(call)).and_then(VecDeque::pop_front) {
                self.by_id.insert(id.to_owned(), vec![twin]);
            }
        }
    }

    /// Adds to an answer the text, arguments of calls or further calls that only a later input contains. Returns whether it did.
    pub(super) fn complete(&mut self, id: MessageId, message: &Message, keys: &mut Keys) -> bool {
        let Some(draft) = self.messages.get_mut(id) else { return false };
        let fills = !draft.message.has_words() || !message.tool_calls.is_empty();
        if !draft.is_turn || !fills {
            return false;
        }
        let had_calls = draft.message.tool_calls.len();
        if garbled::is_left_of(draft.message.tool_calls.iter(), &message.tool_calls) {
            return self.replace_calls(id, message, keys);
        }
        let more = further_calls(&draft.message, message, &self.by_id);
        let is_enriched = fill::enrich(&mut draft.message, message);
        if !is_enriched && more.is_empty() {
            return false;
        }
        draft.message.tool_calls.extend(more);
        draft.keys = keys.of(&draft.message);
        for (call, filled) in draft.calls.iter().zip(&draft.message.tool_calls) {
            if let Some(draft) = self.calls.get_mut(*call) {
                draft.call.clone_from(filled);
            }
        }
        if draft.message.tool_calls.len() > had_calls {
            self.register(id);
        }
        true
    }

    /// Replaces the calls of an answer with those in a history.
    fn replace_calls(&mut self, id: MessageId, message: &Message, keys: &mut Keys) -> bool {
        let Some(draft) = self.messages.get_mut(id) else { return false };
        draft.message.tool_calls.clone_from(&message.tool_calls);
        draft.keys = keys.of(&draft.message);
        // A call that was taken for a twin may be another one of these.
        for id in message.tool_calls.iter().filter_map(|call| call.id.as_deref()) {
            if let Some(known) = self.by_id.get_mut(id) {
                known.retain(|call| !draft.calls.contains(call));
            }
        }
        for (at, recorded) in draft.calls.iter().zip(&message.tool_calls) {
            let Some(call) = self.calls.get_mut(*at) else { continue };
            call.call.clone_from(recorded);
            if let Some(id) = &recorded.id {
                let known = self.by_id.entry(id.as_str().to_owned()).or_default();
                if !known.contains(at) {
                    known.push(*at);
                }
            }
        }
        self.register(id);
        true
    }

    /// Adds another piece to an answer.
    pub(super) fn extend(&mut self, id: MessageId, message: &Message, keys: &mut Keys) {
        let Some(draft) = self.messages.get_mut(id) else { return };
        draft.message.parts.extend(message.parts.iter().cloned());
        draft.message.tool_calls.extend(message.tool_calls.iter().cloned());
        draft.keys = keys.of(&draft.message);
        self.register(id);
    }
}
