//! What was said, each message once: the history that repeats in every model input is matched against what is known.

mod align;
mod complete;
mod openings;
mod walk;

#[cfg(test)]
mod tests;

use super::keys::{Key, Keys, Speaker, answer_key, realigned};
use super::node::Nodes;
use super::scope::Scopes;
use crate::hash::{HashMap, HashSet};
use crate::operation::{Kind, Message, Role, ToolCall};
use align::Input;
use openings::Openings;
use walk::Walk;

/// One thing that was said, with node indices.
#[derive(Debug, Clone)]
pub(super) struct Saying {
    pub(super) message: Message,
    /// The model call that said it, or in whose input it stands.
    pub(super) node: Option<usize>,
    /// Whether a model call of this trace said it.
    pub(super) is_turn: bool,
    pub(super) branch: bool,
    /// The calls of this message: indices into [`Conversation::calls`].
    pub(super) calls: Vec<usize>,
    /// The names of the message as it is now.
    keys: Vec<Key>,
}

/// One tool call that a message asks for.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) call: ToolCall,
    /// The saying that holds it.
    pub(super) saying: usize,
    /// Its place in the message.
    pub(super) index: usize,
    /// The model call that asked.
    pub(super) by: Option<usize>,
    /// The answer as a later model input has it, and that model call.
    pub(super) answer: Option<(Message, usize)>,
    /// Tool nodes that ran it, in order.
    pub(super) tools: Vec<usize>,
}

/// A conversation while it is being put together.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// The scopes that speak in it; the first one owns it.
    pub(super) scopes: Vec<usize>,
    pub(super) sayings: Vec<Saying>,
    pub(super) calls: Vec<Asked>,
    /// Tool answers that name a call that nobody made.
    pub(super) stray: Vec<(Message, usize)>,
    strays: HashSet<(Option<String>, String)>,
    at: HashMap<Key, Vec<usize>>,
    /// The first words of a user.
    opening: Option<Key>,
    /// The calls of each id, in the order in which they were asked: a model may number its calls from 0 in every answer.
    by_id: HashMap<String, Vec<usize>>,
    /// For each model call what it was given and what it said, in this order, without system prompts.
    lines: HashMap<usize, Vec<usize>>,
    last_call: Option<usize>,
    /// Model calls that are known to have said something.
    spoke: HashSet<usize>,
}

/// Puts the conversations of all scopes together.
pub(super) fn all(nodes: &mut Nodes, scopes: &Scopes) -> Vec<Conversation> {
    let mut list: Vec<Conversation> = Vec::new();
    let mut of_scope: HashMap<usize, usize> = HashMap::default();
    let mut openings = Openings::default();
    let mut keys = Keys::default();
    for index in nodes.of_kind(Kind::Llm) {
        let scope = scopes.scope_of(index);
        let at = match of_scope.get(&scope) {
            Some(at) => *at,
            None => {
                let draft = scopes.list.get(scope);
                let tool = draft.and_then(|draft| draft.tool);
                // A judge reads the conversation that it judges, and does not go on with it.
                let goes_on = !draft.is_some_and(|draft| draft.aside);
                let continued = goes_on.then(|| openings.continued(nodes, &list, (tool, index), &mut keys));
                let at = continued.flatten().unwrap_or_else(|| {
                    list.push(Conversation::default());
                    list.len() - 1
                });
                let _ = of_scope.insert(scope, at);
                if let Some(conversation) = list.get_mut(at) {
                    conversation.scopes.push(scope);
                }
                at
            }
        };
        if let Some(conversation) = list.get_mut(at) {
            let is_open = conversation.opening.is_some();
            conversation.add(nodes, index, &mut keys);
            let owner = conversation.scopes.first().and_then(|owner| scopes.list.get(*owner));
            openings.note_calls(owner.and_then(|owner| owner.tool), at, conversation);
            if let Some(opening) = conversation.opening.filter(|_| !is_open) {
                openings.note(owner.and_then(|owner| owner.tool), opening, at);
            }
        }
    }
    list
}

