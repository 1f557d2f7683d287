//! The steps of a run that interest people, as a tree.

use crate::operation::Kind;
use crate::run::{IdVec, Observed, Run, Step, StepId};

/// One step of the outline. Rows are in depth-first order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    /// Index into [`Run::steps`].
    pub(crate) step: StepId,
    /// 0 at the top.
    pub(crate) depth: usize,
    /// Whether this is the last row with its parent.
    pub(crate) is_last: bool,
}

/// Whether a step interests people; children of other steps move up.
fn is_shown(step: &Step) -> bool {
    is_of_run(step) && !matches!(step.operation.kind, Kind::Plain | Kind::Detail)
}

/// Whether a step happened in the run, unlike people's annotations afterwards.
fn is_of_run(step: &Step) -> bool {
    step.observed != Observed::Annotation
}

/// The outline of a run.
pub(crate) fn rows(run: &Run) -> Vec<Row> {
    rows_of(run, is_shown)
}

/// The outline with every step, including those without agent facts.
pub(crate) fn all_rows(run: &Run) -> Vec<Row> {
    rows_of(run, is_of_run)
}

/// The wanted rows and their ancestors. Rows are in depth-first order.
pub(crate) fn only(rows: &[Row], is_wanted: impl Fn(&Row) -> bool) -> Vec<Row> {
    let mut out: Vec<Row> = Vec::new();
    // A row of less depth than this is an ancestor of a wanted one.
    let mut needed = 0;
    // For each depth, whether a row follows.
    let mut follows: Vec<bool> = Vec::new();
    for row in rows.iter().rev() {
        if !is_wanted(row) && row.depth >= needed {
            continue;
        }
        needed = row.depth;
        follows.truncate(row.depth + 1);
        follows.resize(row.depth + 1, false);
        let is_last = follows.pop() == Some(false);
        follows.push(true);
        out.push(Row { is_last, ..*row });
    }
    out.reverse();
    out
}

fn rows_of(run: &Run, is_shown: impl Fn(&Step) -> bool) -> Vec<Row> {
    let mut children: IdVec<StepId, Vec<StepId>> = IdVec::filled(Vec::new(), run.steps.len());
    let mut tops = Vec::new();
    // The nearest shown ancestor; parents precede their children.
    let mut nearest: IdVec<StepId, Option<StepId>> = IdVec::with_capacity(run.steps.len());
    for (index, step) in run.steps.enumerate() {
        let parent = step.parent.filter(|parent| *parent < index);
        let above = parent.and_then(|parent| match run.steps.get(parent) {
            Some(above) if is_shown(above) => Some(parent),
            _ => nearest.get(parent).copied().flatten(),
        });
        nearest.push(above);
        if is_shown(step) {
            match above.and_then(|above| children.get_mut(above)) {
                Some(of_parent) => of_parent.push(index),
                None => tops.push(index),
            }
        }
    }
    let mut rows = Vec::with_capacity(run.steps.len());
    let mut stack: Vec<Row> = Vec::new();
    let push = |stack: &mut Vec<Row>, steps: &[StepId], depth: usize| {
        let last = steps.last().copied();
        stack.extend(steps.iter().rev().map(|step| Row {
            step: *step,
            depth,
            is_last: Some(*step) == last,
        }));
    };
    push(&mut stack, &tops, 0);
    while let Some(row) = stack.pop() {
        rows.push(row);
        push(&mut stack, children.get(row.step).map_or(&[][..], Vec::as_slice), row.depth + 1);
    }
    rows
}

#[cfg(test)]
#[path = "outline_tests.rs"]
mod tests;
