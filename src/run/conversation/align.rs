//! Matches the messages of a model input with known messages.
//!
//! A call usually receives the input of the call before it, that call's answer and new messages. But a history may be cut at the
//! front, summarized, or lose messages to a limit of the client. So messages are compared backwards from the last known answer with
//! the input of that answer's call. Those not found there are searched for in the whole conversation.

use std::borrow::Cow;
use std::cell::OnceCell;

use super::draft::DraftConversation;
use super::garbled;
use super::history::{History, SharedInput};
use super::keys::{Key, Sign, Speaker};
use crate::hash::{HashMap, HashSet};
use crate::operation::{Message, Role, ToolCall};
use crate::run::arguments::{self, Fit};
use crate::run::id::{MessageId, NodeId};
use crate::run::names;
use crate::run::results::answer_text;

/// Maximum number of messages with the same text or id examined.
const MAX_CANDIDATES: usize = 64;

/// Minimum size in bytes of a text that counts as the beginning of another.
const MIN_BEGINNING_LEN: usize = 16;

/// The result of matching one model input.
pub(super) struct KnownInput {
    /// For each message of the input, the message of the conversation that it repeats.
    pub(super) messages: Vec<Option<MessageId>>,
    /// Messages that only repeat a system prompt or a result, without its role.
    pub(super) repeated: Vec<usize>,
    /// Whether messages are missing that the call before had.
    pub(super) cut: bool,
}

/// One model input with the names of its messages.
pub(super) struct Input<'a> {
    pub(super) messages: &'a [Message],
    pub(super) names: &'a [Vec<Key>],
    /// Whether the client dropped attributes of this call.
    pub(super) is_partial: bool,
    /// Whether the provider stores the history, so that the input has only new messages.
    pub(super) is_stored: bool,
    /// These messages are the rest of an input that several calls share; the part before was walked through already.
    pub(super) behind: Option<&'a SharedInput>,
}

impl Input<'_> {
    /// Whether a message of the conversation comes before these messages in the input.
    fn passed(&self, id: MessageId) -> bool {
        self.behind.is_some_and(|before| before.known.contains(&id))
    }
}

/// Maximum number of messages of a shared history compared with an input, on top of four times the input's length.
const MAX_LOOKBACK: usize = 1_024;

impl DraftConversation {
    pub(super) fn align(&self, input: &Input<'_>) -> KnownInput {
        let mut search = Search::of(self, input);
        let anchor = self.anchor(input);
        let most = MAX_LOOKBACK + 4 * input.messages.len();
        let history = match (input.behind, anchor) {
            (Some(before), _) => Cow::Borrowed(self.history_behind(before, anchor.map(|(_, id)| id))),
            (None, Some((_, id))) => self.history_with(id, most),
            (None, None) => self.last_history(input.is_stored, most),
        };
        let history = &*history;
        let at = anchor.and_then(|(_, id)| history.iter().rposition(|at| *at == id));
        let (before, after) = match (anchor, at) {
            (Some((place, _)), Some(at)) => (place + 1, at + 1),
            (Some((place, _)), None) => (place + 1, 0),
            (None, _) => (input.messages.len(), history.len()),
        };
        let (known, rest) = history.split_at_checked(after).unwrap_or((history, &[]));
        search.backwards(before..input.messages.len(), rest, anchor.map(|(_, id)| id));
        search.backwards(0..before, known, None);
        search.finish(history)
    }

    /// The last known answer, with its place in the input.
    fn anchor(&self, input: &Input<'_>) -> Option<(usize, MessageId)> {
        let messages = input.messages.iter().zip(input.names).enumerate().rev();
        let answers = messages.filter(|(_, (message, names))| message.role == Role::Assistant && !names.is_empty());
        answers
            .map(|(place, (message, names))| (place, self.latest(input, message, names)))
            .find_map(|(place, id)| Some((place, id?)))
    }

    /// The latest message that this assistant's message may repeat.
    fn latest(&self, input: &Input<'_>, message: &Message, names: &[Key]) -> Option<MessageId> {
        let of_id = |call: &ToolCall| {
            let known = self.by_id.get(call.id.as_deref()?)?.iter().rev().take(MAX_CANDIDATES);
            known
                .filter_map(|at| self.calls.get(*at))
                .find(|known| is_same_call(&known.call, call) && !input.passed(known.message))
                .map(|known| known.message)
        };
        let known = message.tool_calls.iter().filter_map(of_id).max().or_else(|| {
            let of_key = |key: &Key| {
                let list = self.by_key.get(key)?.iter().rev().take(MAX_CANDIDATES);
                list.copied().find(|at| self.is_same(*at, message, names) && !input.passed(*at))
            };
            names.iter().filter_map(of_key).max()
        });
        // The remains of a streamed answer without text share none of its keys.
        known.or_else(|| {
            let last = self.last_call.filter(|_| !message.tool_calls.is_empty())?;
            let last = self.last_of(self.histories.get(&last)?)?;
            let is_it = self.is_same(last, message, names) && !input.passed(last);
            is_it.then_some(last)
        })
    }

