//! Converts runs to documents and documents to spans: one folder for each format. Formats never read attribute keys and never use
//! one another.
//!
//! ```
//! use spanbridge::formats::{self, Options};
//!
//! let messages = formats::by_id("messages").ok_or("no such format")?;
//! let row = r#"{"messages": [{"role": "user", "content": "Weather?"}]}"#;
//! let checked = formats::check(Some(messages), row, &Options::default())?;
//! assert_eq!(checked.violations[0].path, "$.messages[0]");
//! // The types are right, so the JSON Schema accepts the row.
//! assert!(messages.schema().is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod adk;
mod any;
mod assemble;
pub mod atif;
mod back;
#[cfg(feature = "server")]
mod begin;
pub mod check;
pub mod contextforge;
pub mod deepeval;
mod disassemble;
pub mod eval_items;
mod format;
#[cfg(feature = "server")]
mod in_forms;
pub mod inspect;
pub mod invariant;
pub mod messages;
pub mod mocks;
pub mod openreward;
pub(crate) mod options;
mod recognise;
pub mod reflex;
mod registry;
pub mod session_file;
pub mod synth;
#[cfg(test)]
mod testing;
#[cfg(feature = "server")]
mod unpacked;
pub mod verifiers;

#[cfg(test)]
mod testing_blocks;

pub use crate::document::choice::{Choice, Options, Values};
pub use crate::document::layout::{Layout, Sequence};
pub use crate::document::loss::{Loss, LossReason};
pub use crate::document::parsed_size::{DocumentSizes, ParsedSize};
pub use any::{AnyDocument, AnyFormat};
pub use back::{Beside, DisassembleError, Note, NoteKind};
#[cfg(feature = "server")]
pub(crate) use back::{ids_of_name, name_of};
#[cfg(feature = "server")]
pub(crate) use begin::begin_at;
pub use check::{Violation, check, memory_of_check};
pub use disassemble::{Disassembled, alone, disassemble, disassemble_each};
pub use format::{Assembled, Container, Files, Format, UnpackError};
#[cfg(feature = "server")]
pub(crate) use in_forms::{nearest_form, rows_by};
#[cfg(feature = "parquet")]
pub(crate) use messages::rows_have_origin;
pub(crate) use openreward::written::as_conversations;
pub use options::{OptionError, choices};
pub use recognise::{is_export_request, recognised};
pub use registry::{FORMATS, all, by_id};
#[cfg(feature = "server")]
pub(crate) use unpacked::unpacked;
