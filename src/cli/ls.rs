//! `spanbridge ls`: recent traces, and sessions.

use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::complete;
use super::data_set::{EXPRESSIONS, expression};
use super::failure::Failure;
use super::listed::{status, status_words, took, who};
use super::out::{self, Style, Table};
use super::select::Select;
use super::source::{Session, Where};
use super::time::second;
use crate::span::UnixNanos;
use crate::store::Filter;
use crate::view::text::dollars;
use crate::web::listing::{Listed, Summary};

const EXAMPLES: &str = "\
STATUS: error means that the run itself failed, cancelled that it was stopped from outside. `ok, 2 failed` means that two of its \
operations failed, and the run went on and ended well. `-` means that no agent did anything in the trace.

Examples:
  spanbridge ls
  spanbridge ls --since 1h --service shop
  spanbridge ls --status error --agent 'travel*'
  spanbridge ls --model gpt-4o-mini -n 0
  spanbridge ls --where 'tool = get_weather and cost > 0.01'
  spanbridge ls --sessions
  spanbridge ls --json | jq -r 'select(.status == \"error\") | .trace_id'";

/// List recent traces, newest first.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXPRESSIONS}"))]
pub(super) struct Ls {
    #[command(flatten)]
    select: Select,
    /// Only traces of this session.
    #[arg(long, value_name = "ID", add = complete::sessions())]
    session: Option<String>,
    #[command(flatten)]
    work: Work,
    /// Only runs for which this is true, in the language of data sets: "status = ok and reward > 0". It reads each trace, so it takes
    /// longer than the flags above. The end of this help lists fields and operators.
    #[arg(long = "where", value_name = "EXPRESSION")]
    filter: Option<String>,
    /// List sessions instead of traces.
    #[arg(long, conflicts_with_all = ["since", "until", "service", "session", "status", "agent", "model", "filter"])]
    sessions: bool,
    /// The maximum number of traces or sessions; 0 lists all.
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = 20)]
    limit: usize,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
    /// Print all columns and whole ids, however wide the terminal is.
    #[arg(long)]
    wide: bool,
    #[command(flatten)]
    from: Where,
}

/// Which traces, by what the agent did in them.
#[derive(Debug, Clone, Args)]
pub(super) struct Work {
    /// Only traces with this status.
    #[arg(long, value_name = "STATUS", value_enum)]
    status: Option<Status>,
    /// Only traces in which this agent did something. `*` matches any text; case does not matter.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only traces in which this model was asked for or answered. `*` matches any text; case does not matter.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Status {
    Ok,
    // The pages' word.
    #[value(alias = "failed")]
    Error,
    Cancelled,
    Running,
    /// No agent did anything in the trace.
    None,
}

impl Work {
    /// What the agent did, by names.
    pub(super) fn named(status: Option<&str>, agent: Option<String>, model: Option<String>) -> Result<Self, String> {
        let status = status.map(|word| Status::from_str(word, true)).transpose()?;
        Ok(Self { status, agent, model })
    }

    /// Whether what the agent did has to be known.
    fn is_empty(&self) -> bool {
        self.status.is_none() && self.agent.is_none() && self.model.is_none()
    }

    /// Whether a trace is one of these.
    pub(super) fn matches(&self, listed: &Listed) -> bool {
        let summary = &listed.summary;
        let any = |wanted: &Option<String>, names: &[String], main: &Option<String>| {
            let Some(wanted) = wanted else { return true };
            names.iter().chain(main).any(|name| matches(wanted, name))
        };
        self.status.is_none_or(|wanted| status(summary) == wanted_name(wanted))
            && any(&self.agent, &summary.agents, &summary.agent)
            && any(&self.model, &summary.models, &summary.model)
    }
}

fn wanted_name(status: Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Error => "error",
        Status::Cancelled => "cancelled",
        Status::Running => "running",
        Status::None => "-",
    }
}

/// Whether a name is the wanted one. `*` matches any text; case does not matter.
fn matches(wanted: &str, name: &str) -> bool {
    let (wanted, name) = (wanted.to_lowercase(), name.to_lowercase());
    let Some((first, rest)) = wanted.split_once('*') else {
        return wanted == name;
    };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let Some((middle, last)) = rest.rsplit_once('*') else {
        return left.ends_with(rest);
    };
    for piece in middle.split('*').filter(|piece| !piece.is_empty()) {
        match left.split_once(piece) {
            Some((_, behind)) => left = behind,
            None => return false,
        }
    }
    left.ends_with(last)
}

