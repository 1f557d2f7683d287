//! What happened, free of the form in which it was recorded: one model between readers and runs.
//!
//! A [`Thread`] is one agent, and its [`Event`]s are in order: a prompt, a message that the model is given, a model call, the result of
//! a tool, a compaction, facts. Whatever is read tells these, and no reader makes spans by itself.

#[cfg(feature = "server")]
mod event;
#[cfg(feature = "server")]
mod unknown;

#[cfg(feature = "server")]
pub(crate) use event::{Call, Compaction, Event, INTERRUPTION, Prompt, Thread, ToolResult, Under, fact};
#[cfg(feature = "server")]
pub(crate) use unknown::Unknown;
