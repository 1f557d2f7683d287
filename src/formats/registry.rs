//! The list of all formats.

use super::any::AnyFormat;
use super::{
    adk, atif, contextforge, deepeval, eval_items, inspect, invariant, messages, mocks, openreward, reflex, session_file, synth, verifiers,
};

/// Every format that is read and written, in the order in which they are listed for users.
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

/// Formats that are only written, because other programs read them. `sessions/` reads the session files of coding agents.
static ONE_WAY: &[AnyFormat] = &[
    AnyFormat::of::<mocks::Mocks>(None),
    AnyFormat::of::<eval_items::PydanticEvals>(None),
    AnyFormat::of::<eval_items::Langfuse>(None),
    AnyFormat::of::<eval_items::LangSmith>(None),
    AnyFormat::of::<eval_items::Braintrust>(None),
    AnyFormat::of::<session_file::ClaudeCode>(None),
    AnyFormat::of::<session_file::Codex>(None),
];

/// Every format that can be named: those that are read and written, and those that are only written.
pub fn all() -> impl Iterator<Item = &'static AnyFormat> {
    FORMATS.iter().chain(ONE_WAY)
}

/// The format with this name.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static AnyFormat> {
    all().find(|format| format.id == id)
}
