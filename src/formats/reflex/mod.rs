//! Reflex.

use crate::formats::{Assembled, Format, Options};
use crate::run::Run;

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct Reflex;

impl Format for Reflex {
    const ID: &'static str = "reflex";
    type Document = serde_json::Value;

    fn assemble(_runs: &[Run], _options: &Options) -> Vec<Assembled<Self::Document>> {
        Vec::new()
    }
}
