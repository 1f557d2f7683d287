//! Finds operations whose text is written elsewhere: in a message, as the run's question or as its answer.

use super::calls::Results;
use super::content;
use crate::document::json::{Text, trimmed};
use crate::hash::HashSet;
use crate::run::{EntryKind, Run, StepId, Utterance};

/// The steps that only repeat text. A client may record a person's text as an operation, as an agent's input and in a model's
/// messages. Messages of any conversation count; the question and the answer count for one operation each. `speakers`: the steps
/// with text, and whether it is a person's.
pub(super) fn find(run: &Run, speakers: &[(StepId, bool)]) -> HashSet<StepId> {
    if speakers.is_empty() {
        return HashSet::default();
    }
    let entries = run.scopes.iter().flat_map(|scope| &scope.conversation);
    let messages = entries.filter_map(|entry| match &entry.kind {
        EntryKind::Message(message) | EntryKind::Turn(message) => Some(trimmed(content::content(message))),
        _ => None,
    });
    let spoken: HashSet<Text<'_>> = messages.collect();
    let results = Results::of(run);
    let outside = |utterance: &&Utterance| !utterance.in_conversation;
    let mut question = run.question.as_ref().filter(outside);
    let mut answer = run.answer.as_ref().filter(outside);
    let mut repeated = HashSet::default();
    for (id, is_user) in speakers.iter().copied() {
        let words = id.of(run).and_then(|step| content::operation_words(run, &results, step, is_user));
        let Some(words) = words.map(trimmed) else { continue };
        let same = |utterance: &mut &Utterance| utterance.step == id || trimmed(content::text(&utterance.content)) == words;
        let around = if is_user { &mut question } else { &mut answer };
        if spoken.contains(&words) || around.take_if(same).is_some() {
            let _ = repeated.insert(id);
        }
    }
    repeated
}
