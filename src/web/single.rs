//! One trace or one session: its spans and documents.

use std::io::Write as _;
use std::sync::Arc;

use super::allowance::Allowance;
use super::answer::Answer;
use super::cost::{self, Purpose};
use super::places::Places;
use super::readers::Refusal;
use super::reply::{Outcome, Problem};
use super::request::{Asked, number};
use super::runs::{BuildResult, Built};
use super::service::Web;
use super::url::query_pairs;
use crate::documents;
use crate::formats::openreward::written;
use crate::formats::{AnyFormat, Options, Sequence};
use crate::run::Run;
use crate::span::{TraceId, UnixNanos, json};
use crate::store::{self, ChunkKind, Error, Filter, Order, Store, Stored, TraceRow, Unwanted};

/// A message that is repeated in a document takes this many times its size, in the document and in the response.
const WHOLE_INPUTS: usize = 3;

/// Memory for each trace of a session, however small.
const TRACE: usize = 16 << 10;

pub(crate) fn trace_id(text: &str) -> Result<TraceId, Problem> {
    // `tr_` begins the names that clients give to traces of blocks.
    let named = || text.starts_with("tr_").then(|| written::trace_id_of(text));
    TraceId::from_hex(text)
        .or_else(named)
        .ok_or_else(|| Problem::invalid(format!("{text} is not a trace id: expected 32 hexadecimal digits, not all zero")))
}

/// Why there is no such trace or session.
pub(crate) fn missing(web: &Web, what: &Unwanted) -> Problem {
    let name = match what {
        Unwanted::Trace(id) => format!("trace {id}"),
        Unwanted::Session(session) => format!("session {session}"),
    };
    match web.store.deleted(what) {
        Ok(Some(before)) => Problem::deleted(&name, before),
        Ok(None) => Problem::not_found(format!("there is no {name}")),
        Err(error) => error.into(),
    }
}

/// The row of a trace in the index.
pub(crate) fn row(web: &Web, id: TraceId) -> Result<TraceRow, Problem> {
    web.store.row(id)?.ok_or_else(|| missing(web, &Unwanted::Trace(id)))
}

/// Why a trace was not read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// Reading it is not allowed at the moment, or not at all.
    Refused(Refusal),
    /// The store cannot read it.
    Store(Error),
}

impl From<Refusal> for Unread {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Unread> for Problem {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Refused(refusal) => refusal.into(),
            Unread::Store(error) => error.into(),
        }
    }
}

/// Reads the store within the memory limit: `read` gets a function that reserves bytes, and whose failure stops the reading.
pub(crate) fn within<T>(
    answer: &mut Allowance,
    read: impl FnOnce(&mut dyn FnMut(usize) -> Result<(), Error>) -> Result<T, Error>,
) -> Result<T, Unread> {
    let mut refusal: Option<Refusal> = None;
    let read = read(&mut |bytes| {
        answer.reserve(bytes).map_err(|refused| {
            refusal = Some(refused);
            Error::Cancelled
        })
    });
    match (read, refusal) {
        (Err(_), Some(refusal)) => Err(refusal.into()),
        (read, _) => read.map_err(Unread::Store),
    }
}

/// All of one trace, within the memory limit. `bytes`: size of everything read for this request.
fn stored(store: &dyn Store, id: TraceId, bytes: u64, purpose: Purpose, answer: &mut Allowance) -> Result<Option<Stored>, Unread> {
    let is_small = cost::of_small(bytes).is_some();
    within(answer, |reserve| {
        store.read_trace_while(id, &mut |kind, message| {
            // Records that belong only to the session are not part of the trace's size.
            let is_counted = is_small && kind != ChunkKind::LooseLogs;
            reserve(if is_counted { 0 } else { cost::of_chunk(kind, message, purpose) })
        })
    })
}

/// The same for a single trace; `None`: there is none.
pub(crate) fn stored_alone(store: &dyn Store, id: TraceId, purpose: Purpose, answer: &mut Allowance) -> Result<Option<Stored>, Unread> {
    let Some(row) = store.row(id).map_err(Unread::Store)? else {
        return Ok(None);
    };
    answer.reserve(cost::of_small(row.bytes).unwrap_or_default())?;
    stored(store, id, row.bytes, purpose, answer)
}

