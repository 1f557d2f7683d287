//! Stage "question and answer": takes steps, scopes, root and failure and returns the first question of the run and its last answer.
//!
//! This runs when conversations are complete and the failure is known: a run that failed, or waits for a person, has no answer.

mod about_talk;
mod closing;
mod own_words;
mod recorded_words;

use std::borrow::Cow;

use own_words::OwnWords;
use recorded_words::words_of;
use serde_json::Value;

use super::failure::Failed;
use super::id::{IdVec, ScopeId, StepId};
use super::interrupts;
use super::model::{Entry, EntryKind, RunFailure, Scope, Step, Utterance};
use crate::dialect::messages::Direction;
use crate::operation::{Kind, Message, Role};
use crate::span::UnixNanos;

/// Scopes with a top-level conversation, in the order in which they begin: only those of agents if there are any, and only
/// those that do more than check others if there are any.
fn top(scopes: &IdVec<ScopeId, Scope>) -> Vec<&Scope> {
    let mut list: Vec<&Scope> = scopes
        .iter()
        .filter(|scope| scope.called_by.is_none() && !scope.conversation.is_empty())
        .collect();
    let has_agent = |scope: &Scope| scope.step.is_some();
    let around = |scope: &Scope| scope.parent.and_then(|parent| scopes.get(parent)).is_some_and(has_agent);
    let of_agent = |scope: &Scope| has_agent(scope) || is_unrelated(scopes, scope) && around(scope);
    let wanted: [&dyn Fn(&Scope) -> bool; 2] = [&|scope| !scope.is_auxiliary, &of_agent];
    for wanted in wanted {
        if list.iter().any(|scope| wanted(scope)) {
            list.retain(|scope| wanted(scope));
        }
    }
    list.sort_by_key(|scope| scope.conversation.first().map(|entry| entry.at));
    list
}

/// Marks conversations about the conversation as auxiliary: a title, suggested next questions, a summary for later.
///
/// This runs before facts of the whole run are derived: a title generated first is neither its question nor its root.
pub(super) fn set_aside(scopes: &mut IdVec<ScopeId, Scope>) {
    for id in about_talk::find(scopes, top(scopes), |scope| is_unrelated(scopes, scope)) {
        scopes.get_mut(id).into_iter().for_each(|scope| scope.is_auxiliary = true);
    }
}

/// Whether a scope has calls of the agent around it that continue no earlier call.
fn is_unrelated(scopes: &IdVec<ScopeId, Scope>, scope: &Scope) -> bool {
    let around = scope.parent.and_then(|parent| scopes.get(parent));
    scope.is_unrelated && around.is_some_and(|around| around.called_by.is_none())
}

/// The question on the agent's span, if it has one; else the last user message before the first answer; else one that only an
/// agent or chain span has.
pub(super) fn question(steps: &IdVec<StepId, Step>, scopes: &IdVec<ScopeId, Scope>, root: Option<StepId>) -> Option<Utterance> {
    let own = root.and_then(|root| OwnWords::asked(steps, root));
    let heard = recorded_question(scopes, own.as_ref());
    let Some(own) = own else {
        return heard.or_else(|| outer_question(steps, root));
    };
    let is_heard = |heard: &Utterance| {
        let words = text(&heard.content);
        own.repeats(&words, std::iter::empty()) || own.fills(&words) || own.comes_later_than(steps, &words)
    };
    heard.filter(is_heard).or_else(|| {
        let at = steps.get(own.step).map_or(UnixNanos(0), |step| step.started_at);
        Some(own.utterance(at))
    })
}

fn text(content: &Value) -> Cow<'_, str> {
    match content {
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

/// The user message before the first answer that is the agent's question; else the last one.
fn recorded_question(scopes: &IdVec<ScopeId, Scope>, own: Option<&OwnWords>) -> Option<Utterance> {
    for scope in top(scopes) {
        let mut found = None;
        let first = scope.conversation.iter().find_map(|entry| entry.step);
        for entry in &scope.conversation {
            match &entry.kind {
                EntryKind::Message(message) if message.role == Role::User && entry.step == first && message.has_words() => {
                    let words = message.content();
                    let is_own = own.is_some_and(|own| own.is(&words));
                    found = entry.step.map(|step| Utterance {
                        content: Value::String(words),
                        step,
                        at: entry.at,
                        in_conversation: true,
                    });
                    if is_own {
                        break;
                    }
                }
                EntryKind::Turn(_) if entry.step == first && found.is_some() => break,
                _ => {}
            }
        }
        if found.is_some() {
            return found;
        }
    }
    None
}

/// A question that only an agent or chain span has.
fn outer_question(steps: &IdVec<StepId, Step>, root: Option<StepId>) -> Option<Utterance> {
    let outer = root.and_then(|root| outer_words(steps, root, Direction::Input));
    let (content, step) = match outer {
        Some(text) if text.0.is_string() => text,
        other => task(steps).or(other)?,
    };
    let at = steps.get(step).map_or(UnixNanos(0), |step| step.started_at);
    Some(Utterance {
        content,
        step,
        at,
        in_conversation: false,
    })
}

/// The last turn of a model call outside all agents that combines their work.
fn closing<'a>(
    steps: &IdVec<StepId, Step>,
    scopes: &'a IdVec<ScopeId, Scope>,
    root: Option<StepId>,
) -> Option<(UnixNanos, StepId, &'a Message)> {
    let top = std::iter::successors(root, |at| steps.get(*at)?.parent).last()?;
    let around = steps.get(top).filter(|_| Some(top) != root)?;
    closing::last(scopes, words_of(around, Direction::Output).as_ref())
}

