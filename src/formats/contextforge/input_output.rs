//! User messages as `user_input` steps, and the last answer as the `final_output` step.

use serde_json::Value;

use super::step::{self, Side, StepDraft, StepParts, answer};
use super::words::{Words, media_marks, message_words, words as words_of};
use crate::document::json::{Json, Object};
use crate::document::loss::{Loss, LossReason};
use crate::hash::HashMap;
use crate::operation::{Kind, Message, Role};
use crate::run::{Entry, EntryKind, Run, Step, StepId};
use crate::span::{SpanId, UnixNanos};
use crate::transcript::content;
use crate::transcript::ids::Ids;

struct Inputs<'a, 'm> {
    list: Vec<StepDraft<'a>>,
    /// How many separate steps each user message has: these are not written again from a conversation.
    own: HashMap<String, usize>,
    ids: &'m mut Ids<'a>,
    losses: &'m mut Vec<Loss>,
}

impl<'a> Inputs<'a, '_> {
    fn say(&mut self, at: UnixNanos, place: usize, owner: &str, span: Option<SpanId>, words: Words<'a>) {
        if let Some(times) = self.own.get_mut(words.text.trim()).filter(|times| **times > 0) {
            *times -= 1;
            return;
        }
        let step_id = self.ids.numbered(format!("{owner}:in"), ':');
        if words.coerced {
            let what = format!("steps[{step_id}].content");
            self.losses.push(Loss::new(span, what, LossReason::Coerced));
        }
        let made = StepParts {
            step_type: "user_input",
            body: Object::from([("content", words.text.into()), ("input_type", "text".into())]),
            metadata: words
                .original
                .map(|original| Object::from([("content", original)]))
                .unwrap_or_default(),
        };
        self.list.push(StepDraft::new(at, (place, Side::Before), step_id, None, made));
    }
}

/// The question, not later than the `first` step, and later user messages in conversations other than a sub-agent's.
pub(super) fn user_inputs<'a>(
    run: &'a Run,
    first: Option<UnixNanos>,
    starts: &HashMap<StepId, UnixNanos>,
    ids: &mut Ids<'a>,
    losses: &mut Vec<Loss>,
) -> Vec<StepDraft<'a>> {
    let is_step = |step: StepId| run.steps.get(step).is_some_and(|step| step.operation.kind == Kind::UserInput);
    let mut inputs = Inputs {
        list: Vec::new(),
        own: HashMap::default(),
        ids,
        losses,
    };
    for step in run.steps.iter().filter(|step| step.operation.kind == Kind::UserInput) {
        if let Some(words) = step::user_words(&step.operation) {
            *inputs.own.entry(words.text.trim().to_owned()).or_default() += 1;
        }
    }
    let conversations = user_messages(run);
    let root = run.root.and_then(|root| run.steps.get(root));
    if let Some(utterance) = run.question.as_ref().filter(|utterance| !is_step(utterance.step)) {
        let message = conversations.iter().find_map(|conversation| conversation.question);
        let owner = root.or_else(|| run.steps.get(utterance.step));
        if let (Some(owner), Some(words)) = (owner, question(&utterance.content, message)) {
            let at = root
                .map_or(utterance.at, |root| root.started_at.min(utterance.at))
                .min(first.unwrap_or(utterance.at));
            let span = run.steps.get(utterance.step).and_then(|step| step.span_id);
            inputs.say(at, 0, &owner.id, span, words);
        }
    }
    for conversation in conversations {
        for entry in conversation.messages {
            let EntryKind::Message(message) = &entry.kind else { continue };
            let Some(index) = entry.step.filter(|step| !is_step(*step)) else {
                continue;
            };
            let (Some(words), Some(step)) = (message_words(message), run.steps.get(index)) else {
                continue;
            };
            let at = starts.get(&index).copied().unwrap_or(entry.at);
            inputs.say(at, index.index(), &step.id, step.span_id, words);
        }
    }
    inputs.list
}

/// The question with the pictures of the same message.
fn question<'a>(content: &'a Value, message: Option<&'a Message>) -> Option<Words<'a>> {
    let mut words = words_of(content)?;
    if let Some(message) = message.filter(|message| message.has_media()) {
        let whole = message_words(message)?;
        words = if content::content(message).trim() == words.text.trim() {
            whole
        } else {
            let marks = media_marks(message);
            Words {
                text: format!("{}\n{marks}", words.text).into(),
                ..whole
            }
        };
    }
    Some(words)
}

/// User messages in one conversation of this run.
struct UserMessages<'a> {
    /// The message with the question, if it is in this conversation.
    question: Option<&'a Message>,
    /// The other messages.
    messages: Vec<&'a Entry>,
}

