//! A run and its document, as passed to a program's callbacks.

use crate::formats::Loss;
use crate::run::Run;
use crate::span::TraceId;

/// A document of a run in text form.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunDocument {
    /// The run's trace.
    pub trace_id: TraceId,
    /// The format's name, for example `openreward`.
    pub format: &'static str,
    /// 0 for the run's first document of this format; some formats produce several.
    pub index: usize,
    /// JSON on one line.
    pub text: String,
    /// Facts that the format could not represent.
    pub losses: Vec<Loss>,
    /// `false` if the run's root had not ended because the program stopped or memory ran out.
    pub finished: bool,
    /// Starts at 0 and increases when late spans change the document.
    pub revision: u32,
}

/// A run, built from the spans that have ended.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RunSnapshot<'a> {
    /// The run's trace.
    pub trace_id: TraceId,
    /// What the agent did.
    pub run: &'a Run,
    /// `false` if the run's root had not ended because the program stopped or memory ran out.
    pub finished: bool,
    /// Starts at 0 and increases when late spans change the run.
    pub revision: u32,
}
