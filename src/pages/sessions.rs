//! Sessions: the list, and one as a thread over its runs.

use maud::{Markup, html};

use super::charts::took;
use super::words::{count, line, many, none, short, status, time};
use crate::run::{Run, Utterance};
use crate::store::SessionRow;
use crate::transcript::content;
use crate::view::text::{dollars, elapsed};
use crate::web::listing::Listed;
use crate::web::url::percent_encoded;

/// The list. `next`: the address of the next page.
pub(crate) fn list(rows: &[SessionRow], next: Option<&str>) -> Markup {
    html! {
        h1.vh { "Sessions" }
        @if rows.is_empty() { div.none-yet { h2 { "No sessions yet" } p { "Runs whose spans name a session are listed here by it." } } } @else {
            table.plain {
                thead { tr { th { "Session" } th.num { "Runs" } th { "First, " span.zone { "UTC" } } th { "Last, " span.zone { "UTC" } } th.num { "Over" } } }
                tbody {
                    @for row in rows {
                        tr {
                            td.cut { a.row href={ "/sessions/" (percent_encoded(&row.session)) } { b { (line(&row.session, 120)) } } }
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
    /// What a run says.
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
                div.acts { a.btn.small href={ "/?session=" (percent_encoded(session)) } { "Runs as a list" } }
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
