//! OpenReward.
pub mod digest;
pub mod document;
pub mod limits;
pub mod rules;
pub mod stitch;

mod assemble;
mod beside;
mod facts;
mod list;
mod pairs;
mod plan;
mod words;
mod write;

#[cfg(test)]
mod tests;

use crate::formats::{Assembled, Format, Options};
use crate::run::Run;

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct OpenReward;

impl Format for OpenReward {
    const ID: &'static str = "openreward";
    type Document = document::Document;

    fn assemble(runs: &[Run], options: &Options) -> Vec<Assembled<Self::Document>> {
        assemble::assemble(runs, options)
    }
}
