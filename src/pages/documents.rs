//! The documents of a run: all formats with what each loses, and a preview of one.

use std::collections::BTreeMap;
use std::io::Write as _;

use maud::{Markup, html};

use super::head::step_path;
use super::outline::name;
use super::words::{self, SHOWN, kind, line, many};
use crate::documents;
use crate::formats::{AnyFormat, FORMATS, Layout, Loss, LossReason, Options};
use crate::hash::HashMap;
use crate::run::{Run, Step};
use crate::span::SpanId;
use crate::view::excerpt::Excerpt;
use crate::web::allowance::Allowance;
use crate::web::reply::Problem;
use crate::web::single::cost_of_writing;

/// Other formats are made beside the one that is shown where the bytes of the trace, and the memory for each, are not more than this.
const BESIDE: usize = 16 << 20;

/// What a format makes of a run.
#[derive(Debug)]
pub(crate) struct Made {
    format: &'static AnyFormat,
    /// How many documents there are, and how many losses of all of them; `None`: it was not made.
    counted: Option<(usize, usize)>,
}

/// The format that is looked at.
#[derive(Debug)]
pub(crate) struct Shown {
    format: &'static AnyFormat,
    documents: usize,
    losses: Vec<Loss>,
    /// The beginning of the documents' text.
    beginning: String,
    /// How long all of it is.
    len: usize,
}

/// The documents of one format, and how much of the run each other format has. `bytes`: those of its trace.
pub(crate) fn made(
    run: &Run,
    bytes: u64,
    format: &'static AnyFormat,
    options: &Options,
    allowance: &mut Allowance,
) -> Result<(Shown, Vec<Made>), Problem> {
    let runs = std::slice::from_ref(run);
    let before = allowance.reserved();
    allowance.reserve(cost_of_writing(runs, format))?;
    let shown = shown(run, format, options, &allowance.goes_on(None))?;
    let mut all = Vec::new();
    for other in FORMATS {
        let cost = cost_of_writing(runs, other);
        let is_cheap = bytes <= BESIDE as u64 && cost <= BESIDE;
        let counted = if other.id == format.id {
            Some((shown.documents, shown.losses.len()))
        } else if is_cheap && allowance.reserve_in_all(before.saturating_add(cost)).is_ok() {
            let made = documents::of_run(run, other, options).documents;
            Some((made.len(), made.iter().map(|document| document.losses.len()).sum()))
        } else {
            None
        };
        allowance.check()?;
        all.push(Made { format: other, counted });
    }
    Ok((shown, all))
}

fn shown(run: &Run, format: &'static AnyFormat, options: &Options, goes_on: &dyn Fn() -> bool) -> Result<Shown, Problem> {
    let made = documents::of_run(run, format, options).documents;
    let mut text = Excerpt::new(0, SHOWN, goes_on);
    for (at, document) in made.iter().enumerate() {
        text.write_all(if at > 0 { b"\n" } else { b"" })?;
        document.write(Layout::Indented, &mut text)?;
    }
    Ok(Shown {
        format,
        documents: made.len(),
        beginning: text.text(0..text.floor(SHOWN)).into_owned(),
        len: text.len(),
        losses: made.into_iter().flat_map(|document| document.losses).collect(),
    })
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
pub(crate) fn view(run: &Run, shown: &Shown, all: &[Made]) -> Markup {
    html! {
        div.docs {
            nav aria-label="Formats" {
                @for made in all {
                    a href={ "/runs/" (run.trace_id) "/documents/" (made.format.id) } aria-current=[(made.format.id == shown.format.id).then_some("page")] {
                        b { (made.format.id) }
                        span.num { @match made.counted { Some((_, 0)) => span.faint { "no loss" }, Some((_, losses)) => (many(losses, "loss")), None => span.faint { "not counted" } } }
                        small { (made.format.keeps) }
                        @if let Some((documents, _)) = made.counted { small.num { (many(documents, "document")) } }
                    }
                }
            }
            (preview(run, shown)) (losses(run, shown))
        }
    }
}

fn preview(run: &Run, made: &Shown) -> Markup {
    let (beginning, _) = words::beginning(&made.beginning, SHOWN);
    let at = format!("/api/v1/traces/{}/{}", run.trace_id, made.format.id);
    html! {
        div.prev {
            div.bar2 {
                h2 { (made.format.id) }
                span.dim { (many(made.documents, "document")) " · " (words::bytes(made.len)) " indented" }
                span.sp {}
                a.btn.small href=(at) download={ (run.trace_id) "." (made.format.id) ".json" } { "Download" }
                button.small data-copyfrom=(at) { "Copy" }
            }
            p.bar2.dim { (made.format.keeps) ". It leaves out: " (made.format.loses) "." }
            pre tabindex="0" role="region" aria-label="Preview of the document" { (beginning) }
            @if made.len > SHOWN { div.more { "The first " (words::bytes(SHOWN)) " of " (words::bytes(made.len)) ". Download and Copy take all of it." } }
        }
    }
}

fn losses(run: &Run, made: &Shown) -> Markup {
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
