//! Pages for operators: the store, losses, and how to point clients at this server.

use std::collections::VecDeque;

use maud::{Markup, html};

use super::words::{bytes, count, line, time};
use crate::forward::{DeadLetter, Health, Sample};
use crate::span::TraceId;
use crate::store::{Maintained, Usage};
use crate::web::url::percent_encoded;

/// Maximum dead letters on a page.
pub(crate) const LETTERS: usize = 200;

/// The state of a store.
#[derive(Debug, Default)]
pub(crate) struct StoreState {
    /// Why it accepts no writes, if so.
    pub(crate) unready: Option<String>,
    /// Its disk usage; `None`: unknown.
    pub(crate) usage: Option<Usage>,
    /// Bytes appended since it was opened.
    pub(crate) appended: u64,
    /// Number of acknowledged records that are gone, and of their traces.
    pub(crate) lost: (u64, u64),
    /// Results of maintenance.
    pub(crate) maintained: Maintained,
    /// Memory reserved for reading, and its limit.
    pub(crate) reading: (usize, usize),
    /// Bytes of the log that the search index is behind; `None`: there is no index.
    pub(crate) search_behind: Option<u64>,
    /// Destinations that spans are forwarded to.
    pub(crate) destinations: Vec<Sample>,
}

/// The dead letters of a destination, latest first.
pub(crate) fn dead_letters(name: &str, letters: &VecDeque<DeadLetter>, in_all: u64) -> Markup {
    html! {
        div.runhead { div.line {
            nav aria-label="Breadcrumb" { ol.crumbs { li { a href="/operations" { "Operations" } } li { h1 { "Dead letters of " (line(name, 80)) } } } }
            @if !letters.is_empty() { div.acts { (orders(name, true)) } }
        } }
        @if letters.is_empty() { div.none-yet { p { "It has taken everything." } } } @else {
            @if in_all > letters.len() as u64 { p.tools { "The last " (letters.len()) " of " (count(in_all)) ". " code { "spanbridge forward dead-letters " (line(name, 80)) } " lists all." } }
            table.plain {
                thead { tr { th { "Given up, " span.zone { "UTC" } } th { "What" } th.num { "Items" } th { "Run" } th { "Why" } } }
                tbody {
                    @for letter in letters.iter().rev() {
                        tr {
                            td.dim { (time(letter.time, 0)) }
                            td { (line(&letter.signal, 40)) }
                            td.num { (count(letter.items)) }
                            td { @match letter.trace_id.as_deref().filter(|id| TraceId::from_hex(id).is_some()) {
                                Some(trace) => a.mono href={ "/runs/" (trace) @if let Some(span) = &letter.span_id { "?span=" (percent_encoded(span)) } } { (trace.get(..8).unwrap_or(trace)) },
                                None => span.none { "none" },
                            } }
                            td { (line(&letter.reason, 400)) }
                        }
                    }
                }
            }
        }
    }
}

/// Buttons that work without scripts. `letters`: whether there are dead letters to resend.
fn orders(name: &str, letters: bool) -> Markup {
    let at = format!("/operations/{}", percent_encoded(name));
    html! {
        @if letters { form.inline method="post" action={ (at) "/retry" } { button.small title="Send what it did not take again" { "Retry" } } }
        form.inline method="post" action={ (at) "/skip" } { details.inline { summary.small { "Skip unsent…" } button.small { "Do not send what waits" } } }
    }
}

fn destinations(of: &[Sample]) -> Markup {
    let large = |number: u64| bytes(usize::try_from(number).unwrap_or(usize::MAX));
    html! {
        table.plain {
            caption.vh { "Destinations" }
            thead { tr { th { "Destination" } th { "State" } th.num { "Sent" } th.num { "Waiting" } th.num { "Not taken" } th { "Orders" } } }
            tbody {
                @for sample in of {
                    @let failed = sample.failed.iter().sum::<u64>();
                    tr {
                        td { b { (line(&sample.name, 60)) } }
                        td { @match &sample.health {
                            Health::Unknown => span.none { "not asked yet" },
                            Health::Up => "accepts",
                            Health::Down(why) => span.bad { (line(why, 200)) },
                        } }
                        td.num { (count(sample.sent.iter().sum())) }
                        td.num { (large(sample.backlog_bytes)) }
                        td.num { a href={ "/operations/dead-letters/" (percent_encoded(&sample.name)) } { @if failed > 0 { span.bad { (count(failed)) } } @else { "dead letters" } } }
                        td { (orders(&sample.name, true)) }
                    }
                }
            }
        }
    }
}

/// The page.
pub(crate) fn view(state: &StoreState, clients: &Markup) -> Markup {
    let large = |number: u64| bytes(usize::try_from(number).unwrap_or(usize::MAX));
    let done = &state.maintained;
    html! {
        h1.vh { "Operations" }
        div.cards {
            section.card {
                h2 { "Store" }
                div.in { dl.kv {
                    dt { "Writes" } dd { @match &state.unready { None => "accepted", Some(why) => span.bad { (line(why, 400)) } } }
                    @if let Some(usage) = &state.usage {
                        dt { "Log" } dd { (large(usage.log_bytes)) " in " (count(usage.segments)) " segments" }
                        dt { "Index" } dd { (large(usage.index_bytes)) }
                        @if let Some(behind) = state.search_behind { dt { "Words" } dd { @if behind == 0 { "all are in the index of search" } @else { (large(behind)) " are not in the index of search yet" } } }
                        dt { "Free" } dd { (large(usage.free_bytes)) " of " (large(usage.capacity_bytes)) }
                    }
                    dt { "Received" } dd { (large(state.appended)) " since the start" }
                    dt { "Reading" } dd { (bytes(state.reading.0)) " of " (bytes(state.reading.1)) " of memory in use" }
                } }
            }
            section.card {
                h2 { "Retention and damage" }
                div.in { dl.kv {
                    dt { "Removed" } dd { (count(done.removed_segments)) " segments, " (large(done.removed_bytes)) ", since the start" }
                    dt { "Compressed" } dd { (count(done.compressed_segments)) " segments, " (large(done.compressed_from_bytes)) " to " (large(done.compressed_to_bytes)) }
                    dt { "Damaged" } dd { (count(done.damaged_segments)) " segments" }
                    dt { "Lost" } dd { @if state.lost.0 > 0 { span.bad { (count(state.lost.0)) " records of " (count(state.lost.1)) " traces; spanbridge doctor has more" } } @else { "nothing that was acknowledged" } }
                    @if let Some(failure) = &done.failure { dt { "Last failure" } dd.bad { (line(&failure.to_string(), 400)) } }
                } }
            }
            section.card {
                h2 { "Commands" }
                div.in {
                    @if state.destinations.is_empty() { p { "To send spans on: " code { "spanbridge serve --forward URL" } } }
                    p { "What is wrong with settings, directory and destinations: " code { "spanbridge doctor" } }
                    p { "A token: " code { "spanbridge token new --name NAME --right read" } }
                    p { "For programs: " a href="/api/v1/openapi.json" { "the OpenAPI document" } ", " code { "/metrics" } " with the right " code { "admin" } }
                }
            }
        }
        @if !state.destinations.is_empty() { section.part { h2.tools { "Destinations" } (destinations(&state.destinations)) } }
        (clients)
    }
}
