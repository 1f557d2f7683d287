//! The conversation of a run, by agent: each model call with what is new in it.

use std::io;

use maud::{Markup, html};

use super::head::step_href;
use super::messages::message;
use super::outline::{name, took};
use super::pane::folded;
use super::words::{SHOWN, count, kind, line, many};
use crate::operation::Kind;
use crate::run::{Run, ScopeId, Step};
use crate::view::step::{self, offset};
use crate::view::text::elapsed;
use crate::view::turns::{self, History, Turn, Turns};

/// Calls on one page.
pub(crate) const CALLS: usize = 100;

/// The view. `from`: the first call that is shown.
pub(crate) fn view(run: &Run, from: usize) -> Markup {
    let all = turns::of(run);
    let calls: usize = all.iter().map(|turns| turns.calls.len()).sum();
    let until = from.saturating_add(CALLS);
    // Each call with its number in all, so that pages cut wherever they must.
    let mut number = 0;
    let sections: Vec<(&Turns, Vec<(usize, Turn)>)> = all
        .iter()
        .map(|turns| {
            let first = number;
            number += turns.calls.len();
            let shown = turns
                .calls
                .iter()
                .enumerate()
                .filter(|(at, _)| (from..until).contains(&(first + at)));
            (turns, shown.map(|(at, turn)| (at, *turn)).collect())
        })
        .filter(|(_, shown): &(_, Vec<_>)| !shown.is_empty())
        .collect();
    html! {
        (tools(run, true))
        div.convs {
            div.thread.conv {
                @if sections.is_empty() { p.none-yet { "This run has no model calls." } }
                @for (turns, shown) in &sections { (scope(run, turns, shown)) }
                @if calls > CALLS {
                    p.none-yet {
                        "Calls " (count(from as u64 + 1)) " to " (count(until.min(calls) as u64)) " of " (count(calls as u64)) ". "
                        @if from > 0 { a href={ "?from=" (from.saturating_sub(CALLS)) } { "Previous" } " " }
                        @if until < calls { a href={ "?from=" (until) } { "Next" } }
                    }
                }
            }
            (contents(run, sections.iter().map(|(turns, shown)| (*turns, shown.iter().copied()))))
        }
    }
}

/// Writes all of it call by call, for a file.
pub(crate) fn write(run: &Run, put: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
    let all: Vec<Turns> = turns::of(run).into_iter().filter(|turns| !turns.calls.is_empty()).collect();
    put(&tools(run, false).into_string())?;
    put(r#"<div class="convs"><div class="thread conv">"#)?;
    if all.is_empty() {
        put(&html! { p.none-yet { "This run has no model calls." } }.into_string())?;
    }
    for turns in &all {
        put(&format!(
            r#"<section class="scope in{}" id="scope-{}">"#,
            nesting(run, turns.scope),
            turns.scope.index()
        ))?;
        put(&scope_head(run, turns).into_string())?;
        for (at, turn) in turns.calls.iter().enumerate() {
            if let Some(step) = run.steps.get(turn.step) {
                put(&call(run, at, turn, step, false).into_string())?;
            }
        }
        put("</section>")?;
    }
    put("</div>")?;
    put(&contents(run, all.iter().map(|turns| (turns, turns.calls.iter().copied().enumerate()))).into_string())?;
    put("</div>")
}

fn tools(run: &Run, served: bool) -> Markup {
    html! {
        div.tools {
            span.dim { "By agent: what is new in each call. Unchanged history is folded." }
            span.sp {}
            @if served { button data-fold="open" { "Unfold all" } a.btn href={ "/api/v1/traces/" (run.trace_id) "/markdown" } download={ (run.trace_id) ".md" } { "Markdown" } }
        }
    }
}

/// The agents with their calls.
fn contents<'t>(run: &Run, sections: impl Iterator<Item = (&'t Turns, impl Iterator<Item = (usize, Turn)>)>) -> Markup {
    html! {
        nav.toc aria-label="Agents and calls" {
            h2 { "Agents and calls" }
            ol {
                @for (turns, shown) in sections {
                    li { a href={ "#scope-" (turns.scope.index()) } { (agent(run, turns.scope)) } " " span.faint { (turns.calls.len()) } }
                    @for (at, turn) in shown {
                        li.in {
                            a href={ "#call-" (turn.step.index()) } { "call " (at + 1) } " "
                            @if let Some(step) = run.steps.get(turn.step) { span.faint { (took(step)) } }
                            @match turn.history { History::Rewritten { .. } => { " " b { "rewritten" } }, History::Trimmed { .. } => " trimmed", History::OfItsOwn => " own prompt", History::GoesOn => "" }
                        }
                    }
                }
            }
        }
    }
}

