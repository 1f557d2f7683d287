//! `spanbridge ls`: recent traces, and sessions.

mod tables;

use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::complete;
use super::data_set::{EXPRESSIONS, expression};
use super::failure::Failure;
use super::listed::status;
use super::out::{self, Table};
use super::select::Select;
use super::source::{Source, Where};
use crate::span::TraceId;
use crate::store::Filter;
use crate::view::seeking::Sought;
use crate::view::totals::{BY, By};
use crate::web::failures::Groups;
use crate::web::listing::Listed;
use crate::web::sessions::{self, RUN_SORTS, SESSION_SORTS, SessionListed, Sort};
use crate::web::work::{SHARE_SORTS, Shares};
use tables::{failure_table, session_table, share_table, trace_table};

const EXAMPLES: &str = "\
STATUS: error means that the run itself failed, cancelled that it was stopped from outside. `ok, 2 failed` means that two of its \
operations failed, and the run went on and ended well. `-` means that no agent did anything in the trace.

Examples:
  spanbridge ls
  spanbridge ls --since 1h --service shop
  spanbridge ls --status error --agent 'travel*'
  spanbridge ls --model gpt-4o-mini -n 0
  spanbridge ls --where 'tool = get_weather and cost > 0.01'
  spanbridge ls --search 'no such city' --sort cost
  spanbridge ls --where 'label.feedback = bad and version = 2.1'
  spanbridge ls --failures --since 7d
  spanbridge ls --by tool --sort failures --since 7d
  spanbridge ls --sessions --sort tokens --search invoice
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
    /// Only traces with these words in names, keys, values or payloads, in any case; with --sessions in the session's name, agent, first
    /// question or last answer.
    #[arg(long, value_name = "WORDS")]
    search: Option<String>,
    /// Largest first: started, took, tokens, cost, reward, failures, calls or tools; of sessions last, started, runs, failures, tokens or
    /// cost.
    #[arg(long, value_name = "KEY")]
    sort: Option<String>,
    /// List sessions instead of traces: what was asked first and answered last, runs, failures, tokens and cost.
    #[arg(long, conflicts_with_all = ["since", "until", "service", "session", "status", "agent", "model", "filter"])]
    sessions: bool,
    /// List the failures of these traces as groups instead: those of one error class, one operation and one message without its numbers,
    /// with how many runs of each version have it.
    #[arg(long, conflicts_with_all = ["sessions", "sort"])]
    failures: bool,
    /// Sum up where time, tokens and cost went in these traces instead: by tool, model, agent or kind. It reads each trace.
    #[arg(long, value_name = "WHAT", value_parser = by, conflicts_with_all = ["sessions", "failures", "json"])]
    by: Option<By>,
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
    /// Builds the filter from names.
    pub(super) fn named(status: Option<&str>, agent: Option<String>, model: Option<String>) -> Result<Self, String> {
        let status = status.map(|word| Status::from_str(word, true)).transpose()?;
        Ok(Self { status, agent, model })
    }

    /// Whether a trace matches.
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

/// Whether a name matches the wanted one. `*` matches any text; case does not matter.
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
            let sessions = self.sessions(&source, limit)?;
            let width = if self.wide { None } else { out::width() };
            self.print(&sessions, |sessions| session_table(sessions, width), || "no sessions".to_owned())?;
            return Ok(ExitCode::SUCCESS);
        }
        let filter = Filter {
            session: self.session.clone(),
            limit: limit.filter(|_| self.sort.is_none() && !self.failures && self.by.is_none()),
            ..self.select.filter()
        };
        let having = source.having(self.search.as_deref(), &filter)?;
        let matches = |listed: &Listed| self.work.matches(listed) && source.has_words(&having, listed);
        let mut traces = match &self.filter {
            Some(text) => source.list_of_runs(&filter, &matches, &expression("--where", text)?)?,
            None => source.list_where(&filter, true, &matches)?,
        };
        if self.failures {
            let mut groups = Groups::default();
            traces.iter().for_each(|listed| groups.add(listed));
            let mut groups = groups.into_list();
            groups.truncate(limit.unwrap_or(usize::MAX));
            let width = if self.wide { None } else { out::width() };
            self.print(&groups, |groups| failure_table(groups, width), || "no operation failed".to_owned())?;
            return Ok(ExitCode::SUCCESS);
        }
        if let Some((_, by)) = self.by {
            let mut shares = Shares::default();
            for id in traces.iter().filter_map(|listed| TraceId::from_hex(&listed.trace_id)) {
                source.run(id)?.iter().for_each(|run| shares.add(run, by));
            }
            let mut shares = shares.list;
            let key = self.sort.as_deref().unwrap_or("time");
            sessions::sort(&mut shares, SHARE_SORTS, key).map_err(|known| Failure::usage(format!("--sort {key} is not {known}")))?;
            return share_table(&shares, limit).map(|()| ExitCode::SUCCESS);
        }
        self.sort(&mut traces, RUN_SORTS, limit)?;
        let width = if self.wide { None } else { out::width() };
        self.print(&traces, |traces| trace_table(traces, width), || self.no_traces(&source))?;
        Ok(ExitCode::SUCCESS)
    }

    fn sessions(&self, source: &Source, limit: Option<usize>) -> Result<Vec<SessionListed>, Failure> {
        let is_part = self.search.is_none() && self.sort.is_none();
        let mut sessions = source.sessions(limit.filter(|_| is_part), true)?;
        if let Some(words) = self.search.as_deref().and_then(Sought::of) {
            sessions.retain(|session| session.has(&words));
        }
        self.sort(&mut sessions, SESSION_SORTS, limit)?;
        Ok(sessions)
    }

    fn sort<T>(&self, items: &mut Vec<T>, sorts: &[Sort<T>], limit: Option<usize>) -> Result<(), Failure> {
        if let Some(key) = &self.sort {
            sessions::sort(items, sorts, key).map_err(|known| Failure::usage(format!("--sort {key} is not {known}")))?;
        }
        items.truncate(limit.unwrap_or(usize::MAX));
        Ok(())
    }

    /// Why no traces are listed, and which command lists some.
    fn no_traces(&self, source: &Source) -> String {
        let one = Filter {
            limit: Some(1),
            ..Filter::default()
        };
        match (source.latest(&one, false), self.work.status) {
            (Ok(latest), _) if latest.is_empty() => format!("{} has no traces yet", source.place()),
            (_, Some(Status::Error)) => {
                "no traces match; --status error finds runs that failed themselves, and `spanbridge ls --failures` also what failed in \
                 runs that went on"
                    .to_owned()
            }
            _ => "no traces match; `spanbridge ls` without filters lists the latest".to_owned(),
        }
    }

    fn print<T: serde::Serialize>(&self, items: &[T], table: impl Fn(&[T]) -> Table, nothing: impl Fn() -> String) -> Result<(), Failure> {
        let failed = |source| Failure::Output { source };
        if self.json {
            for item in items {
                out::json(serde_json::to_string(item).unwrap_or_default()).map_err(failed)?;
            }
        } else if items.is_empty() {
            out::note(&nothing());
        } else {
            for line in table(items).lines() {
                out::line(&line).map_err(failed)?;
            }
        }
        out::flush().map_err(failed)
    }
}

fn by(text: &str) -> Result<By, String> {
    let known = || BY.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = BY.iter().find(|(name, _)| *name == text);
    found.copied().ok_or_else(|| format!("expected one of {}", known()))
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
