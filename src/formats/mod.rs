//! Runs to documents, document to spans: one folder a format. Formats never read attribute keys and never use one
//! another.

pub mod adk;
mod any;
mod assemble;
pub mod atif;
mod back;
pub(crate) mod calls;
mod chat;
pub mod check;
mod choice;
pub mod contextforge;
pub(crate) mod conversation_words;
pub mod deepeval;
mod disassemble;
mod fact_groups;
pub(crate) mod facts;
mod format;
mod ids;
pub mod inspect;
pub mod invariant;
pub(crate) mod io;
pub mod json;
mod json_from;
mod json_read;
mod layout;
pub mod loss;
mod losses;
pub mod messages;
pub mod openreward;
pub mod options;
mod order;
mod parsed_size;
mod recognise;
pub mod reflex;
mod registry;
mod repeated_keys;
mod rounds;
mod shape;
pub mod synth;
#[cfg(test)]
mod testing;
mod text;
mod thread;
mod turn_facts;
pub mod verifiers;
mod violations;

#[cfg(test)]
mod testing_blocks;

pub use any::{AnyDocument, AnyFormat};
pub use back::{Beside, DisassembleError, Note, NoteKind};
pub use check::{Violation, check, memory_of_check};
pub use choice::{Choice, Options};
pub use disassemble::{Disassembled, alone, disassemble, disassemble_each};
pub use format::{Assembled, Container, Files, Format};
pub use layout::{Layout, Sequence};
pub use loss::{Loss, LossReason};
pub use options::OptionError;
pub use parsed_size::{DocumentSizes, ParsedSize};
pub use recognise::{is_document, is_export_request, recognised};
pub use registry::{FORMATS, by_id};
