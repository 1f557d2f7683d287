//! The tables of `ls`.

use crate::cli::failure::Failure;
use crate::cli::listed::{status, status_words, took, who};
use crate::cli::out::{self, Style, Table};
use crate::cli::time::second;
use crate::span::UnixNanos;
use crate::view::text::elapsed;
use crate::web::failures::Failures;
use crate::web::listing::{Listed, Score, Summary};
use crate::web::sessions::SessionListed;
use crate::web::work::Share;

/// The shortest prefix length that distinguishes these ids, at least 8.
fn id_length(traces: &[Listed]) -> usize {
    let mut ids: Vec<&str> = traces.iter().map(|listed| listed.trace_id.as_str()).collect();
    ids.sort_unstable();
    let shared = |pair: &[&str]| match pair {
        [one, other] => one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count(),
        _ => 0,
    };
    ids.windows(2).map(|pair| shared(pair) + 1).max().unwrap_or(0).max(8)
}

/// Maximum columns of a question if the line has no limit.
const QUESTION: usize = 160;
/// Maximum columns of an error.
const ERROR: usize = 60;

/// The judgements by people and programs.
fn labels(summary: &Summary) -> String {
    summary.scores.iter().map(Score::words).collect::<Vec<_>>().join(" ")
}

pub(super) fn trace_table(traces: &[Listed], width: Option<usize>) -> Table {
    let mut table = Table::new(&[
        "TRACE",
        "NAME",
        "STARTED",
        "TOOK",
        "STATUS",
        "AGENT OR ROOT",
        "MODEL",
        "CALLS",
        "TOOLS",
        "TOKENS",
        "COST",
        "REWARD",
        "SPANS",
        "VERSION",
        "SESSION",
        "LABELS",
        "ERROR",
        "QUESTION",
    ]);
    let digits = if width.is_some() { id_length(traces) } else { 32 };
    for listed in traces {
        let summary = &listed.summary;
        let style = match status(summary) {
            "error" => Style::Bad,
            "running" => Style::Busy,
            _ => Style::Plain,
        };
        let id: String = listed.trace_id.chars().take(digits).collect();
        let mut started = second(UnixNanos(listed.start_unix_nano));
        if width.is_some() {
            // Without the year: `2026-11-23 06:23:43Z`.
            started = started.get(5..20).map_or(started.clone(), str::to_owned);
        }
        table.row(vec![
            (out::shown(&id, 32), Style::Dim),
            (out::shown(summary.name.as_deref().unwrap_or_default(), 32), Style::Plain),
            (started, Style::Plain),
            (took(listed), Style::Plain),
            (out::shown(&status_words(summary), 16), style),
            (out::shown(&who(listed), 32), Style::Strong),
            (out::shown(summary.model.as_deref().unwrap_or("-"), 24), Style::Plain),
            (summary.model_calls.to_string(), Style::Plain),
            (summary.tool_calls.to_string(), Style::Plain),
            (tokens(summary.input_tokens, summary.output_tokens), Style::Plain),
            (summary.cost().map_or_else(String::new, |cost| cost.to_string()), Style::Plain),
            (summary.reward.map_or_else(String::new, |reward| reward.to_string()), Style::Plain),
            (listed.spans.to_string(), Style::Plain),
            (out::shown(summary.version.as_deref().unwrap_or_default(), 16), Style::Plain),
            (out::shown(listed.session.as_deref().unwrap_or_default(), 24), Style::Plain),
            (out::shown(&labels(summary), 32), Style::Strong),
            (
                summary.error.as_deref().map_or_else(String::new, |error| out::shown(error, ERROR)),
                Style::Bad,
            ),
            (
                summary
                    .question
                    .as_deref()
                    .map_or_else(String::new, |asked| out::shown(asked, QUESTION)),
                Style::Plain,
            ),
        ]);
    }
    table.drop_empty();
    let left_out = [
        "VERSION", "SPANS", "TOOLS", "CALLS", "SESSION", "TOKENS", "MODEL", "REWARD", "COST", "ERROR", "TOOK", "LABELS",
    ];
    table.fit_with(
        width,
        &[
            ("AGENT OR ROOT", 13),
            ("NAME", 13),
            ("MODEL", 13),
            ("SESSION", 13),
            ("LABELS", 13),
            ("ERROR", 20),
            ("QUESTION", 28),
        ],
        &left_out,
    );
    table
}

