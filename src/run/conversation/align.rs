//! Which messages of a model input are known already, and as what.
//!
//! A call mostly gets what the call before it got, its answer and something new. But a history may be cut at the front, put
//! together as a summary, or lose messages to a limit of the client: so the messages are compared backwards, from the last
//! answer that is known, with what the call of that answer was given. What does not stand there is looked for in the
//! whole conversation.

use std::cell::OnceCell;

use super::Conversation;
use crate::hash::{HashMap, HashSet};
use crate::operation::{Message, Role, ToolCall};
use crate::run::keys::{Key, Sign, Speaker};
use crate::run::names::{self, Fit};
use crate::run::stitch::words;

/// How many sayings of the same words or ids are looked at.
const LOOKED_AT: usize = 64;

/// A text that is compared with the beginning of another has at least so many bytes.
const LEAST_BEGINNING: usize = 16;

/// What is known of one model input.
pub(super) struct Known {
    /// For each message the saying that it is.
    pub(super) sayings: Vec<Option<usize>>,
    /// Messages that only repeat a system prompt or a result, without the role that says so.
    pub(super) repeated: Vec<usize>,
    /// Whether something is missing that the call before had.
    pub(super) cut: bool,
}

/// One model input with the names of its messages.
pub(super) struct Input<'a> {
    pub(super) messages: &'a [Message],
    pub(super) names: &'a [Vec<Key>],
    /// The client dropped attributes of this call.
    pub(super) is_partial: bool,
    /// The provider keeps the history: the input is what is new.
    pub(super) is_stored: bool,
}

impl Conversation {
    pub(super) fn align(&self, input: &Input<'_>) -> Known {
        let mut search = Search::of(self, input);
        let anchor = self.anchor(input);
        let line = match anchor {
            Some((_, saying)) => self.line_with(saying),
            None => self.last_line(input.is_stored),
        };
        let at = anchor.and_then(|(_, saying)| line.iter().rposition(|at| *at == saying));
        let (before, after) = match (anchor, at) {
            (Some((place, _)), Some(at)) => (place + 1, at + 1),
            (Some((place, _)), None) => (place + 1, 0),
            (None, _) => (input.messages.len(), line.len()),
        };
        let (known, rest) = line.split_at_checked(after).unwrap_or((line, &[]));
        search.backwards(before..input.messages.len(), rest, anchor.map(|(_, saying)| saying));
        search.backwards(0..before, known, None);
        search.finish(line)
    }

    /// The last answer that is known, with its place in the input.
    fn anchor(&self, input: &Input<'_>) -> Option<(usize, usize)> {
        let messages = input.messages.iter().zip(input.names).enumerate().rev();
        let answers = messages.filter(|(_, (message, names))| message.role == Role::Assistant && !names.is_empty());
        answers
            .map(|(place, (message, names))| (place, self.latest(message, names)))
            .find_map(|(place, saying)| Some((place, saying?)))
    }

    /// The latest saying that this assistant's message may be.
    fn latest(&self, message: &Message, names: &[Key]) -> Option<usize> {
        let of_id = |call: &ToolCall| {
            let asked = self.by_id.get(call.id.as_ref()?)?.iter().rev().take(LOOKED_AT);
            asked
                .filter_map(|at| self.calls.get(*at))
                .find(|asked| is_same_call(&asked.call, call))
                .map(|asked| asked.saying)
        };
        message.tool_calls.iter().filter_map(of_id).max().or_else(|| {
            let of_key = |key: &Key| {
                let list = self.at.get(key)?.iter().rev().take(LOOKED_AT);
                list.copied().find(|at| self.is_said(*at, message, names))
            };
            names.iter().filter_map(of_key).max()
        })
    }

    /// What a call was given and said: the last call if this was part of it, else the call that said this.
    fn line_with(&self, saying: usize) -> &[usize] {
        let of = |call: Option<usize>| call.and_then(|call| self.lines.get(&call)).map(Vec::as_slice);
        of(self.last_call)
            .filter(|line| line.contains(&saying))
            .or_else(|| of(self.sayings.get(saying)?.node))
            .unwrap_or_default()
    }

    /// What the last call was given and said. A provider that keeps the history is told nothing twice, unless the call
    /// failed.
    fn last_line(&self, is_stored: bool) -> &[usize] {
        let line = self.last_call.and_then(|last| self.lines.get(&last)).map_or(&[][..], Vec::as_slice);
        let is_answered = || {
            line.last()
                .and_then(|at| self.sayings.get(*at))
                .is_some_and(|saying| saying.is_turn)
        };
        if is_stored && is_answered() { &[] } else { line }
    }