/// The description of the task, if a span has one.
fn task(steps: &IdVec<StepId, Step>) -> Option<(Value, StepId)> {
    steps
        .enumerate()
        .find_map(|(at, step)| Some((Value::String(step.operation.task.description.clone()?), at)))
}

/// The answer of a run that neither failed nor waits, or its failure: an answer overrides the failure of the last operation, unless
/// it was given inside that. The scope of the answer is not auxiliary.
pub(super) fn ending(
    steps: &IdVec<StepId, Step>,
    scopes: &mut IdVec<ScopeId, Scope>,
    root: Option<StepId>,
    failed: Option<Failed>,
) -> (Option<Utterance>, Option<RunFailure>) {
    let failed = match failed {
        Some(failed) if Some(failed.at) == root => return (None, Some(failed.failure)),
        failed => failed,
    };
    if interrupts::waits(steps, scopes) {
        return (None, None);
    }
    let is_within = |step: StepId, around: StepId| std::iter::successors(Some(step), |at| steps.get(*at)?.parent).any(|at| at == around);
    // A run cancelled after its answer did not fail.
    let was_stopped = |failed: &Failed| failed.failure.failure.is_cancellation();
    let stands = |answer: &Utterance| {
        failed
            .as_ref()
            .is_none_or(|failed| was_stopped(failed) || !is_within(answer.step, failed.at))
    };
    let Some(answer) = find_answer(steps, scopes, root).filter(stands) else {
        return (None, failed.map(|failed| failed.failure));
    };
    if let Some(scope) = steps.get(answer.step).and_then(|step| scopes.get_mut(step.scope)) {
        scope.is_auxiliary = false;
    }
    // A title generated after the answer is auxiliary.
    let begins_later = |scope: &Scope| scope.conversation.first().is_some_and(|entry| entry.at >= answer.at);
    let later: Vec<ScopeId> = scopes
        .enumerate()
        .filter(|(_, scope)| answer.in_conversation && is_unrelated(scopes, scope) && begins_later(scope))
        .map(|(id, _)| id)
        .collect();
    for id in later {
        scopes.get_mut(id).into_iter().for_each(|scope| scope.is_auxiliary = true);
    }
    (Some(answer), None)
}

/// An explicit final output, the answer on the agent's span, or the last answer.
fn find_answer(steps: &IdVec<StepId, Step>, scopes: &IdVec<ScopeId, Scope>, root: Option<StepId>) -> Option<Utterance> {
    let last = last_answer(steps, scopes, root);
    let is_later = |at: UnixNanos| last.as_ref().is_none_or(|last| !last.in_conversation || at >= last.at);
    if let Some(explicit) = final_output(steps).filter(|explicit| is_later(explicit.at)) {
        let has_it = |last: &&Utterance| text(&last.content).trim() == text(&explicit.content).trim();
        return Some(last.as_ref().filter(has_it).cloned().unwrap_or(explicit));
    }
    let closes = |last: &Utterance| closing(steps, scopes, root).is_some_and(|(_, step, _)| step == last.step);
    if last.as_ref().is_some_and(closes) {
        return last;
    }
    let agent = root.and_then(|root| last_agent(steps, scopes, root));
    let around = || root.and_then(|root| OwnWords::answered_around(steps, root));
    let of_agent = || agent.and_then(|agent| OwnWords::of(steps, agent, Direction::Output));
    let Some(own) = around().or_else(of_agent) else {
        return last;
    };
    let of_model = |last: &Utterance| last.in_conversation;
    let Some(last) = last.filter(of_model) else {
        let at = steps.get(own.step).map_or(UnixNanos(0), Step::end_or_start);
        return Some(own.utterance(at));
    };
    let said = text(&last.content);
    if own.is(&said) {
        return Some(last);
    }
    let mut turns: Vec<(&Entry, String)> = top(scopes)
        .into_iter()
        .flat_map(|scope| &scope.conversation)
        .filter_map(|entry| match &entry.kind {
            EntryKind::Turn(message) if message.has_words() => Some((entry, message.content())),
            _ => None,
        })
        .collect();
    turns.sort_by_key(|(entry, _)| entry.at);
    let before = turns.iter().take_while(|(entry, _)| entry.at < last.at);
    if own.repeats(&said, before.map(|(_, words)| words.as_str())) {
        return Some(last);
    }
    let is_answer = |entry: &Entry| matches!(&entry.kind, EntryKind::Turn(message) if !message.asks_for_tools());
    let same = turns.into_iter().rev().find(|(entry, words)| is_answer(entry) && own.is(words));
    match same {
        Some((entry, words)) => Some(Utterance {
            content: Value::String(words),
            step: entry.step?,
            at: entry.at,
            in_conversation: true,
        }),
        None => {
            let at = steps.get(own.step).map_or(UnixNanos(0), Step::end_or_start);
            Some(own.utterance(at))
        }
    }
}