/// The spans and log records of a trace as received.
pub(crate) fn stored_of(web: &Web, id: TraceId, answer: &mut Answer) -> Result<Stored, Problem> {
    let stored = stored_alone(&*web.store, id, Purpose::Spans, answer)?;
    stored.ok_or_else(|| missing(web, &Unwanted::Trace(id)))
}

/// Writes one object with both signals, which `convert` can read.
pub(crate) fn trace(web: &Web, id: String, _: &Asked, answer: &mut Answer) -> Outcome {
    let stored = stored_of(web, trace_id(&id)?, answer)?;
    Ok(json::write_trace(&stored.spans, &stored.logs, &stored.damaged, answer)?)
}

/// The parameters of a request for documents.
pub(crate) struct Wanted {
    pub(crate) options: Options,
    sequence: Sequence,
    /// Whether to accept what is left of a damaged trace.
    damaged: bool,
    filter: Filter,
}

impl Wanted {
    pub(crate) fn of(web: &Web, asked: &Asked, is_session: bool) -> Result<Self, Problem> {
        let mut chosen = Vec::new();
        let mut wanted = Self {
            options: Options::default(),
            sequence: if asked.accepts_lines() {
                Sequence::Lines
            } else {
                Sequence::OneOrArray
            },
            damaged: false,
            filter: Filter::default(),
        };
        for (name, value) in query_pairs(asked.query()) {
            let time = || number(&name, &value);
            match (name.as_str(), value.as_str()) {
                ("documents", "array") => wanted.sequence = Sequence::Array,
                ("documents", "ndjson") => wanted.sequence = Sequence::Lines,
                ("documents", _) => return Err(Problem::invalid(format!("documents={value} is not array or ndjson"))),
                ("damaged", "allow") => wanted.damaged = true,
                ("damaged", _) => return Err(Problem::invalid(format!("damaged={value} is not allow"))),
                ("since", _) if is_session => wanted.filter.since = Some(time()?),
                ("until", _) if is_session => wanted.filter.until = Some(time()?),
                // Names of format options contain a dot.
                (own, _) if own.contains('.') => chosen.push((name, value)),
                _ => {
                    let more = if is_session {
                        ", since, until (nanoseconds since 1970)"
                    } else {
                        ""
                    };
                    return Err(Problem::invalid(format!(
                        "there is no parameter {name}; the parameters are documents, damaged{more}, and options of formats"
                    )));
                }
            }
        }
        let chosen = Options::of(chosen).map_err(|error| Problem::invalid(error.to_string()))?;
        wanted.options = web.options.clone().with(chosen);
        Ok(wanted)
    }

    /// Fails if the trace is damaged on disk, unless what is left is accepted.
    pub(crate) fn check(&self, id: TraceId, damaged: &[String]) -> Result<(), Problem> {
        match damaged {
            [first, more @ ..] if !self.damaged => Err(Problem::damaged(format!(
                "trace {id} is damaged: {first}{}; check the disk and restore the segment from a backup (spanbridge doctor), or ask \
                 for the rest: damaged=allow",
                if more.is_empty() {
                    String::new()
                } else {
                    format!(", and {} more places", more.len())
                }
            ))),
            _ => Ok(()),
        }
    }

    fn write(&self, format: &AnyFormat, runs: &[Run], answer: &mut Answer) -> Outcome {
        if self.sequence == Sequence::Lines {
            answer.of_type("application/x-ndjson");
        }
        answer.reserve(cost_of_writing(runs, format))?;
        documents::write(runs, format, &self.options, self.sequence, answer)?;
        Ok(answer.flush()?)
    }
}

/// Further memory needed to build and write a document of these runs.
pub(crate) fn cost_of_writing(runs: &[Run], format: &AnyFormat) -> usize {
    let repeated = runs.iter().map(Run::repeated_bytes).fold(0, usize::saturating_add);
    if format.whole_inputs {
        repeated.saturating_mul(WHOLE_INPUTS)
    } else {
        0
    }
}

