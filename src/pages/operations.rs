//! For operators: the store, what was lost, and how to point clients at this server.

use maud::{Markup, html};

use super::words::{bytes, count, line};
use crate::store::{Maintained, Usage};

/// What is known of a store.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Why it takes no writes, if it does not.
    pub(crate) unready: Option<String>,
    /// What it takes of the disk; `None`: the disk cannot be asked.
    pub(crate) usage: Option<Usage>,
    /// Bytes that were appended since it was opened.
    pub(crate) appended: u64,
    /// Records that were acknowledged and are gone, and of how many traces.
    pub(crate) lost: (u64, u64),
    /// What maintenance did.
    pub(crate) maintained: Maintained,
    /// Bytes of memory that requests which read have reserved, and may reserve.
    pub(crate) reading: (usize, usize),
}

/// The page.
pub(crate) fn view(state: &State, clients: &Markup) -> Markup {
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
                    p { "Destinations and their dead letters: " code { "spanbridge forward status" } }
                    p { "What is wrong with settings, directory and destinations: " code { "spanbridge doctor" } }
                    p { "A token: " code { "spanbridge token new --name NAME --right read" } }
                    p { "For programs: " a href="/api/v1/openapi.json" { "the OpenAPI document" } ", " code { "/metrics" } " with the right " code { "admin" } }
                }
            }
        }
        (clients)
    }
}
