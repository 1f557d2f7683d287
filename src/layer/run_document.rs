//! The document of a run, as a program's own function gets it.

use crate::formats::Loss;
use crate::span::TraceId;

/// A document of a run, as text.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunDocument {
    /// The run's trace.
    pub trace_id: TraceId,
    /// The format's name, for example `openreward`.
    pub format: &'static str,
    /// 0 for the run's first document of this format; some formats give several.
    pub index: usize,
    /// JSON on one line.
    pub text: String,
    /// What the format could not hold.
    pub losses: Vec<Loss>,
    /// `false` if the run's root had not ended: the program stopped, or memory ran out.
    pub finished: bool,
    /// 0 at first; a span that comes late makes the next one.
    pub revision: u32,
}
