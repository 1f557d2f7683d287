//! A span as received: attributes with their use, scope and resource, events and log records.

use maud::{Markup, html};
use serde_json::Value;

use super::head::step_href;
use super::value::value as boxed;
use super::words::{block_of, line, plain};
use crate::dialect::explain::{Explained, Fate};
use crate::run::Run;
use crate::span::{AnyValue, Attributes, LogRecord, Span, SpanId, UnixNanos};
use crate::view::text::elapsed;

/// A span with the dialects' interpretation.
#[derive(Debug)]
pub(crate) struct OfSpan<'a> {
    /// The span.
    pub(crate) span: &'a Span,
    /// The use of its attributes.
    pub(crate) explained: Vec<Explained>,
    /// Its log records.
    pub(crate) logs: Vec<&'a LogRecord>,
    /// For each of its first links, whether the store has the linked trace.
    pub(crate) stored: Vec<bool>,
}

/// Maximum links shown.
pub(crate) const LINKS: usize = 20;

impl OfSpan<'_> {
    /// Number of events and log records.
    pub(crate) fn events(&self) -> usize {
        self.span.events.len() + self.logs.len()
    }
}

/// Number of attributes that are guessed or unmapped.
pub(crate) fn unmapped(of: &OfSpan<'_>) -> usize {
    of.explained.iter().filter(|one| !matches!(one.fate, Fate::Mapped { .. })).count()
}

/// Maximum characters of a value on one line.
const SHORT: usize = 400;

/// A value on one line, and in full if the line does not show all: text with its lines, JSON indented.
fn readings(value: &AnyValue) -> (String, Option<String>) {
    let text = value.as_str().map_or_else(|| value.to_json().to_string(), str::to_owned);
    let short = line(block_of(&text, 2_000), SHORT);
    let json = || {
        serde_json::from_str::<Value>(&text)
            .ok()
            .filter(|json| json.is_object() || json.is_array())
    };
    let indented = text.starts_with(['{', '[']).then(json).flatten();
    let indented = indented.and_then(|json| serde_json::to_string_pretty(&json).ok());
    let whole = indented.unwrap_or(text);
    let is_shown = whole.len() <= ONE_LINE && !whole.contains('\n');
    (short, (!is_shown).then_some(whole))
}

/// Bytes of a value that fit the narrowest column.
const ONE_LINE: usize = 80;

/// A value that can be opened. `key`: its name.
fn opens(key: &str, whole: &str, open: bool) -> Markup {
    html! { details.whole open[open] { summary { "All of it, " (super::words::bytes(whole.len())) } (boxed(key, whole, None)) } }
}

