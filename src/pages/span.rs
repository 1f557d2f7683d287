//! A span as it came: its attributes, each with its use, its scope and resource, its events and log records.

use maud::{Markup, html};

use super::value::value;
use super::words::{line, plain};
use crate::dialect::explain::{Explained, Fate};
use crate::run::Run;
use crate::span::{AnyValue, Attributes, LogRecord, Span, UnixNanos};
use crate::view::text::elapsed;

/// A span with what the dialects made of it.
#[derive(Debug)]
pub(crate) struct OfSpan<'a> {
    /// The span.
    pub(crate) span: &'a Span,
    /// What became of its attributes.
    pub(crate) explained: Vec<Explained>,
    /// Its log records.
    pub(crate) logs: Vec<&'a LogRecord>,
}

impl OfSpan<'_> {
    /// Events and log records.
    pub(crate) fn events(&self) -> usize {
        self.span.events.len() + self.logs.len()
    }
}

/// How many attributes are guessed or left.
pub(crate) fn unmapped(of: &OfSpan<'_>) -> usize {
    of.explained.iter().filter(|one| !matches!(one.fate, Fate::Mapped { .. })).count()
}

/// A value on one line.
fn short(value: &AnyValue) -> String {
    match value.as_str() {
        Some(text) => line(super::words::block_of(text, 2_000), 400),
        None => line(super::words::block_of(&value.to_json().to_string(), 2_000), 400),
    }
}

/// All attributes, those first that no rule reads.
pub(crate) fn attributes(of: &OfSpan<'_>) -> Markup {
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
                        tr {
                            td { code title=(plain(super::words::block_of(key, 2_000))) { (line(key, 160)) } }
                            td { code.vl { (short(value)) } }
                            td {
                                @match &one.fate {
                                    Fate::Mapped { field, dialect } => span.mp { b { (field) } small { (line(dialect, 40)) } },
                                    Fate::Guessed { field } => span.mp.guess { b { (field) } small { "guessed from the shape of the key" } },
                                    Fate::Left => span.mp.left { "left" small { "kept in metadata" } },
                                }
                            }
                        }
                    }
                }
            }
        }
        section {
            h3 { "Span, scope and resource" }
            dl.kv {
                dt { "status" } dd { (of.span.status.code) " " (line(&of.span.status.message, 400)) }
                @if let Some(parent) = of.span.parent { dt { "parent" } dd.mono { (parent) } }
                dt { "scope" } dd.mono { (line(&of.span.scope.name, 120)) " " (line(&of.span.scope.version, 40)) }
                (pairs(&of.span.resource.attributes))
                @for (what, number) in [("attributes", of.span.dropped_attributes), ("events", of.span.dropped_events), ("links", of.span.dropped_links)] {
                    @if number > 0 { dt { "dropped " (what) } dd { (number) " by the client" } }
                }
                @for link in of.span.links.iter().take(20) { dt { "link" } dd.mono { (link.trace_id) " " (link.span_id) } }
                @if of.span.links.len() > 20 { dt { "link" } dd { "and " (of.span.links.len() - 20) " more" } }
            }
        }
    }
}

fn pairs(attributes: &Attributes) -> Markup {
    html! {
        @for (key, value) in attributes.iter().take(60) { dt.mono { (line(key, 160)) } dd.mono { (short(value)) } }
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
                        @if !log.body.is_empty() { (value("body", &body(&log.body), None)) }
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
