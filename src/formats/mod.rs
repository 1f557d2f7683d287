//! Runs to documents, document to spans: one folder a format. Formats never read attribute keys and never use one
//! another.

pub mod adk;
mod any;
pub mod atif;
mod back;
pub(crate) mod calls;
pub mod check;
pub mod contextforge;
pub(crate) mod conversation_words;
pub mod deepeval;
mod exchange;
mod fact_groups;
pub(crate) mod facts;
mod ids;
pub mod inspect;
pub mod invariant;
pub(crate) mod io;
pub mod json;
mod json_from;
mod json_read;
pub mod loss;
mod lost;
pub mod messages;
pub mod openreward;
pub mod options;
mod order;
pub mod reflex;
mod rounds;
mod shape;
pub mod synth;
#[cfg(test)]
mod testing;
mod text;
mod thread;
pub mod verifiers;

#[cfg(test)]
mod testing_blocks;

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use any::{AnyDocument, AnyFormat};
pub use back::{Beside, DisassembleError, Disassembled, Note, NoteKind, disassemble, disassemble_each, is_document};
pub use check::{Violation, check};
pub use loss::{Loss, LossReason};
pub use options::{Choice, OptionError, Options};

use crate::run::Run;
use check::{Place, Violations};

/// A document and what it could not hold.
#[derive(Debug, Clone)]
pub struct Assembled<D> {
    /// The document.
    pub document: D,
    /// What had no place, was coerced, split or synthesized.
    pub losses: Vec<Loss>,
}

impl<D> Assembled<D> {
    fn map<E>(self, change: impl FnOnce(D) -> E) -> Assembled<E> {
        Assembled {
            document: change(self.document),
            losses: self.losses,
        }
    }
}

/// One target document type.
pub trait Format {
    /// The format's name in the command line, in URLs and in file names.
    const ID: &'static str;
    /// What a document is, in a line.
    const HOLDS: &'static str;
    /// What a document leaves out, in a line.
    const LOSES: &'static str;
    /// What the caller can choose.
    const OPTIONS: &'static [Choice] = &[];
    /// What a document is written to a file as, if readers want it packed.
    const CONTAINER: Option<Container> = None;
    /// Files that documents name, if they do.
    const BESIDE: Option<Files> = None;
    /// The document; it borrows what the runs hold.
    type Document<'a>: Serialize + DeserializeOwned;

    /// One run, or the runs of one session in causal order. Never fails: what does not fit is a loss.
    fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Self::Document<'a>>>;

    /// Notes which rules of the format these documents of one file break, each with its place. A format without rules of
    /// its own finds nothing.
    fn check(documents: &[(Place<'_>, &Value)], options: &Options, found: &mut Violations) {
        let _ = (documents, options, found);
    }

    /// Writes the document's JSON text on one line, after what stands there. `Err` says what cannot be written.
    fn write(document: &Self::Document<'_>, text: &mut Vec<u8>) -> Result<(), String> {
        text::write(document, text)
    }
}

/// Documents packed for readers that want files: a zip, for example.
#[derive(Debug, Clone, Copy)]
pub struct Container {
    /// How the file's name ends, instead of `json`.
    pub ending: &'static str,
    /// A document's JSON text to the bytes of the file. `Err` says what cannot be packed.
    pub pack: fn(&str) -> Result<Vec<u8>, String>,
}

/// Files that documents name, written beside them.
#[derive(Debug, Clone, Copy)]
pub struct Files {
    /// The choice with which documents name them.
    pub option: (&'static str, &'static str),
    /// The files of runs, by their names: paths below the folder of the documents.
    pub of: fn(&[Run]) -> BTreeMap<String, Vec<u8>>,
}

/// How several documents follow one another in one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequence {
    /// One document as it is, any other number as an array; indented.
    OneOrArray,
    /// An array, indented.
    Array,
    /// One document a line.
    Lines,
}

/// How a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// On one line.
    Compact,
    /// Indented by two spaces.
    Indented,
}

/// Every format, in the order in which they are listed to people.
pub const FORMATS: [AnyFormat; 11] = [
    AnyFormat::of::<contextforge::ContextForge>(Some(contextforge::back::read)),
    AnyFormat::of::<reflex::Reflex>(Some(reflex::back::read)),
    AnyFormat::of::<openreward::OpenReward>(Some(openreward::back::read)),
    AnyFormat::of::<synth::Synth>(Some(synth::back::read)),
    AnyFormat::of::<invariant::Invariant>(Some(invariant::back::read)),
    AnyFormat::of::<messages::Messages>(Some(messages::back::read)),
    AnyFormat::of::<atif::Atif>(Some(atif::back::read)).gathered(atif::back::gathered),
    AnyFormat::of::<inspect::Inspect>(None),
    AnyFormat::of::<verifiers::Verifiers>(None),
    AnyFormat::of::<deepeval::DeepEval>(None),
    AnyFormat::of::<adk::Adk>(None),
];

/// The format with this name.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static AnyFormat> {
    static LIST: [AnyFormat; 11] = FORMATS;
    LIST.iter().find(|format| format.id == id)
}
