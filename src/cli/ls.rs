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
        self.status.is_none_or(|wanted| wanted.is(status(summary)))
            && any(&self.agent, &summary.agents, &summary.agent)
            && any(&self.model, &summary.models, &summary.model)
    }
}

impl Status {
    /// Whether a list has this status.
    fn is(self, listed: &str) -> bool {
        let listed = if listed == "-" { "none" } else { listed };
        self.to_possible_value().is_some_and(|status| status.get_name() == listed)
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
        let width = if self.wide { None } else { out::width() };
        if self.sessions {
            let sessions = sessions(&source, limit, self.search.as_deref(), (self.sort.as_deref(), "--sort "))?;
            self.print(&sessions, |sessions| session_table(sessions, width), || "no sessions".to_owned())?;
            return Ok(ExitCode::SUCCESS);
        }
        let filter = Filter {
            session: self.session.clone(),
            limit: limit.filter(|_| self.sort.is_none() && !self.failures && self.by.is_none()),
            ..self.select.filter()
        };
        let selected = (self.search.as_deref(), self.filter.as_deref());
        let mut traces = traces(&source, &filter, &self.work, selected, "--where")?;
        if self.failures {
            let mut groups = Groups::default();
            traces.iter().for_each(|listed| groups.add(listed));
            let mut groups = groups.into_list();
            groups.truncate(limit.unwrap_or(usize::MAX));
            self.print(&groups, |groups| failure_table(groups, width), || "no operation failed".to_owned())?;
            return Ok(ExitCode::SUCCESS);
        }
        if let Some((_, by)) = self.by {
            let mut shares = Shares::default();
            for listed in &traces {
                source.run_of(listed)?.iter().for_each(|run| shares.add(run, by));
            }
            let mut shares = shares.list;
            sort(&mut shares, SHARE_SORTS, (self.sort.as_deref().or(Some("time")), "--sort "), limit)?;
            share_table(&shares).print()?;
            return Ok(ExitCode::SUCCESS);
        }
        sort(&mut traces, RUN_SORTS, (self.sort.as_deref(), "--sort "), limit)?;
        self.print(&traces, |traces| trace_table(traces, width), || self.no_traces(&source))?;
        Ok(ExitCode::SUCCESS)
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
        if self.json {
            return items
                .iter()
                .try_for_each(|item| out::json(serde_json::to_string(item).unwrap_or_default()));
        }
        if items.is_empty() {
            out::note(&nothing());
            return Ok(());
        }
        table(items).print()
    }
}

/// The traces that a filter and what agents did select, and words and an expression, if given. `of`: the name of the expression's flag.
pub(super) fn traces(
    source: &Source,
    filter: &Filter,
    work: &Work,
    (words, filtered): (Option<&str>, Option<&str>),
    of: &str,
) -> Result<Vec<Listed>, Failure> {
    let having = source.having(words, filter)?;
    let matches = |listed: &Listed| work.matches(listed) && source.has_words(&having, listed);
    match filtered {
        Some(text) => source.list_of_runs(filter, &matches, &expression(of, text)?),
        None => source.list_where(filter, true, &matches),
    }
}

/// The sessions that have words, if given, sorted by a key, if given. `of`: the name of the key's flag.
pub(super) fn sessions(
    source: &Source,
    limit: Option<usize>,
    words: Option<&str>,
    (key, of): (Option<&str>, &str),
) -> Result<Vec<SessionListed>, Failure> {
    let is_part = words.is_none() && key.is_none();
    let mut sessions = source.sessions(limit.filter(|_| is_part), true)?;
    if let Some(words) = words.and_then(Sought::of) {
        sessions.retain(|session| session.has(&words));
    }
    sort(&mut sessions, SESSION_SORTS, (key, of), limit)?;
    Ok(sessions)
}

fn sort<T>(items: &mut Vec<T>, sorts: &[Sort<T>], (key, of): (Option<&str>, &str), limit: Option<usize>) -> Result<(), Failure> {
    if let Some(key) = key {
        sessions::sort(items, sorts, key).map_err(|known| Failure::usage(format!("{of}{key} is not {known}")))?;
    }
    items.truncate(limit.unwrap_or(usize::MAX));
    Ok(())
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