/// The current run of a trace, built once for each revision.
pub(crate) fn built(web: &Web, row: &TraceRow, answer: &mut Allowance) -> Result<Arc<Built>, Problem> {
    let id = row.trace_id;
    web.runs.get(id, row.revision, answer, |answer| {
        answer.reserve(cost::of_small(row.bytes).unwrap_or_default())?;
        let stored = stored(&*web.store, id, row.bytes, Purpose::Document, answer)?;
        let stored = stored.ok_or_else(|| missing(web, &Unwanted::Trace(id)))?;
        answer.check()?;
        let places = Places::of(&stored, web.store.chunks_of(id).unwrap_or_default());
        answer.reserve(places.bytes())?;
        let runs = web.vocabulary.stored_runs(stored.spans, stored.logs, UnixNanos(store::now()));
        Ok(BuildResult {
            run: runs.into_iter().next(),
            damaged: stored.damaged,
            places,
        })
    })
}

/// The same; `None`: reading it takes more memory than there is.
pub(crate) fn built_if_it_fits(web: &Web, row: &TraceRow, answer: &mut Allowance) -> Result<Option<Arc<Built>>, Problem> {
    match built(web, row, answer) {
        Err(problem) if problem.is_too_large() => Ok(None),
        built => built.map(Some),
    }
}

/// The run for a document; fails unless an agent did something in the run.
pub(crate) fn run_of(web: &Web, id: TraceId, wanted: &Wanted, answer: &mut Answer) -> Result<Arc<Built>, Problem> {
    let built = built(web, &row(web, id)?, answer)?;
    wanted.check(id, &built.damaged)?;
    match built.work() {
        Some(_) => Ok(built),
        None => Err(Problem::not_found(match built.run.as_ref().and_then(Run::told_by_session) {
            Some(session) => format!("trace {id} has no document: what it did is told by other runs of the session {session}"),
            None => format!("trace {id} has no agent operations, so it has no document"),
        })),
    }
}

pub(crate) fn format_of(id: &str) -> Result<&'static AnyFormat, Problem> {
    documents::format(id).map_err(|unknown| Problem::not_found(unknown.to_string()))
}

pub(crate) fn trace_document(web: &Web, (id, format): (String, String), asked: &Asked, answer: &mut Answer) -> Outcome {
    let format = format_of(&format)?;
    let wanted = Wanted::of(web, asked, false)?;
    let built = run_of(web, trace_id(&id)?, &wanted, answer)?;
    wanted.write(format, built.work().map_or(&[], std::slice::from_ref), answer)
}

pub(crate) fn session_document(web: &Web, (session, format): (String, String), asked: &Asked, answer: &mut Answer) -> Outcome {
    let format = format_of(&format)?;
    let wanted = Wanted::of(web, asked, true)?;
    let runs = runs_of_session(web, &session, &wanted, answer)?;
    wanted.write(format, &runs, answer)
}

/// The runs of a session with agent work, oldest first; at least one.
pub(crate) fn runs_of_session(web: &Web, session: &str, wanted: &Wanted, answer: &mut Answer) -> Result<Vec<Run>, Problem> {
    let most = answer.most_bytes() / TRACE;
    let filter = Filter {
        session: Some(session.to_owned()),
        order: Order::OldestFirst,
        limit: Some(most + 1),
        ..wanted.filter.clone()
    };
    let rows = web.store.list(&filter)?;
    let unwanted = Unwanted::Session(session.to_owned());
    if rows.is_empty() {
        return Err(missing(web, &unwanted));
    }
    let deleted = web.store.deleted(&unwanted)?;
    answer.lacks_traces(deleted.map_or(0, |deleted| deleted.traces));
    let bytes = rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.bytes));
    let small = cost::of_small(bytes).unwrap_or_default();
    // Refuse what can never fit before reading any of it.
    let least = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_mul(4).max(small);
    answer.can_reserve(least.saturating_add(rows.len().saturating_mul(TRACE)))?;
    answer.reserve(small.saturating_add(rows.len().saturating_mul(TRACE)))?;
    let mut all = Stored::default();
    for row in &rows {
        let stored = stored(&*web.store, row.trace_id, bytes, Purpose::Document, answer)?.unwrap_or_default();
        wanted.check(row.trace_id, &stored.damaged)?;
        all.spans.extend(stored.spans);
        all.logs.extend(stored.logs);
    }
    drop(rows);
    answer.check()?;
    let mut runs = web.vocabulary.stored_runs(all.spans, all.logs, UnixNanos(store::now()));
    runs.retain(Run::has_agent_work);
    if runs.is_empty() {
        return Err(Problem::not_found(format!(
            "session {session} has no agent operations, so it has no document"
        )));
    }
    Ok(runs)
}
