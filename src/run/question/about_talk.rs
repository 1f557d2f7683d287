//! Model calls about the conversation: a title, possible next questions, a summary for later. Their output is not the run's
//! answer.

use std::borrow::Cow;

use crate::operation::{Message, Role};
use crate::run::id::{IdVec, ScopeId};
use crate::run::model::{EntryKind, Scope};
use crate::span::UnixNanos;

/// So much of an instruction is looked at.
const LOOKED_AT: usize = 2000;

/// Names that programs use for the conversation.
const TALK: [&str; 8] = [
    "conversation",
    "chat",
    "dialog",
    "discussion",
    "exchange",
    "thread",
    "messages",
    "session",
];

/// What such a call makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Makes {
    /// A title, or questions that may follow.
    Label,
    /// A summary, or tags: many programs answer with one, so it must be one of a talk.
    Digest,
}

/// A conversation of one answer, with the words that went in.
struct Talk<'a> {
    begins: UnixNanos,
    ends: UnixNanos,
    prompt: String,
    asked: Vec<Cow<'a, str>>,
    answer: Cow<'a, str>,
}

/// Those of the conversations that continue nothing. `top`: those at the top.
pub(super) fn find(scopes: &IdVec<ScopeId, Scope>, top: Vec<&Scope>, is_unrelated: impl Fn(&Scope) -> bool) -> Vec<ScopeId> {
    let candidates = scopes
        .enumerate()
        .filter(|(_, scope)| !scope.is_auxiliary && scope.called_by.is_none() && is_unrelated(scope));
    let mut candidates = candidates
        .filter_map(|(id, scope)| {
            let recorded = talk(scope).filter(|_| !asks_for_tools(scope))?;
            Some((id, makes(&recorded)?, recorded))
        })
        .peekable();
    if candidates.peek().is_none() {
        return Vec::new();
    }
    // The latest of each moment is enough: a call about a conversation is about its end.
    let others: Vec<Talk<'_>> = top
        .into_iter()
        .filter_map(talk)
        .filter(|recorded| makes(recorded).is_none())
        .collect();
    candidates
        .filter(|(_, makes, recorded)| {
            let before = others.iter().filter(|other| other.ends <= recorded.begins);
            // A title may be made of the question alone, while the answer is given.
            let beside = others
                .iter()
                .filter(|other| *makes == Makes::Label && other.begins <= recorded.ends && other.ends > recorded.begins);
            let last = before.max_by_key(|other| other.ends);
            last.into_iter()
                .chain(beside.max_by_key(|other| other.begins))
                .any(|other| is_about(recorded, other, *makes))
        })
        .map(|(id, ..)| id)
        .collect()
}

/// Whether a call was given the conversation before it.
fn is_about(recorded: &Talk<'_>, other: &Talk<'_>, makes: Makes) -> bool {
    let matches = |words: &str| {
        let words = words.trim();
        !words.is_empty() && recorded.asked.iter().any(|asked| asked.contains(words))
    };
    let is_asked = other.asked.last().is_some_and(|asked| matches(asked));
    matches(&other.answer) && (is_asked || other.answer.trim().contains(char::is_whitespace)) || makes == Makes::Label && is_asked
}

fn talk(scope: &Scope) -> Option<Talk<'_>> {
    let mut prompt = String::new();
    let mut asked = Vec::new();
    let (mut answer, mut ends) = (None, UnixNanos(0));
    for entry in &scope.conversation {
        match &entry.kind {
            EntryKind::Message(message) if matches!(message.role, Role::System | Role::Developer) => {
                prompt.push_str(&message.joined_text())
            }
            EntryKind::Message(message) if message.role == Role::User => asked.push(message.joined_text()),
            EntryKind::Turn(message) if message.has_words() && !message.asks_for_tools() => {
                answer = Some(message.joined_text());
                ends = entry.at;
            }
            _ => {}
        }
    }
    if prompt.trim().is_empty() {
        prompt = asked.first()?.chars().take(LOOKED_AT).collect();
    }
    let begins = scope.conversation.first()?.at;
    let answer = answer?;
    Some(Talk {
        begins,
        ends,
        prompt,
        asked,
        answer,
    })
}

fn asks_for_tools(scope: &Scope) -> bool {
    let asks = |kind: &EntryKind| matches!(kind, EntryKind::Turn(message) if Message::asks_for_tools(message));
    scope.conversation.iter().any(|entry| asks(&entry.kind))
}

/// What an instruction asks for, if it is something about a talk.
fn makes(recorded: &Talk<'_>) -> Option<Makes> {
    let instruction = recorded.prompt.chars().take(LOOKED_AT).collect::<String>().to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| instruction.contains(word));
    let follows = has(&["follow-up", "follow up", "followup", "suggest"]) && instruction.contains("question");
    let names = has(&["name this", "name the", "names chats", "names the", "short name"]) && has(&TALK);
    if has(&["title", "headline"]) || names || follows {
        Some(Makes::Label)
    } else if has(&["summar", " tags"]) && has(&TALK) {
        Some(Makes::Digest)
    } else {
        None
    }
}
