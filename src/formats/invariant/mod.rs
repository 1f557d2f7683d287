//! Invariant.

use crate::formats::{Assembled, Format, Options};
use crate::run::Run;

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct Invariant;

impl Format for Invariant {
    const ID: &'static str = "invariant";
    type Document = serde_json::Value;

    fn assemble(_runs: &[Run], _options: &Options) -> Vec<Assembled<Self::Document>> {
        Vec::new()
    }
}
