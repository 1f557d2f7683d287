//! Adds one model call to its conversation: the new messages of its input, then its output.

use std::sync::OnceLock;

use super::align::{Input, KnownInput};
use super::draft::{DraftCall, DraftConversation, Origin, SeenResult};
use super::history::{History, SharedBeginning};
use super::keys::{Key, Keys, Speaker, answer_key, realigned_from};
use super::missing_roles;
use super::walk::Walk;
use crate::hash::{self, HashMap};
use crate::operation::{Message, Messages, Role, ToolCallId};
use crate::run::id::{CallId, Id, MessageId, NodeId};
use crate::run::names;
use crate::run::node::{Node, Nodes};

/// The position of a result in an input: the model call, the known messages of its input, the index among them.
#[derive(Clone, Copy)]
struct ResultPlace<'a> {
    node: NodeId,
    known: &'a [Option<MessageId>],
    place: usize,
}

/// Whether the provider stores the history, so that the input has only new messages.
fn is_stored(node: &Node) -> bool {
    let mut parameters = node.operation.parameters.keys();
    parameters.any(|name| name.starts_with("previous_response"))
}

/// The number of the input that this call shares with others, if it is the whole input.
fn shared_number(node: &Node) -> Option<usize> {
    let number = node.operation.input_messages.as_ref()?.shared_number();
    number.filter(|_| !node.is_partial && !is_stored(node))
}

/// Messages of an input, with the keys of each, the known ones among them, and ids for results that lack one, by position.
type InputMessages<'a> = (&'a [Message], Vec<Vec<Key>>, KnownInput, HashMap<usize, String>);

impl DraftConversation {
    /// Adds a model call. Parts of earlier answers that only its input contains are added to those answers' nodes.
    pub(super) fn add_model_call(&mut self, nodes: &mut Nodes, call: NodeId, keys: &mut Keys) {
        self.give_roles(nodes, call);
        let (mut history, mut walk) = self.walk_whole_input(nodes, call, keys);
        let completed = std::mem::take(&mut walk.completed);
        let output = nodes.get(call).and_then(|node| node.operation.output_messages.as_ref()?.first());
        if let Some(message) = output {
            let turn = self.add_message(message.clone(), keys.of(message), call, Origin::Turn);
            walk.goes_to(turn);
            self.provider_results(&mut walk, call, message);
        }
        history.own = walk.history;
        self.histories.insert(call, history);
        self.last_call = Some(call);
        for id in completed {
            let Some(draft) = self.messages.get(id) else { continue };
            let Some(node) = nodes.get_mut(draft.node) else { continue };
            let output = node.operation.output_messages.get_or_insert_default();
            match output.first_mut() {
                Some(first) => first.clone_from(&draft.message),
                None => output.push(draft.message.clone()),
            }
        }
    }

    /// Finds roles for texts recorded without them, from the previous call.
    fn give_roles(&self, nodes: &mut Nodes, call: NodeId) {
        let messages = nodes.get(call).and_then(|node| node.operation.input_messages.as_ref());
        // A client that records only new messages also records the roles.
        let Some(messages) = messages.filter(|messages| messages.shared_number().is_none()) else {
            return;
        };
        let before = self.last_call.and_then(|last| nodes.get(last)).map(|last| &last.operation);
        let past = before.and_then(|operation| {
            Some((
                operation.input_messages.as_deref()?,
                operation.output_messages.as_ref().and_then(|list| list.first()),
            ))
        });
        if let Some(messages) = missing_roles::resolve(messages, past)
            && let Some(node) = nodes.get_mut(call)
        {
            node.operation.input_messages = Some(messages.into());
        }
    }

