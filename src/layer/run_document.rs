//! A run and its document, as passed to a program's functions.

use crate::formats::Loss;
use crate::run::Run;
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

/// A run as far as its spans have ended.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RunSnapshot<'a> {
    /// The run's trace.
    pub trace_id: TraceId,
    /// What the agent did.
    pub run: &'a Run,
    /// `false` if the run's root had not ended: the program stopped, or memory ran out.
    pub finished: bool,
    /// 0 at first; a span that comes late makes the next one.
    pub revision: u32,
}