impl Conversation {
    /// Takes a model call: what is new in its input, then its output.
    fn add(&mut self, nodes: &mut Nodes, index: usize, keys: &mut Keys) {
        let Some(node) = nodes.get(index) else { return };
        if let Some(messages) = &node.operation.input_messages {
            let before = self.last_call.and_then(|last| nodes.get(last)).map(|last| &last.operation);
            let past = before.and_then(|operation| {
                Some((
                    operation.input_messages.as_deref()?,
                    operation.output_messages.as_ref().and_then(|list| list.first()),
                ))
            });
            if let Some(messages) = super::roles::resolve(messages, past)
                && let Some(node) = nodes.get_mut(index)
            {
                node.operation.input_messages = Some(messages);
            }
        }
        let is_stored = nodes
            .get(index)
            .is_some_and(|node| node.operation.parameters.keys().any(|name| name.starts_with("previous_response")));
        let is_partial = nodes.get(index).is_some_and(|node| node.is_partial);
        // The walk changes other calls' answers, never this call's input: it is put back as it was.
        let input = nodes.get_mut(index).and_then(|node| node.operation.input_messages.take());
        let messages = input.as_deref().unwrap_or_default();
        let names: Vec<Vec<Key>> = messages.iter().map(|message| keys.of(message)).collect();
        let known = self.align(&Input {
            messages,
            names: &names,
            is_partial,
            is_stored,
        });
        let mut walk = Walk {
            branches: known.cut && !is_stored && !is_partial,
            ..Walk::default()
        };
        let ids = realigned(messages);
        for (place, (message, names)) in messages.iter().zip(names).enumerate() {
            match known.sayings.get(place).copied().flatten() {
                _ if message.role == Role::Tool => match ids.get(&place) {
                    Some(id) => {
                        let tool_call_id = Some(id.clone());
                        let message = Message {
                            tool_call_id,
                            ..message.clone()
                        };
                        self.answer(&mut walk, (index, &known.sayings, place), &message);
                    }
                    None => self.answer(&mut walk, (index, &known.sayings, place), message),
                },
                Some(saying) => self.again(nodes, &mut walk, saying, message, keys),
                None if known.repeated.contains(&place) => {}
                None => self.take(nodes, index, &mut walk, (message, names), keys),
            }
            self.served(&mut walk, index, message);
        }
        if let Some(node) = nodes.get_mut(index) {
            node.operation.input_messages = input;
        }
        let said = nodes.get(index).and_then(|node| node.operation.output_messages.as_ref()?.first());
        if let Some(message) = said {
            let turn = self.say(message.clone(), keys.of(message), Some(index), true, false);
            walk.goes_to(turn);
            self.served(&mut walk, index, message);
        }
        let _ = self.lines.insert(index, walk.line);
        self.last_call = Some(index);
    }

    /// The answers of tools that the provider ran, which stand with the calls.
    fn served(&mut self, walk: &mut Walk, index: usize, message: &Message) {
        for answer in message.tool_calls.iter().filter_map(|call| call.answered.as_deref()) {
            self.answer(walk, (index, &[], 0), answer);
        }
    }

    /// A message that is known already.
    fn again(&mut self, nodes: &mut Nodes, walk: &mut Walk, saying: usize, message: &Message, keys: &mut Keys) {
        let is_answer = self
            .sayings
            .get(saying)
            .is_some_and(|saying| saying.message.role == Role::Assistant);
        if is_answer {
            self.learn_ids(saying, message);
            self.complete(nodes, saying, message, keys);
            walk.goes_to(saying);
        } else {
            walk.line.push(saying);
        }
    }

    /// A message that is new.
    fn take(&mut self, nodes: &mut Nodes, index: usize, walk: &mut Walk, (message, names): (&Message, Vec<Key>), keys: &mut Keys) {
        if message.is_blank() {
            return;
        }
        if message.role == Role::Assistant && names.is_empty() {
            // A thought alone is a piece of a turn that is known by its words or calls.
            return;
        }
        if matches!(message.role, Role::System | Role::Developer) {
            // Another agent's prompt may stand before a history that began under the first one's: no place is left.
            if !names.iter().any(|key| self.at.contains_key(key)) {
                let _ = self.say(message.clone(), names, Some(index), false, false);
            }
            return;
        }
        // A client that gives no role: the words tell whose they are.
        let is_prompt = |key: &Key| key.said_by(Speaker::System).is_some_and(|key| self.at.contains_key(&key));
        if matches!(&message.role, Role::Other(word) if word.is_empty()) && names.iter().any(is_prompt) {
            return;
        }
        if message.role == Role::Assistant {
            return self.foreign(nodes, index, walk, (message, names), keys);
        }
        let branch = walk.branches();
        let at = self.say(message.clone(), names, Some(index), false, branch);
        walk.line.push(at);
    }

    /// The calls of each id, in the order in which they were asked.
    pub(super) fn calls_by_id(&self) -> impl Iterator<Item = (&String, &[usize])> {
        self.by_id.iter().map(|(id, calls)| (id, calls.as_slice()))
    }