/// The user messages of this run per top-level conversation. In the conversation with the question: those after it, and pictures
/// without words that came with it. In any other: those after the history of its first model call. Not repeated are the question
/// passed on to another agent, and the input of a model call that repeats a question recorded only on the agent's span.
fn user_messages(run: &Run) -> Vec<UserMessages<'_>> {
    let mut question = run.question.as_ref().filter(|utterance| utterance.in_conversation);
    let mut out = Vec::new();
    let asked = run.question.as_ref();
    let words = asked.and_then(|utterance| utterance.content.as_str()).map(str::trim);
    let asked_of = asked.and_then(|utterance| agent_of(run, utterance.step));
    for scope in run.scopes.iter().filter(|scope| scope.called_by.is_none() && !scope.is_auxiliary) {
        let is_of_another = asked_of.is_some() && scope.step.is_some() && scope.step != asked_of;
        let is_handed_on = is_of_another || asked.is_some_and(|utterance| !utterance.in_conversation);
        let user = |entry: &'_ Entry| matches!(&entry.kind, EntryKind::Message(message) if message.role == Role::User);
        let history = scope
            .conversation
            .iter()
            .take_while(|entry| !matches!(entry.kind, EntryKind::Turn(_)))
            .enumerate()
            .filter(|(_, entry)| !matches!(&entry.kind, EntryKind::Message(message) if message.role != Role::Assistant))
            .map(|(at, _)| at + 1)
            .last()
            .unwrap_or(0);
        let found = question.and_then(|utterance| position(&scope.conversation, utterance.content.as_str()?.trim()));
        let mut messages: Vec<&Entry> = Vec::new();
        let mut matches = None;
        let mut is_first = true;
        for (at, entry) in scope.conversation.iter().enumerate().filter(|(_, entry)| user(entry)) {
            let EntryKind::Message(message) = &entry.kind else { continue };
            let opens = std::mem::take(&mut is_first);
            match found {
                None if opens && is_handed_on && !message.has_media() && words == Some(content::content(message).trim()) => {}
                Some(found) if at == found => matches = Some(message),
                Some(found) if at < found && (at < history || message.has_words()) => {}
                None if at < history => {}
                _ => messages.push(entry),
            }
        }
        if found.is_some() {
            question = None;
        }
        out.push(UserMessages {
            question: matches,
            messages,
        });
    }
    out
}

/// The agent of a step's scope.
fn agent_of(run: &Run, step: StepId) -> Option<StepId> {
    run.scopes.get(run.steps.get(step)?.scope)?.step
}

/// The index of the user message that equals the question, else of the first that contains it.
fn position(conversation: &[Entry], asked: &str) -> Option<usize> {
    let matches = |entry: &Entry, whole: bool| match &entry.kind {
        EntryKind::Message(message) if message.role == Role::User => {
            let content = content::content(message);
            if whole { content.trim() == asked } else { content.contains(asked) }
        }
        _ => false,
    };
    [true, false]
        .into_iter()
        .find_map(|whole| conversation.iter().position(|entry| matches(entry, whole)))
}

/// The last answer; with pictures, as the model wrote it.
pub(super) fn final_output<'a>(run: &'a Run, ids: &mut Ids<'a>) -> Option<StepDraft<'a>> {
    let utterance = run.answer.as_ref()?;
    // The agent recorded a separate step for it.
    let is_it = |step: &Step| step.operation.kind == Kind::FinalOutput && step.operation.output.get() == Some(&utterance.content);
    let own = run
        .steps
        .get(utterance.step)
        .is_some_and(|step| step.operation.kind == Kind::FinalOutput);
    if own || run.steps.iter().any(is_it) {
        return None;
    }
    let owner = run
        .root
        .and_then(|root| run.steps.get(root))
        .or_else(|| run.steps.get(utterance.step))?;
    let turn = || run.steps.get(utterance.step)?.operation.output_messages.as_deref()?.first();
    let content = turn()
        .filter(|message| message.has_media() && utterance.content.as_str() == Some(&*content::content(message)))
        .map(content::chat_content);
    let last = run.steps.iter().map(|step| step.started_at).max()?;
    let made = StepParts {
        step_type: "final_output",
        body: answer(content.unwrap_or_else(|| Json::from(&utterance.content)), None)?,
        metadata: Object::new(),
    };
    let id = ids.numbered(format!("{}:out", owner.id), ':');
    let at = run.ended_at.unwrap_or(utterance.at).max(last);
    Some(StepDraft::new(at, (usize::MAX, Side::After), id, None, made))
}
