//! The conversation of a run by agent: each model call with its new messages.

use std::io;
use std::ops::Range;

use maud::{Markup, html};

use super::head::{step_href, step_path};
use super::messages::message;
use super::outline::{name, took};
use super::words::{SHOWN, count, kind, line, many, short};
use crate::operation::{Kind, Message};
use crate::run::{EntryKind, Run, ScopeId, Step, StepId};
use crate::view::conversation;
use crate::view::step::{self, offset};
use crate::view::text::elapsed;
use crate::view::turns::{self, History, Turn, TurnMessage, Turns};

/// Approximate elements on a page: of a call with its line in the contents, of a message, and the maximum in total.
const CALL: usize = 16;
const MESSAGE: usize = 8;
const ELEMENTS: usize = 2_200;
/// Maximum new messages of one call on a page.
const MAX_NEW_MESSAGES: usize = 200;

/// Where and how a conversation is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// In a file with several runs, the run; ids on the page begin with it.
    pub(crate) prefix: &'a str,
    /// Whether a server is available.
    pub(crate) served: bool,
    /// Whether the steps are shown, too.
    pub(crate) has_steps: bool,
    /// Maximum bytes shown of a message.
    pub(crate) most: usize,
}

impl Place<'_> {
    /// The element id of a call.
    fn call(self, step: StepId) -> String {
        format!("{}call-{}", self.prefix, step.index())
    }

    fn scope(self, scope: ScopeId) -> String {
        format!("{}scope-{}", self.prefix, scope.index())
    }
}

const SERVED: Place<'_> = Place {
    prefix: "",
    served: true,
    has_steps: true,
    most: SHOWN,
};

/// One agent on a page.
struct Part<'t> {
    turns: &'t Turns,
    /// Number of calls of the agents before it.
    begins: usize,
    /// The calls shown, with their numbers.
    shown: Vec<(usize, &'t Turn)>,
}

/// The agents with the calls in this range of overall numbers.
fn parts(all: &[Turns], numbers: Range<usize>) -> Vec<Part<'_>> {
    let mut next = 0;
    let parts = all.iter().map(|turns| {
        let begins = next;
        next += turns.calls.len();
        let shown = turns.calls.iter().enumerate();
        let shown = shown.filter(|(at, _)| numbers.contains(&(begins + at))).collect();
        Part { turns, begins, shown }
    });
    parts.filter(|part| !part.shown.is_empty()).collect()
}

/// Divides the calls into pages with a bounded number of elements; returns the overall number of each page's first call.
fn pages(run: &Run, all: &[Turns]) -> Vec<usize> {
    let (mut pages, mut elements) = (vec![0], 0);
    for (number, turn) in all.iter().flat_map(|turns| &turns.calls).enumerate() {
        let messages = run.steps.get(turn.step).map_or(0, |step| {
            let (input, output) = said(step);
            turn.told(input).len().min(MAX_NEW_MESSAGES) + output.len()
        });
        let more = CALL + MESSAGE * messages;
        if elements > 0 && elements + more > ELEMENTS {
            pages.push(number);
            elements = 0;
        }
        elements += more;
    }
    pages
}

/// The input and output messages of a call.
fn said(step: &Step) -> (&[Message], &[Message]) {
    let operation = &step.operation;
    (
        operation.input_messages.as_deref().unwrap_or_default(),
        operation.output_messages.as_deref().unwrap_or_default(),
    )
}

/// Messages of a page without the work.
const TALK: usize = 200;

/// What people said and the last answers to it. `from`: the first message that is shown.
pub(crate) fn talk(run: &Run, from: usize) -> Markup {
    let talks = conversation::talks(run);
    let all = talks
        .iter()
        .flat_map(|(scope, entries)| entries.iter().map(move |entry| (*scope, *entry)));
    let number: usize = talks.iter().map(|(_, entries)| entries.len()).sum();
    let shown: Vec<_> = all.skip(from).take(TALK).collect();
    html! {
        (tools(run, true, true))
        div.thread.conv {
            @if shown.is_empty() { p.none-yet { "Nobody said anything that a model call of this run was given." } }
            @for (scope, entry) in shown {
                @if let EntryKind::Message(said) | EntryKind::Turn(said) = &entry.kind {
                    div.turn {
                        div.by {
                            @if talks.len() > 1 { b { (line(scope.agent.as_deref().unwrap_or("not named"), 80)) } }
                            span { "+" (elapsed(offset(run, entry.at))) }
                            @if let Some(step) = entry.step.and_then(|step| run.steps.get(step)) { a.r8 href=(step_href(run, step, true)) { "Show in timeline" } }
                        }
                        (message(said, SHOWN, Some(run.trace_id)))
                    }
                }
            }
            @if number > TALK {
                p.none-yet {
                    (count(number as u64)) " messages. "
                    @if from > 0 { a href={ "?working=hidden&from=" (from.saturating_sub(TALK)) } { "Previous" } " " }
                    @if from + TALK < number { a href={ "?working=hidden&from=" (from + TALK) } { "Next" } }
                }
            }
        }
    }
}