fn agent(run: &Run, scope: ScopeId) -> String {
    let of_scope = || run.scopes.get(scope)?.agent.as_deref();
    line(of_scope().or(run.agent.name.as_deref()).unwrap_or("not named"), 80)
}

/// How many scopes are around one; more than three look like three.
fn nesting(run: &Run, scope: ScopeId) -> usize {
    let mut depth = 0;
    let mut at = run.scopes.get(scope).and_then(|scope| scope.parent);
    while let Some(parent) = at.filter(|_| depth < 3) {
        depth += 1;
        at = run.scopes.get(parent).and_then(|scope| scope.parent);
    }
    depth
}

fn scope(run: &Run, turns: &Turns, shown: &[(usize, Turn)]) -> Markup {
    html! {
        section class={ "scope in" (nesting(run, turns.scope)) } id={ "scope-" (turns.scope.index()) } {
            (scope_head(run, turns))
            @for (at, turn) in shown {
                @if let Some(step) = run.steps.get(turn.step) { (call(run, *at, turn, step, true)) }
            }
        }
    }
}

fn scope_head(run: &Run, turns: &Turns) -> Markup {
    let steps = || turns.calls.iter().filter_map(|turn| run.steps.get(turn.step));
    let sum = |part: fn(&Step) -> Option<u64>| steps().filter_map(part).reduce(u64::saturating_add);
    let (input, output) = (sum(|step| step.operation.usage.input), sum(|step| step.operation.usage.output));
    let caller = run.scopes.get(turns.scope).and_then(|scope| run.steps.get(scope.called_by?));
    html! {
        h2 {
            (kind(Kind::Agent)) " " (agent(run, turns.scope)) " "
            span.dim {
                (many(turns.calls.len(), "model call"))
                @if let Some(input) = input { " · " (count(input)) " in" }
                @if let Some(output) = output { ", " (count(output)) " out" }
            }
            @if let Some(caller) = caller { " " span.faint { "called by " (kind(caller.operation.kind)) " " (line(name(run, caller), 80)) } }
        }
    }
}

fn call(run: &Run, at: usize, turn: &Turn, step: &Step, served: bool) -> Markup {
    let operation = &step.operation;
    let input = operation.input_messages.as_deref().unwrap_or_default();
    let [before, instead, kept, behind] = turn.parts(input);
    let output = operation.output_messages.as_deref().unwrap_or_default();
    html! {
        div.turn id={ "call-" (turn.step.index()) } {
            div.by {
                b { "call " (at + 1) }
                (kind(operation.kind))
                span { (line(name(run, step), 80)) }
                span { "+" (elapsed(offset(run, step.started_at))) }
                span { (took(step)) }
                @if let Some(tokens) = step::tokens(&operation.usage) { span { (tokens) } }
                @if operation.failure.is_some() { (super::words::status("error", false)) }
                a.r8 href=(step_href(run, step, served)) data-step=(step.id) { "Show in timeline" }
            }
            (folded(before))
            @match turn.history {
                History::Rewritten { gone } => div.rewr {
                    b { "History rewritten." } " " (many(gone, "message")) " that an earlier call knew " (if gone == 1 { "is" } else { "are" })
                    " gone or changed; " (many(behind.len(), "message")) " came instead. " span.faint { "Found by comparing what the calls were given." }
                },
                History::Trimmed { gone, .. } => div.rewr {
                    b { "History trimmed." } " " (many(gone, "message")) " that the call before knew " (if gone == 1 { "is" } else { "are" }) " left out."
                },
                History::OfItsOwn => div.rewr { b { "A prompt of its own." } " It shares no beginning with the calls before." },
                History::GoesOn => {},
            }
            @for said in instead { (message(said, SHOWN)) }
            (folded(kept))
            @for said in behind { (message(said, SHOWN)) }
            @if output.is_empty() { div.msg { div.who {} div.none { "No answer was recorded." } } }
            @for said in output { (message(said, SHOWN)) }
        }
    }
}
