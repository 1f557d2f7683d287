//! Sessions: the list, and one as a thread over its runs.

use std::time::Instant;

use maud::{Markup, html};

use super::asking::parameter;
use super::charts::took;
use super::frame::{self, Place};
use super::query::sought;
use super::words::{count, line, many, none, short, status, time};
use crate::formats::FORMATS;
use crate::run::{Run, Utterance};
use crate::store::{Filter, Order, SessionCursor, TraceRow};
use crate::transcript::content;
use crate::view::seeking::Sought;
use crate::view::text::elapsed;
use crate::view::totals::Cost;
use crate::web::allowance::SEARCH_TIMEOUT;
use crate::web::answer::Answer;
use crate::web::listing::Listed;
use crate::web::lists;
use crate::web::reply::Problem;
use crate::web::request::Asked;
use crate::web::service::Web;
use crate::web::sessions::{RUNS, SESSION_SORTS, SessionListed, sort};
use crate::web::url::{add_parameter, percent_encoded};

/// Sessions per page.
const PAGE: usize = 100;

/// Maximum sessions that are sorted.
const SORTED: usize = 1_000;

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

/// The parameters of the list.
#[derive(Debug, Default)]
struct Asking {
    /// Words in a session's name, agent, question or answer.
    words: String,
    /// One of [`SESSION_SORTS`]; empty: latest first.
    sort: String,
    /// Only sessions with a run that failed.
    failed: bool,
    /// The session to compare these with.
    compare: Option<String>,
}

/// The sessions of a page.
#[derive(Debug, Default)]
struct FoundSessions {
    sessions: Vec<SessionListed>,
    next: Option<SessionCursor>,
    /// The search ran out of time here: the start of the last run of the last session examined.
    searched_to: Option<u64>,
}

impl Asking {
    /// The matching sessions. Sorting needs all of them, so it covers the first [`SORTED`].
    fn find(&self, web: &Web, after: Option<SessionCursor>, answer: &mut Answer) -> Result<FoundSessions, Problem> {
        let sought = Sought::of(&self.words);
        let most = if self.sort.is_empty() { PAGE } else { SORTED };
        let given_up = Instant::now() + SEARCH_TIMEOUT;
        let (mut found, mut after) = (FoundSessions::default(), after);
        'pages: loop {
            let rows = web.store.sessions(PAGE, after.as_ref())?;
            let is_last = rows.len() < PAGE;
            for row in rows {
                answer.check()?;
                if found.sessions.len() == most {
                    found.next = after;
                    break 'pages;
                }
                // The first session is always examined, so that continuing makes progress.
                if after.is_some() && Instant::now() > given_up {
                    found.searched_to = Some(row.last_start);
                    found.next = after;
                    break 'pages;
                }
                after = Some(row.cursor());
                let session = lists::session_listed(web, row, answer)?;
                let fits = sought.as_ref().is_none_or(|words| session.has(words));
                if fits && (!self.failed || session.summary.failed_runs > 0) {
                    found.sessions.push(session);
                }
            }
            if is_last {
                break;
            }
        }
        if !self.sort.is_empty() {
            let sorted = sort(&mut found.sessions, SESSION_SORTS, &self.sort);
            sorted.map_err(|known| Problem::invalid(format!("sort={} is not {known}", self.sort)))?;
            found.sessions.truncate(PAGE);
        }
        Ok(found)
    }

    /// The address of the list in another order, or after a session.
    fn address(&self, sort: &str, after: Option<&SessionCursor>) -> String {
        let mut address = if self.compare.is_some() { "/compare/sessions" } else { "/sessions" }.to_owned();
        let after = after.map(lists::cursor_text);
        for (name, value) in [
            ("a", self.compare.as_deref().unwrap_or_default()),
            ("q", &self.words),
            ("sort", sort),
            ("failed", if self.failed { "1" } else { "" }),
            ("after", after.as_deref().unwrap_or_default()),
        ] {
            add_parameter(&mut address, name, value);
        }
        address
    }
}

