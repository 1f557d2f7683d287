//! Synth v3.
pub mod document;

mod assemble;
mod events;
mod facts;
mod messages;
mod record;
mod turns;

#[cfg(test)]
mod tests;

use crate::formats::{Assembled, Format, Options};
use crate::run::Run;

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct Synth;

impl Format for Synth {
    const ID: &'static str = "synth";
    type Document = document::SessionTrace;

    fn assemble(runs: &[Run], options: &Options) -> Vec<Assembled<Self::Document>> {
        assemble::assemble(runs, options)
    }
}
