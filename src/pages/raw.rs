//! The spans of a trace as received.

use maud::{Markup, html};

use super::words::{count, line, many};
use crate::span::{Span, TraceId};
use crate::view::text::elapsed;
use crate::web::url::percent_encoded;

/// Spans per page.
pub(crate) const SPANS: usize = 500;

/// The view of a page of spans, by start. `all`: the total number.
pub(crate) fn view(trace: TraceId, spans: &[&Span], from: usize, all: usize) -> Markup {
    let until = from + spans.len();
    html! {
        div.tools {
            span.dim { "As received: " (many(all, "span")) ", in order of their starts." }
            span.sp {}
            a.btn href={ "/api/v1/traces/" (trace) } download={ (trace) ".json" } { "OTLP/JSON" }
        }
        table.plain {
            thead { tr { th { "Span" } th { "Parent" } th { "Name" } th { "Scope" } th.num { "Attributes" } th.num { "Events" } th.num { "Took" } } }
            tbody {
                @for span in spans {
                    tr {
                        td { a.mono href={ "/runs/" (trace) "/steps/" (percent_encoded(&span.span_id.to_string())) } { (span.span_id) } }
                        td.mono.faint { @if let Some(parent) = span.parent { (parent) } }
                        td.cut { (line(&span.name, 160)) }
                        td.dim.cut { (line(&span.scope.name, 80)) }
                        td.num { (span.attributes.len()) }
                        td.num { (span.events.len()) }
                        td.num { @if span.is_running() { "running" } @else { (elapsed(span.end.0.saturating_sub(span.start.0))) } }
                    }
                }
            }
        }
        @if all > SPANS {
            p.none-yet {
                "Spans " (count(from as u64 + 1)) " to " (count(until as u64)) " of " (count(all as u64)) ". "
                @if from > 0 { a href={ "?from=" (from.saturating_sub(SPANS)) } { "Previous" } " " }
                @if until < all { a href={ "?from=" (until) } { "Next" } }
            }
        }
    }
}
