//! The reader of a format's documents.

use serde_json::Value;

use super::at::At;
use super::error::DisassembleError;
use super::note::Note;
use super::trace_builder::TraceBuilder;

/// Reads one document; the place of the document is where refusals begin to count.
pub(in crate::formats) type Reader = fn(&At<'_>) -> Result<Vec<TraceBuilder>, DisassembleError>;

/// Joins the files that a document names to one document; `None` where it names none that can be had.
pub(in crate::formats) type Gather = fn(&Value, &mut Beside<'_>, &mut Vec<Note>) -> Option<Value>;

/// A document that another one names: its content, or why it is not available.
pub type Beside<'b> = dyn FnMut(&str) -> Result<Value, String> + 'b;
