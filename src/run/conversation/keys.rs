//! The keys by which a repeated message is recognised: its text, its calls, their ids.

use std::fmt::Write as _;

use serde_json::Value;

use crate::hash::{HashMap, HashSet};
use crate::operation::{Message, Part, Role, ToolCall};

/// Appends the texts of a message as one, trimmed and with each run of whitespace replaced by one space.
fn squeeze(message: &Message, out: &mut String) {
    let begin = out.len();
    let mut gap = false;
    let mut add = |words: &str, gap: bool| {
        if gap && out.len() > begin && !words.is_empty() {
            out.push(' ');
        }
        out.push_str(words);
    };
    for part in &message.parts {
        let Part::Text(text) = part else { continue };
        gap |= text.starts_with(char::is_whitespace);
        let is_blank = match squeezed(text) {
            Some(words) => {
                add(&words, gap);
                words.is_empty()
            }
            None => {
                let mut words = text.split_whitespace().peekable();
                let is_blank = words.peek().is_none();
                for word in words {
                    add(word, gap);
                    gap = true;
                }
                is_blank
            }
        };
        gap = text.ends_with(char::is_whitespace) || is_blank && gap;
    }
}

/// A text with each run of whitespace replaced by one space; `None` if it may contain whitespace other than spaces, tabs and line
/// ends. The passes over the bytes are branch-free, because most text of most runs goes through here.
fn squeezed(text: &str) -> Option<String> {
    // Other control characters, and the first bytes of U+0085, U+00A0, U+1680, U+2000 and on, U+3000.
    let strange = |byte: u8| {
        (byte < b' ') & (byte != b'\n') & (byte != b'\t') & (byte != b'\r')
            | (byte == 0xC2)
            | (byte == 0xE1)
            | (byte == 0xE2)
            | (byte == 0xE3)
    };
    if text.as_bytes().iter().fold(false, |found, byte| found | strange(*byte)) {
        return None;
    }
    let trimmed = text.as_bytes().trim_ascii();
    let mut words: Vec<u8> = trimmed.iter().map(|byte| (*byte).max(b' ')).collect();
    let pairs = words.iter().zip(words.get(1..).unwrap_or_default());
    if pairs.fold(false, |found, (one, next)| found | (*one == b' ') & (*next == b' ')) {
        words.dedup_by(|next, one| (*next == b' ') & (*one == b' '));
    }
    String::from_utf8(words).ok()
}

/// One key of a message. Keys from one [`Keys`] are equal if their texts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) sign: Sign,
    text: usize,
}

impl Key {
    /// The key of the same text from another speaker.
    pub(super) fn with_speaker(self, speaker: Speaker) -> Option<Self> {
        let sign = Sign::Words(speaker);
        matches!(self.sign, Sign::Words(Speaker::User | Speaker::System | Speaker::Assistant)).then_some(Self { sign, ..self })
    }
}

/// The kind of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Sign {
    /// The id of a call.
    CallId,
    /// A call's tool and arguments.
    Call,
    /// A text and its speaker.
    Words(Speaker),
}

/// The speaker of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Speaker {
    System,
    User,
    Assistant,
    Other,
}

/// The texts of all keys so far. Every model input repeats the texts of the history; each is normalized only once.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Message texts, both as recorded and normalized.
    words: HashMap<String, usize>,
    /// Everything else.
    others: HashMap<String, usize>,
}

impl Keys {
    /// Reserves room for the texts of this many model calls: a growing map rehashes all its texts, which are long.
    pub(super) fn with_room_for(count: usize) -> Self {
        let mut keys = Self::default();
        // Each call adds its answer and the new messages before it.
        keys.words.reserve(4 * count);
        keys.others.reserve(4 * count);
        keys
    }

    /// The keys of a message: its text and each of its calls.
    pub(super) fn of(&mut self, message: &Message) -> Vec<Key> {
        let mut out = Vec::new();
        match &message.role {
            Role::Assistant => {
                for call in &message.tool_calls {
                    if let Some(id) = &call.id {
                        out.push(self.text_key(Sign::CallId, id.as_str().to_owned()));
                    }
                    out.push(self.text_key(Sign::Call, format!("{}:{}", call.name, canonical(call))));
                }
                if message.has_words() {
                    out.push(self.words_key(Speaker::Assistant, message));
                    // A client may send the pieces of an answer back one by one.
                    let pieces = message
                        .parts
                        .iter()
                        .filter(|part| matches!(part, Part::Text(text) if !text.trim().is_empty()));
                    if pieces.clone().nth(1).is_some() {
                        for piece in pieces {
                            let piece = Message {
                                parts: vec![piece.clone()],
                                ..Message::default()
                            };
                            out.push(self.words_key(Speaker::Assistant, &piece));
                        }
                    }
                }
            }
            Role::System | Role::Developer => out.push(self.words_key(Speaker::System, message)),
            Role::User if message.has_media() => {
                let mut text = String::new();
                squeeze(message, &mut text);
                text.push_str(&media_key(message));
                out.push(self.text_key(Sign::Words(Speaker::User), text));
            }
            Role::User => out.push(self.words_key(Speaker::User, message)),
            Role::Tool => {}
            Role::Other(word) => {
                let mut text = format!("{word}:");
                squeeze(message, &mut text);
                out.push(self.text_key(Sign::Words(Speaker::Other), text));
            }
        }
        out
    }

