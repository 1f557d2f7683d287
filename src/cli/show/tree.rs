//! The steps of a run as a tree, with start and duration.

use clap::Args;

use super::line::Line;
use crate::cli::failure::Failure;
use crate::cli::out::Style;
use crate::operation::Kind;
use crate::run::{Run, Step};
use crate::view::outline::{self, Row};
use crate::view::text::{columns, elapsed, one_line};
use crate::view::{errors, step, totals};

/// Maximum columns of a value without a terminal.
const VALUE: usize = 100;
/// Maximum columns of a name.
const NAME: usize = 48;
/// On narrower terminals, tokens are shown without their parts.
const WIDE: usize = 120;
/// Maximum depth of indentation; at most a third of the terminal.
const DEPTH: usize = 40;

/// Start and duration of a step as shown.
fn times(run: &Run, of: &Step, has_times: bool) -> (String, String, Style) {
    if !has_times {
        return ("-".to_owned(), "-".to_owned(), Style::Dim);
    }
    let about = if step::has_derived_times(of) { "~" } else { "" };
    let start = format!("{about}{}", elapsed(step::offset(run, of.started_at)));
    match step::nanos(of) {
        Some(nanos) => (start, format!("{about}{}", elapsed(nanos)), Style::Dim),
        None => (start, "running".to_owned(), Style::Busy),
    }
}

/// Which steps are shown, with those above them.
#[derive(Debug, Default, Clone, Args)]
pub(in crate::cli) struct Only {
    /// Show only steps that failed, and those above them.
    #[arg(long)]
    errors: bool,
    /// Show only this step with what is below it, given by its id or the first digits of it, and what went in and came out.
    #[arg(long, value_name = "ID")]
    step: Option<String>,
    /// Show at most this many levels of the tree.
    #[arg(long, value_name = "NUMBER")]
    depth: Option<usize>,
    /// Show only steps of this kind, for example llm, tool, agent or retrieval, and those above them. Repeatable.
    #[arg(long = "kind", value_name = "KIND", value_parser = kind)]
    kinds: Vec<Kind>,
}

fn kind(text: &str) -> Result<Kind, String> {
    let known = || Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    Kind::from_name(&text.to_lowercase()).ok_or_else(|| format!("the kinds are {}", known()))
}

impl Only {
    /// The requested step; an error if there is no such step or kind.
    pub(super) fn step<'a>(&self, run: &'a Run) -> Result<Option<&'a Step>, Failure> {
        let Some(wanted) = &self.step else { return Ok(None) };
        let found = run.steps.iter().find(|of| step::has_id(of, wanted));
        found
            .map(Some)
            .ok_or_else(|| Failure::missing(format!("the run has no step {wanted}")))
    }

    fn rows(&self, run: &Run) -> Vec<Row> {
        let mut rows = outline::rows(run);
        if let Ok(Some(step)) = self.step(run) {
            let is_it = |row: &Row| run.steps.get(row.step).is_some_and(|of| of.id == step.id);
            let from = rows.iter().position(is_it).unwrap_or(rows.len());
            rows.drain(..from);
            let top = rows.first().map_or(0, |row| row.depth);
            let below = rows.iter().skip(1).take_while(|row| row.depth > top).count();
            rows.truncate(below + 1);
            rows.iter_mut().for_each(|row| row.depth -= top);
            rows.iter_mut().take(1).for_each(|row| row.is_last = true);
        }
        rows.retain(|row| self.depth.is_none_or(|most| row.depth < most));
        if !self.errors && self.kinds.is_empty() {
            return rows;
        }
        outline::only(&rows, |row| {
            let operation = run.steps.get(row.step).map(|step| &step.operation);
            operation.is_some_and(|operation| {
                (!self.errors || operation.failure.is_some()) && (self.kinds.is_empty() || self.kinds.contains(&operation.kind))
            })
        })
    }
}