/// All attributes, starting with those that no rule reads.
pub(crate) fn attributes(run: &Run, of: &OfSpan<'_>) -> Markup {
    let count = |is: fn(&Fate) -> bool| of.explained.iter().filter(|one| is(&one.fate)).count();
    let mapped = count(|fate| matches!(fate, Fate::Mapped { .. }));
    let guessed = count(|fate| matches!(fate, Fate::Guessed { .. }));
    let left = count(|fate| *fate == Fate::Left);
    let all = of.explained.len();
    let order = |one: &&Explained| match one.fate {
        Fate::Left => 0,
        Fate::Guessed { .. } => 1,
        Fate::Mapped { .. } => 2,
    };
    let mut explained: Vec<&Explained> = of.explained.iter().collect();
    explained.sort_by_key(order);
    let percent = |part: usize| part * 1_000 / all.max(1);
    let tenths = |tenths: usize| format!("{}.{}%", tenths / 10, tenths % 10);
    html! {
        section {
            div.legend { span { b { (mapped) } " → mapped" } span { b { (guessed) } " ≈ guessed" } span { b { (left) } " ∅ left" } }
            svg.share preserveAspectRatio="none" role="img" aria-label={ (mapped) " of " (all) " attributes are mapped, " (guessed) " guessed, " (left) " left" } {
                rect.x width="100%" height="8" {}
                rect.m width=(tenths(percent(mapped))) height="8" {}
                rect.m fill-opacity=".45" x=(tenths(percent(mapped))) width=(tenths(percent(guessed))) height="8" {}
            }
            p.dim { "The field that each key feeds, and whose rule reads it. A key that is left travels into the documents' metadata." }
        }
        table.attrs {
            thead { tr { th { "Key" } th { "Value" } th { "Mapped to" } } }
            tbody {
                @for one in explained {
                    @if let Some((key, value)) = of.span.attributes.0.get(one.index) {
                        @let (short, whole) = readings(value);
                        tr {
                            td { code title=(plain(super::words::block_of(key, 2_000))) { (line(key, 160)) } }
                            td { code.vl { (short) } }
                            td {
                                @match &one.fate {
                                    Fate::Mapped { field, dialect } => span.mp { b { (field) } small { (line(dialect, 40)) } },
                                    Fate::Guessed { field } => span.mp.guess { b { (field) } small { "guessed from the shape of the key" } },
                                    Fate::Left => span.mp.left { "left" small { "kept in metadata" } },
                                }
                            }
                        }
                        @if let Some(whole) = whole { tr.whole { td colspan="3" { (opens(key, &whole, false)) } } }
                    }
                }
            }
        }
        section {
            h3 { "Span, scope and resource" }
            dl.kv {
                dt { "status" } dd { (of.span.status.code) " " (line(&of.span.status.message, 400)) }
                @if let Some(parent) = of.span.parent { dt { "parent" } dd.mono { (link(run, parent)) } }
                dt { "scope" } dd.mono { (line(&of.span.scope.name, 120)) " " (line(&of.span.scope.version, 40)) }
                (pairs(&of.span.resource.attributes))
                @for (what, number) in [("attributes", of.span.dropped_attributes), ("events", of.span.dropped_events), ("links", of.span.dropped_links)] {
                    @if number > 0 { dt { "dropped " (what) } dd { (number) " by the client" } }
                }
                @for (at, link) in of.span.links.iter().take(LINKS).enumerate() {
                    dt { "link" }
                    dd.mono {
                        @if of.stored.get(at).is_some_and(|is_stored| *is_stored) { a href={ "/runs/" (link.trace_id) "?span=" (link.span_id) } { (link.trace_id) " " (link.span_id) } }
                        @else { (link.trace_id) " " (link.span_id) span.faint { " not in this store" } }
                    }
                }
                @if of.span.links.len() > LINKS { dt { "link" } dd { "and " (of.span.links.len() - LINKS) " more" } }
            }
        }
    }
}

/// Another span of the run: a link if the run has a step for it.
fn link(run: &Run, span: SpanId) -> Markup {
    let step = run.steps.iter().find(|step| step.span_id == Some(span));
    html! { @match step { Some(step) => a href=(step_href(run, step, true)) data-step=(step.id) { (span) }, None => (span) } }
}

fn pairs(attributes: &Attributes) -> Markup {
    html! {
        @for (key, value) in attributes.iter().take(60) {
            @let (short, whole) = readings(value);
            dt.mono { (line(key, 160)) }
            dd.mono {
                @match whole {
                    // A stack trace is not readable on one line.
                    Some(whole) => { @let lines = value.as_str().is_some_and(|text| text.contains('\n')); @if !lines { div.vl { (short) } } (opens(key, &whole, lines)) },
                    None => (short),
                }
            }
        }
        @if attributes.len() > 60 { dt { "more" } dd { "and " (attributes.len() - 60) " more" } }
    }
}

/// Events and log records by time.
pub(crate) fn events(run: &Run, of: &OfSpan<'_>) -> Option<Markup> {
    if of.events() == 0 {
        return None;
    }
    enum One<'a> {
        Event(&'a crate::span::Event),
        Log(&'a LogRecord),
    }
    let mut all: Vec<(UnixNanos, One<'_>)> = of.span.events.iter().map(|event| (event.time, One::Event(event))).collect();
    all.extend(of.logs.iter().map(|log| (log.when(), One::Log(log))));
    all.sort_by_key(|(at, _)| *at);
    Some(html! {
        @for (at, one) in &all {
            section {
                @match one {
                    One::Event(event) => {
                        h3 { "event " (line(&event.name, 120)) " " span.faint { "+" (elapsed(at.0.saturating_sub(run.started_at.0))) } }
                        dl.kv { (pairs(&event.attributes)) }
                    },
                    One::Log(log) => {
                        h3 { "log record " (line(log.name(), 120)) " " span.faint { "+" (elapsed(at.0.saturating_sub(run.started_at.0))) } }
                        @if !log.body.is_empty() { (boxed("body", &body(&log.body), None)) }
                        dl.kv { (pairs(&log.attributes)) }
                    },
                }
            }
        }
    })
}

fn body(value: &AnyValue) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => serde_json::to_string_pretty(&value.to_json()).unwrap_or_default(),
    }
}
