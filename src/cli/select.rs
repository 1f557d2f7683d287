//! Selects the traces of a command.

use clap::Args;

use super::failure::Failure;
use super::out::shown;
use super::source::Source;
use super::time::{moment, second};
use crate::dataset::Source as Selected;
use crate::dataset::expression::moment_text;
use crate::formats;
use crate::span::{TraceId, UnixNanos};
use crate::store::{Filter, IdPrefix};
use crate::web::listing::Listed;

/// Which traces.
#[derive(Debug, Clone, Args)]
pub(super) struct Select {
    /// Only traces that started at or after this time: 2026-11-21T10:00:00Z, 2026-11-21, or a duration ago (15m, 2h, 7d).
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<u64>,
    /// Only traces that started before this time.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<u64>,
    /// Only traces in which this service (`service.name`) takes part.
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
}

impl Select {
    pub(super) fn filter(&self) -> Filter {
        Filter {
            since: self.since,
            until: self.until,
            service: self.service.clone(),
            ..Filter::default()
        }
    }

    /// The same, for the manifest of a data set.
    pub(super) fn source(&self) -> Selected {
        let text = |at: Option<u64>| at.map(|at| moment_text(UnixNanos(at)));
        Selected {
            since: text(self.since),
            until: text(self.until),
            service: self.service.clone(),
            ..Selected::default()
        }
    }
}

/// The trace with this id, or with an id that begins with it.
pub(super) fn trace_id(source: &Source, text: &str) -> Result<TraceId, Failure> {
    if let Some(id) = TraceId::from_hex(text) {
        return Ok(id);
    }
    if let Some(id) = of_name(source, text)? {
        return Ok(id);
    }
    let id = IdPrefix::parse(text).filter(|_| text.len() >= 4);
    if id.is_none() {
        return Err(Failure::usage(format!(
            "{text} is not a trace id, and no run or session has that name; pass 32 hexadecimal digits or at least the first 4 (`spanbridge ls` lists them)"
        )));
    }
    let found = source.bare(&Filter { id, ..Filter::default() })?;
    match found.as_slice() {
        [one] => TraceId::from_hex(&one.trace_id).ok_or_else(|| Failure::missing(format!("{} is not a trace id", one.trace_id))),
        [] => Err(Failure::missing(format!(
            "no trace id starts with {text}; `spanbridge ls` lists the traces"
        ))),
        [_, ..] => Err(Failure::usage(ambiguous(
            &format!("trace ids start with {text}; pass more digits"),
            &found,
        ))),
    }
}

/// The trace with this name, from the document or blocks it was imported from.
fn of_name(source: &Source, text: &str) -> Result<Option<TraceId>, Failure> {
    for id in formats::ids_of_name(text) {
        if source.has(id)? {
            return Ok(Some(id));
        }
    }
    // Digits are first looked up among the ids: examining what agents did in all traces takes longer.
    if text.len() >= 4 && text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let named = |listed: &Listed| listed.summary.name.as_deref() == Some(text);
    let found = source.list_where(&Filter::default(), true, &named)?;
    match found.as_slice() {
        [] => of_session(source, text),
        [one] => Ok(TraceId::from_hex(&one.trace_id)),
        several => Err(Failure::usage(ambiguous(
            &format!("traces are called {text}; pass the id of one"),
            several,
        ))),
    }
}

/// The only trace of a session with this name.
fn of_session(source: &Source, text: &str) -> Result<Option<TraceId>, Failure> {
    let filter = Filter {
        session: Some(text.to_owned()),
        ..Filter::default()
    };
    match source.ids(&filter)?.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        several => Err(Failure::usage(format!(
            "{text} is a session of {} traces; `spanbridge show --session {text}` shows it, and `spanbridge ls --session {text}` lists them",
            several.len()
        ))),
    }
}

/// Maximum traces listed for an ambiguous prefix.
const CANDIDATES: usize = 10;

fn ambiguous(what: &str, found: &[Listed]) -> String {
    let mut message = format!("{} {what}:", found.len());
    for listed in found.iter().take(CANDIDATES) {
        let name = listed.root.as_deref().or(listed.service.as_deref()).unwrap_or("-");
        let (id, started) = (shown(&listed.trace_id, 32), second(UnixNanos(listed.start_unix_nano)));
        message.push_str(&format!("\n  {id}  {started}  {}", shown(name, 32)));
    }
    if let Some(more) = found.len().checked_sub(CANDIDATES).filter(|more| *more > 0) {
        message.push_str(&format!("\n  and {more} more"));
    }
    message
}
