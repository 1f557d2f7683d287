//! OpenReward.

use crate::formats::{Assembled, Format, Options};
use crate::run::Run;

/// The format.
#[derive(Debug, Clone, Copy)]
pub struct OpenReward;

impl Format for OpenReward {
    const ID: &'static str = "openreward";
    type Document = serde_json::Value;

    fn assemble(_runs: &[Run], _options: &Options) -> Vec<Assembled<Self::Document>> {
        Vec::new()
    }
}
