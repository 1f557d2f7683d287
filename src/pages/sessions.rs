//! Sessions: the list, and one as a thread over its runs.

use maud::{Markup, html};

use super::asking::parameter;
use super::charts::took;
use super::frame::{self, Place};
use super::words::{count, line, many, none, short, status, time};
use crate::run::{Run, Utterance};
use crate::store::{Filter, Order, SessionCursor, SessionRow, TraceRow};
use crate::transcript::content;
use crate::view::text::{dollars, elapsed};
use crate::web::answer::Answer;
use crate::web::listing::Listed;
use crate::web::lists;
use crate::web::reply::Problem;
use crate::web::request::Asked;
use crate::web::service::Web;
use crate::web::url::percent_encoded;

/// Sessions on one page.
const PAGE: usize = 100;

/// Runs of a session that a page reads.
const RUNS: usize = 200;

/// The first runs of a session, and whether there are more.
pub(super) fn runs(web: &Web, session: &str) -> Result<(Vec<TraceRow>, bool), Problem> {
    let filter = Filter {
        session: Some(session.to_owned()),
        order: Order::OldestFirst,
        limit: Some(RUNS + 1),
        ..Filter::default()
    };
    let mut rows = web.store.list(&filter)?;
    if rows.is_empty() {
        return Err(Problem::not_found(format!("there is no session {session}")));
    }
    let are_more = rows.len() > RUNS;
    rows.truncate(RUNS);
    Ok((rows, are_more))
}

/// The page of the list. `compare`: the session that these would be compared with.
pub(crate) fn page(web: &Web, asked: &Asked, compare: Option<&str>, answer: &mut Answer) -> Result<Markup, Problem> {
    answer.reserve_in_all(lists::MEMORY)?;
    let after: Option<SessionCursor> = parameter(asked, "after").map(|text| lists::session_cursor(&text)).transpose()?;
    let rows = web.store.sessions(PAGE, after.as_ref())?;
    let path = match compare {
        Some(session) => format!("/compare/sessions?a={}&", percent_encoded(session)),
        None => "/sessions?".to_owned(),
    };
    let last = rows.last().filter(|_| rows.len() == PAGE);
    let next = last.map(|row| format!("{path}after={}.{}", row.last_start, percent_encoded(&percent_encoded(&row.session))));
    Ok(frame::page(
        "Sessions",
        Place::Sessions,
        &[],
        &list(&rows, next.as_deref(), compare),
    ))
}

fn list(rows: &[SessionRow], next: Option<&str>, compare: Option<&str>) -> Markup {
    let href = |session: &str| match compare {
        Some(left) => format!("/compare/sessions?a={}&b={}", percent_encoded(left), percent_encoded(session)),
        None => format!("/sessions/{}", percent_encoded(session)),
    };
    html! {
        h1.vh { "Sessions" }
        @if let Some(left) = compare { p.tools { "Choose the session that " code { (line(left, 60)) } " is compared with." } }
        @if rows.is_empty() { div.none-yet { h2 { "No sessions yet" } p { "Runs whose spans name a session are listed here by it." } } } @else {
            table.plain {
                thead { tr { th { "Session" } th.num { "Runs" } th { "First, " span.zone { "UTC" } } th { "Last, " span.zone { "UTC" } } th.num { "Over" } } }
                tbody {
                    @for row in rows {
                        tr {
                            td.cut { a.row href=(href(&row.session)) { b { (line(&row.session, 120)) } } }
                            td.num { (count(row.traces)) }
                            td.dim { (time(row.start, 0)) }
                            td.dim { (time(row.last_start, 0)) }
                            td.num { (elapsed(row.end.saturating_sub(row.start))) }
                        }
                    }
                }
            }
        }
        @if let Some(next) = next { div.pager { a href=(next) { "Older" } } }
    }
}

/// One run of a session's thread.
#[derive(Debug)]
pub(crate) struct Hop {
    /// What the index knows.
    pub(crate) listed: Listed,
    /// What was asked, and answered.
    pub(crate) said: Option<(Option<String>, Option<String>)>,
}

impl Hop {
    /// The summary of a run.
    pub(crate) fn of(listed: Listed, run: Option<&Run>) -> Self {
        let words = |said: &Option<Utterance>| {
            said.as_ref()
                .map(|said| super::words::beginning(&content::text(&said.content), 4_000).0)
        };
        Self {
            said: run.map(|run| (words(&run.question), words(&run.answer))),
            listed,
        }
    }
}

