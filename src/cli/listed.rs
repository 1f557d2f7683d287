//! Columns of a trace in lists.

use super::out::Style;
use crate::operation::TokenCount;
use crate::view::step;
use crate::view::text::elapsed;
use crate::web::listing::{Listed, Summary};

/// The status in lists; `-` without agent work.
pub(super) fn status(summary: &Summary) -> &str {
    if summary.agent_work || summary.status == "too_large" {
        &summary.status
    } else {
        "-"
    }
}

/// The style of the status.
pub(super) fn status_style(summary: &Summary) -> Style {
    match status(summary) {
        "error" => Style::Bad,
        "running" => Style::Busy,
        _ => Style::Plain,
    }
}

/// The status for people: with the number of failures in a run that recovered.
pub(super) fn status_words(summary: &Summary) -> String {
    match (status(summary), summary.failures) {
        (status @ ("ok" | "running"), failures) if failures > 0 => format!("{status}, {failures} failed"),
        (status, _) => status.to_owned(),
    }
}

/// The agent; without agent work, the root span or the service.
pub(super) fn who(listed: &Listed) -> String {
    let agent = listed.summary.agent.as_deref().filter(|_| listed.summary.agent_work);
    let name = agent.or(listed.root.as_deref()).or(listed.service.as_deref());
    name.unwrap_or("-").to_owned()
}

/// Duration of the trace; `-` if it has no end.
pub(super) fn took(listed: &Listed) -> String {
    listed.took().map_or_else(|| "-".to_owned(), elapsed)
}

/// Input and output tokens as text.
pub(super) fn token_words(summary: &Summary) -> Option<String> {
    step::tokens(&TokenCount {
        input: summary.input_tokens,
        output: summary.output_tokens,
        ..TokenCount::default()
    })
}