impl Ls {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let source = self.from.open()?;
        let limit = Some(self.limit).filter(|limit| *limit > 0);
        if self.sessions {
            let sessions = source.sessions(limit)?;
            self.print(&sessions, session_table)?;
            return Ok(ExitCode::SUCCESS);
        }
        let filter = Filter {
            session: self.session.clone(),
            limit,
            ..self.select.filter()
        };
        let traces = if let Some(text) = &self.filter {
            let expression = expression("--where", text)?;
            source.list_of_runs(&filter, &|listed| self.work.matches(listed), &expression)?
        } else if self.work.is_empty() {
            source.list(&filter)?
        } else {
            source.list_where(&filter, true, &|listed| self.work.matches(listed))?
        };
        let width = if self.wide { None } else { out::width() };
        self.print(&traces, |traces| trace_table(traces, width))?;
        Ok(ExitCode::SUCCESS)
    }

    fn print<T: serde::Serialize>(&self, items: &[T], table: impl Fn(&[T]) -> Table) -> Result<(), Failure> {
        let failed = |source| Failure::Output { source };
        if self.json {
            for item in items {
                out::json(serde_json::to_string(item).unwrap_or_default()).map_err(failed)?;
            }
        } else if items.is_empty() {
            out::note(if self.sessions { "no sessions" } else { "no traces match" });
        } else {
            for line in table(items).lines() {
                out::line(&line).map_err(failed)?;
            }
        }
        out::flush().map_err(failed)
    }
}

/// The shortest prefix that distinguishes these ids, 8 digits at least.
fn id_length(traces: &[Listed]) -> usize {
    let mut ids: Vec<&str> = traces.iter().map(|listed| listed.trace_id.as_str()).collect();
    ids.sort_unstable();
    let shared = |pair: &[&str]| match pair {
        [one, other] => one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count(),
        _ => 0,
    };
    ids.windows(2).map(|pair| shared(pair) + 1).max().unwrap_or(0).max(8)
}

/// How wide a question may be where nothing limits a line.
const QUESTION: usize = 160;

fn trace_table(traces: &[Listed], width: Option<usize>) -> Table {
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
        "SESSION",
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
            (tokens(summary), Style::Plain),
            (summary.cost_usd.map_or_else(String::new, dollars), Style::Plain),
            (summary.reward.map_or_else(String::new, |reward| reward.to_string()), Style::Plain),
            (listed.spans.to_string(), Style::Plain),
            (out::shown(listed.session.as_deref().unwrap_or_default(), 24), Style::Plain),
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
    let left_out = ["SPANS", "TOOLS", "CALLS", "SESSION", "TOKENS", "MODEL", "REWARD", "COST", "TOOK"];
    table.fit_with(
        width,
        &[
            ("AGENT OR ROOT", 13),
            ("NAME", 13),
            ("MODEL", 13),
            ("SESSION", 13),
            ("QUESTION", 28),
        ],
        &left_out,
    );
    table
}

/// Tokens in and out, as far as the calls have them.
fn tokens(summary: &Summary) -> String {
    let number = |tokens: Option<u64>| tokens.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string());
    match (summary.input_tokens, summary.output_tokens) {
        (None, None) => "-".to_owned(),
        (input, output) => format!("{}/{}", number(input), number(output)),
    }
}

fn session_table(sessions: &[Session]) -> Table {
    let mut table = Table::new(&["SESSION", "TRACES", "STARTED", "LAST ENDED"]);
    for session in sessions {
        let ended = Some(session.end_unix_nano).filter(|end| *end > 0);
        table.row(vec![
            (out::shown(&session.session, 64), Style::Strong),
            (session.traces.to_string(), Style::Plain),
            (second(UnixNanos(session.start_unix_nano)), Style::Plain),
            (ended.map_or_else(|| "-".to_owned(), |end| second(UnixNanos(end))), Style::Plain),
        ]);
    }
    table.fit(out::width(), &["SESSION"], &["STARTED"]);
    table
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text() {
        for (wanted, name) in [
            ("Lead", "lead"),
            ("*", ""),
            ("gpt-4o*", "gpt-4o-mini"),
            ("*mini", "gpt-4o-mini"),
            ("g*4o*m*i", "gpt-4o-mini"),
            ("**", "x"),
        ] {
            assert!(matches(wanted, name), "{wanted} {name}");
        }
        for (wanted, name) in [("gpt-4o", "gpt-4o-mini"), ("a*a", "a"), ("*b*", "ac"), ("a*b*c", "ac"), ("", "x")] {
            assert!(!matches(wanted, name), "{wanted} {name}");
        }
    }
}
