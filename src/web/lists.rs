//! Lists of traces and of sessions, page by page.

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::listing::{self, Listed, Summary};
use super::reply::{Outcome, Problem};
use super::request::{Asked, number};
use super::service::Web;
use super::sessions::{SessionListed, SessionSummary};
use super::single;
use super::url::{percent_decoded, percent_encoded, query_pairs};
use crate::span::TraceId;
use crate::store::{Filter, IdPrefix, Order, SessionCursor, SessionRow, TraceCursor, TraceRow, Unwanted};

/// Default length of a list.
const DEFAULT_LENGTH: usize = 50;
/// Maximum length of a list.
const MAX_LENGTH: usize = 1_000;
/// Maximum bytes of names in a list, since they may be long.
pub(crate) const NAME_BYTES: usize = 1 << 20;
/// Memory for building a list.
pub(crate) const MEMORY: usize = 8 << 20;

fn limit(value: &str) -> Result<usize, Problem> {
    match usize::try_from(number("limit", value)?) {
        Ok(limit @ 1..=MAX_LENGTH) => Ok(limit),
        _ => Err(Problem::invalid(format!(
            "limit={value} is not 1 to {MAX_LENGTH}; for further traces, set `after` to the `next` of the answer"
        ))),
    }
}

/// Parses the first digits of an id.
fn id(digits: &str) -> Result<IdPrefix, Problem> {
    IdPrefix::parse(digits).ok_or_else(|| Problem::invalid(format!("id={digits} is not 32 hexadecimal digits, or the first of them")))
}

pub(crate) fn traces(web: &Web, (): (), asked: &Asked, answer: &mut Answer) -> Outcome {
    let mut filter = Filter {
        limit: Some(DEFAULT_LENGTH),
        name_bytes: Some(NAME_BYTES),
        ..Filter::default()
    };
    let mut summaries = true;
    for (name, value) in query_pairs(asked.query()) {
        match name.as_str() {
            "service" => filter.service = Some(value),
            "session" => filter.session = Some(value),
            "id" => filter.id = Some(id(&value)?),
            "since" => filter.since = Some(number(&name, &value)?),
            "until" => filter.until = Some(number(&name, &value)?),
            "summary" => summaries = value != "no",
            "order" => filter.order = order(&value)?,
            "limit" => filter.limit = Some(limit(&value)?),
            "after" => filter.after = Some(trace_cursor(&value)?),
            _ => {
                return Err(Problem::invalid(format!(
                    "there is no parameter {name}; the parameters are service, session, id, since, until (nanoseconds since 1970), order, limit, after, summary"
                )));
            }
        }
    }
    let pages = filter.order != Order::LatestArrivalFirst;
    if filter.after.is_some() && !pages {
        return Err(Problem::invalid("order=arrival has no pages, so it takes no `after`".to_owned()));
    }
    answer.reserve_in_all(MEMORY)?;
    let rows = web.store.list(&filter)?;
    let mut full = pages && (rows.len() >= filter.limit.unwrap_or(MAX_LENGTH) || names(&rows) >= NAME_BYTES);
    let (mut next, mut bytes) = (None, 0);
    let mut traces = Vec::with_capacity(rows.len());
    for row in rows {
        answer.check()?;
        if bytes >= NAME_BYTES {
            full = pages;
            break;
        }
        next = Some(row.cursor().to_string());
        let listed = if summaries {
            listed(web, row, answer)?
        } else {
            listing::with_summary(row, Summary::default())
        };
        bytes += listed.names();
        traces.push(listed);
    }
    let next = next.filter(|_| full);
    let lost: u64 = web.store.lost().iter().map(|lost| lost.records).sum();
    let deleted = filter
        .session
        .map(|session| web.store.deleted(&Unwanted::Session(session)))
        .transpose()?;
    let deleted = deleted.flatten().map_or(0, |deleted| deleted.traces);
    answer.json(&TracePage {
        traces,
        next,
        lost_records: lost,
        deleted_traces: deleted,
    })
}

/// A page of the list. Losses and deletions are included if there are any.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct TracePage {
    pub(crate) traces: Vec<Listed>,
    /// Where the next page begins.
    pub(crate) next: Option<String>,
    /// Number of acknowledged records that are lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) lost_records: u64,
    /// Number of the requested session's traces that were deleted on request.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) deleted_traces: u64,
}

/// A page of the list of sessions.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SessionPage {
    pub(crate) sessions: Vec<SessionListed>,
    /// Where the next page begins.
    pub(crate) next: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn order(value: &str) -> Result<Order, Problem> {
    match value {
        "newest" => Ok(Order::NewestFirst),
        "oldest" => Ok(Order::OldestFirst),
        "arrival" => Ok(Order::LatestArrivalFirst),
        _ => Err(Problem::invalid(format!("order={value} is not newest, oldest or arrival"))),
    }
}

