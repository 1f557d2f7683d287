//! Synth.

use crate::formats::{Assembled, Format, Options};
use crate::run::Run;

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct Synth;

impl Format for Synth {
    const ID: &'static str = "synth";
    type Document = serde_json::Value;

    fn assemble(_runs: &[Run], _options: &Options) -> Vec<Assembled<Self::Document>> {
        Vec::new()
    }
}
