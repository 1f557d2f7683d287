//! Finds the model call outside all agents that combines their work.

use std::cell::LazyCell;

use serde_json::Value;

use crate::operation::{Message, Role};
use crate::run::id::{IdVec, ScopeId, StepId};
use crate::run::model::{Entry, EntryKind, Scope};
use crate::span::UnixNanos;

/// The last turn outside all agents whose text the span around them has as its answer. If that span has no answer, the last turn whose
/// input contains the answers of several agents (Microsoft's agent framework: an executor behind a fan-out).
pub(super) fn last<'a>(scopes: &'a IdVec<ScopeId, Scope>, answer: Option<&Value>) -> Option<(UnixNanos, StepId, &'a Message)> {
    let has_it = |message: &Message, answer: &Value| answer.as_str().is_some_and(|answer| answer.trim() == message.content().trim());
    let said = LazyCell::new(|| last_words(scopes));
    let closes = |message: &Message, scope| answer.map_or_else(|| gathers(&said, scope), |answer| has_it(message, answer));
    let outside = scopes.iter().filter(|scope| scope.called_by.is_none() && scope.step.is_none());
    let turns = outside.filter_map(|scope| {
        scope.conversation.iter().rev().find_map(|entry| match &entry.kind {
            EntryKind::Turn(message) => Some((entry.at, entry.step?, message, scope)),
            _ => None,
        })
    });
    turns
        .filter(|(.., message, scope)| message.has_words() && closes(message, *scope))
        .map(|(at, step, message, _)| (at, step, message))
        .max_by_key(|(at, step, _)| (*at, *step))
}

/// Maximum number of agents whose answers are searched for in a call's input.
const MAX_AGENTS: usize = 16;

/// The last texts of agents.
fn last_words(scopes: &IdVec<ScopeId, Scope>) -> Vec<String> {
    let of_agents = scopes.iter().filter(|scope| scope.step.is_some() && scope.called_by.is_none());
    let said = of_agents.take(MAX_AGENTS).filter_map(|scope| {
        scope.conversation.iter().rev().find_map(|entry| match &entry.kind {
            EntryKind::Turn(message) => Some(message.content()).filter(|words| !words.trim().is_empty()),
            _ => None,
        })
    });
    said.collect()
}

/// Whether a call's input contains the last texts of at least two agents.
fn gathers(said: &[String], call: &Scope) -> bool {
    let of_user = |entry: &Entry| match &entry.kind {
        EntryKind::Message(message) if message.role == Role::User => Some(message.content()),
        _ => None,
    };
    let heard: Vec<String> = call.conversation.iter().filter_map(of_user).collect();
    let is_heard = |words: &&String| heard.iter().any(|heard| heard.contains(words.trim()));
    said.iter().filter(is_heard).count() > 1
}