/// The page of the list. `compare`: the session to compare these with.
pub(crate) fn page(web: &Web, asked: &Asked, compare: Option<&str>, answer: &mut Answer) -> Result<Markup, Problem> {
    answer.reserve_in_all(lists::MEMORY)?;
    let given = |name: &str| parameter(asked, name).map(|text| text.trim().to_owned()).unwrap_or_default();
    let asking = Asking {
        words: sought(given("q"))?,
        sort: given("sort"),
        failed: given("failed") == "1",
        compare: compare.map(str::to_owned),
    };
    let after: Option<SessionCursor> = parameter(asked, "after").map(|text| lists::session_cursor(&text)).transpose()?;
    let found = asking.find(web, after, answer)?;
    Ok(frame::page("Sessions", Place::Sessions, &[], &list(&asking, &found)))
}

/// The columns by which the list can be sorted.
const HEADS: [(&str, &str); 5] = [
    ("Runs", "runs"),
    ("Failed", "failures"),
    ("Tokens", "tokens"),
    ("Cost", "cost"),
    ("Last", "last"),
];

fn list(asking: &Asking, found: &FoundSessions) -> Markup {
    let href = |session: &str| match &asking.compare {
        Some(left) => format!("/compare/sessions?a={}&b={}", percent_encoded(left), percent_encoded(session)),
        None => format!("/sessions/{}", percent_encoded(session)),
    };
    let is_filtered = !asking.words.is_empty() || asking.failed;
    html! {
        h1.vh { "Sessions" }
        @if let Some(left) = &asking.compare { p.tools { "Choose the session that " code { (line(left, 60)) } " is compared with." } }
        form.filters method="get" action=(if asking.compare.is_some() { "/compare/sessions" } else { "/sessions" }) {
            @if let Some(left) = &asking.compare { input type="hidden" name="a" value=(left); }
            div.q { input type="search" name="q" value=(asking.words) placeholder="Search questions, answers, agents and names" aria-label="Search questions, answers, agents and names"; }
            label.btn { input type="checkbox" name="failed" value="1" checked[asking.failed]; " With a failed run" }
            @if !asking.sort.is_empty() { input type="hidden" name="sort" value=(asking.sort); }
            button { "Filter" }
        }
        @if found.sessions.is_empty() {
            div.none-yet {
                @if is_filtered || found.searched_to.is_some() { h2 { "No session fits" } p { a href=(if asking.compare.is_some() { asking.address("", None) } else { "/sessions".to_owned() }) { "All sessions" } } }
                @else { h2 { "No sessions yet" } p { "Runs whose spans name a session are listed here by it." } }
            }
        } @else {
            table.plain {
                thead { tr {
                    th { "First question and last answer" } th { "Agent" }
                    @for (head, sort) in HEADS {
                        @let is_sorted = asking.sort == sort || asking.sort.is_empty() && sort == "last";
                        th.num aria-sort=[is_sorted.then_some("descending")] { a href=(asking.address(sort, None)) { (head) @if sort == "last" { ", " span.zone { "UTC" } } } }
                    }
                } }
                tbody { @for session in &found.sessions { (row(session, &href(&session.session))) } }
            }
        }
        div.pager {
            @if !asking.sort.is_empty() { span { "Sorted among the latest " (SORTED) " sessions." } }
            @if let Some(to) = found.searched_to { span { "Searched back to " (time(to, 0)) " UTC." } }
            @if let Some(next) = &found.next { a href=(asking.address(&asking.sort, Some(next))) { (if found.searched_to.is_some() { "Go on" } else { "Older" }) } }
        }
    }
}

fn row(session: &SessionListed, href: &str) -> Markup {
    let of = &session.summary;
    let tokens = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), short);
    html! {
        tr {
            td.cut.wide {
                a.row href=(href) title=(line(&session.session, 400)) { b { (line(of.question.as_deref().unwrap_or(&session.session), 160)) } }
                @if let Some(answer) = &of.answer { p.asked { (line(answer, 160)) } }
            }
            td { (line(of.agent.as_deref().unwrap_or_default(), 40)) }
            td.num title={ (session.traces) " traces" } { (count(of.runs)) }
            td.num { @if of.failures > 0 { b.bad { (count(of.failures)) } } }
            td.num { @if of.input_tokens.is_some() || of.output_tokens.is_some() { (tokens(of.input_tokens)) " → " (tokens(of.output_tokens)) } }
            td.num { @if let Some(cost) = of.cost() { (cost) } }
            td.num.dim { (time(session.last_start_unix_nano, 0)) }
        }
    }
}

