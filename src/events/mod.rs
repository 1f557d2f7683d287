//! What happened, independent of how it was recorded: the model between readers and runs.
//!
//! A [`Thread`] is one agent with its [`Event`]s in order: a prompt, a message to the model, a model call, the result of a tool, a
//! compaction, facts. [`spans`] converts threads to spans: one trace per turn, model calls and tools under their agent, sub-agents
//! under the tool that asked for them.
//!
//! Readers of documents, which record operations with their parents, build [`Draft`]s. Both keep conversations in [`Histories`], so
//! that every message is in only one span.

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
