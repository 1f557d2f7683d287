//! Converts runs to rows.

use super::conversation::ConversationRow;
use super::document::{Mark, Row};
use super::parts;
use super::session::History;
use crate::document::choice::Options;
use crate::document::loss::{Loss, LossReason};
use crate::formats::format::Assembled;
use crate::run::{Run, Utterance};
use crate::transcript::calls::Results;
use crate::transcript::turn_facts::TurnFacts;
use crate::transcript::{Transcript, content, facts};

/// The rows of all runs except the first `before`, which are only read as history of later rows.
pub(super) fn assemble<'a>(runs: &'a [Run], before: usize, options: &Options) -> Vec<Assembled<Row<'a>>> {
    let mut rows = Vec::new();
    let mut history = options.is("messages.rows", "session").then(History::default);
    for (at, run) in runs.iter().enumerate().filter(|(_, run)| run.has_agent_work()) {
        let (first, mut homeless) = (rows.len(), Vec::new());
        for AgentRow { row, mut losses, goes_on } in if at < before { Vec::new() } else { of_run(run, options, false) } {
            match row {
                Some(mut document) => {
                    if let (Some(history), true) = (&history, goes_on) {
                        history.begin(&mut document, &mut losses);
                    }
                    rows.push(Assembled { document, losses });
                }
                None => homeless.extend(losses),
            }
        }
        if let Some(history) = &mut history {
            let whole = of_run(run, options, true).into_iter().find_map(|agent| agent.row);
            whole.into_iter().for_each(|row| history.add(row, Mark::of(options)));
        }
        // Losses without a row are reported with the run's first row.
        if let Some(first) = rows.get_mut(first) {
            first.losses.extend(homeless);
        }
    }
    if options.is("messages.rows", "turn") {
        rows = rows.into_iter().flat_map(|row| parts::turns(row, options)).collect();
    }
    if options.is("messages.split", "completion") {
        rows.iter_mut().for_each(parts::split);
    }
    rows
}

/// A row of a run with its losses.
struct AgentRow<'a> {
    /// `None` if neither a model nor the agent has words.
    row: Option<Row<'a>>,
    losses: Vec<Loss>,
    /// Whether its agent talks to users, and so continues the conversation of earlier runs.
    goes_on: bool,
}

/// The rows of a run. `is_one`: one row for all agents that follow one another, without sub-agents.
fn of_run<'a>(run: &'a Run, options: &Options, is_one: bool) -> Vec<AgentRow<'a>> {
    let (results, transcript) = (Results::of(run), Transcript::of(run));
    let turns = TurnFacts::of(run);
    let new = || ConversationRow::new(&turns, &results, options);
    let is_one = is_one || options.is("messages.rows", "run");
    let mut conversations: Vec<(ConversationRow<'a, '_>, bool)> = Vec::new();
    let answer = run.answer.as_ref().filter(|answer| !answer.in_conversation);
    let about = facts::of_run_and_agent(run);
    let mut left: Vec<Loss> = about
        .iter()
        .map(|(key, _)| Loss::new(None, format!("run.{key}"), LossReason::NoPlace))
        .collect();
    for (id, tool) in transcript.scopes_with_tool() {
        let Some(scope) = run.scopes.get(id) else { continue };
        if is_one && (tool.is_some() || scope.is_auxiliary) {
            if !scope.conversation.is_empty() {
                let span = scope.step.and_then(|step| run.steps.get(step)?.span_id);
                let name = scope.agent.as_deref().unwrap_or("an agent");
                left.push(Loss::new(span, format!("the conversation of {name}"), LossReason::NoPlace));
            }
            continue;
        }
        let asked = match scope.called_by {
            Some(_) => content::asked_of(run, scope),
            None => run
                .question
                .as_ref()
                .filter(|utterance| id.index() == 0 && !utterance.in_conversation)
                .map(|utterance| content::text(&utterance.content)),
        };
        let last = conversations.pop_if(|_| is_one).map(|(conversation, _)| conversation);
        let mut conversation = last.unwrap_or_else(new);
        let span = scope.step.and_then(|step| run.steps.get(step)?.span_id);
        conversation.begins_at(span);
        let asked = conversation.conversation(transcript.exchanges(id), asked);
        if asked.is_some() && scope.called_by.is_none() {
            let what = "the run's question, which no message contains";
            conversation.losses.utterance(run, run.question.as_ref(), what);
        }
        let is_of_scope = |answer: &&Utterance| run.steps.get(answer.step).is_some_and(|step| step.scope == id);
        if let Some(answer) = answer.filter(is_of_scope) {
            conversation.answer(answer);
        }
        conversations.push((conversation, tool.is_none() && scope.called_by.is_none() && !scope.is_auxiliary));
    }
    let of_conversation = |(conversation, goes_on): (ConversationRow<'a, '_>, bool)| {
        let rows = conversation.finish().into_iter();
        rows.map(move |(row, losses)| AgentRow { row, losses, goes_on })
    };
    let mut rows: Vec<AgentRow<'a>> = conversations.into_iter().flat_map(of_conversation).collect();
    if let Some(answer) = answer {
        let words = content::text(&answer.content);
        let mut messages = rows.iter().flat_map(|agent| &agent.row).flat_map(|row| &row.messages);
        if !messages.any(|message| message.content.trim() == words.trim()) {
            let span = run.steps.get(answer.step).and_then(|step| step.span_id);
            left.push(Loss::new(span, "the run's answer, which no model wrote", LossReason::NoPlace));
        }
    }
    rows.push(AgentRow {
        row: None,
        losses: left,
        goes_on: false,
    });
    rows
}