    /// Walks through the input of a call, resuming the walk through a shared input. Returns the part of the history that other calls
    /// share, and the walk with the rest.
    fn walk_whole_input(&mut self, nodes: &Nodes, call: NodeId, keys: &mut Keys) -> (History, Walk) {
        let Some(node) = nodes.get(call) else {
            return (History::default(), Walk::default());
        };
        let is_stored = is_stored(node);
        let messages = node.operation.input_messages.as_deref().unwrap_or_default();
        let number = shared_number(node);
        let mut shared = number.map(|number| self.shared_inputs.remove(&number).unwrap_or_default());
        let walked = shared.as_ref().map_or(0, |shared| shared.ends.len());
        let new = messages.get(walked..).unwrap_or_default();
        let mut walk = Walk::default();
        if walked == 0 || !new.is_empty() {
            let names: Vec<Vec<Key>> = new.iter().map(|message| keys.of(message)).collect();
            let known = self.align(&Input {
                messages: new,
                names: &names,
                is_partial: node.is_partial,
                is_stored,
                behind: shared.as_ref().filter(|_| walked > 0),
            });
            walk.branches = known.cut && !is_stored && !node.is_partial;
            shared.iter_mut().for_each(|shared| walk.enter(shared));
            let answers = realigned_from(messages, walked);
            let ends = self.walk_input(nodes, call, &mut walk, (new, names, known, answers), keys);
            shared.iter_mut().for_each(|shared| walk.leave(shared, ends.iter().copied()));
        }
        let (Some(number), Some(mut shared)) = (number, shared) else {
            return (History::default(), walk);
        };
        if messages.len() == shared.ends.len() {
            shared.last = Some(call);
        }
        let beginning = SharedBeginning {
            input: number,
            messages: shared.became(messages.len()),
        };
        self.shared_inputs.insert(number, shared);
        let history = History {
            shared: Some(beginning),
            own: Vec::new(),
        };
        (history, walk.rest())
    }

    /// How many messages already seen in other calls are walked through again for this call.
    pub(super) fn walks_again(&self, node: &Node) -> usize {
        let continued = node.operation.input_messages.as_ref().map_or(0, Messages::continued);
        let is_known = shared_number(node).is_some_and(|number| self.shared_inputs.contains_key(&number));
        if is_known { 0 } else { continued }
    }

    /// Adds the messages of an input. Returns the length of the history after each one.
    fn walk_input(
        &mut self,
        nodes: &Nodes,
        call: NodeId,
        walk: &mut Walk,
        (messages, names, known, answers): InputMessages<'_>,
        keys: &mut Keys,
    ) -> Vec<usize> {
        let mut ends = Vec::with_capacity(messages.len());
        for (place, (message, names)) in messages.iter().zip(names).enumerate() {
            let result = ResultPlace {
                node: call,
                known: &known.messages,
                place,
            };
            match known.messages.get(place).copied().flatten() {
                _ if message.role == Role::Tool => match answers.get(&place) {
                    Some(id) => {
                        let tool_call_id = Some(id.clone());
                        let message = Message {
                            tool_call_id,
                            ..message.clone()
                        };
                        self.add_result(walk, result, &message);
                    }
                    None => self.add_result(walk, result, message),
                },
                Some(id) => self.add_again(walk, id, message, keys),
                None if known.repeated.contains(&place) => {}
                None => self.add_new(nodes, call, walk, (message, names), keys),
            }
            self.provider_results(walk, call, message);
            ends.push(walk.history.len());
        }
        ends
    }

    /// Adds the results of tools that the provider ran, which are recorded with the calls.
    fn provider_results(&mut self, walk: &mut Walk, node: NodeId, message: &Message) {
        for answer in message.tool_calls.iter().filter_map(|call| call.answered.as_deref()) {
            let place = ResultPlace {
                node,
                known: &[],
                place: 0,
            };
            self.add_result(walk, place, answer);
        }
    }

    /// Adds a message that is known already.
    fn add_again(&mut self, walk: &mut Walk, id: MessageId, message: &Message, keys: &mut Keys) {
        let is_answer = self.messages.get(id).is_some_and(|draft| draft.message.role == Role::Assistant);
        if is_answer {
            self.learn_ids(id, message);
            if self.complete(id, message, keys) {
                walk.completed.push(id);
            }
            walk.goes_to(id);
        } else {
            walk.push(id);
        }
    }

