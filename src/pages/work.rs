//! Where time, tokens and cost went: a table by tool, model, agent and kind of step, of a run or of the runs of a list.

use std::time::Instant;

use maud::{Markup, html};

use super::asking::parameter;
use super::each::{ReadProgress, each_run};
use super::frame::{self, Place};
use super::load::Loaded;
use super::query::Query;
use super::words::{count, line, many, time};
use crate::view::text::elapsed;
use crate::view::totals::BY;
use crate::web::allowance::SEARCH_TIMEOUT;
use crate::web::answer::Answer;
use crate::web::reply::Problem;
use crate::web::request::Asked;
use crate::web::service::Web;
use crate::web::sessions::sort;
use crate::web::work::{SHARE_SORTS, Share, Shares};

/// Maximum rows of a table.
const ROWS: usize = 60;

/// The page for one run.
pub(super) fn of_run(web: &Web, id: String, asked: &Asked, answer: &mut Answer) -> Result<Markup, Problem> {
    let loaded = Loaded::of(web, &id, answer)?;
    let mut shares = [(); BY.len()].map(|()| Shares::default());
    for ((_, by), shares) in BY.iter().zip(&mut shares) {
        shares.add(loaded.run()?, *by);
    }
    let path = format!("/runs/{}", loaded.row.trace_id);
    let title = super::head::title(loaded.run()?);
    let head = html! { li { a href="/" { "Runs" } } li { a href=(path) { (line(title, 80)) } } li { h1 { "Where it went" } } };
    page(asked, &format!("{path}/work?"), shares, &head, &html! {})
}

/// The page for the runs of a list, within the time limit of a search.
pub(super) fn of_list(web: &Web, (): (), asked: &Asked, answer: &mut Answer) -> Result<Markup, Problem> {
    let query = Query::of_more(asked, &["sort"])?;
    let list = query.address("", None);
    let own = query.address_of("/work", "", None);
    let own = format!("{own}{}", if own.contains('?') { '&' } else { '?' });
    let mut shares = [(); BY.len()].map(|()| Shares::default());
    let bounds = (Instant::now() + SEARCH_TIMEOUT, usize::MAX);
    let ReadProgress { runs, to } = each_run(query, bounds, web, answer, &mut |run| {
        BY.iter().zip(&mut shares).for_each(|((_, by), shares)| shares.add(run, *by));
        0
    })?;
    let head = html! { li { a href=(list) { "Runs" } } li { h1 { "Where it went" } } };
    let about = html! {
        span { (many(runs, "run")) }
        @if let Some(to) = to { span { "Read back to " (time(to, 0)) " UTC." } }
    };
    page(asked, &own, shares, &head, &about)
}

fn page(asked: &Asked, address: &str, shares: [Shares; BY.len()], crumbs: &Markup, about: &Markup) -> Result<Markup, Problem> {
    let by = parameter(asked, "sort")
        .filter(|by| !by.is_empty())
        .unwrap_or_else(|| "time".to_owned());
    let mut tables = Vec::new();
    for ((what, _), shares) in BY.iter().zip(shares) {
        let mut list = shares.list;
        sort(&mut list, SHARE_SORTS, &by).map_err(|known| Problem::invalid(format!("sort={by} is not {known}")))?;
        tables.push((*what, list));
    }
    let body = html! {
        div.runhead { div.line { nav aria-label="Breadcrumb" { ol.crumbs { (crumbs) } } (about) } }
        @for (what, list) in &tables { @if !list.is_empty() { (table(what, list, address, &by)) } }
    };
    Ok(frame::page("Where it went", Place::Runs, &[], &body))
}

fn table(what: &str, list: &[Share], address: &str, by: &str) -> Markup {
    let tokens = |tokens: Option<u64>| tokens.map(count).unwrap_or_default();
    html! {
        table.plain.shares {
            caption.vh { "By " (what) }
            thead { tr {
                th { "By " (what) }
                @for (head, _) in SHARE_SORTS { th.num aria-sort=[(*head == by).then_some("descending")] { a href={ (address) "sort=" (head) } { (head) } } }
            } }
            tbody {
                @for Share { name, runs, totals } in list.iter().take(ROWS) {
                    tr {
                        th scope="row" { (line(if name.is_empty() { "not named" } else { name }, 80)) }
                        td.num { @if totals.busy_nanos > 0 { (elapsed(totals.busy_nanos)) } }
                        td.num { (count(totals.steps)) }
                        td.num { (count(*runs)) }
                        td.num { @if totals.failures > 0 { b.bad { (count(totals.failures)) } } }
                        td.num { (tokens(totals.tokens.input)) }
                        td.num { (tokens(totals.tokens.output)) }
                        td.num { (totals.cost.map(|cost| cost.to_string()).unwrap_or_default()) }
                    }
                }
                @if list.len() > ROWS { tr { td.faint colspan="8" { (many(list.len() - ROWS, "more row")) } } }
            }
        }
    }
}