    /// Whether a message is this saying: its calls, where both have calls, else its words.
    fn is_said(&self, at: usize, message: &Message, names: &[Key]) -> bool {
        let Some(saying) = self.sayings.get(at) else { return false };
        let said = || saying.calls.iter().filter_map(|at| self.calls.get(*at));
        let is_asked =
            |call: &ToolCall| call.id.is_some() && said().any(|asked| asked.call.id == call.id && is_same_call(&asked.call, call));
        if message.tool_calls.iter().any(is_asked) {
            return true;
        }
        let both_call = !message.tool_calls.is_empty() && !saying.calls.is_empty();
        if both_call && message.tool_calls.iter().all(is_only_named) {
            let asked = said().map(|asked| &asked.call.name);
            let has_words = !message.has_words() || names.iter().any(|key| saying.keys.contains(key));
            return has_words && asked.eq(message.tool_calls.iter().map(|call| &call.name));
        }
        names.iter().any(|key| {
            saying.keys.contains(key)
                && if both_call {
                    key.sign == Sign::Call
                } else {
                    key.sign != Sign::CallId
                }
        })
    }
}

/// A history may tell no more of a call than its tool.
fn is_only_named(call: &ToolCall) -> bool {
    call.id.is_none() && call.arguments.is_none() && call.arguments_text.is_none()
}

/// Whether two calls of one id are one call.
fn is_same_call(one: &ToolCall, other: &ToolCall) -> bool {
    let unread = |call: &ToolCall| !matches!(call.arguments, Some(serde_json::Value::Object(_)));
    names::same_tool(&one.name, &other.name)
        && (unread(one) || unread(other) || names::fit(one.arguments.as_ref(), other.arguments.as_ref()) != Fit::Other)
}

struct Search<'a> {
    conversation: &'a Conversation,
    input: &'a Input<'a>,
    known: Known,
    /// Which names of which sayings were found; made when a message is looked for in the whole conversation.
    used: Option<HashSet<(usize, Key)>>,
    /// The ids of all calls in the input.
    ids: OnceCell<HashSet<&'a str>>,
}

impl<'a> Search<'a> {
    fn of(conversation: &'a Conversation, input: &'a Input<'a>) -> Self {
        Self {
            conversation,
            input,
            known: Known {
                sayings: vec![None; input.messages.len()],
                repeated: Vec::new(),
                cut: false,
            },
            used: None,
            ids: OnceCell::new(),
        }
    }

    /// Compares messages with what stands in a line, both from their ends. `behind`: only what was said after this.
    fn backwards(&mut self, places: std::ops::Range<usize>, line: &[usize], behind: Option<usize>) {
        // Everything from here on was passed.
        let mut end = line.len();
        // What was found last, and by which names: it may come in pieces.
        let mut last: Option<usize> = None;
        let mut pieces: Vec<Key> = Vec::new();
        let mut by_key: Option<HashMap<Key, Vec<usize>>> = None;
        for place in places.rev() {
            let (Some(message), Some(names)) = (self.input.messages.get(place), self.input.names.get(place)) else {
                continue;
            };
            if names.is_empty() || message.is_blank() || matches!(message.role, Role::System | Role::Developer) {
                continue;
            }
            let at = |end: usize| line.get(end).copied();
            let is_piece = |saying: &usize| {
                message.role == Role::Assistant && !names.iter().any(|key| pieces.contains(key)) && self.is(*saying, place)
            };
            if let Some(saying) = last.filter(is_piece) {
                pieces.extend(names);
                self.found(place, saying);
                continue;
            }
            let next = end
                .checked_sub(1)
                .filter(|next| at(*next).is_some_and(|saying| self.is(saying, place)));
            let next = next.or_else(|| {
                let by_key = by_key.get_or_insert_with(|| self.conversation.by_key(line));
                let before = |key: &Key| {
                    let list = by_key.get(key)?;
                    let passed = list.partition_point(|at| *at < end);
                    let list = list.get(..passed)?.iter().rev().take(LOOKED_AT);
                    list.copied().find(|next| at(*next).is_some_and(|saying| self.is(saying, place)))
                };
                names.iter().filter_map(before).max()
            });
            let next = next.or_else(|| {
                end.checked_sub(1)
                    .filter(|next| at(*next).is_some_and(|saying| self.is_cut(saying, message)))
            });
            if let Some((next, saying)) = next.and_then(|next| Some((next, at(next)?))) {
                end = next;
                last = Some(saying);
                pieces.clone_from(names);
                self.found(place, saying);
            } else if let Some(saying) = self.elsewhere(place, behind) {
                self.found(place, saying);
            } else if self.input.is_partial && self.is_repeated(place) {
                self.known.repeated.push(place);
            }
        }
    }