    /// Adds a new message.
    fn add_new(&mut self, nodes: &Nodes, call: NodeId, walk: &mut Walk, (message, names): (&Message, Vec<Key>), keys: &mut Keys) {
        if message.is_blank() {
            return;
        }
        if message.role == Role::Assistant && names.is_empty() {
            // A thought alone is a piece of a turn that is known by its text or calls.
            return;
        }
        if matches!(message.role, Role::System | Role::Developer) {
            // Another agent's prompt may precede a history that began under the first agent's: it gets no place in the history.
            if !names.iter().any(|key| self.by_key.contains_key(key)) {
                self.add_message(message.clone(), names, call, Origin::Input);
            }
            return;
        }
        // A client that records no role: the text identifies the speaker.
        let is_prompt = |key: &Key| key.with_speaker(Speaker::System).is_some_and(|key| self.by_key.contains_key(&key));
        if matches!(&message.role, Role::Other(word) if word.is_empty()) && names.iter().any(is_prompt) {
            return;
        }
        if message.role == Role::Assistant {
            return self.add_unknown_answer(nodes, call, walk, (message, names), keys);
        }
        let origin = walk.next_origin();
        let id = self.add_message(message.clone(), names, call, origin);
        walk.push(id);
    }

    /// Adds an assistant message that is not the output of any known call of this trace.
    fn add_unknown_answer(
        &mut self,
        nodes: &Nodes,
        call: NodeId,
        walk: &mut Walk,
        (message, names): (&Message, Vec<Key>),
        keys: &mut Keys,
    ) {
        // Calls of the answer right before, whose own span shows only its text: a client may record each call followed by
        // its result.
        if let Some(turn) = walk.turn.filter(|turn| self.has_words_alone(nodes, *turn, walk.given))
            && !message.has_words()
            && !message.tool_calls.is_empty()
        {
            self.extend(turn, message, keys);
            walk.completed.push(turn);
            walk.given = Some(turn);
            return;
        }
        // Another piece of the answer that this walk gave to the previous call.
        if let Some(given) = walk.given
            && walk.turn == Some(given)
            && !walk.unanswered.any_answered()
        {
            self.extend(given, message, keys);
            walk.completed.push(given);
            return;
        }
        let silent = self.last_call.filter(|last| {
            // The previous call received the messages before this one.
            let given = self.histories.get(last).and_then(|history| self.last_of(history));
            given.is_none_or(|given| walk.has(given))
                && !self.with_turn.contains(last)
                && nodes
                    .get(*last)
                    .is_some_and(|node| node.operation.output_messages.is_none() && node.operation.failure.is_none())
        });
        let id = match silent {
            Some(last) => {
                let id = self.add_message(message.clone(), names, last, Origin::Turn);
                if let Some(history) = self.histories.get_mut(&last) {
                    history.own.push(id);
                }
                walk.completed.push(id);
                walk.given = Some(id);
                id
            }
            None => {
                let origin = walk.next_origin();
                self.add_message(message.clone(), names, call, origin)
            }
        };
        walk.goes_to(id);
    }

    /// Whether a turn is the output of the last model call and has only text, apart from calls that this walk added (`given`).
    fn has_words_alone(&self, nodes: &Nodes, turn: MessageId, given: Option<MessageId>) -> bool {
        let Some(draft) = self
            .messages
            .get(turn)
            .filter(|draft| draft.is_turn && Some(draft.node) == self.last_call)
        else {
            return false;
        };
        let recorded = nodes
            .get(draft.node)
            .and_then(|node| node.operation.output_messages.as_ref()?.first());
        let is_silent_of_calls = recorded.is_some_and(|message| message.has_words() && message.tool_calls.is_empty());
        is_silent_of_calls && (draft.message.tool_calls.is_empty() || given == Some(turn))
    }

