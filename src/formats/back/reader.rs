//! The reader of a format's documents.

use serde_json::Value;

use super::at::At;
use super::error::DisassembleError;
use super::note::Note;
use super::trace_builder::TraceBuilder;

/// Reads one document; refusals name places relative to it.
pub(in crate::formats) type ReaderFn = fn(&At<'_>) -> Result<Vec<TraceBuilder>, DisassembleError>;

/// Joins the files that a document refers to into one document; `None` if it refers to none that are available.
pub(in crate::formats) type Gather = fn(&Value, &mut Beside<'_>, &mut Vec<Note>) -> Option<Value>;

/// Reads a document that another one refers to: its content, or why it is not available.
pub type Beside<'b> = dyn FnMut(&str) -> Result<Value, String> + 'b;