    /// An assistant's message that no call of this trace is known to have said.
    fn foreign(&mut self, nodes: &mut Nodes, index: usize, walk: &mut Walk, (message, names): (&Message, Vec<Key>), keys: &mut Keys) {
        // A piece of the answer that this walk gave to the call before.
        if let Some(given) = walk.given
            && walk.turn == Some(given)
            && !walk.open.any_answered()
            && let Some(by) = self.sayings.get(given).and_then(|saying| saying.node)
        {
            self.extend(nodes, given, by, message, keys);
            return;
        }
        let silent = self.last_call.filter(|last| {
            // What came before is what that call was given.
            let given = self.lines.get(last).and_then(|line| line.last());
            given.is_none_or(|given| walk.line.contains(given))
                && !self.spoke.contains(last)
                && nodes
                    .get(*last)
                    .is_some_and(|node| node.operation.output_messages.is_none() && node.operation.failure.is_none())
        });
        let at = match silent {
            Some(last) => {
                if let Some(node) = nodes.get_mut(last) {
                    node.operation.output_messages = Some(vec![message.clone()]);
                }
                let at = self.say(message.clone(), names, Some(last), true, false);
                if let Some(line) = self.lines.get_mut(&last) {
                    line.push(at);
                }
                walk.given = Some(at);
                at
            }
            None => {
                let branch = walk.branches();
                self.say(message.clone(), names, Some(index), false, branch)
            }
        };
        walk.goes_to(at);
    }

    fn say(&mut self, message: Message, keys: Vec<Key>, node: Option<usize>, is_turn: bool, branch: bool) -> usize {
        let at = self.sayings.len();
        if is_turn {
            self.spoke.extend(node);
        }
        if message.role == Role::User && self.opening.is_none() {
            self.opening = keys.first().copied();
        }
        self.sayings.push(Saying {
            message,
            node,
            is_turn,
            branch,
            calls: Vec::new(),
            keys,
        });
        self.register(at);
        at
    }

    /// Makes a saying known by its names, and its calls by their ids.
    fn register(&mut self, at: usize) {
        let Some(saying) = self.sayings.get_mut(at) else { return };
        for key in &saying.keys {
            let places = self.at.entry(*key).or_default();
            if let Err(place) = places.binary_search(&at) {
                places.insert(place, at);
            }
        }
        let by = saying.is_turn.then_some(saying.node).flatten();
        for (index, call) in saying.message.tool_calls.iter().enumerate().skip(saying.calls.len()) {
            let asked = self.calls.len();
            saying.calls.push(asked);
            if let Some(id) = &call.id {
                self.by_id.entry(id.clone()).or_default().push(asked);
            }
            self.calls.push(Asked {
                call: call.clone(),
                saying: at,
                index,
                by,
                answer: None,
                tools: Vec::new(),
            });
        }
    }

    /// A tool's answer in a model input: it belongs to the call with its id, else to the next open call of the turn.
    fn answer(&mut self, walk: &mut Walk, (index, known, place): (usize, &[Option<usize>], usize), message: &Message) {
        let calls = walk
            .turn
            .and_then(|turn| self.sayings.get(turn))
            .map_or(&[][..], |saying| &saying.calls);
        walk.open.enter(walk.turn, calls, &self.calls);
        // An id may come again in a later turn.
        let in_turn = message.tool_call_id.as_ref().and_then(|id| walk.open.with_id(id));
        let by_id = in_turn.or_else(|| {
            let calls = self.by_id.get(message.tool_call_id.as_ref()?)?;
            let [.., last] = calls.as_slice() else { return None };
            if calls.len() == 1 {
                return Some(*last);
            }
            // The call was asked for before what stands behind its answer.
            let is_answer = |at: &usize| self.sayings.get(*at).is_some_and(|saying| saying.message.role == Role::Assistant);
            let next = known.get(place..)?.iter().flatten().copied().find(is_answer);
            let asked_before = |at: &&usize| next.is_none_or(|next| self.calls.get(**at).is_some_and(|asked| asked.saying < next));
            calls.iter().rev().find(asked_before).copied()
        });
        let asked = by_id.or_else(|| {
            // A name that fits no call, but an id: the client's ids for answers are others than for calls.
            let in_order = message.name.is_none() || message.tool_call_id.is_some();
            let named = message.name.as_ref().and_then(|name| walk.open.named(name));
            named.or_else(|| walk.open.first().filter(|_| in_order))
        });
        let Some(asked) = asked else {
            if self.strays.insert((message.tool_call_id.clone(), answer_key(message))) {
                self.stray.push((message.clone(), index));
            }
            return;
        };
        walk.open.answered(asked);
        if let Some(id) = &message.tool_call_id
            && by_id.is_none()
        {
            // The output held an item's id, the answer names the call's.
            self.by_id.entry(id.clone()).or_default().push(asked);
            if let Some(slot) = self.calls.get_mut(asked)
                && slot.answer.is_none()
            {
                slot.call.id = Some(id.clone());
                walk.open.learn(id, asked);
            }
        }
        if let Some(slot) = self.calls.get_mut(asked)
            && slot.answer.is_none()
        {
            slot.answer = Some((message.clone(), index));
        }
    }
}
