//! Oddities in the data of a run, and keys that no rule reads.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::head::{Around, step_href};
use super::outline::name;
use super::words::{count, kind, line, many};
use crate::hash::HashMap;
use crate::run::{Run, Step};
use crate::span::SpanId;
use crate::trace::{Finding, FindingKind};
use crate::transcript::content;

/// Maximum findings listed of one kind.
const LISTED: usize = 20;
/// Maximum keys listed.
const KEYS: usize = 200;

/// The name of a kind.
pub(crate) fn word(kind: FindingKind) -> String {
    let name = serde_json::to_value(kind).unwrap_or_default();
    name.as_str().unwrap_or_default().replace('_', " ")
}

/// What a kind means.
fn sentence(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::DuplicateSpan => "The same span id came with another body; the one that ended later is used.",
        FindingKind::DanglingParent => "The parent is not among the spans.",
        FindingKind::ParentCycle => "A span is its own ancestor.",
        FindingKind::TimesInOtherUnit => "All times are milliseconds or microseconds where nanoseconds should be.",
        FindingKind::NoStart => "A span has no start.",
        FindingKind::EndBeforeStart => "The end lies before the start.",
        FindingKind::Unfinished => "A span has not ended.",
        FindingKind::MissingRoot => "No span without a parent came.",
        FindingKind::SeveralRoots => "More than one span has no parent.",
        FindingKind::ClockSkew => "A child lies outside its parent's time.",
        FindingKind::UnreadableValue => "A value could not be read as its key demands.",
        FindingKind::SameOperation => "Two spans record one operation; one is kept and the other is its evidence.",
        FindingKind::SameCallAs => "The same model call is recorded in another trace.",
        FindingKind::StrayLogRecord => "A log record names a span that is not there.",
        FindingKind::StrayDetail => "A span is a part of an operation that is not there.",
        FindingKind::ResultWithoutCall => "A tool result refers to a call that does not exist.",
        FindingKind::UnresolvedContinuation => "A span goes on with a conversation that is not there.",
        FindingKind::InputLeftOut => "Messages that went into a model call are left to the calls before it.",
        FindingKind::HistoryBranch => "The history of a conversation was edited, summarised or cut.",
        FindingKind::SeveralSessions => "The spans name more than one session.",
        FindingKind::UnknownKind => "An attribute that marks the kind of an operation has an unknown value.",
        FindingKind::UnknownDialect => "Keys of no dialect were read by the shapes that all dialects share.",
        FindingKind::UnreadAttribute => "Attributes of a known dialect, or what is called input or output, that no rule reads.",
        FindingKind::AmbiguousCall => "A call could belong to more than one tool execution.",
        FindingKind::SumOfCalls => "Tokens or cost of several model calls are recorded as one sum; the last of them has it.",
    }
}

/// The view.
pub(crate) fn view(run: &Run, around: &Around) -> Markup {
    let mut kinds: BTreeMap<FindingKind, Vec<&Finding>> = BTreeMap::new();
    for finding in &run.findings {
        kinds.entry(finding.kind).or_default().push(finding);
    }
    let steps: HashMap<SpanId, &Step> = run.steps.iter().filter_map(|step| Some((step.span_id?, step))).collect();
    let mut left: BTreeMap<&str, (u64, String)> = BTreeMap::new();
    for step in &run.steps {
        for (key, value) in &step.operation.unmapped {
            let (number, _) = left
                .entry(key)
                .or_insert_with(|| (0, line(super::words::block_of(&content::text(value), 1_000), 120)));
            *number += 1;
        }
    }
    let mut left: Vec<_> = left.into_iter().collect();
    left.sort_by_key(|(_, (number, _))| std::cmp::Reverse(*number));
    html! {
        div.cards {
            @if !around.damaged.is_empty() {
                section.card { h2 { "Damaged on the disk" span.dim { (around.damaged.len()) } } div.in {
                    p.dim { "These records could not be read and are left out." }
                    @for one in around.damaged.iter().take(LISTED) { p.mono { (line(one, 400)) } }
                    @if around.damaged.len() > LISTED { p.dim { "and " (around.damaged.len() - LISTED) " more" } }
                } }
            }
            @if kinds.is_empty() { section.card { h2 { "No findings" } p.in { "The spans of this run contradict each other nowhere." } } }
            @for (of, findings) in &kinds {
                section.card {
                    h2 { (word(*of)) span.dim { (findings.len()) } }
                    div.in {
                        p.dim { (sentence(*of)) }
                        @for finding in findings.iter().take(LISTED) {
                            p {
                                @match finding.span_id.and_then(|span| steps.get(&span)) {
                                    Some(step) => { a href=(step_href(run, step, around.served)) data-step=(step.id) { (kind(step.operation.kind)) " " (line(name(run, step), 80)) } },
                                    None => @match finding.span_id {
                                        Some(span) => span.mono { (span) },
                                        None => span.faint { "the trace" },
                                    },
                                }
                                " " span.dim { (line(&finding.detail, 600)) }
                            }
                        }
                        @if findings.len() > LISTED { p.dim { "and " (many(findings.len() - LISTED, "finding")) " more of this kind; Run as JSON has all" } }
                    }
                }
            }
            @if !left.is_empty() {
                section.card.wide {
                    h2 { "Attributes that no rule of a dialect reads" span.dim { (many(left.len(), "key")) } }
                    table.plain {
                        thead { tr { th { "Key" } th { "First value" } th.num { "Steps" } } }
                        tbody {
                            @for (key, (number, first)) in left.iter().take(KEYS) {
                                tr { td { code { (line(key, 160)) } } td.cut { code { (first) } } td.num { (count(*number)) } }
                            }
                        }
                    }
                    @if left.len() > KEYS { p.in.dim { "and " (many(left.len() - KEYS, "key")) " more" } }
                }
            }
        }
    }
}
