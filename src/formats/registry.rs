//! The list of all formats.

use super::any::AnyFormat;
use super::{adk, atif, contextforge, deepeval, inspect, invariant, messages, openreward, reflex, session_file, synth, verifiers};

/// Every format, in the order in which they are listed to people.
pub static FORMATS: &[AnyFormat] = &[
    AnyFormat::of::<contextforge::ContextForge>(Some(contextforge::back::read)),
    AnyFormat::of::<reflex::Reflex>(Some(reflex::back::read)),
    AnyFormat::of::<openreward::OpenReward>(Some(openreward::back::read)),
    AnyFormat::of::<synth::Synth>(Some(synth::back::read)),
    AnyFormat::of::<invariant::Invariant>(Some(invariant::back::read)),
    AnyFormat::of::<messages::Messages>(Some(messages::back::read)),
    AnyFormat::of::<atif::Atif>(Some(atif::back::read)).gathered(atif::back::gathered),
    AnyFormat::of::<inspect::Inspect>(Some(inspect::back::read)),
    AnyFormat::of::<verifiers::Verifiers>(Some(verifiers::back::read)),
    AnyFormat::of::<deepeval::DeepEval>(Some(deepeval::back::read)),
    AnyFormat::of::<adk::Adk>(Some(adk::back::read)),
];

/// Session files of coding agents, which are written as documents are and read by `sessions/`.
static SESSION_FILES: &[AnyFormat] = &[
    AnyFormat::of::<session_file::ClaudeCode>(None),
    AnyFormat::of::<session_file::Codex>(None),
];

/// Documents and session files: all that a name can refer to.
pub fn all() -> impl Iterator<Item = &'static AnyFormat> {
    FORMATS.iter().chain(SESSION_FILES)
}

/// The format with this name.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static AnyFormat> {
    all().find(|format| format.id == id)
}