/// The view. `from`: a call of the page that is shown.
pub(crate) fn view(run: &Run, from: usize) -> Markup {
    let all = turns::of(run);
    let calls: usize = all.iter().map(|turns| turns.calls.len()).sum();
    let pages = pages(run, &all);
    let page = pages.partition_point(|first| *first <= from).saturating_sub(1);
    let (first, until) = (pages.get(page).copied().unwrap_or(0), pages.get(page + 1).copied().unwrap_or(calls));
    let sections = parts(&all, first..until);
    // A link to a call on another page names that page.
    let address = |part: &Part<'_>, at: usize| {
        let number = part.begins + at;
        let is_here = (first..until).contains(&number);
        let page = if is_here { String::new() } else { format!("?from={number}") };
        part.turns.calls.get(at).map(|turn| format!("{page}#{}", SERVED.call(turn.step)))
    };
    html! {
        (tools(run, true, false))
        div.convs {
            div.thread.conv {
                @if sections.is_empty() { p.none-yet { "This run has no model calls." } }
                @for part in &sections {
                    section class={ "scope in" (nesting(run, part.turns.scope)) } id=(SERVED.scope(part.turns.scope)) {
                        (scope_head(run, part.turns))
                        @for (at, turn) in &part.shown {
                            @if let Some(step) = run.steps.get(turn.step) { (call(run, *at, turn, step, SERVED, &|at| address(part, at))) }
                        }
                    }
                }
                @if pages.len() > 1 {
                    p.none-yet {
                        "Calls " (count(first as u64 + 1)) " to " (count(until as u64)) " of " (count(calls as u64)) ". "
                        @if let Some(before) = page.checked_sub(1).and_then(|page| pages.get(page)) { a href={ "?from=" (before) } { "Previous" } " " }
                        @if until < calls { a href={ "?from=" (until) } { "Next" } }
                    }
                }
            }
            (contents(run, &sections, SERVED))
        }
    }
}