pub(crate) fn names(rows: &[TraceRow]) -> usize {
    let names = rows.iter().flat_map(|row| [&row.root, &row.service, &row.session]);
    names.flatten().map(String::len).sum()
}

fn trace_cursor(text: &str) -> Result<TraceCursor, Problem> {
    TraceCursor::parse(text).ok_or_else(|| Problem::invalid(format!("after={text} is not the `next` of an answer")))
}

/// The index entry of a trace that may take long to read and has no stored summary; `None`: it has one, or is quick to read.
pub(crate) fn unread(web: &Web, row: &TraceRow, most: u64) -> Result<Option<Listed>, Problem> {
    if row.bytes <= most || listing::kept(&*web.store, &web.vocabulary, row)?.is_some() {
        return Ok(None);
    }
    let summary = Summary {
        status: "unread".to_owned(),
        agent_work: true,
        ..Summary::default()
    };
    Ok(Some(listing::with_summary(row.clone(), summary)))
}

/// The row of a listed trace, if it is still there.
pub(crate) fn row_of(web: &Web, listed: &Listed) -> Result<Option<TraceRow>, Problem> {
    let id = TraceId::from_hex(&listed.trace_id);
    Ok(id.map_or(Ok(None), |id| web.store.row(id))?)
}

/// Adds what the agent did. The memory for this is released before the next trace.
pub(crate) fn listed(web: &Web, row: TraceRow, answer: &mut Answer) -> Result<Listed, Problem> {
    if let Some(summary) = listing::kept(&*web.store, &web.vocabulary, &row)? {
        web.facets.put(&row, &summary);
        return Ok(listing::with_summary(row, summary));
    }
    let built = single::built_if_it_fits(web, &row, answer);
    answer.shrink_to(MEMORY);
    let summary = match built? {
        None => Summary::too_large(),
        Some(built) => {
            let summary = built.run.as_ref().map(Summary::of).unwrap_or_default();
            if built.is_settled() {
                listing::keep(&*web.store, &row, &summary);
                web.facets.put(&row, &summary);
            }
            summary
        }
    };
    Ok(listing::with_summary(row, summary))
}

pub(crate) fn sessions(web: &Web, (): (), asked: &Asked, answer: &mut Answer) -> Outcome {
    let (mut most, mut after, mut summaries) = (DEFAULT_LENGTH, None, true);
    for (name, value) in query_pairs(asked.query()) {
        match name.as_str() {
            "limit" => most = limit(&value)?,
            "after" => after = Some(session_cursor(&value)?),
            "summary" => summaries = value != "no",
            _ => {
                return Err(Problem::invalid(format!(
                    "there is no parameter {name}; the parameters are limit, after, summary"
                )));
            }
        }
    }
    answer.reserve_in_all(MEMORY)?;
    let mut rows = web.store.sessions(most, after.as_ref())?;
    let mut full = rows.len() >= most;
    let mut bytes = 0;
    if let Some(last) = rows.iter().position(|row| {
        bytes += row.session.len();
        bytes >= NAME_BYTES
    }) {
        full |= last + 1 < rows.len();
        rows.truncate(last + 1);
    }
    let next = rows.last().filter(|_| full).map(|row| cursor_text(&row.cursor()));
    let mut sessions = Vec::with_capacity(rows.len());
    for row in rows {
        sessions.push(if summaries {
            session_listed(web, row, answer)?
        } else {
            SessionListed::bare(row)
        });
    }
    answer.json(&SessionPage { sessions, next })
}

/// A session, with what its runs did.
pub(crate) fn session_listed(web: &Web, row: SessionRow, answer: &mut Answer) -> Result<SessionListed, Problem> {
    let mut session = SessionListed::bare(row);
    let mut runs = Vec::new();
    for row in web.store.list(&session.runs())? {
        answer.check()?;
        runs.push(listed(web, row, answer)?);
    }
    session.summary = SessionSummary::of(&runs);
    Ok(session)
}

/// A place in the list of sessions, as `next` and `after` have it.
pub(crate) fn cursor_text(SessionCursor { last_start, session }: &SessionCursor) -> String {
    format!("{last_start}.{}", percent_encoded(session))
}

pub(crate) fn session_cursor(text: &str) -> Result<SessionCursor, Problem> {
    let parsed = text.split_once('.').and_then(|(last_start, session)| {
        Some(SessionCursor {
            last_start: last_start.parse().ok()?,
            session: percent_decoded(session)?,
        })
    });
    parsed.ok_or_else(|| Problem::invalid(format!("after={text} is not the `next` of an answer")))
}
