//! ContextForge.

use crate::formats::{Assembled, Format, Options};
use crate::run::Run;

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct ContextForge;

impl Format for ContextForge {
    const ID: &'static str = "contextforge";
    type Document = serde_json::Value;

    fn assemble(_runs: &[Run], _options: &Options) -> Vec<Assembled<Self::Document>> {
        Vec::new()
    }
}
