//! The whole conversation, in full.

use super::line::Line;
use super::overview::indented;
use crate::cli::out::{Style, shown, styled};
use crate::run::Run;
use crate::view::conversation::{Conversation, ConversationEntry, UnshownValues, Words, beside, conversations, without_work};
use crate::view::step;
use crate::view::text::{block, elapsed};

pub(super) fn lines(run: &Run, width: Option<usize>) -> Vec<String> {
    let has_times = step::has_times(run);
    let mut lines = of_conversations(run, &conversations(run), width);
    let beside = beside(run);
    if !beside.is_empty() {
        lines.push(String::new());
        lines.push(styled("inputs and outputs outside of conversations", Style::Strong));
        for beside in beside {
            lines.extend(in_and_out(run, &beside, has_times, width));
        }
    }
    lines
}

/// What people said and the last answers to it.
pub(super) fn talks(run: &Run, width: Option<usize>) -> Vec<String> {
    of_conversations(run, &without_work(run), width)
}

fn of_conversations(run: &Run, all: &[Conversation<'_>], width: Option<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    let has_times = step::has_times(run);
    for conversation in all {
        lines.push(String::new());
        lines.push(head(run, conversation, has_times, width));
        for said in &conversation.entries {
            lines.extend(entry(said, has_times, width));
        }
    }
    lines
}

fn head(run: &Run, conversation: &Conversation<'_>, has_times: bool, width: Option<usize>) -> String {
    let mut line = Line::default();
    match conversation.agent {
        Some(agent) => line.push(format!("conversation of {}", shown(agent, 48)), Style::Strong),
        None => line.push("conversation", Style::Strong),
    }
    if let Some(caller) = conversation.called_by.and_then(|step| run.steps.get(step)) {
        let name = shown(step::name(run, caller), 48);
        let mut by = format!("called by {} {name}", caller.operation.kind.name());
        if has_times {
            by.push_str(" at ");
            by.push_str(&elapsed(step::offset(run, caller.started_at)));
        }
        line.next(&by, Style::Dim);
    }
    line.fit(width)
}

fn entry(said: &ConversationEntry<'_>, has_times: bool, width: Option<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    if said.branch {
        lines.push(styled("  the history was edited or cut here", Style::Busy));
    }
    let mut line = Line::default();
    line.push("  ", Style::Plain);
    line.push(shown(said.role, 24), Style::Kind);
    line.next(&shown(said.name.unwrap_or_default(), 48), Style::Strong);
    if has_times {
        line.next(&elapsed(said.offset), Style::Dim);
    }
    lines.push(line.fit(width));
    for words in &said.parts {
        match words {
            Words::Text(text) => lines.extend(indented(&block(text), 4, width)),
            Words::Mark(text) => lines.extend(indented(&block(text), 4, width)),
            Words::Thought(text) => {
                let thought = indented(&block(text), 4, width);
                lines.extend(thought.into_iter().map(|line| styled(&line, Style::Dim)));
            }
            Words::Call { name, arguments } => lines.extend(indented(&block(&format!("call {name} {arguments}")), 4, width)),
            Words::Failure(text) => {
                let failure = indented(&block(&format!("FAILED {text}")), 4, width);
                lines.extend(failure.into_iter().map(|line| styled(&line, Style::Bad)));
            }
        }
    }
    lines
}

fn in_and_out(run: &Run, beside: &UnshownValues, has_times: bool, width: Option<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(of) = run.steps.get(beside.step) else { return lines };
    let mut line = Line::of_step(run, of, 48);
    if has_times {
        line.next(&elapsed(step::offset(run, of.started_at)), Style::Dim);
    }
    lines.push(line.fit(width));
    for (what, value) in [("input", &beside.input), ("output", &beside.output)] {
        if let Some(value) = value {
            lines.push(format!("    {}", styled(what, Style::Dim)));
            lines.extend(indented(&block(value), 6, width));
        }
    }
    lines
}
