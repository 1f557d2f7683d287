//! What the readers of all formats share. A reader converts documents to spans.
//!
//! Each format has a reader that produces a [`TraceBuilder`] per trace: operations with their times and parents. `dialect/write` turns
//! the operations into attributes, so an imported document is stored like any other trace and can be exported to every format.
//!
//! The input of model calls is written only once: the span of a call continues the conversation of the earlier call with the most
//! input ([`Continuation`](crate::dialect::Continuation)), and only holds what is new.
//!
//! A document is restored from its spans field for field. Without the [`remainder`], the restored document still has the same messages,
//! calls, results and agents. Reading a document twice yields the same spans with the same ids.

mod at;
mod dialogue;
mod error;
mod facts;
mod model_output;
mod note;
mod numbers;
mod operations;
mod parts;
mod record;
pub(in crate::formats) mod remainder;
mod run_facts;
mod trace_builder;
mod waiting;

use serde_json::Value;

pub use error::DisassembleError;
pub use note::{Note, NoteKind};
#[cfg(feature = "server")]
pub(crate) use remainder::name_of;
#[cfg(feature = "server")]
pub(crate) use trace_builder::ids_of_name;

pub(in crate::formats) use crate::events::{Draft, HistoryId};
pub(in crate::formats) use at::{At, milliseconds, seconds, time};
pub(in crate::formats) use dialogue::{Answer, Dialogue, tool_message};
pub(in crate::formats) use error::Result;
pub(in crate::formats) use facts::{
    definition as tool_definition, definitions as tool_definitions, evaluation as read_evaluation, failure_of, read as read_facts,
    take_text,
};
pub(in crate::formats) use model_output::{read as read_model_output, read_thoughts};
#[cfg(feature = "server")]
pub(in crate::formats) use numbers::Exact;
pub(in crate::formats) use numbers::{Numbers, Restored};
pub(in crate::formats) use operations::{
    add_left_over_input, add_sub_agent, asked_operation, exact_times, executed, read as read_operations, searched, take_instructions,
};
pub(in crate::formats) use parts::{is_written_so, opened, text_or_parts};
pub(in crate::formats) use record::{read as read_record, whole};
pub(in crate::formats) use run_facts::read as read_run_facts;
pub(in crate::formats) use trace_builder::{TraceBuilder, trace_id};

/// Reads one document; refusals name places relative to it.
pub(in crate::formats) type ReaderFn = fn(&At<'_>) -> Result<Vec<TraceBuilder>>;

/// Joins the files that a document refers to into one document; `None` if it refers to none that are available.
pub(in crate::formats) type Gather = fn(&Value, &mut Beside<'_>, &mut Vec<Note>) -> Option<Value>;

/// Reads a document that another one refers to: its content, or why it is not available.
pub type Beside<'b> = dyn FnMut(&str) -> std::result::Result<Value, String> + 'b;
