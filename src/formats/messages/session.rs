//! Rows of a session's later runs, which begin with the messages of earlier runs: history, not a training target.

use super::document::{ChatMessage, Mark, Row};
use crate::document::loss::{Loss, LossReason};
use crate::hash::HashSet;

/// The conversation so far, without system prompts.
#[derive(Debug, Default)]
pub(super) struct History<'a> {
    messages: Vec<ChatMessage<'a>>,
}

impl<'a> History<'a> {
    /// Adds the row of a whole run.
    pub(super) fn add(&mut self, row: Row<'a>, mark: Mark) {
        if self.is_in(&row.messages) {
            self.messages.clear();
        }
        let taken = self.ids();
        let begins = !self.messages.is_empty();
        let said = row.messages.into_iter().filter(|message| message.role != "system");
        // An answer only follows an answer if no question was recorded.
        let said = said.skip_while(|message| begins && message.role != "user");
        let mut said: Vec<ChatMessage<'a>> = said.collect();
        renumber(&mut said, &taken);
        for message in said.iter_mut().filter(|message| message.role == "assistant") {
            message.mark(mark);
        }
        self.messages.append(&mut said);
    }

    /// Inserts the history into a later run's row, after the system prompt, unless the run's model calls had it as input.
    pub(super) fn begin(&self, row: &mut Row<'a>, losses: &mut Vec<Loss>) {
        if self.messages.is_empty() || self.is_in(&row.messages) {
            return;
        }
        let mut said = row.messages.iter().skip_while(|message| message.role == "system");
        if said.next().is_some_and(|first| first.role != "user") {
            losses.push(Loss::new(None, "what was said in earlier runs of the session", LossReason::NoPlace));
            return;
        }
        for id in renumber(&mut row.messages, &self.ids()) {
            losses.push(Loss::new(None, format!("tool_calls[{id}].id"), LossReason::Coerced));
        }
        let at = usize::from(row.messages.first().is_some_and(|first| first.role == "system"));
        let _ = row.messages.splice(at..at, self.messages.iter().cloned());
    }

    /// Whether messages begin with the history.
    fn is_in(&self, messages: &[ChatMessage<'_>]) -> bool {
        let said = messages.iter().filter(|message| message.role != "system");
        let begins = self.messages.iter().take(2).zip(said);
        let same = begins.filter(|(one, other)| one.role == other.role && one.content.trim() == other.content.trim());
        self.messages.len() > 1 && same.count() == 2
    }

    /// The ids of the history's calls.
    fn ids(&self) -> HashSet<String> {
        let results = self.messages.iter().filter_map(|message| message.tool_call_id.as_ref());
        results.map(ToString::to_string).collect()
    }
}

/// Gives calls whose ids are taken new ones; returns their old ids.
fn renumber(messages: &mut [ChatMessage<'_>], taken: &HashSet<String>) -> Vec<String> {
    let own = messages.iter().filter_map(|message| message.tool_call_id.as_deref());
    let mut used: HashSet<String> = own.map(str::to_owned).collect();
    let clashing: Vec<String> = used.intersection(taken).cloned().collect();
    for id in &clashing {
        let new = (2..).map(|number| format!("{id}:{number}"));
        let new = new.into_iter().find(|new| !taken.contains(new) && !used.contains(new));
        let Some(new) = new else { continue };
        for message in messages.iter_mut() {
            message.rename_call(id, &new);
        }
        used.insert(new);
    }
    clashing
}
