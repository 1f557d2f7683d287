//! The steps of a run in the order of the outline, with the facts that outline and waterfall show.

use crate::hash::HashMap;
use crate::operation::Kind;
use crate::run::{Run, Step};
use crate::span::SpanId;
use crate::trace::{Finding, FindingKind};
use crate::transcript::calls::Results;
use crate::view::errors;
use crate::view::outline::{self, Row};
use crate::view::step::{self, arguments, has_derived_times, nanos, said};
use crate::view::text::one_line;

use super::words::tidy;

/// Maximum columns of the preview next to a name.
const PREVIEW: usize = 160;

/// The outline of a run.
#[derive(Debug)]
pub(crate) struct Outline<'a> {
    /// The run.
    pub(crate) run: &'a Run,
    /// The rows, depth first.
    pub(crate) rows: Vec<Row>,
    /// Duration of the run in nanoseconds, as far as known; at least 1.
    pub(crate) nanos: u64,
    /// Whether a row is on the critical path.
    pub(crate) critical: Vec<bool>,
    /// For each row, the index after its last descendant.
    ends: Vec<usize>,
    /// The results of tools.
    pub(crate) results: Results<'a>,
    /// The findings that name a span.
    findings: HashMap<SpanId, Vec<&'a Finding>>,
}

impl<'a> Outline<'a> {
    /// The outline of a run; if agents did nothing, of all its spans.
    pub(crate) fn of(run: &'a Run) -> Self {
        let rows = if run.has_agent_work() {
            outline::rows(run)
        } else {
            outline::all_rows(run)
        };
        let end = run.ended_at.into_iter().chain(run.steps.iter().map(Step::end_or_start)).max();
        let nanos = end.map_or(1, |end| end.0.saturating_sub(run.started_at.0)).max(1);
        let ends = ends(&rows);
        let mut findings: HashMap<SpanId, Vec<&Finding>> = HashMap::default();
        for finding in &run.findings {
            if let Some(span_id) = finding.span_id {
                findings.entry(span_id).or_default().push(finding);
            }
        }
        let mut made = Self {
            run,
            critical: vec![false; rows.len()],
            rows,
            nanos,
            ends,
            results: Results::of(run),
            findings,
        };
        made.mark_critical();
        made
    }

    /// The step of a row.
    pub(crate) fn step(&self, row: usize) -> Option<&'a Step> {
        self.run.steps.get(self.rows.get(row)?.step)
    }

    /// The rows with their steps.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (Row, &'a Step)> {
        self.rows.iter().filter_map(|row| Some((*row, self.run.steps.get(row.step)?)))
    }

    /// Number of descendants of a row.
    pub(crate) fn below(&self, row: usize) -> usize {
        self.ends.get(row).map_or(0, |end| end.saturating_sub(row + 1))
    }

    /// The children of a row.
    pub(crate) fn children(&self, row: usize) -> impl Iterator<Item = usize> {
        let end = self.ends.get(row).copied().unwrap_or_default();
        let first = row.saturating_add(1);
        let next =
            move |child: &usize| Some(self.ends.get(*child).copied().unwrap_or(child + 1).max(child + 1)).filter(|child| *child < end);
        std::iter::successors((first < end).then_some(first), next)
    }

    /// The findings about a step.
    pub(crate) fn findings(&self, step: &Step) -> &[&'a Finding] {
        let found = step.span_id.and_then(|span_id| self.findings.get(&span_id));
        found.map_or(&[], Vec::as_slice)
    }

    /// Whether the parent of a step's span is not among the spans; it may arrive later.
    pub(crate) fn waits_for_parent(&self, step: &Step) -> bool {
        self.findings(step)
            .iter()
            .any(|finding| finding.kind == FindingKind::DanglingParent)
    }

    /// The row of the deepest failed step, the first of several; without failures, the first row.
    pub(crate) fn first_to_look_at(&self) -> usize {
        let failed = self.steps().enumerate().filter(|(_, (_, step))| step.operation.failure.is_some());
        let deepest = failed.max_by_key(|(at, (row, _))| (row.depth, std::cmp::Reverse(*at)));
        deepest.map_or(0, |(at, _)| at)
    }

    /// Marks the critical path: going back from the end, the child that ended last was waited for.
    fn mark_critical(&mut self) {
        // The children of each row are found once: rows are in depth-first order.
        let mut stack: Vec<(usize, u64)> = Vec::new();
        let mut tops = Vec::new();
        let mut at = 0;
        while at < self.rows.len() {
            tops.push(at);
            at = self.ends.get(at).copied().unwrap_or(at + 1).max(at + 1);
        }
        self.wait_for(tops, u64::MAX, &mut stack);
        while let Some((row, until)) = stack.pop() {
            if let Some(mark) = self.critical.get_mut(row) {
                *mark = true;
            }
            let children = self.children(row).collect();
            self.wait_for(children, until, &mut stack);
        }
    }

    fn wait_for(&self, mut rows: Vec<usize>, until: u64, stack: &mut Vec<(usize, u64)>) {
        let end_of = |row: &usize| self.step(*row).map_or(0, |step| step.ended_at.map_or(u64::MAX, |end| end.0));
        rows.sort_by_key(|row| std::cmp::Reverse(end_of(row)));
        let mut until = until;
        for row in rows {
            let Some(step) = self.step(row) else { continue };
            let end = end_of(&row).min(until);
            if step.started_at.0 < until && (end > step.started_at.0 || step.ended_at == Some(step.started_at)) {
                stack.push((row, end));
                until = step.started_at.0;
            }
        }
    }
}

