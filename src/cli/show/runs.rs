//! Several runs, of a session or a file, as one.

use super::full as full_view;
use super::line::facts;
use super::tree::Only;
use super::{overview, tree};
use crate::cli::out::{Style, many, styled};
use crate::run::Run;
use crate::view::step;
use crate::view::text::elapsed;
use crate::view::totals::Totals;

/// Totals, then the question, answer and steps of each run.
pub(super) fn lines(title: &str, runs: &[Run], width: Option<usize>, full: bool, only: &Only) -> Vec<String> {
    let mut lines = vec![styled(title, Style::Strong)];
    let all = Totals::of_all(runs);
    let failed = runs.iter().filter(|run| run.failure.is_some()).count();
    let mut about = vec![many(runs.len(), "run")];
    let timed = || runs.iter().filter(|run| step::has_times(run));
    if let Some(first) = timed().next() {
        about.push(first.started_at.rfc3339());
        let end = timed().filter_map(|run| run.ended_at).max();
        about.extend(end.map(|end| elapsed(end.0.saturating_sub(first.started_at.0))));
    }
    if failed > 0 {
        about.push(many(failed, "failed run"));
    }
    lines.extend(facts(&about, "  ", width));
    lines.extend(facts(&overview::counts(&all), "  ", width));
    for run in runs {
        lines.push(String::new());
        lines.extend(overview::head(run, width, full));
        lines.extend(tree::lines(run, width, only));
        lines.extend(overview::errors(run, width, full));
        if full {
            lines.extend(full_view::lines(run, width));
        }
    }
    lines
}
