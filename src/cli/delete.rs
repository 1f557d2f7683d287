//! `spanbridge delete`: deletes traces and sessions.

use std::collections::HashSet;
use std::process::ExitCode;

use clap::Args;

use super::complete;
use super::data_set::{EXPRESSIONS, expression};
use super::failure::{Failure, exit_status};
use super::out;
use super::select::trace_id;
use super::source::{Source, Where};
use crate::run::Run;
use crate::span::TraceId;
use crate::store::Unwanted;
use crate::web::Amount;

const EXAMPLES: &str = "\
It prints what it deletes, and asks before it does. When it returns, the bytes are gone: from the log, the index, the index \
of words and the dead letters. Spans that come later for a deleted trace are not stored. What destinations have been sent, and copies of \
the disk, stay as they are: delete there, too.

A running server deletes over its API; its token needs the right `delete`. Without a server, the data directory is changed directly. \
In a bucket it is read no more at once, and each server removes it from its own database within ten polls. Its bytes are gone within 30 minutes \
and one merge of that database; from databases of servers that are gone, at the second store compact after that.

--user and --where read each trace, and delete whole traces. Log records without a trace belong to their session, and are deleted \
with it alone.

Examples:
  spanbridge delete --trace 5b8efff798038103d269b633813fc60c
  spanbridge delete --session support-4711 --yes
  spanbridge delete --user 8f14e45f --dry-run
  spanbridge delete --where 'service = trial and start < 30d'";

/// Delete traces, sessions or what concerns a user for good.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXPRESSIONS}"))]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true).args(["traces", "sessions", "users", "filters"])))]
pub(super) struct Delete {
    /// Delete this trace, given by its id or the first digits of it. Repeatable.
    #[arg(long = "trace", value_name = "ID", add = complete::traces())]
    traces: Vec<String>,
    /// Delete all traces of this session, and its log records. Repeatable.
    #[arg(long = "session", value_name = "ID", add = complete::sessions())]
    sessions: Vec<String>,
    /// Delete all traces in which something was done for this user (`user.id`). Repeatable.
    #[arg(long = "user", value_name = "ID")]
    users: Vec<String>,
    /// Delete all traces whose run this is true for. Repeatable. The end of this help lists fields and operators.
    #[arg(long = "where", value_name = "EXPRESSION")]
    filters: Vec<String>,
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
        let (wanted, all_match) = self.wanted()?;
        let place = self.from.open_to_delete()?;
        let mut found = Vec::with_capacity(wanted.len());
        for what in &wanted {
            match place.to_delete(what)? {
                Some(amount) => {
                    out::note(&format!("{}: {}", named(what), in_words(&amount)));
                    found.push(what);
                }
                None => out::note(&format!("there is no {}", named(what))),
            }
        }
        let all_are_there = found.len() == wanted.len() && all_match;
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

    /// The traces and sessions to delete, without repetitions, and whether each user and each expression matches a trace.
    /// Looking them up, and completing shortened ids, requires the right to read.
    fn wanted(&self) -> Result<(Vec<Unwanted>, bool), Failure> {
        let expressions = self.filters.iter().map(|text| expression("--where", text));
        let expressions = expressions.collect::<Result<Vec<_>, _>>()?;
        let is_whole = |text: &String| TraceId::from_hex(text).is_some();
        let is_known = self.users.is_empty() && self.filters.is_empty() && self.traces.iter().all(is_whole);
        let source = if is_known { None } else { Some(self.from.open()?) };
        let mut traces = Vec::new();
        for text in &self.traces {
            traces.push(match (&source, TraceId::from_hex(text)) {
                (_, Some(id)) => id,
                (Some(source), None) => trace_id(source, text)?,
                (None, None) => return Err(Failure::usage(format!("{text} is not a trace id"))),
            });
        }
        let mut all_match = true;
        let mut add = |what: String, is_wanted: &dyn Fn(&Run) -> bool| -> Result<(), Failure> {
            let found = source.as_ref().map_or(Ok(Vec::new()), |source| source.ids_of_runs(is_wanted))?;
            if found.is_empty() {
                out::note(&format!("there is no trace {what}"));
                all_match = false;
            }
            traces.extend(found);
            Ok(())
        };
        for user in &self.users {
            add(format!("of user {}", out::shown(user, 64)), &|run| concerns(run, user))?;
        }
        for (text, expression) in self.filters.iter().zip(&expressions) {
            add(format!("where {}", out::shown(text, 160)), &|run| expression.matches(run))?;
        }
        let mut seen = HashSet::new();
        traces.retain(|id| seen.insert(*id));
        let sessions = self.sessions.iter().map(|session| Unwanted::Session(session.clone()));
        Ok((traces.into_iter().map(Unwanted::Trace).chain(sessions).collect(), all_match))
    }
}

/// Whether the run or one of its operations was for this user.
fn concerns(run: &Run, user: &str) -> bool {
    let of_steps = run.steps.iter().map(|step| step.operation.user_id.as_deref());
    std::iter::once(run.user_id.as_deref())
        .chain(of_steps)
        .flatten()
        .any(|id| id == user)
}

fn named(what: &Unwanted) -> String {
    match what {
        Unwanted::Trace(id) => format!("trace {id}"),
        Unwanted::Session(session) => format!("session {}", out::shown(session, 64)),
    }
}

fn in_words(amount: &Amount) -> String {
    format!(
        "{}, {}, {}, {}",
        out::many(amount.traces, "trace"),
        out::many(amount.spans, "span"),
        out::many(amount.log_records, "log record"),
        out::many(amount.bytes, "byte")
    )
}

fn is_confirmed(place: &Source) -> Result<bool, Failure> {
    let answer = out::ask(
        &format!("delete this from {} for good? Type yes", place.place()),
        "standard input is not a terminal: pass --yes to delete, or --dry-run to see what would be deleted",
    )?;
    Ok(matches!(answer.as_str(), "y" | "yes"))
}
