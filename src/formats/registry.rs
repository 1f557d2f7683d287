//! The list of all formats.

use super::any::AnyFormat;
use super::{
    adk, atif, contextforge, deepeval, eval_items, inspect, invariant, messages, mocks, openreward, reflex, session_file, synth, verifiers,
};

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

/// What is written as documents are and does not come back: other readers have it. `sessions/` reads the session files of coding agents.
static ONE_WAY: &[AnyFormat] = &[
    AnyFormat::of::<mocks::Mocks>(None),
    AnyFormat::of::<eval_items::PydanticEvals>(None),
    AnyFormat::of::<eval_items::Langfuse>(None),
    AnyFormat::of::<eval_items::LangSmith>(None),
    AnyFormat::of::<eval_items::Braintrust>(None),
    AnyFormat::of::<session_file::ClaudeCode>(None),
    AnyFormat::of::<session_file::Codex>(None),
];

/// All that a name can refer to: formats that go both ways, and those that are only written.
pub fn all() -> impl Iterator<Item = &'static AnyFormat> {
    FORMATS.iter().chain(ONE_WAY)
}

/// The format with this name.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static AnyFormat> {
    all().find(|format| format.id == id)
}
