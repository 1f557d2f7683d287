//! Repairs parents that are missing, or their own descendants.

use crate::hash::HashMap;
use crate::span::SpanId;
use crate::trace::finding::{Finding, FindingKind};
use crate::trace::tree::Trace;

/// Finds each span's parent among the spans.
pub(super) fn link(trace: &mut Trace) {
    let at: HashMap<SpanId, usize> = trace.spans.iter().enumerate().map(|(index, span)| (span.span_id, index)).collect();
    trace.parents = trace
        .spans
        .iter()
        .map(|span| {
            let parent = span.parent?;
            let found = at.get(&parent).copied();
            if found.is_none() {
                trace.findings.push(Finding::new(
                    Some(span.span_id),
                    FindingKind::DanglingParent,
                    format!("the parent {parent} is not among the spans"),
                ));
            }
            found
        })
        .collect();
}

/// Cuts each cycle at its first span.
pub(super) fn cut_cycles(trace: &mut Trace) {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open(usize),
        Done,
    }
    let mut marks = vec![Mark::New; trace.spans.len()];
    for start in 0..trace.spans.len() {
        let mut at = Some(start);
        while let Some(index) = at {
            match marks.get(index).copied() {
                Some(Mark::New) => {
                    if let Some(mark) = marks.get_mut(index) {
                        *mark = Mark::Open(start);
                    }
                    at = trace.parents.get(index).copied().flatten();
                }
                Some(Mark::Open(by)) if by == start => {
                    let first = cycle(&trace.parents, index).into_iter().min().unwrap_or(index);
                    if let Some(parent) = trace.parents.get_mut(first) {
                        *parent = None;
                    }
                    if let Some(span) = trace.spans.get(first) {
                        trace.findings.push(Finding::new(
                            Some(span.span_id),
                            FindingKind::ParentCycle,
                            "the span is its own ancestor; it is taken as a root",
                        ));
                    }
                    break;
                }
                _ => break,
            }
        }
        let mut at = Some(start);
        while let Some(index) = at {
            match marks.get_mut(index) {
                Some(mark) if *mark != Mark::Done => *mark = Mark::Done,
                _ => break,
            }
            at = trace.parents.get(index).copied().flatten();
        }
    }
}

fn cycle(parents: &[Option<usize>], from: usize) -> Vec<usize> {
    let mut out = vec![from];
    let mut at = parents.get(from).copied().flatten();
    while let Some(index) = at.filter(|index| *index != from) {
        out.push(index);
        at = parents.get(index).copied().flatten();
    }
    out
}

/// Fills in children and roots, and reports oddities of the roots.
pub(super) fn report_roots(trace: &mut Trace) {
    trace.children = vec![Vec::new(); trace.spans.len()];
    trace.roots.clear();
    for (index, parent) in trace.parents.iter().enumerate() {
        match parent.and_then(|parent| trace.children.get_mut(parent)) {
            Some(children) => children.push(index),
            None => trace.roots.push(index),
        }
    }
    let true_roots = trace.spans.iter().filter(|span| span.parent.is_none()).count();
    if true_roots == 0 && !trace.spans.is_empty() {
        trace
            .findings
            .push(Finding::new(None, FindingKind::MissingRoot, "no span without a parent came"));
    }
    if true_roots > 1 {
        trace.findings.push(Finding::new(
            None,
            FindingKind::SeveralRoots,
            format!("{true_roots} spans have no parent"),
        ));
    }
}