/// Input and output tokens, as far as known.
fn tokens(input: Option<u64>, output: Option<u64>) -> String {
    let number = |tokens: Option<u64>| tokens.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string());
    match (input, output) {
        (None, None) => "-".to_owned(),
        (input, output) => format!("{}/{}", number(input), number(output)),
    }
}

pub(super) fn session_table(sessions: &[SessionListed], width: Option<usize>) -> Table {
    let mut table = Table::new(&[
        "SESSION", "TRACES", "RUNS", "FAILED", "AGENT", "TOKENS", "COST", "STARTED", "LAST", "QUESTION", "ANSWER",
    ]);
    for session in sessions {
        let of = &session.summary;
        let count = |number: u64| if number == 0 { String::new() } else { number.to_string() };
        let words = |text: &Option<String>| text.as_deref().map_or_else(String::new, |text| out::shown(text, QUESTION));
        table.row(vec![
            (out::shown(&session.session, 64), Style::Strong),
            (session.traces.to_string(), Style::Plain),
            (of.runs.to_string(), Style::Plain),
            (count(of.failed_runs), Style::Bad),
            (out::shown(of.agent.as_deref().unwrap_or("-"), 24), Style::Plain),
            (tokens(of.input_tokens, of.output_tokens), Style::Plain),
            (of.cost().map_or_else(String::new, |cost| cost.to_string()), Style::Plain),
            (second(UnixNanos(session.start_unix_nano)), Style::Plain),
            (second(UnixNanos(session.last_start_unix_nano)), Style::Plain),
            (words(&of.question), Style::Plain),
            (words(&of.answer), Style::Plain),
        ]);
    }
    table.drop_empty();
    let left_out = ["STARTED", "TRACES", "ANSWER", "TOKENS", "AGENT", "COST", "LAST", "FAILED"];
    table.fit_with(
        width,
        &[("SESSION", 13), ("AGENT", 13), ("QUESTION", 28), ("ANSWER", 28)],
        &left_out,
    );
    table
}

pub(super) fn share_table(shares: &[Share], limit: Option<usize>) -> Result<(), Failure> {
    let mut table = Table::new(&["NAME", "STEPS", "RUNS", "FAILED", "TIME", "TOKENS", "COST"]);
    for Share { name, runs, totals } in shares.iter().take(limit.unwrap_or(usize::MAX)) {
        let count = |number: u64| if number == 0 { String::new() } else { number.to_string() };
        table.row(vec![
            (out::shown(if name.is_empty() { "-" } else { name }, 48), Style::Strong),
            (totals.steps.to_string(), Style::Plain),
            (runs.to_string(), Style::Plain),
            (count(totals.failures), Style::Bad),
            (busy(totals.busy_nanos), Style::Plain),
            (tokens(totals.tokens.input, totals.tokens.output), Style::Plain),
            (totals.cost.map_or_else(String::new, |cost| cost.to_string()), Style::Plain),
        ]);
    }
    table.drop_empty();
    table.fit(out::width(), &["NAME"], &["RUNS"]);
    let written = table
        .lines()
        .iter()
        .try_for_each(|line| out::line(line))
        .and_then(|()| out::flush());
    written.map_err(|source| Failure::Output { source })
}

pub(super) fn failure_table(groups: &[Failures], width: Option<usize>) -> Table {
    let mut table = Table::new(&["FAILURES", "RUNS", "OPERATION", "ERROR", "FIRST", "LAST", "VERSIONS"]);
    for group in groups {
        let failed = &group.failed;
        table.row(vec![
            (failed.count.to_string(), Style::Bad),
            (group.runs.to_string(), Style::Plain),
            (out::shown(&format!("{} {}", failed.kind, failed.name), 40), Style::Strong),
            (out::shown(&failed.message, QUESTION), Style::Plain),
            (second(UnixNanos(group.first_unix_nano)), Style::Plain),
            (second(UnixNanos(group.last_unix_nano)), Style::Plain),
            (out::shown(&group.shares(), 80), Style::Plain),
        ]);
    }
    let cut = [("OPERATION", 20), ("ERROR", 28), ("VERSIONS", 16)];
    table.fit_with(width, &cut, &["FIRST", "VERSIONS", "LAST"]);
    table
}

fn busy(nanos: u64) -> String {
    if nanos == 0 { String::new() } else { elapsed(nanos) }
}
