//! What happened, free of the form in which it was recorded: one model between readers and runs.
//!
//! A [`Thread`] is one agent, and its [`Event`]s are in order: a prompt, a message that the model is given, a model call, the result of
//! a tool, a compaction, facts. [`spans`] makes the spans of threads: a trace a turn, model calls and tools under their agent, sub-agents
//! under the tool that asked for them.
//!
//! Readers of documents, which record operations with their parents, make [`Draft`]s. Both have conversations in [`Histories`], so
//! that every message is in one span.

mod draft;
#[cfg(feature = "server")]
mod event;
mod history;
#[cfg(feature = "server")]
pub(crate) mod ids;
#[cfg(feature = "server")]
mod threads;
mod times;
#[cfg(feature = "server")]
mod unknown;

pub(crate) use draft::{Draft, spans as spans_of_drafts};
#[cfg(feature = "server")]
pub(crate) use event::{Call, Compaction, Event, INTERRUPTION, Prompt, Thread, ToolResult, Under, fact};
pub(crate) use history::{Histories, HistoryId};
#[cfg(feature = "server")]
pub(crate) use threads::{PREFIX, spans};
pub(crate) use times::settle as settle_times;
#[cfg(feature = "server")]
pub(crate) use unknown::Unknown;