    /// Input and output of a call: the last call if it contains this message, else the call with this answer.
    fn history_with(&self, id: MessageId, most: usize) -> Cow<'_, [MessageId]> {
        let of = |call: NodeId| self.histories.get(&call);
        let last = self.last_call.and_then(of).filter(|history| self.is_in(id, history));
        let history = last.or_else(|| of(self.messages.get(id)?.node));
        history.map(|history| self.listed(history, most)).unwrap_or_default()
    }

    /// Input and output of the last call. A provider that stores the history receives nothing twice, unless the call
    /// failed.
    fn last_history(&self, is_stored: bool, most: usize) -> Cow<'_, [MessageId]> {
        let history = self.last_call.and_then(|last| self.histories.get(&last));
        let is_answered = |history: &History| {
            let last = self.last_of(history).and_then(|at| self.messages.get(at));
            last.is_some_and(|draft| draft.is_turn)
        };
        let history = history.filter(|history| !(is_stored && is_answered(history)));
        history.map(|history| self.listed(history, most)).unwrap_or_default()
    }

    /// The messages after a shared input in the call with this answer, else in the last call with the whole input.
    fn history_behind(&self, before: &SharedInput, answer: Option<MessageId>) -> &[MessageId] {
        let last = before.last.and_then(|last| self.histories.get(&last));
        let Some(last) = last else { return &[] };
        let said_by = answer.filter(|id| !last.own.contains(id)).and_then(|id| self.messages.get(id));
        let said_by = said_by.and_then(|draft| self.histories.get(&draft.node));
        let history = said_by.filter(|history| history.shared == last.shared).unwrap_or(last);
        &history.own
    }

    /// Whether a message is this one of the conversation, by calls if both have calls, else by text.
    fn is_same(&self, at: MessageId, message: &Message, names: &[Key]) -> bool {
        let Some(draft) = self.messages.get(at) else { return false };
        let known = || draft.calls.iter().filter_map(|at| self.calls.get(*at));
        let is_known =
            |call: &ToolCall| call.id.is_some() && known().any(|known| known.call.id == call.id && is_same_call(&known.call, call));
        if message.tool_calls.iter().any(is_known) {
            return true;
        }
        let both_call = !message.tool_calls.is_empty() && !draft.calls.is_empty();
        if both_call && message.tool_calls.iter().all(is_only_named) {
            let called = known().map(|known| &known.call.name);
            let has_words = !message.has_words() || names.iter().any(|key| draft.keys.contains(key));
            return has_words && called.eq(message.tool_calls.iter().map(|call| &call.name));
        }
        if both_call && draft.is_turn {
            let spoke = message.has_words() && draft.message.has_words();
            let has_words = !spoke
                || names
                    .iter()
                    .any(|key| draft.keys.contains(key) && matches!(key.sign, Sign::Words(_)));
            if has_words && garbled::is_left_of(known().map(|known| &known.call), &message.tool_calls) {
                return true;
            }
        }
        names.iter().any(|key| {
            draft.keys.contains(key)
                && if both_call {
                    key.sign == Sign::Call
                } else {
                    key.sign != Sign::CallId
                }
        })
    }
}

/// Whether only the tool of a call is known, as histories may record it.
fn is_only_named(call: &ToolCall) -> bool {
    call.id.is_none() && call.arguments.is_none() && call.arguments_text.is_none()
}

/// Whether two calls of one id are one call.
fn is_same_call(one: &ToolCall, other: &ToolCall) -> bool {
    let unread = |call: &ToolCall| !matches!(&call.arguments, Some(serde_json::Value::Object(map)) if !map.is_empty());
    names::same_tool(&one.name, &other.name)
        && (unread(one) || unread(other) || arguments::fit(one.arguments.as_ref(), other.arguments.as_ref()) != Fit::Other)
}

struct Search<'a> {
    conversation: &'a DraftConversation,
    input: &'a Input<'a>,
    known: KnownInput,
    /// Keys of messages found so far; built when the whole conversation is searched.
    used: Option<HashSet<(MessageId, Key)>>,
    /// The ids of all calls in the input.
    ids: OnceCell<HashSet<&'a str>>,
}

impl<'a> Search<'a> {
    fn of(conversation: &'a DraftConversation, input: &'a Input<'a>) -> Self {
        Self {
            conversation,
            input,
            known: KnownInput {
                messages: vec![None; input.messages.len()],
                repeated: Vec::new(),
                cut: false,
            },
            used: None,
            ids: OnceCell::new(),
        }
    }