/// A session. `left_out`: runs that are not shown.
pub(crate) fn thread(session: &str, hops: &[Hop], left_out: bool) -> Markup {
    let sum = |part: fn(&Listed) -> Option<u64>| hops.iter().filter_map(|hop| part(&hop.listed)).reduce(u64::saturating_add);
    let cost = hops
        .iter()
        .filter_map(|hop| hop.listed.summary.cost_usd)
        .reduce(|one, other| one + other);
    let failed = hops.iter().filter(|hop| hop.listed.summary.status == "error").count();
    let from = hops.iter().map(|hop| hop.listed.start_unix_nano).min().unwrap_or_default();
    let to = hops.iter().map(|hop| hop.listed.end_unix_nano).max().unwrap_or_default();
    let tokens = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), count);
    let mut last_end: Option<u64> = None;
    html! {
        div.runhead {
            div.line {
                nav aria-label="Breadcrumb" { ol.crumbs { li { a href="/sessions" { "Sessions" } } li { h1 title=(super::words::plain(super::words::block_of(session, 2_000))) { (line(session, 120)) } } } }
                div.acts { a.btn.small href={ "/?session=" (percent_encoded(session)) } { "Runs as a list" } a.btn.small href={ "/compare/sessions?a=" (percent_encoded(session)) } { "Compare…" } }
            }
            dl.facts {
                div { dt { "Runs" } dd { (hops.len()) @if left_out { "+" } } }
                div { dt { "Failed" } dd { @if failed > 0 { span.bad { (failed) } } @else { "0" } } }
                div { dt { "Over" } dd { (elapsed(to.saturating_sub(from))) } }
                div { dt { "Model calls" } dd { (count(hops.iter().map(|hop| hop.listed.summary.model_calls).sum())) } }
                div { dt { "Tool calls" } dd { (count(hops.iter().map(|hop| hop.listed.summary.tool_calls).sum())) } }
                div { dt { "Tokens" } dd { (tokens(sum(|listed| listed.summary.input_tokens))) " " small { "in" } " · " (tokens(sum(|listed| listed.summary.output_tokens))) " " small { "out" } } }
                div { dt { "Cost" } dd { @match cost { Some(cost) => (dollars(cost)), None => (none("not recorded")) } } }
            }
        }
        div.thread {
            @for (at, hop) in hops.iter().enumerate() {
                @let listed = &hop.listed;
                @if let Some(end) = last_end { p.gap { (gap(end, listed.start_unix_nano)) } }
                @let summary = &listed.summary;
                article.hop {
                    div.by {
                        h2 { a href={ "/runs/" (listed.trace_id) } { (line(summary.agent.as_deref().or(listed.root.as_deref()).unwrap_or("not named"), 80)) } }
                        @if summary.status != "ok" { (status(&summary.status, false)) }
                        span { "run " (at + 1) }
                        span { (time(listed.start_unix_nano, 0)) }
                        @if let Some(took) = took(listed) { span { (elapsed(took)) } }
                        span { (many(usize::try_from(summary.model_calls).unwrap_or(usize::MAX), "model call")) ", " (many(usize::try_from(summary.tool_calls).unwrap_or(usize::MAX), "tool call")) }
                        @if let Some(input) = summary.input_tokens { span { (short(input)) " in" @if let Some(output) = summary.output_tokens { ", " (short(output)) " out" } } }
                        a.r8 href={ "/runs/" (listed.trace_id) "/conversation" } { "Conversation" }
                    }
                    @match &hop.said {
                        Some((asked, answered)) => {
                            div.msg.user { div.who { "asked" } div.txt { @match asked { Some(asked) => (asked), None => (none("no question was recorded")) } } }
                            div.msg.assistant { div.who { "answered" } div.txt { @match answered { Some(answered) => (answered), None => (none("no answer was recorded")) } } }
                        },
                        None => div.msg { div.who {} div.none { "This run takes more memory than reading may." } },
                    }
                }
                ({ last_end = Some(listed.end_unix_nano); "" })
            }
            @if left_out { p.none-yet { "More runs: " a href={ "/?session=" (percent_encoded(session)) "&order=oldest" } { "all as a list" } } }
        }
    }
}

fn gap(end: u64, start: u64) -> String {
    match start.checked_sub(end) {
        Some(gap) if gap > 0 => format!("{} later", elapsed(gap)),
        _ => "at the same time".to_owned(),
    }
}