    fn text_key(&mut self, sign: Sign, text: String) -> Key {
        let next = self.next();
        let text = *self.others.entry(text).or_insert(next);
        Key { sign, text }
    }

    fn words_key(&mut self, speaker: Speaker, message: &Message) -> Key {
        let mut texts = message.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        });
        let only = texts.next().filter(|_| texts.next().is_none());
        let known = only.and_then(|text| self.words.get(text.as_str()));
        let text = match known {
            Some(known) => *known,
            None => {
                let words = only.and_then(|text| squeezed(text)).unwrap_or_else(|| {
                    let mut words = String::new();
                    squeeze(message, &mut words);
                    words
                });
                let next = self.next();
                let recorded = only.filter(|text| **text != words);
                let known = *self.words.entry(words).or_insert(next);
                if let Some(text) = recorded {
                    let _ = self.words.insert(text.clone(), known);
                }
                known
            }
        };
        let sign = Sign::Words(speaker);
        Key { sign, text }
    }

    /// The next unused number.
    fn next(&self) -> usize {
        self.words.len() + self.others.len()
    }
}

fn media_key(message: &Message) -> String {
    message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Media(media) => Some(format!("\u{0}{}", media.url().unwrap_or_default())),
            _ => None,
        })
        .collect()
}

/// A call's arguments as text with sorted members: equal if the arguments are.
pub(super) fn canonical(call: &ToolCall) -> String {
    call.arguments.as_ref().map(canonical_value).unwrap_or_default()
}

/// A tool result as text: equal if the results are.
pub(super) fn answer_key(message: &Message) -> String {
    match &message.result {
        Some(value) => canonical_value(value),
        None => canonical_value(&Value::String(message.content())),
    }
}

fn canonical_value(value: &Value) -> String {
    fn word(text: &str, out: &mut String) {
        let _ = write!(out, "\"{}\"", text.len());
        out.push_str(text);
    }
    fn write(value: &Value, out: &mut String) {
        match value {
            Value::String(text) => word(text, out),
            Value::Object(map) => {
                let mut pairs: Vec<(&String, &Value)> = map.iter().collect();
                pairs.sort_by_key(|(key, _)| *key);
                out.push('{');
                for (key, value) in pairs {
                    word(key, out);
                    write(value, out);
                    out.push(',');
                }
                out.push('}');
            }
            Value::Array(items) => {
                out.push('[');
                for item in items {
                    write(item, out);
                    out.push(',');
                }
                out.push(']');
            }
            other => {
                let _ = write!(out, "{other}");
            }
        }
    }
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// Results whose ids match only some of the calls before them were numbered independently: they follow the calls' order.
/// Returns the positions of these results with the ids of their calls.
pub(super) fn realigned(messages: &[Message]) -> HashMap<usize, String> {
    let mut out: HashMap<usize, String> = HashMap::default();
    let counted = |name: &str, id: &str| {
        id.strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('_'))
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|char| char.is_ascii_digit()))
    };
    let mut settle = |calls: &[(&str, &str)], answers: &mut Vec<(usize, &Message)>| {
        if answers.is_empty() {
            return;
        }
        let ids: HashSet<&str> = calls.iter().map(|(_, id)| *id).collect();
        let fitting = answers
            .iter()
            .filter(|(_, answer)| answer.tool_call_id.as_ref().is_some_and(|id| ids.contains(id.as_str())))
            .count();
        let by_place = answers
            .iter()
            .zip(calls)
            .all(|((_, answer), (name, call))| counted(name, call) && answer.tool_call_id.as_ref().is_some_and(|id| counted(name, id)));
        if answers.len() == calls.len() && fitting < calls.len() && (fitting > 0 || by_place) {
            out.extend(answers.iter().zip(calls).map(|((place, _), (_, id))| (*place, (*id).to_owned())));
        }
        answers.clear();
    };
    let mut calls: Vec<(&str, &str)> = Vec::new();
    let mut answers: Vec<(usize, &Message)> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        if message.role == Role::Tool && message.tool_call_id.is_some() {
            answers.push((place, message));
            continue;
        }
        settle(&calls, &mut answers);
        calls = message
            .tool_calls
            .iter()
            .filter_map(|call| Some((call.name.as_str(), call.id.as_deref()?)))
            .collect();
    }
    settle(&calls, &mut answers);
    out
}

/// Like [`realigned`], but for the messages from `place` on, with positions relative to it.
pub(super) fn realigned_from(messages: &[Message], place: usize) -> HashMap<usize, String> {
    /// Maximum number of results before `place` examined.
    const ANSWERS: usize = 64;
    let mut before = (place.saturating_sub(ANSWERS)..place).rev();
    let asked = before.find(|at| messages.get(*at).is_some_and(|message| message.role != Role::Tool));
    let begin = asked.unwrap_or(place);
    let all = realigned(messages.get(begin..).unwrap_or_default());
    let behind = all.into_iter().filter_map(|(at, id)| Some(((at + begin).checked_sub(place)?, id)));
    behind.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Words between any whitespace, whatever way is taken.
        #[test]
        fn texts_are_squeezed(texts in proptest::collection::vec("[ab \n\t\u{b}\u{a0}\u{3000}\u{e9}]{0,6}", 0..4)) {
            let message = Message {
                parts: texts.iter().cloned().map(Part::Text).collect(),
                ..Message::default()
            };
            let mut out = "u:".to_owned();
            squeeze(&message, &mut out);
            let whole = texts.concat();
            prop_assert_eq!(out, format!("u:{}", whole.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
    }
}