    /// Compares messages with a history, backwards from both ends. `behind`: only messages after this one.
    fn backwards(&mut self, places: std::ops::Range<usize>, history: &[MessageId], behind: Option<MessageId>) {
        // The history from here on was visited.
        let mut end = history.len();
        // The message found last, and by which keys: it may be repeated in pieces.
        let mut last: Option<MessageId> = None;
        let mut pieces: Vec<Key> = Vec::new();
        let mut by_key: Option<HashMap<Key, Vec<usize>>> = None;
        for place in places.rev() {
            let (Some(message), Some(names)) = (self.input.messages.get(place), self.input.names.get(place)) else {
                continue;
            };
            if names.is_empty() || message.is_blank() || matches!(message.role, Role::System | Role::Developer) {
                continue;
            }
            let at = |end: usize| history.get(end).copied();
            let is_piece =
                |id: &MessageId| message.role == Role::Assistant && !names.iter().any(|key| pieces.contains(key)) && self.is(*id, place);
            if let Some(id) = last.filter(is_piece) {
                pieces.extend(names);
                self.found(place, id);
                continue;
            }
            let next = end.checked_sub(1).filter(|next| at(*next).is_some_and(|id| self.is(id, place)));
            let next = next.or_else(|| {
                let by_key = by_key.get_or_insert_with(|| self.conversation.places_by_key(history));
                let before = |key: &Key| {
                    let list = by_key.get(key)?;
                    let passed = list.partition_point(|at| *at < end);
                    let list = list.get(..passed)?.iter().rev().take(MAX_CANDIDATES);
                    list.copied().find(|next| at(*next).is_some_and(|id| self.is(id, place)))
                };
                names.iter().filter_map(before).max()
            });
            let next = next.or_else(|| {
                end.checked_sub(1)
                    .filter(|next| at(*next).is_some_and(|id| self.is_cut(id, message)))
            });
            if let Some((next, id)) = next.and_then(|next| Some((next, at(next)?))) {
                end = next;
                last = Some(id);
                pieces.clone_from(names);
                self.found(place, id);
            } else if let Some(id) = self.elsewhere(place, behind) {
                self.found(place, id);
            } else if self.input.is_partial && self.is_repeated(place) {
                self.known.repeated.push(place);
            }
        }
    }

    fn found(&mut self, place: usize, id: MessageId) {
        if let Some(slot) = self.known.messages.get_mut(place) {
            *slot = Some(id);
        }
        if let Some(used) = &mut self.used {
            used.extend(self.input.names.get(place).into_iter().flatten().map(|key| (id, *key)));
        }
    }

    /// Whether a message is this one of the conversation. A call with an unknown id does not match one whose own id is in the
    /// same input.
    fn is(&self, id: MessageId, place: usize) -> bool {
        let (Some(message), Some(names)) = (self.input.messages.get(place), self.input.names.get(place)) else {
            return false;
        };
        self.conversation.is_same(id, message, names) && (message.tool_calls.is_empty() || !self.is_other_call(id, message))
    }

    fn is_other_call(&self, id: MessageId, message: &Message) -> bool {
        let conversation = self.conversation;
        let calls = conversation.messages.get(id).into_iter().flat_map(|draft| &draft.calls);
        let known: Vec<&str> = calls.filter_map(|at| conversation.calls.get(*at)?.call.id.as_deref()).collect();
        let mut ids = message.tool_calls.iter().filter_map(|call| call.id.as_deref()).peekable();
        if known.is_empty() || ids.peek().is_none() || ids.any(|id| known.contains(&id)) {
            return false;
        }
        let given = self.ids.get_or_init(|| {
            let calls = self.input.messages.iter().flat_map(|message| &message.tool_calls);
            calls.filter_map(|call| call.id.as_deref()).collect()
        });
        known.iter().any(|id| given.contains(id))
    }

    /// Whether one is a truncated copy of the other.
    fn is_cut(&self, id: MessageId, message: &Message) -> bool {
        let known = self.conversation.messages.get(id).map(|draft| &draft.message);
        known.is_some_and(|known| {
            known.role == message.role
                && (known.tool_calls.is_empty() || message.tool_calls.is_empty())
                && is_beginning(&known.joined_text(), &message.joined_text())
        })
    }

