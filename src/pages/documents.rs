//! The documents of a run: all formats with their losses, and a preview of one.

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

/// If neither the trace nor the memory for each format exceeds this, all formats are built concurrently.
const MAX_CONCURRENT_BYTES: usize = 16 << 20;

/// A format with the counts for a run.
#[derive(Debug)]
pub(crate) struct FormatCounts {
    format: &'static AnyFormat,
    /// Number of documents and of their losses; `None`: they were not built.
    counted: Option<(usize, usize)>,
}

/// The selected format.
#[derive(Debug)]
pub(crate) struct Shown {
    format: &'static AnyFormat,
    documents: usize,
    losses: Vec<Loss>,
    /// The beginning of the documents.
    beginning: String,
    /// Their total length.
    len: usize,
}

/// Builds the documents of one format.
pub(crate) fn made(run: &Run, format: &'static AnyFormat, options: &Options, allowance: &mut Allowance) -> Result<Shown, Problem> {
    allowance.reserve(cost_of_writing(std::slice::from_ref(run), format))?;
    shown(run, format, options, &allowance.goes_on(None))
}

/// Counts the documents and losses of each format, once the page is shown. `bytes`: size of the trace.
pub(crate) fn counted(run: &Run, bytes: u64, options: &Options, allowance: &mut Allowance) -> Result<Vec<FormatCounts>, Problem> {
    let runs = std::slice::from_ref(run);
    let before = allowance.reserved();
    let mut all = Vec::new();
    for other in FORMATS {
        let cost = cost_of_writing(runs, other);
        let is_cheap = bytes <= MAX_CONCURRENT_BYTES as u64 && cost <= MAX_CONCURRENT_BYTES;
        let counted = if is_cheap && allowance.reserve_in_all(before.saturating_add(cost)).is_ok() {
            let made = documents::of_run(run, other, options).documents;
            Some((made.len(), made.iter().map(|document| document.losses.len()).sum()))
        } else {
            None
        };
        allowance.check()?;
        all.push(FormatCounts { format: other, counted });
    }
    Ok(all)
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

/// The view. The counts of other formats are loaded later, by `documents.js`.
pub(crate) fn view(run: &Run, shown: &Shown) -> Markup {
    let counted = |format: &AnyFormat| (format.id == shown.format.id).then_some((shown.documents, shown.losses.len()));
    html! {
        div.docs {
            nav aria-label="Formats" data-counts={ "/runs/" (run.trace_id) "/losses" } {
                @for format in FORMATS {
                    a href={ "/runs/" (run.trace_id) "/documents/" (format.id) } data-format=(format.id) aria-current=[counted(format).map(|_| "page")] {
                        b { (format.id) }
                        span.num { (losses_of(counted(format).map(Some))) }
                        small { (format.keeps) }
                        small.num { @if let Some((documents, _)) = counted(format) { (many(documents, "document")) } }
                    }
                }
            }
            (preview(run, shown)) (losses(run, shown))
        }
    }
}

/// The counts of all formats as a fragment, for a page that is already open.
pub(crate) fn counts(all: &[FormatCounts]) -> Markup {
    html! {
        @for made in all {
            p data-format=(made.format.id) {
                span.num { (losses_of(Some(made.counted))) }
                small.num { @if let Some((documents, _)) = made.counted { (many(documents, "document")) } }
            }
        }
    }
}

/// The number of losses; `None`: not counted yet, `Some(None)`: cannot be counted.
fn losses_of(counted: Option<Option<(usize, usize)>>) -> Markup {
    html! {
        @match counted {
            Some(Some((_, 0))) => span.faint { "no loss" },
            Some(Some((_, losses))) => (many(losses, "loss")),
            Some(None) => span.faint { "not counted" },
            None => {},
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

/// What is lost, without ids of steps and calls: `steps[].arguments`, `response of …`.
fn kind_of(what: &str) -> String {
    let mut kind = String::with_capacity(what.len());
    let mut rest = what;
    while let Some((before, behind)) = rest.split_once('[') {
        kind.push_str(&without_ids(before));
        kind.push_str("[]");
        rest = behind.split_once(']').map_or("", |(_, behind)| behind);
    }
    kind.push_str(&without_ids(rest));
    kind
}

fn without_ids(words: &str) -> String {
    let is_id = |word: &str| word.len() >= 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = words.split(' ').map(|word| if is_id(word) { "…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// Losses of one kind.
#[derive(Debug, Default)]
struct Group {
    number: usize,
    /// The first spans with such a loss.
    spans: Vec<SpanId>,
    /// Number of further spans.
    more: usize,
}

/// Maximum kinds on the page.
const MAX_KINDS: usize = 100;
/// Maximum spans named for a kind.
const NAMED: usize = 6;

fn losses(run: &Run, made: &Shown) -> Markup {
    let mut groups: BTreeMap<(String, LossReason), Group> = BTreeMap::new();
    for loss in &made.losses {
        let group = groups.entry((kind_of(&loss.what), loss.reason)).or_default();
        let more = usize::try_from(loss.others).unwrap_or(usize::MAX);
        group.number += 1 + more;
        group.more += more;
        match loss.span_id {
            Some(span) if group.spans.contains(&span) => {}
            Some(span) if group.spans.len() < NAMED => group.spans.push(span),
            Some(_) => group.more += 1,
            None => {}
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.number));
    let kinds = groups.len();
    groups.truncate(MAX_KINDS);
    let steps: HashMap<SpanId, &Step> = run.steps.iter().filter_map(|step| Some((step.span_id?, step))).collect();
    html! {
        aside aria-label="Losses" {
            div.bar2 { h2 { "Losses" } span.dim { (words::count(made.losses.len() as u64)) " in " (made.format.id) } }
            @if groups.is_empty() { p.none-yet { "This format contains everything in this run." } }
            @for ((what, reason), Group { number, spans, more }) in &groups {
                @let (word, explained) = why(*reason);
                div.loss {
                    div {
                        code { (line(what, 200)) } " " span.why title=(explained) { (word) }
                        @if *number > 1 { " " span.dim { "× " (words::count(*number as u64)) } }
                    }
                    @if spans.is_empty() { div.faint { "of the whole document" } } @else {
                        div.dim {
                            @for (at, span) in spans.iter().enumerate() {
                                @if at > 0 { " · " }
                                @match steps.get(span) {
                                    Some(step) => a href=(step_path(run, step)) { (kind(step.operation.kind)) " " (line(name(run, step), 60)) },
                                    None => span.mono { (span) },
                                }
                            }
                            @if *more > 0 { " and " (words::count(*more as u64)) " more" }
                        }
                    }
                }
            }
            @if kinds > MAX_KINDS { p.none-yet { "And " (many(kinds - MAX_KINDS, "more kind")) "." } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::kind_of;

    #[test]
    fn losses_of_many_steps_are_of_one_kind() {
        for (what, kind) in [
            ("steps[0019000100000003].arguments", "steps[].arguments"),
            ("tool_calls[call_1].function.arguments", "tool_calls[].function.arguments"),
            ("response of 0019000100000003", "response of …"),
            ("a[1].b[2]", "a[].b[]"),
            ("run.agent_version", "run.agent_version"),
            ("chain: its input and output", "chain: its input and output"),
            ("open[", "open[]"),
        ] {
            assert_eq!(kind_of(what), kind);
        }
    }
}
