//! A conversation under construction: each message once, under all keys by which a repetition is recognised.

use std::sync::OnceLock;

use super::history::{History, SharedInput};
use super::keys::Key;
use crate::hash::{HashMap, HashSet};
use crate::operation::{Message, Role, ToolCall, ToolCallId};
use crate::run::id::{CallId, ConversationId, IdVec, MessageId, NodeId, ScopeId};

/// One message of a conversation.
#[derive(Debug, Clone)]
pub(in crate::run) struct DraftMessage {
    pub(in crate::run) message: Message,
    /// The model call that wrote it, or whose input contains it.
    pub(in crate::run) node: NodeId,
    /// Whether a model call of this trace wrote it.
    pub(in crate::run) is_turn: bool,
    /// The history was edited or cut before it.
    pub(in crate::run) branch: bool,
    /// The calls of this message, in order.
    pub(in crate::run) calls: Vec<CallId>,
    /// The keys of the message in its current form.
    pub(super) keys: Vec<Key>,
}

/// One tool call that a message asks for.
#[derive(Debug, Clone)]
pub(in crate::run) struct DraftCall {
    /// The call as in its message, with an id that may have been learned later.
    pub(in crate::run) call: ToolCall,
    /// The id that its message uses both for it and for an earlier call.
    pub(in crate::run) shared_id: Option<String>,
    /// The message that contains it.
    pub(in crate::run) message: MessageId,
    /// Its index in the message.
    pub(in crate::run) index: usize,
    /// The model call that asked.
    pub(in crate::run) by: Option<NodeId>,
    /// The result as a later model input shows it.
    pub(in crate::run) result: Option<SeenResult>,
    /// Tool nodes that ran it, in order.
    pub(in crate::run) tools: Vec<NodeId>,
}

/// A tool result in a model input.
#[derive(Debug, Clone)]
pub(in crate::run) struct SeenResult {
    pub(in crate::run) message: Message,
    /// The model call whose input contains it.
    pub(in crate::run) node: NodeId,
    /// A hash of [`answer_key`](super::keys::answer_key), cached because every later model input may need it again.
    pub(in crate::run) answer_hash: OnceLock<u64>,
}

/// A conversation under construction.
#[derive(Debug, Default)]
pub(in crate::run) struct DraftConversation {
    /// The scopes that take part in it; the first one owns it.
    pub(in crate::run) scopes: Vec<ScopeId>,
    pub(in crate::run) messages: IdVec<MessageId, DraftMessage>,
    pub(in crate::run) calls: IdVec<CallId, DraftCall>,
    /// Results that name a call that no message asks for.
    pub(in crate::run) stray_results: Vec<SeenResult>,
    /// Ids and texts of the stray results, to keep each once.
    pub(super) known_strays: HashSet<(Option<String>, String)>,
    pub(super) by_key: HashMap<Key, Vec<MessageId>>,
    /// The first user message.
    pub(super) opening: Option<Key>,
    /// The calls of each id, in the order they were asked: a model may number its calls from 0 in every answer.
    pub(super) by_id: HashMap<String, Vec<CallId>>,
    /// For each model call, the messages of its input followed by its output, without system prompts.
    pub(super) histories: HashMap<NodeId, History>,
    /// Inputs that several model calls share, by number.
    pub(super) shared_inputs: HashMap<usize, SharedInput>,
    pub(super) last_call: Option<NodeId>,
    /// Model calls with known output.
    pub(super) with_turn: HashSet<NodeId>,
}

/// The conversations of a run.
pub(in crate::run) type Conversations = IdVec<ConversationId, DraftConversation>;

/// The source of a new message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// A model call of this trace wrote it.
    Turn,
    /// It is in a model's input.
    Input,
    /// It is in a model's input, after a history that was edited or cut.
    Branch,
}

impl DraftConversation {
    /// The calls of each id, in the order they were asked.
    pub(in crate::run) fn calls_by_id(&self) -> impl Iterator<Item = (&String, &[CallId])> {
        self.by_id.iter().map(|(id, calls)| (id, calls.as_slice()))
    }

    /// Frees capacity for messages that never came.
    pub(super) fn give_room_back(&mut self) {
        self.messages.shrink_to_fit();
    }

    /// Adds a new message.
    pub(super) fn add_message(&mut self, message: Message, keys: Vec<Key>, node: NodeId, origin: Origin) -> MessageId {
        let is_turn = origin == Origin::Turn;
        if is_turn {
            self.with_turn.insert(node);
        }
        if message.role == Role::User && self.opening.is_none() {
            self.opening = keys.first().copied();
        }
        let at = self.messages.push(DraftMessage {
            message,
            node,
            is_turn,
            branch: origin == Origin::Branch,
            calls: Vec::new(),
            keys,
        });
        self.register(at);
        at
    }

    /// Indexes a message by its keys and its calls by their ids.
    pub(super) fn register(&mut self, at: MessageId) {
        let Some(draft) = self.messages.get_mut(at) else { return };
        for key in &draft.keys {
            let places = self.by_key.entry(*key).or_default();
            if let Err(place) = places.binary_search(&at) {
                places.insert(place, at);
            }
        }
        let by = draft.is_turn.then_some(draft.node);
        for (index, call) in draft.message.tool_calls.iter().enumerate().skip(draft.calls.len()) {
            let known = call.id.as_ref().map(|id| self.by_id.entry(id.as_str().to_owned()).or_default());
            let last = known.as_ref().and_then(|known| known.last());
            let is_shared = last.is_some_and(|last| draft.calls.binary_search(last).is_ok());
            let mut call = call.clone();
            let shared_id = call.id.take_if(|_| is_shared).map(|id| id.as_str().to_owned());
            if let Some(id) = &shared_id {
                call.id = Some(ToolCallId::Derived(format!("{id}:{}", index + 1)));
            }
            let id = self.calls.push(DraftCall {
                call,
                shared_id,
                message: at,
                index,
                by,
                result: None,
                tools: Vec::new(),
            });
            draft.calls.push(id);
            if let Some(known) = known {
                known.push(id);
            }
        }
    }

    /// Adds a call that no output shows to this turn, and returns it.
    pub(in crate::run) fn add_call(&mut self, at: MessageId, call: ToolCall) -> Option<CallId> {
        let draft = self.messages.get_mut(at)?;
        draft.message.tool_calls.push(call);
        self.register(at);
        self.messages.get(at)?.calls.last().copied()
    }
}
