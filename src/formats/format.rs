//! The trait that each format implements: conversion of runs to documents of one type, file names, containers, accompanying files.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use crate::document::choice::{Choice, Options};
use crate::document::loss::Loss;
use crate::document::text;
use crate::document::violations::{JsonPath, Violations};
use crate::run::Run;

/// A document and its losses.
#[derive(Debug, Clone)]
pub struct Assembled<D> {
    /// The document.
    pub document: D,
    /// What had no place, was coerced, split or synthesized.
    pub losses: Vec<Loss>,
}

impl<D> Assembled<D> {
    pub(in crate::formats) fn map<E>(self, change: impl FnOnce(D) -> E) -> Assembled<E> {
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
    /// What a document contains, in one line.
    const KEEPS: &'static str;
    /// What a document leaves out, in one line.
    const LOSES: &'static str;
    /// What the caller can choose.
    const OPTIONS: &'static [Choice] = &[];
    /// The container a document's file is packed in, if readers expect one.
    const CONTAINER: Option<Container> = None;
    /// Files that documents refer to, if any.
    const BESIDE: Option<Files> = None;
    /// Whether each model call is written with its whole input, rather than each message of a conversation once.
    const WHOLE_INPUTS: bool = true;
    /// Whether a rule spans several documents of a file, so that they are checked together.
    const CHECKED_TOGETHER: bool = false;
    /// The document type; it borrows from the runs.
    type Document<'a>: Serialize;

    /// Converts one run, or the runs of one session in causal order. Never fails: what does not fit becomes a loss.
    fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Self::Document<'a>>>;

    /// Whether a run's documents contain parts of earlier runs of its session.
    fn needs_earlier(options: &Options) -> bool {
        let _ = options;
        false
    }

    /// The documents of only the last of a session's runs.
    fn assemble_last<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Self::Document<'a>>> {
        Self::assemble(last(runs), options)
    }

    /// Whether all runs of a command become one document.
    fn takes_all(options: &Options) -> bool {
        let _ = options;
        false
    }

    /// A JSON Schema (draft 2020-12) of one document: its fields and their types. `check` has more rules.
    #[must_use]
    fn schema() -> Option<Value> {
        None
    }

    /// Maps document fields to operation fields, as a Markdown table; empty if the format has no table.
    #[must_use]
    fn mapping() -> String {
        String::new()
    }

    /// Reports the rules of the format that documents of one file break, each with its place. A format without its own rules reports
    /// nothing.
    fn check(documents: &[(JsonPath<'_>, &Value)], options: &Options, found: &mut Violations) {
        let _ = (documents, options, found);
    }

    /// The file name by which the format's readers find the document, if they look for one.
    fn file_name(document: &Self::Document<'_>) -> Option<String> {
        let _ = document;
        None
    }

    /// Appends the document's JSON text to `text`, on one line. `Err` says what cannot be written.
    fn write(document: &Self::Document<'_>, text: &mut Vec<u8>) -> Result<(), String> {
        text::write(document, text)
    }

    /// Writes the same text piece by piece, on one line for every reader of lines.
    ///
    /// # Errors
    ///
    /// Writing to `out` fails, or the document cannot be written.
    fn stream(document: &Self::Document<'_>, out: &mut dyn Write) -> io::Result<()> {
        text::stream(document, out)
    }
}

/// The last of several runs.
pub(super) fn last(runs: &[Run]) -> &[Run] {
    runs.get(runs.len().saturating_sub(1)..).unwrap_or_default()
}

/// Documents packed into files, such as zips, for readers that expect them.
#[derive(Debug, Clone, Copy)]
pub struct Container {
    /// File name extension, instead of `json`.
    pub ending: &'static str,
    /// Packs a document's JSON text. `Err` says what cannot be packed.
    pub pack: fn(&str) -> Result<Vec<u8>, String>,
    /// Unpacks a file to the document's JSON text, if it is such a file.
    #[cfg(feature = "server")]
    pub(crate) unpack: Option<Unpack>,
}

/// Called before memory grows by the given number of bytes.
#[cfg(feature = "server")]
pub(crate) type ReserveMemory<'m> = dyn FnMut(usize) -> Result<(), UnpackError> + 'm;

/// Takes the bytes of a file and the maximum length of its text; returns `None` if it is not such a file.
#[cfg(feature = "server")]
pub(crate) type Unpack = fn(&[u8], usize, &mut ReserveMemory<'_>) -> Option<Result<Vec<u8>, UnpackError>>;

/// Why a file cannot be unpacked.
#[derive(Debug)]
#[non_exhaustive]
pub enum UnpackError {
    /// The text exceeds the limit: a large log, or a zip bomb.
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// Memory may not grow that far at the moment.
    Memory,
    /// A file inside cannot be read.
    Broken {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
}

#[cfg(feature = "server")]
impl UnpackError {
    pub(super) fn broken(name: &str, reason: impl fmt::Display) -> Self {
        Self::Broken {
            name: name.to_owned(),
            reason: reason.to_string(),
        }
    }
}

impl fmt::Display for UnpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit } => write!(f, "more than {limit} bytes after decompression"),
            Self::Memory => f.write_str("more memory than may be taken"),
            Self::Broken { name, reason } => write!(f, "{name} in the archive: {reason}"),
        }
    }
}

impl Error for UnpackError {}

/// Files that documents refer to, written next to them.
#[derive(Debug, Clone, Copy)]
pub struct Files {
    /// The option and value with which documents refer to them.
    pub option: (&'static str, &'static str),
    /// The files of runs by name: paths below the documents' folder.
    pub of: fn(&[Run]) -> BTreeMap<String, Vec<u8>>,
}

/// Derives schema and check from a format's table, and from its own rules if it has any.
macro_rules! by_table {
    ($shape:expr) => {
        $crate::formats::format::by_table!($shape, |place, document, found| $shape.check(document, place, found));
    };
    ($shape:expr, $check:path) => {
        $crate::formats::format::by_table!($shape, |place, document, found| $check(place, document, found));
    };
    ($shape:expr, |$place:ident, $document:ident, $found:ident| $check:expr) => {
        fn schema() -> Option<serde_json::Value> {
            Some($crate::document::schema::of(Self::ID, $shape))
        }

        fn mapping() -> String {
            $crate::document::mapping::of($shape)
        }

        fn check(
            documents: &[($crate::document::violations::JsonPath<'_>, &serde_json::Value)],
            _: &$crate::document::choice::Options,
            $found: &mut $crate::document::violations::Violations,
        ) {
            for ($place, $document) in documents.iter().copied() {
                let _ = $check;
            }
        }
    };
}

pub(in crate::formats) use by_table;
