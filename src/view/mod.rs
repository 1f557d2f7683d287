//! A run for people: an outline with times, totals, conversations and errors, for the command line and the pages.
//!
//! All content of spans comes from others, who may be malicious: text passes through `view::text` before it is shown.

pub(crate) mod acts;
pub(crate) mod compare;
pub(crate) mod conversation;
pub(crate) mod errors;
pub(crate) mod excerpt;
pub(crate) mod files;
pub(crate) mod found;
pub(crate) mod json;
pub(crate) mod outline;
pub(crate) mod request;
pub(crate) mod seeking;
pub(crate) mod seen;
pub(crate) mod step;
pub(crate) mod text;
pub(crate) mod totals;
pub(crate) mod turns;

use crate::run::Run;

/// Why a run without any work has no document.
pub(crate) fn no_work(run: &Run) -> String {
    match run.told_by_session() {
        Some(session) => format!(
            "What this trace did is told by other runs of the session {}: a client exports a run in pieces, or its session file tells more.",
            text::harmless(session)
        ),
        None => "This trace has no agent operations, so it has no document.".to_owned(),
    }
}