fn ends(rows: &[Row]) -> Vec<usize> {
    let mut ends = vec![rows.len(); rows.len()];
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        while let Some((above, _)) = open.pop_if(|(_, depth)| *depth >= row.depth) {
            if let Some(end) = ends.get_mut(above) {
                *end = at;
            }
        }
        open.push((at, row.depth));
    }
    ends
}

/// The most specific name; for a model, without a date at its end.
pub(crate) fn name<'a>(run: &'a Run, of: &'a Step) -> &'a str {
    let name = step::name(run, of);
    match of.operation.kind {
        Kind::Llm | Kind::Embedding | Kind::Rerank => tidy(name),
        _ => name,
    }
}

/// The duration of a step as text.
pub(crate) fn took(of: &Step) -> String {
    let about = if has_derived_times(of) { "~ " } else { "" };
    nanos(of).map_or_else(
        || "running".to_owned(),
        |nanos| format!("{about}{}", crate::view::text::elapsed(nanos)),
    )
}

/// The text next to the name: its failure, else its question and answer.
pub(crate) fn preview(run: &Run, of: &Step) -> String {
    let operation = &of.operation;
    if let Some(failure) = &operation.failure {
        return one_line(&errors::words(failure), PREVIEW);
    }
    let asked = arguments(run, of).map(|text| flat(&text));
    // Only the beginning of a long answer is read.
    let said = said(operation).map(|text| one_line(&text, PREVIEW));
    let words = match (asked, said) {
        (Some(asked), Some(said)) => format!("{asked} → {said}"),
        (Some(asked), None) => asked,
        (None, Some(said)) => format!("→ {said}"),
        (None, None) => String::new(),
    };
    one_line(&words, PREVIEW)
}

/// A flat object as `city=Paris`, other text as it is.
fn flat(text: &str) -> String {
    let is_object = text.trim_start().starts_with('{') && text.len() < 4_096;
    let object = is_object
        .then(|| serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text).ok())
        .flatten();
    let Some(object) = object else {
        return one_line(text, PREVIEW / 2);
    };
    if object.values().any(|value| value.is_object() || value.is_array()) {
        return one_line(text, PREVIEW / 2);
    }
    let pairs = object.iter().map(|(key, value)| match value.as_str() {
        Some(text) => format!("{key}={text}"),
        None => format!("{key}={value}"),
    });
    one_line(&pairs.collect::<Vec<_>>().join(" "), PREVIEW / 2)
}
