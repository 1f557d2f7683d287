//! The documents of a run: all formats with what each loses, and a preview of one.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::head::step_path;
use super::outline::name;
use super::words::{self, SHOWN, kind, line, many};
use crate::documents;
use crate::formats::{AnyFormat, FORMATS, Layout, Loss, LossReason, Options};
use crate::hash::HashMap;
use crate::run::{Run, Step};
use crate::span::SpanId;

/// What a format makes of a run.
#[derive(Debug)]
pub(crate) struct Made {
    /// The format.
    pub(crate) format: &'static AnyFormat,
    /// Its losses, of all documents.
    pub(crate) losses: Vec<Loss>,
    /// How many documents there are.
    pub(crate) documents: usize,
    /// Their text, for the format that is looked at.
    text: Option<String>,
}

/// What every format makes of a run; the text of one.
pub(crate) fn made(run: &Run, shown: &'static AnyFormat, options: &Options) -> Vec<Made> {
    let one = |format: &'static AnyFormat| {
        let outcome = documents::of_run(run, format, options);
        let text = (format.id == shown.id).then(|| {
            let texts = outcome
                .documents
                .iter()
                .map(|document| document.text(Layout::Indented).unwrap_or_default());
            texts.collect::<Vec<_>>().join("\n")
        });
        Made {
            format,
            documents: outcome.documents.len(),
            losses: outcome.documents.into_iter().flat_map(|document| document.losses).collect(),
            text,
        }
    };
    FORMATS.iter().map(one).collect()
}

fn why(reason: LossReason) -> (&'static str, &'static str) {
    match reason {
        LossReason::NoPlace => ("no place", "the format has no place for it"),
        LossReason::Coerced => ("coerced", "its type had to change"),
        LossReason::Split => ("split", "divided to fit a limit"),
        LossReason::Ambiguous => ("ambiguous", "the spans allow more than one reading"),
        LossReason::Synthesized => ("synthesized", "the format demands it and the spans lack it"),
    }
}

/// The view.
pub(crate) fn view(run: &Run, shown: &'static AnyFormat, all: &[Made]) -> Markup {
    let here = all.iter().find(|made| made.format.id == shown.id);
    html! {
        div.docs {
            nav aria-label="Formats" {
                @for made in all {
                    a href={ "/runs/" (run.trace_id) "/documents/" (made.format.id) } aria-current=[(made.format.id == shown.id).then_some("page")] {
                        b { (made.format.id) }
                        span.num { @if made.losses.is_empty() { span.faint { "no loss" } } @else { (many(made.losses.len(), "loss")) } }
                        small { (made.format.keeps) }
                        small.num { (many(made.documents, "document")) }
                    }
                }
            }
            @if let Some(made) = here { (preview(run, made)) (losses(run, made)) }
        }
    }
}

fn preview(run: &Run, made: &Made) -> Markup {
    let text = made.text.as_deref().unwrap_or_default();
    let (beginning, of) = words::beginning(text, SHOWN);
    let at = format!("/api/v1/traces/{}/{}", run.trace_id, made.format.id);
    html! {
        div.prev {
            div.bar2 {
                h2 { (made.format.id) }
                span.dim { (many(made.documents, "document")) " · " (words::bytes(text.len())) " indented" }
                span.sp {}
                a.btn.small href=(at) download={ (run.trace_id) "." (made.format.id) ".json" } { "Download" }
                button.small data-copyfrom=(at) { "Copy" }
            }
            p.bar2.dim { (made.format.keeps) ". It leaves out: " (made.format.loses) "." }
            pre tabindex="0" role="region" aria-label="Preview of the document" { (beginning) }
            @if let Some(of) = of { div.more { "The first " (words::bytes(SHOWN)) " of " (words::bytes(of)) ". Download and Copy take all of it." } }
        }
    }
}

fn losses(run: &Run, made: &Made) -> Markup {
    let mut groups: BTreeMap<(&str, LossReason), (usize, Vec<SpanId>, usize)> = BTreeMap::new();
    for loss in &made.losses {
        let (number, spans, others) = groups.entry((&loss.what, loss.reason)).or_default();
        let more = usize::try_from(loss.others).unwrap_or(usize::MAX);
        *number += 1 + more;
        *others += more;
        if let Some(span) = loss.span_id.filter(|span| spans.last() != Some(span)) {
            spans.push(span);
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, (number, ..))| std::cmp::Reverse(*number));
    let steps: HashMap<SpanId, &Step> = run.steps.iter().filter_map(|step| Some((step.span_id?, step))).collect();
    html! {
        aside aria-label="Losses" {
            div.bar2 { h2 { "Losses" } span.dim { (made.losses.len()) " in " (made.format.id) } }
            @if groups.is_empty() { p.none-yet { "This format contains everything in this run." } }
            @for ((what, reason), (number, spans, others)) in &groups {
                @let (word, explained) = why(*reason);
                div.loss {
                    div {
                        code { (line(what, 200)) } " " span.why title=(explained) { (word) }
                        @if *number > 1 { " " span.dim { "× " (number) } }
                    }
                    @if spans.is_empty() { div.faint { "of the whole document" } } @else {
                        div.dim {
                            @for (at, span) in spans.iter().take(6).enumerate() {
                                @if at > 0 { " · " }
                                @match steps.get(span) {
                                    Some(step) => a href=(step_path(run, step)) { (kind(step.operation.kind)) " " (line(name(run, step), 60)) },
                                    None => span.mono { (span) },
                                }
                            }
                            @let more = spans.len().saturating_sub(6) + others;
                            @if more > 0 { " and " (more) " more" }
                        }
                    }
                }
            }
        }
    }
}