    /// Adds a tool result of a model input to the call with its id, else to the next unanswered call of the turn.
    fn add_result(&mut self, walk: &mut Walk, at: ResultPlace<'_>, message: &Message) {
        let calls = walk
            .turn
            .and_then(|turn| self.messages.get(turn))
            .map_or(&[][..], |draft| &draft.calls);
        let calls = calls.iter().filter_map(|at| {
            let draft = self.calls.get(*at)?;
            Some((*at, &draft.call, draft.shared_id.as_deref()))
        });
        walk.unanswered.enter(walk.turn, calls);
        // A later turn may reuse an id.
        let in_turn = message.tool_call_id.as_ref().and_then(|id| walk.unanswered.with_id(id));
        let by_id = in_turn.or_else(|| {
            let calls = self.by_id.get(message.tool_call_id.as_ref()?)?;
            let [.., last] = calls.as_slice() else { return None };
            if calls.len() == 1 {
                return Some(*last);
            }
            // The call was made before the answer that follows its result.
            let is_answer = |id: &MessageId| self.messages.get(*id).is_some_and(|draft| draft.message.role == Role::Assistant);
            let next = at.known.get(at.place..)?.iter().flatten().copied().find(is_answer);
            let asked_before = |call: &&CallId| next.is_none_or(|next| self.calls.get(**call).is_some_and(|draft| draft.message < next));
            calls.iter().rev().find(asked_before).copied()
        });
        let found = by_id.or_else(|| {
            // A name that fits no call, but an id: the client uses different ids for results than for calls.
            let in_order = message.name.is_none() || message.tool_call_id.is_some();
            let named = message.name.as_ref().and_then(|name| walk.unanswered.named(name));
            named.or_else(|| walk.unanswered.first().filter(|_| in_order))
        });
        let seen = || SeenResult {
            message: message.clone(),
            node: at.node,
            answer_hash: OnceLock::new(),
        };
        let found = found.or_else(|| self.in_order(walk, message));
        let Some(call) = found else {
            if self.known_strays.insert((message.tool_call_id.clone(), answer_key(message))) {
                self.stray_results.push(seen());
            }
            return;
        };
        walk.unanswered.answered(call);
        if let Some(id) = &message.tool_call_id
            && by_id.is_none()
        {
            // The output has the id of an item, the result that of the call.
            self.by_id.entry(id.clone()).or_default().push(call);
            if let Some(draft) = self.calls.get_mut(call)
                && draft.result.is_none()
            {
                draft.call.id = Some(ToolCallId::Recorded(id.clone()));
                walk.unanswered.learn(id, call);
            }
        }
        if let Some(draft) = self.calls.get_mut(call)
            && draft.result.is_none()
        {
            draft.result = Some(seen());
        }
    }

    /// The call of a result without an id, where the input does not repeat the call: results follow the order of the calls. A known
    /// result may be repeated.
    fn in_order(&self, walk: &mut Walk, message: &Message) -> Option<CallId> {
        if message.tool_call_id.is_some() || walk.turn.is_some_and(|turn| self.asks(turn)) {
            return None;
        }
        let key = answer_key(message);
        let hash = hash::of_text(&key);
        let fits = |draft: &DraftCall| {
            let is_of_tool = message.name.as_ref().is_none_or(|name| names::same_tool(name, &draft.call.name));
            let hash_of = |seen: &SeenResult| *seen.answer_hash.get_or_init(|| hash::of_text(&answer_key(&seen.message)));
            let is_again = |seen: &SeenResult| hash_of(seen) == hash && answer_key(&seen.message) == key;
            draft.by.is_some() && is_of_tool && draft.result.as_ref().is_none_or(is_again)
        };
        let found = self
            .calls
            .enumerate()
            .skip(walk.passed)
            .find(|(_, draft)| fits(draft))
            .map(|(call, _)| call);
        walk.passed = found.map_or(self.calls.len(), |call| call.index() + 1);
        found
    }

    fn asks(&self, turn: MessageId) -> bool {
        self.messages.get(turn).is_some_and(|draft| !draft.calls.is_empty())
    }
}
