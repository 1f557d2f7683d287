//! Model calls about the conversation: a title, suggested next questions, a summary for later. Their output is not the run's
//! answer, nor is their input its question.

use std::borrow::Cow;

use crate::operation::{Message, Role};
use crate::run::id::{IdVec, ScopeId};
use crate::run::labels::{MAX_INSTRUCTION_LEN, Makes, makes};
use crate::run::model::{EntryKind, Scope};
use crate::span::UnixNanos;

/// Maximum length in bytes of a title generated before anything else.
const MAX_TITLE_LEN: usize = 160;

/// Maximum number of messages searched for uses of a title.
const MAX_SEARCHED_MESSAGES: usize = 64;

/// The texts of a conversation's input, and its last answer.
struct Talk<'a> {
    begins: UnixNanos,
    ends: UnixNanos,
    asked: Vec<Cow<'a, str>>,
    /// All inputs of its calls, from any speaker.
    heard: Vec<Cow<'a, str>>,
    answer: Option<Cow<'a, str>>,
    makes: Option<Makes>,
}

/// Finds them among conversations that continue no other, and among agents that produced a title before the others began. `top`:
/// top-level scopes.
pub(super) fn find(scopes: &IdVec<ScopeId, Scope>, top: Vec<&Scope>, is_unrelated: impl Fn(&Scope) -> bool) -> Vec<ScopeId> {
    if scopes
        .enumerate()
        .filter(|(_, scope)| !scope.conversation.is_empty())
        .nth(1)
        .is_none()
    {
        return Vec::new();
    }
    let candidates = scopes
        .enumerate()
        .filter(|(_, scope)| !scope.is_auxiliary && scope.called_by.is_none() && (scope.step.is_some() || is_unrelated(scope)));
    let mut candidates = candidates
        .filter_map(|(id, scope)| {
            let recorded = talk(scope).filter(|_| !asks_for_tools(scope))?;
            let what = recorded.answer.as_ref().and(recorded.makes)?;
            Some((id, what, recorded, is_unrelated(scope)))
        })
        .peekable();
    if candidates.peek().is_none() {
        return Vec::new();
    }
    // Only the latest earlier conversation can be the subject: a call about a conversation is about its end.
    let others: Vec<Talk<'_>> = top.into_iter().filter_map(talk).filter(|other| other.makes.is_none()).collect();
    candidates
        .filter(|(_, makes, recorded, is_unrelated)| {
            let answered = || others.iter().filter(|other| *is_unrelated && other.answer.is_some());
            let before = answered().filter(|other| other.ends <= recorded.begins);
            // A title may be generated from the question alone, in parallel with the answer.
            let beside = answered().filter(|other| *makes == Makes::Label && other.begins <= recorded.ends && other.ends > recorded.begins);
            let last = before.max_by_key(|other| other.ends);
            let mut about = last.into_iter().chain(beside.max_by_key(|other| other.begins));
            let after = || {
                others
                    .iter()
                    .filter(|other| other.begins >= recorded.ends)
                    .min_by_key(|other| other.begins)
            };
            about.any(|other| is_about(recorded, other, *makes))
                || *makes == Makes::Label && after().is_some_and(|other| is_title_of(recorded, other))
        })
        .map(|(id, ..)| id)
        .collect()
}

/// Whether a call's input contains the conversation before it.
fn is_about(recorded: &Talk<'_>, other: &Talk<'_>, makes: Makes) -> bool {
    let is_asked = other.asked.last().is_some_and(|asked| recorded.was_asked(asked));
    let answer = other.answer.as_deref().unwrap_or_default();
    recorded.was_asked(answer) && (is_asked || answer.trim().contains(char::is_whitespace)) || makes == Makes::Label && is_asked
}

/// Whether a call's input contains the question of the next conversation, whose input lacks the call's answer (unlike a draft's headline).
fn is_title_of(recorded: &Talk<'_>, other: &Talk<'_>) -> bool {
    let title = recorded.answer.as_deref().unwrap_or_default().trim();
    let is_asked = other.asked.first().is_some_and(|asked| recorded.was_asked(asked));
    let is_used = || other.heard.iter().any(|words| words.contains(title));
    is_asked && !title.is_empty() && title.len() <= MAX_TITLE_LEN && !is_used()
}

impl Talk<'_> {
    fn was_asked(&self, words: &str) -> bool {
        let words = words.trim();
        !words.is_empty() && self.asked.iter().any(|asked| asked.contains(words))
    }
}

fn talk(scope: &Scope) -> Option<Talk<'_>> {
    let mut prompt = String::new();
    let (mut asked, mut heard) = (Vec::new(), Vec::new());
    let (mut answer, mut ends) = (None, UnixNanos(0));
    for entry in &scope.conversation {
        match &entry.kind {
            EntryKind::Message(message) => {
                if heard.len() < MAX_SEARCHED_MESSAGES {
                    heard.push(message.joined_text());
                }
                match message.role {
                    Role::System | Role::Developer => prompt.push_str(&message.joined_text()),
                    Role::User => asked.push(message.joined_text()),
                    _ => {}
                }
            }
            EntryKind::Turn(message) if message.has_words() && !message.asks_for_tools() => {
                answer = Some(message.joined_text());
                ends = entry.at;
            }
            _ => {}
        }
    }
    if prompt.trim().is_empty() {
        prompt = asked.first()?.chars().take(MAX_INSTRUCTION_LEN).collect();
    }
    let begins = scope.conversation.first()?.at;
    let makes = makes(&prompt);
    Some(Talk {
        begins,
        ends,
        asked,
        heard,
        answer,
        makes,
    })
}

fn asks_for_tools(scope: &Scope) -> bool {
    let asks = |kind: &EntryKind| matches!(kind, EntryKind::Turn(message) if Message::asks_for_tools(message));
    scope.conversation.iter().any(|entry| asks(&entry.kind))
}