pub(super) fn lines(run: &Run, width: Option<usize>, only: &Only) -> Vec<String> {
    let rows = only.rows(run);
    let has_times = step::has_times(run);
    let rows: Vec<(&Row, &Step, _)> = rows
        .iter()
        .filter_map(|row| {
            let step = run.steps.get(row.step)?;
            Some((row, step, times(run, step, has_times)))
        })
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let widest = |words: &dyn Fn(&(String, String, Style)) -> usize| rows.iter().map(|(_, _, times)| words(times)).max().unwrap_or(0);
    let start_width = widest(&|times| columns(&times.0)).max("START".len());
    let took_width = widest(&|times| columns(&times.1)).max("TOOK".len());
    let gutter = start_width + took_width + 4;
    let deepest = width.map_or(DEPTH, |width| (width.saturating_sub(gutter) / 6).clamp(3, DEPTH));
    let mut lines = Vec::with_capacity(rows.len() + 1);
    let mut head = Line::default();
    head.push(format!("{:>start_width$}  {:>took_width$}", "START", "TOOK"), Style::Dim);
    lines.push(head.fit(width));
    // For each depth, whether its branch continues below.
    let mut goes_on: Vec<bool> = Vec::new();
    for (row, step, (start, took, style)) in rows {
        goes_on.truncate(row.depth);
        goes_on.resize(row.depth, false);
        let mut line = Line::default();
        line.push(right(&start, start_width), Style::Dim);
        line.push("  ", Style::Plain);
        line.push(right(&took, took_width), style);
        line.push("  ", Style::Plain);
        line.push(branch(row, &goes_on, deepest), Style::Dim);
        describe(run, step, width, &mut line);
        lines.push(line.fit(width));
        goes_on.push(!row.is_last);
    }
    lines
}

fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(columns(text))))
}

fn branch(row: &Row, goes_on: &[bool], deepest: usize) -> String {
    if row.depth == 0 {
        return String::new();
    }
    // Top rows have no branches.
    let above = goes_on.iter().skip(1).map(|goes_on| if *goes_on { "│ " } else { "  " });
    let own = if row.is_last { "└─" } else { "├─" };
    if row.depth <= deepest {
        above.chain([own]).collect()
    } else {
        above.take(deepest.saturating_sub(2)).collect::<String>() + &format!("…{} ", row.depth)
    }
}

fn describe(run: &Run, of: &Step, width: Option<usize>, line: &mut Line) {
    let operation = &of.operation;
    let room = width.map(|width| width.saturating_sub(line.columns()));
    let kind = operation.kind.name();
    line.push(kind, Style::Kind);
    let name_room = room.map_or(NAME, |room| (room.saturating_sub(kind.len()) / 2).clamp(12, NAME));
    line.next(&one_line(step::name(run, of), name_room), Style::Strong);
    let tokens = if width.is_some_and(|width| width < WIDE) {
        step::short_tokens
    } else {
        step::tokens
    };
    let counts = (operation.kind == Kind::Llm).then(|| tokens(&operation.usage)).flatten();
    let counts = counts
        .into_iter()
        .chain(totals::cost(of).map(|cost| cost.to_string()))
        .collect::<Vec<_>>()
        .join("  ");
    let outcome = match &operation.failure {
        Some(failure) => Some((format!("FAILED {}", errors::words(failure)), Style::Bad)),
        None => step::said(operation).map(|said| (format!("→ {said}"), Style::Plain)),
    };
    let arguments = step::arguments(run, of);
    // The rest of the line is divided between input and output.
    let taken = line.columns() + if counts.is_empty() { 0 } else { 2 + columns(&counts) };
    let left = width.map(|width| width.saturating_sub(taken));
    if let Some(arguments) = arguments {
        let room = match (left, &outcome) {
            (None, _) => VALUE,
            (Some(left), None) => left.saturating_sub(2),
            (Some(left), Some((outcome, _))) => {
                let outcome = columns(outcome).min(left / 2);
                left.saturating_sub(outcome + 4)
            }
        };
        line.next(&one_line(&arguments, room), Style::Plain);
    }
    line.next(&counts, Style::Plain);
    if let Some((outcome, style)) = outcome {
        let room = width.map_or(VALUE, |width| width.saturating_sub(line.columns() + 2));
        line.next(&one_line(&outcome, room), style);
    }
}
