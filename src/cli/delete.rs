//! `spanbridge delete`: deletes traces and sessions.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::process::ExitCode;

use clap::Args;

use super::complete;
use super::failure::{Failure, exit_status};
use super::out;
use super::select::trace_id;
use super::source::Where;
use super::source::deleting::{Amount, Deleting};
use crate::span::TraceId;
use crate::store::Unwanted;

const EXAMPLES: &str = "\
It prints what it deletes, and asks before it does. When it returns, the bytes are gone: from the log, the index, the index \
of words and the dead letters. Spans that come later for a deleted trace are not stored. What destinations have been sent, and copies of \
the disk, stay as they are: delete there, too.

A running server deletes over its API; its token needs the right `delete`. Without a server, the data directory is changed directly. \
In a bucket it is read no more at once, and each server removes it from its own database within ten polls. Its bytes are gone within 30 minutes \
and one merge of that database; from databases of servers that are gone, at the second store compact after that.

Log records without a trace belong to their session, and are deleted with it.

Examples:
  spanbridge delete --trace 5b8efff798038103d269b633813fc60c
  spanbridge delete --session support-4711 --yes
  spanbridge delete --session support-4711 --dry-run";

/// Delete traces or sessions for good.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true).args(["traces", "sessions"])))]
pub(super) struct Delete {
    /// Delete this trace, given by its id or the first digits of it. Repeatable.
    #[arg(long = "trace", value_name = "ID", add = complete::traces())]
    traces: Vec<String>,
    /// Delete all traces of this session, and its log records. Repeatable.
    #[arg(long = "session", value_name = "ID", add = complete::sessions())]
    sessions: Vec<String>,
    /// Do not ask.
    #[arg(long, short = 'y')]
    yes: bool,
    /// Only print what would be deleted.
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    #[command(flatten)]
    from: Where,
}

impl Delete {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let wanted = self.wanted()?;
        let place = self.from.open_to_delete()?;
        let mut found = Vec::with_capacity(wanted.len());
        for what in &wanted {
            match place.count(what)? {
                Some(amount) => {
                    out::note(&format!("{}: {}", named(what), in_words(&amount)));
                    found.push(what);
                }
                None => out::note(&format!("there is no {}", named(what))),
            }
        }
        let all_are_there = found.len() == wanted.len();
        if found.is_empty() {
            return Err(Failure::missing("there is nothing to delete"));
        }
        if self.dry_run {
            return Ok(exit_status(all_are_there));
        }
        if !self.yes && !is_confirmed(&place)? {
            out::note("nothing is deleted");
            return Ok(exit_status(false));
        }
        for what in found {
            match place.delete(what)? {
                Some(amount) => out::note(&format!("deleted {}: {}", named(what), in_words(&amount))),
                None => out::note(&format!("{} was deleted meanwhile", named(what))),
            }
        }
        Ok(exit_status(all_are_there))
    }

    /// Beginnings of ids are looked for; that takes the right to read.
    fn wanted(&self) -> Result<Vec<Unwanted>, Failure> {
        let is_whole = |text: &String| TraceId::from_hex(text).is_some();
        let source = match self.traces.iter().all(is_whole) {
            true => None,
            false => Some(self.from.open()?),
        };
        let traces = self.traces.iter().map(|text| match (&source, TraceId::from_hex(text)) {
            (_, Some(id)) => Ok(Unwanted::Trace(id)),
            (Some(source), None) => trace_id(source, text).map(Unwanted::Trace),
            (None, None) => Err(Failure::usage(format!("{text} is not a trace id"))),
        });
        let sessions = self.sessions.iter().map(|session| Ok(Unwanted::Session(session.clone())));
        traces.chain(sessions).collect()
    }
}

fn named(what: &Unwanted) -> String {
    match what {
        Unwanted::Trace(id) => format!("trace {id}"),
        Unwanted::Session(session) => format!("session {}", out::shown(session, 64)),
    }
}

fn in_words(amount: &Amount) -> String {
    let number = |number: u64, one| out::many(usize::try_from(number).unwrap_or(usize::MAX), one);
    format!(
        "{}, {}, {}, {}",
        out::many(amount.traces, "trace"),
        number(amount.spans, "span"),
        number(amount.log_records, "log record"),
        number(amount.bytes, "byte")
    )
}

fn is_confirmed(place: &Deleting) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(
            "standard input is not a terminal: pass --yes to delete, or --dry-run to see what would be deleted",
        ));
    }
    out::note(&format!("delete this from {} for good? Type yes", place.place()));
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|source| Failure::Read {
        path: "standard input".into(),
        source,
    })?;
    Ok(matches!(line.trim(), "y" | "yes"))
}