    fn found(&mut self, place: usize, saying: usize) {
        if let Some(slot) = self.known.sayings.get_mut(place) {
            *slot = Some(saying);
        }
        if let Some(used) = &mut self.used {
            used.extend(self.input.names.get(place).into_iter().flatten().map(|key| (saying, *key)));
        }
    }

    /// Whether a message is this saying. A call under an id that nobody knows is none whose own id stands in the same input.
    fn is(&self, saying: usize, place: usize) -> bool {
        let (Some(message), Some(names)) = (self.input.messages.get(place), self.input.names.get(place)) else {
            return false;
        };
        self.conversation.is_said(saying, message, names) && (message.tool_calls.is_empty() || !self.is_other_call(saying, message))
    }

    fn is_other_call(&self, saying: usize, message: &Message) -> bool {
        let conversation = self.conversation;
        let said = conversation.sayings.get(saying).into_iter().flat_map(|saying| &saying.calls);
        let said: Vec<&str> = said.filter_map(|at| conversation.calls.get(*at)?.call.id.as_deref()).collect();
        let mut ids = message.tool_calls.iter().filter_map(|call| call.id.as_deref()).peekable();
        if said.is_empty() || ids.peek().is_none() || ids.any(|id| said.contains(&id)) {
            return false;
        }
        let given = self.ids.get_or_init(|| {
            let calls = self.input.messages.iter().flat_map(|message| &message.tool_calls);
            calls.filter_map(|call| call.id.as_deref()).collect()
        });
        said.iter().any(|id| given.contains(id))
    }

    /// Whether one is the other, cut off.
    fn is_cut(&self, saying: usize, message: &Message) -> bool {
        let said = self.conversation.sayings.get(saying).map(|saying| &saying.message);
        said.is_some_and(|said| {
            said.role == message.role
                && (said.tool_calls.is_empty() || message.tool_calls.is_empty())
                && is_beginning(&said.content(), &message.content())
        })
    }

    /// A saying of the whole conversation that no message of this input was found to be.
    fn elsewhere(&mut self, place: usize, behind: Option<usize>) -> Option<usize> {
        let (message, names) = (self.input.messages.get(place)?, self.input.names.get(place)?);
        let conversation = self.conversation;
        if self.input.is_stored && message.role != Role::Assistant {
            return None;
        }
        let known = names.iter().any(|key| conversation.at.contains_key(key));
        if !known {
            return None;
        }
        if self.used.is_none() {
            let found = self.known.sayings.iter().zip(self.input.names);
            let found = found.filter_map(|(saying, names)| Some((((*saying)?), names)));
            self.used = Some(
                found
                    .flat_map(|(saying, names)| names.iter().map(move |key| (saying, *key)))
                    .collect(),
            );
        }
        let is_free = |saying: usize, key: Key| self.used.as_ref().is_none_or(|used| !used.contains(&(saying, key)));
        let is_behind = |saying: usize| behind.is_none_or(|behind| saying > behind);
        let of_key = |key: &Key| {
            let list = conversation.at.get(key)?.iter().rev().take(LOOKED_AT);
            list.copied()
                .find(|saying| is_behind(*saying) && is_free(*saying, *key) && self.is(*saying, place))
        };
        names.iter().filter_map(of_key).max()
    }

    /// Whether a message whose role may be lost repeats a system prompt, an answer or a tool's result.
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
            let as_words = |key: &Key| key.said_by(speaker);
            names.iter().filter_map(as_words).any(|key| self.conversation.at.contains_key(&key))
        };
        let text = message.content();
        let is_result = || {
            let answers = self.conversation.calls.iter().filter_map(|asked| asked.answer.as_ref());
            let mut texts = answers.map(|(answer, _)| words(&answer.result_value()));
            texts.any(|answer| answer == text || is_beginning(&answer, &text))
        };
        under(Speaker::System) || under(Speaker::Assistant) || is_result()
    }

    fn finish(mut self, line: &[usize]) -> Known {
        let found: HashSet<usize> = self.known.sayings.iter().flatten().copied().collect();
        self.known.cut = line.iter().any(|saying| !found.contains(saying));
        self.known
    }
}

impl Conversation {
    /// The places of a line, by the names of what stands there.
    fn by_key(&self, line: &[usize]) -> HashMap<Key, Vec<usize>> {
        let mut out: HashMap<Key, Vec<usize>> = HashMap::default();
        for (place, saying) in line.iter().enumerate() {
            for key in self.sayings.get(*saying).into_iter().flat_map(|saying| &saying.keys) {
                out.entry(*key).or_default().push(place);
            }
        }
        out
    }
}

/// Whether one text is the beginning of the other, but for the mark that it was cut.
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
    length >= LEAST_BEGINNING && short.get(..length).is_some_and(|begin| long.starts_with(begin))
}
