//! Finds the part of a conversation before its first model call, and the part of that from before the run.

use crate::operation::{Message, Role};
use crate::run::{Entry, EntryKind};

/// The number of entries at the start that are input of the first model call.
pub(crate) fn first_input(conversation: &[Entry]) -> usize {
    let first = conversation.first().and_then(|entry| entry.step);
    conversation
        .iter()
        .take_while(|entry| matches!(entry.kind, EntryKind::Message(_)) && entry.step == first)
        .count()
}

/// For each entry before the first turn, whether it is from before this run: all up to the last assistant message and its
/// results, except the last user message.
pub(crate) fn history(conversation: &[Entry]) -> Vec<bool> {
    let opening = conversation
        .iter()
        .take_while(|entry| matches!(entry.kind, EntryKind::Message(_) | EntryKind::Result(_)))
        .count();
    let opening = conversation.get(..opening).unwrap_or_default();
    let said_by = |entry: &Entry, role: Role| matches!(&entry.kind, EntryKind::Message(Message { role: by, .. }) if *by == role);
    let Some(last) = opening.iter().rposition(|entry| said_by(entry, Role::Assistant)) else {
        return vec![false; opening.len()];
    };
    let newest = opening.iter().rposition(|entry| said_by(entry, Role::User));
    let is_old = |(at, entry): (usize, &Entry)| newest != Some(at) && (at <= last || matches!(entry.kind, EntryKind::Result(_)));
    opening.iter().enumerate().map(is_old).collect()
}