    /// Searches the whole conversation for a message that this input has not matched yet.
    fn elsewhere(&mut self, place: usize, behind: Option<MessageId>) -> Option<MessageId> {
        let (message, names) = (self.input.messages.get(place)?, self.input.names.get(place)?);
        let conversation = self.conversation;
        if self.input.is_stored && message.role != Role::Assistant {
            return None;
        }
        let known = names.iter().any(|key| conversation.by_key.contains_key(key));
        if !known {
            return None;
        }
        if self.used.is_none() {
            let found = self.known.messages.iter().zip(self.input.names);
            let found = found.filter_map(|(id, names)| Some(((*id)?, names)));
            self.used = Some(found.flat_map(|(id, names)| names.iter().map(move |key| (id, *key))).collect());
        }
        let is_used = |id: MessageId, key: Key| self.used.as_ref().is_some_and(|used| used.contains(&(id, key)));
        let is_free = |id: MessageId, key: Key| !self.input.passed(id) && !is_used(id, key);
        let is_behind = |id: MessageId| behind.is_none_or(|behind| id > behind);
        let of_key = |key: &Key| {
            let list = conversation.by_key.get(key)?.iter().rev().take(MAX_CANDIDATES);
            list.copied().find(|id| is_behind(*id) && is_free(*id, *key) && self.is(*id, place))
        };
        names.iter().filter_map(of_key).max()
    }

    /// Whether a message whose role may be lost repeats a system prompt, an answer or a tool result.
    fn is_repeated(&self, place: usize) -> bool {
        let (Some(message), Some(names)) = (self.input.messages.get(place), self.input.names.get(place)) else {
            return false;
        };
        let is_first = self.input.messages.get(..place).unwrap_or_default();
        let is_first = is_first
            .iter()
            .all(|message| matches!(message.role, Role::System | Role::Developer));
        if !is_first || message.role == Role::Assistant {
            return false;
        }
        let under = |speaker: Speaker| {
            let as_words = |key: &Key| key.with_speaker(speaker);
            names
                .iter()
                .filter_map(as_words)
                .any(|key| self.conversation.by_key.contains_key(&key))
        };
        let text = message.joined_text();
        let is_result = || {
            let answers = self.conversation.calls.iter().filter_map(|draft| draft.result.as_ref());
            let mut texts = answers.map(|seen| answer_text(&seen.message));
            texts.any(|answer| answer == text || is_beginning(&answer, &text))
        };
        under(Speaker::System) || under(Speaker::Assistant) || is_result()
    }

    fn finish(mut self, history: &[MessageId]) -> KnownInput {
        let found: HashSet<MessageId> = self.known.messages.iter().flatten().copied().collect();
        self.known.cut = history.iter().any(|id| !found.contains(id));
        self.known
    }
}

impl DraftConversation {
    /// Index from message key to positions in the history.
    fn places_by_key(&self, history: &[MessageId]) -> HashMap<Key, Vec<usize>> {
        let mut out: HashMap<Key, Vec<usize>> = HashMap::default();
        for (place, id) in history.iter().enumerate() {
            for key in self.messages.get(*id).into_iter().flat_map(|draft| &draft.keys) {
                out.entry(*key).or_default().push(place);
            }
        }
        out
    }
}

impl DraftConversation {
    /// A history as one list, with at most the last `most` messages of a shared input.
    pub(super) fn listed<'a>(&'a self, history: &'a History, most: usize) -> Cow<'a, [MessageId]> {
        let shared = history.shared.and_then(|shared| {
            let input = self.shared_inputs.get(&shared.input)?;
            input.messages.get(shared.messages.saturating_sub(most)..shared.messages)
        });
        match shared {
            None | Some([]) => Cow::Borrowed(&history.own),
            Some(shared) => Cow::Owned([shared, &history.own].concat()),
        }
    }

    /// Whether a message is in a history.
    pub(super) fn is_in(&self, id: MessageId, history: &History) -> bool {
        let of_shared = |input: usize| self.shared_inputs.get(&input).is_some_and(|input| input.known.contains(&id));
        history.own.contains(&id) || history.shared.is_some_and(|shared| of_shared(shared.input))
    }

    /// The last message of a history.
    pub(super) fn last_of(&self, history: &History) -> Option<MessageId> {
        let shared = || {
            let shared = history.shared?;
            self.shared_inputs
                .get(&shared.input)?
                .messages
                .get(shared.messages.checked_sub(1)?)
                .copied()
        };
        history.own.last().copied().or_else(shared)
    }
}

/// Whether one text is the beginning of the other, ignoring a truncation mark.
fn is_beginning(one: &str, other: &str) -> bool {
    let bare = |text: &str| {
        let mut text = text.trim_end();
        for mark in ["[truncated]", "<truncated>", "(truncated)", "[TRUNCATED]", "...", "…"] {
            text = text.strip_suffix(mark).unwrap_or(text).trim_end();
        }
        text.len()
    };
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    let length = bare(short);
    length >= MIN_BEGINNING_LEN && short.get(..length).is_some_and(|begin| long.starts_with(begin))
}