/// Writes the conversation call by call, for a file. `most`: maximum calls; the file says that there are more.
pub(crate) fn write(run: &Run, place: Place<'_>, most: usize, put: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
    let all = turns::of(run);
    let parts = parts(&all, 0..most);
    put(&tools(run, false, false).into_string())?;
    put(r#"<div class="convs"><div class="thread conv">"#)?;
    if all.is_empty() {
        put(&html! { p.none-yet { "This run has no model calls." } }.into_string())?;
    }
    for Part { turns, shown, .. } in &parts {
        put(&format!(
            r#"<section class="scope in{}" id="{}">"#,
            nesting(run, turns.scope),
            place.scope(turns.scope)
        ))?;
        put(&scope_head(run, turns).into_string())?;
        let address = |at: usize| turns.calls.get(at).map(|turn| format!("#{}", place.call(turn.step)));
        for (at, turn) in shown {
            if let Some(step) = run.steps.get(turn.step) {
                put(&call(run, *at, turn, step, place, &address).into_string())?;
            }
        }
        put("</section>")?;
    }
    let calls: usize = all.iter().map(|turns| turns.calls.len()).sum();
    if calls > most {
        put(
            &html! { p.none-yet { "The first " (count(most as u64)) " of " (count(calls as u64)) " calls: the server shows all." } }
                .into_string(),
        )?;
    }
    put("</div>")?;
    put(&contents(run, &parts, place).into_string())?;
    put("</div>")
}

/// `is_talk`: without the work.
fn tools(run: &Run, served: bool, is_talk: bool) -> Markup {
    let address = format!("/runs/{}/conversation", run.trace_id);
    html! {
        div.tools {
            span.dim {
                @if is_talk { "What people asked, and the last answer to it." }
                @else { "By agent: what is new in each call. What an earlier call was given is a link to it." }
            }
            span.sp {}
            @if is_talk { a.btn href=(address) { "Show working" } } @else if served { a.btn href={ (address) "?working=hidden" } { "Hide working" } }
            button data-md aria-pressed="false" { "Source" }
            @if served { a.btn href={ "/api/v1/traces/" (run.trace_id) "/markdown" } download={ (run.trace_id) ".md" } { "Markdown" } }
        }
    }
}

/// The contents: the agents with their calls.
fn contents(run: &Run, sections: &[Part<'_>], place: Place<'_>) -> Markup {
    html! {
        nav.toc aria-label="Agents and calls" {
            h2 { "Agents and calls" }
            ol {
                @for Part { turns, shown, .. } in sections {
                    li { a href={ "#" (place.scope(turns.scope)) } { (agent(run, turns.scope)) } " " span.faint { (turns.calls.len()) } }
                    @for (at, turn) in shown {
                        li.in {
                            a href={ "#" (place.call(turn.step)) } { "call " (at + 1) } " "
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

/// Nesting depth of a scope, at most three.
fn nesting(run: &Run, scope: ScopeId) -> usize {
    let mut depth = 0;
    let mut at = run.scopes.get(scope).and_then(|scope| scope.parent);
    while let Some(parent) = at.filter(|_| depth < 3) {
        depth += 1;
        at = run.scopes.get(parent).and_then(|scope| scope.parent);
    }
    depth
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
        (curve(run, turns))
    }
}

/// Maximum points of a curve.
const POINTS: usize = 200;

/// The input tokens of each call, and where the history was cut: the growth of the context.
fn curve(run: &Run, turns: &Turns) -> Markup {
    let calls = turns.calls.iter().filter_map(|turn| {
        let tokens = run.steps.get(turn.step)?.operation.usage.input?;
        let is_cut = matches!(turn.history, History::Rewritten { .. } | History::Trimmed { .. });
        Some((tokens, is_cut))
    });
    let calls: Vec<(u64, bool)> = calls.collect();
    let most = calls.iter().map(|(tokens, _)| *tokens).max().unwrap_or(0).max(1);
    let cuts = calls.iter().filter(|(_, is_cut)| *is_cut).count();
    if calls.len() < 3 {
        return html! {};
    }
    // With many calls, a point shows the maximum of several.
    let points: Vec<(u64, bool)> = calls
        .chunks(calls.len().div_ceil(POINTS))
        .map(|chunk| {
            (
                chunk.iter().map(|(tokens, _)| *tokens).max().unwrap_or(0),
                chunk.iter().any(|(_, is_cut)| *is_cut),
            )
        })
        .collect();
    let across = |at: usize| at * 1_000 / points.len().saturating_sub(1).max(1);
    let up = |tokens: u64| 40 - u128::from(tokens) * 38 / u128::from(most);
    let line: Vec<String> = points
        .iter()
        .enumerate()
        .map(|(at, (tokens, _))| format!("{},{}", across(at), up(*tokens)))
        .collect();
    html! {
        figure.curve {
            figcaption { "Context: up to " (short(most)) " tokens in a call" @if cuts > 0 { ", cut " (many(cuts, "time")) } }
            svg viewBox="0 0 1000 42" preserveAspectRatio="none" aria-hidden="true" {
                @for (at, _) in points.iter().enumerate().filter(|(_, (_, is_cut))| *is_cut) { path class="cutat" d={ "M" (across(at)) " 0V42" } {} }
                polyline points=(line.join(" ")) {}
            }
        }
    }
}

/// A call with its new messages. `address`: returns the link to the call with another number.
fn call(run: &Run, at: usize, turn: &Turn, step: &Step, place: Place<'_>, address: &dyn Fn(usize) -> Option<String>) -> Markup {
    let operation = &step.operation;
    let (input, output) = said(step);
    let told = turn.told(input);
    let came = told.iter().filter(|told| matches!(told, TurnMessage::New(_))).count();
    let left_out = if place.served {
        told.len().saturating_sub(MAX_NEW_MESSAGES)
    } else {
        0
    };
    let links = |calls: &[usize]| {
        html! {
            @for (nth, call) in calls.iter().enumerate() {
                @if nth > 0 { ", " }
                @match address(*call) { Some(href) => a href=(href) { "call " (call + 1) }, None => { "call " (call + 1) } }
            }
        }
    };
    html! {
        div.turn id=(place.call(turn.step)) {
            div.by {
                b { "call " (at + 1) }
                (kind(operation.kind))
                span { (line(name(run, step), 80)) }
                span { "+" (elapsed(offset(run, step.started_at))) }
                span { (took(step)) }
                @if let Some(tokens) = step::tokens_as(&operation.usage, count) { span { (tokens) } }
                @if operation.failure.is_some() { (super::words::status("error", false)) }
                @if place.has_steps { a.r8 href=(step_href(run, step, place.served)) data-step=(step.id) { "Show in timeline" } }
            }
            @if turn.unchanged > 0 {
                p.same { (many(turn.unchanged, "earlier message")) " unchanged" @if let Some(like) = turn.like { ", as in " (links(&[like])) } }
            }
            @match turn.history {
                History::Rewritten { gone } => div.rewr {
                    b { "History rewritten." } " " (many(gone, "message")) " that an earlier call knew " (if gone == 1 { "is" } else { "are" })
                    " gone or changed; " (many(came, "message")) " came instead. " span.faint { "Found by comparing what the calls were given." }
                },
                History::Trimmed { gone, .. } => div.rewr {
                    b { "History trimmed." } " " (many(gone, "message")) " that the call before knew " (if gone == 1 { "is" } else { "are" }) " left out."
                },
                History::OfItsOwn => div.rewr { b { "A prompt of its own." } " It shares no beginning with the calls before." },
                History::GoesOn => {},
            }
            @if left_out > 0 { p.same { (many(left_out, "message")) " before these are left out here: " a href=(step_path(run, step)) { "the step" } " has all." } }
            @for told in told.iter().skip(left_out) {
                @match told {
                    TurnMessage::New(said) => (message(said, place.most, place.served.then_some(run.trace_id))),
                    TurnMessage::Before(number, calls) => p.same { (many(*number, "message")) " as in " (links(calls)) },
                }
            }
            @if output.is_empty() { div.msg { div.who {} div.none { "No answer was recorded." } } }
            @for said in output { (message(said, place.most, place.served.then_some(run.trace_id))) }
        }
    }
}