/// One run of a session's thread.
#[derive(Debug)]
pub(crate) struct Hop {
    /// Its entry in a list.
    pub(crate) listed: Listed,
    /// Question and answer.
    pub(crate) said: Option<(Option<String>, Option<String>)>,
}

impl Hop {
    /// Builds it from a run.
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

/// A session. `left_out`: whether runs are not shown.
pub(crate) fn thread(session: &str, hops: &[Hop], left_out: bool) -> Markup {
    let sum = |part: fn(&Listed) -> Option<u64>| hops.iter().filter_map(|hop| part(&hop.listed)).reduce(u64::saturating_add);
    let cost = hops.iter().filter_map(|hop| hop.listed.summary.cost()).reduce(Cost::plus);
    let failed = hops.iter().filter(|hop| hop.listed.summary.status == "error").count();
    let from = hops.iter().map(|hop| hop.listed.start_unix_nano).min().unwrap_or_default();
    let to = hops.iter().map(|hop| hop.listed.end_unix_nano).max().unwrap_or_default();
    let tokens = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), count);
    let mut last_end: Option<u64> = None;
    html! {
        div.runhead {
            div.line {
                nav aria-label="Breadcrumb" { ol.crumbs { li { a href="/sessions" { "Sessions" } } li { h1 title=(super::words::plain(super::words::block_of(session, 2_000))) { (line(session, 120)) } } } }
                div.acts {
                    a.btn.small href={ "/?session=" (percent_encoded(session)) } { "Runs as a list" }
                    a.btn.small href={ "/compare/sessions?a=" (percent_encoded(session)) } { "Compare…" }
                    (copies(session))
                }
            }
            dl.facts {
                div { dt { "Runs" } dd { (hops.len()) @if left_out { "+" } } }
                div { dt { "Failed" } dd { @if failed > 0 { span.bad { (failed) } } @else { "0" } } }
                div { dt { "Over" } dd { (elapsed(to.saturating_sub(from))) } }
                div { dt { "Model calls" } dd { (count(hops.iter().map(|hop| hop.listed.summary.model_calls).sum())) } }
                div { dt { "Tool calls" } dd { (count(hops.iter().map(|hop| hop.listed.summary.tool_calls).sum())) } }
                div { dt { "Tokens" } dd { (tokens(sum(|listed| listed.summary.input_tokens))) " " small { "in" } " · " (tokens(sum(|listed| listed.summary.output_tokens))) " " small { "out" } } }
                div { dt { "Cost" } dd { @match cost { Some(cost) => (cost), None => (none("not recorded")) } } }
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
                        span { (many(summary.model_calls, "model call")) ", " (many(summary.tool_calls, "tool call")) }
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

/// Links to copy and download a session.
fn copies(session: &str) -> Markup {
    let api = format!("/api/v1/sessions/{}", percent_encoded(session));
    html! {
        details.menu {
            summary.btn.small { "Copy" }
            ul {
                li { button data-copy="link" { "Link to this view" } }
                li { button data-copytext=(session) { "Name of the session" } }
                li { button data-copyfrom={ (api) "/markdown" } { "Session as Markdown" span.faint { "for an LLM" } } }
            }
        }
        details.menu {
            summary.btn.small { "Download" }
            ul {
                li { a href={ (api) "/page" } download="session.html" { "One-file HTML" span.faint { "opens from disk" } } }
                li { a href={ (api) "/markdown" } download="session.md" { "Markdown" } }
                @for format in FORMATS { li { a href={ (api) "/" (format.id) } download={ "session." (format.id) ".json" } { (format.id) } } }
            }
        }
    }
}

fn gap(end: u64, start: u64) -> String {
    match start.checked_sub(end) {
        Some(gap) if gap > 0 => format!("{} later", elapsed(gap)),
        _ => "at the same time".to_owned(),
    }
}