/// The agent that ends last among those without an agent or tool above: the root, or one that continues after it.
fn last_agent(steps: &IdVec<StepId, Step>, scopes: &IdVec<ScopeId, Scope>, root: StepId) -> Option<StepId> {
    if steps.get(root)?.operation.kind != Kind::Agent {
        return None;
    }
    // Parents precede their children.
    let mut inside: IdVec<StepId, bool> = IdVec::with_capacity(steps.len());
    let mut last = (steps.get(root)?.end_or_start(), root);
    for (at, step) in steps.enumerate() {
        let is_within = step.parent.is_some_and(|parent| inside.is_set(parent));
        let is_agent = step.operation.kind == Kind::Agent;
        let is_auxiliary = || step.called_by.is_some() || scopes.get(step.scope).is_some_and(|scope| scope.is_auxiliary);
        if is_agent && !is_within && !is_auxiliary() {
            last = last.max((step.end_or_start(), at));
        }
        inside.push(is_within || is_agent || step.operation.kind == Kind::Tool);
    }
    Some(last.1)
}

/// The last final output recorded as a separate step.
fn final_output(steps: &IdVec<StepId, Step>) -> Option<Utterance> {
    let gives_output = |step: &Step| step.operation.kind == Kind::FinalOutput && step.operation.output.is_some();
    let (id, step) = steps.enumerate().rfind(|(_, step)| gives_output(step))?;
    Some(Utterance {
        content: step.operation.output.get().cloned()?,
        step: id,
        at: step.end_or_start(),
        in_conversation: false,
    })
}

/// The last answer without tool calls; else the output of an agent or chain span.
fn last_answer(steps: &IdVec<StepId, Step>, scopes: &IdVec<ScopeId, Scope>, root: Option<StepId>) -> Option<Utterance> {
    let last = top(scopes)
        .iter()
        .flat_map(|scope| &scope.conversation)
        .filter_map(|entry| match &entry.kind {
            EntryKind::Turn(message) => entry.step.and_then(|step| Some((entry.at, step, steps.get(step)?, message))),
            _ => None,
        })
        .max_by_key(|(at, step, ..)| (*at, *step));
    let closing = closing(steps, scopes, root).filter(|(at, ..)| last.is_none_or(|(before, ..)| before < *at));
    let last = closing
        .and_then(|(at, step, message)| Some((at, step, steps.get(step)?, message)))
        .or(last);
    let failed = steps
        .iter()
        .rev()
        .find(|step| step.operation.kind == Kind::Llm && !scopes.get(step.scope).is_some_and(|scope| scope.is_auxiliary))
        .is_some_and(|step| step.operation.failure.is_some());
    if let Some((at, step, caller, message)) = last
        && caller.operation.kind == Kind::Llm
        && !failed
    {
        let text = message.content();
        if !message.asks_for_tools() && !text.trim().is_empty() {
            return Some(Utterance {
                content: Value::String(text),
                step,
                at,
                in_conversation: true,
            });
        }
        // Agents of one framework give their answer through a tool.
        if let Some(answer) = message
            .tool_calls
            .iter()
            .find(|call| call.name == "final_answer")
            .and_then(|call| call.arguments.as_ref()?.get("answer").cloned())
        {
            return Some(Utterance {
                content: answer,
                step,
                at,
                in_conversation: false,
            });
        }
    }
    if let Some(explicit) = final_output(steps) {
        return Some(explicit);
    }
    let (content, step) = outer_words(steps, root?, Direction::Output)?;
    let at = steps.get(step).map_or(UnixNanos(0), Step::end_or_start);
    // A run stopped before its tools ran ends with the text that asked for them.
    let in_conversation = last.is_some_and(|(.., message)| content.as_str() == Some(message.content().as_str()));
    Some(Utterance {
        content,
        step,
        at,
        in_conversation,
    })
}

/// The text in the input or output of the root, or of the first (last) agent or chain below it with any.
fn outer_words(steps: &IdVec<StepId, Step>, root: StepId, direction: Direction) -> Option<(Value, StepId)> {
    let outer = |step: &Step| {
        matches!(
            step.operation.kind,
            Kind::Agent | Kind::Chain | Kind::Unknown | Kind::UserInput | Kind::FinalOutput
        ) && step.called_by.is_none()
    };
    let words = |at: StepId| {
        steps
            .get(at)
            .filter(|step| outer(step))
            .and_then(|step| words_of(step, direction))
            .map(|value| (value, at))
    };
    words(root).or_else(|| match direction {
        Direction::Input => steps.ids().find_map(words),
        Direction::Output => {
            let mut order: Vec<StepId> = steps.ids().collect();
            order.sort_by_key(|at| steps.get(*at).map(Step::end_or_start));
            order.into_iter().rev().find_map(words)
        }
    })
}

#[cfg(test)]
mod tests;
