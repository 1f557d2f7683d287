//! The trait of a format: its conversion of runs to documents of one type, file names, containers and accompanying files.

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

/// A document and what it could not hold.
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
    /// What a document is, in a line.
    const KEEPS: &'static str;
    /// What a document leaves out, in a line.
    const LOSES: &'static str;
    /// What the caller can choose.
    const OPTIONS: &'static [Choice] = &[];
    /// What a document is written to a file as, if readers want it packed.
    const CONTAINER: Option<Container> = None;
    /// Files that documents name, if they do.
    const BESIDE: Option<Files> = None;
    /// Whether each model call is written with all that went into it, and not each message of a conversation once.
    const WHOLE_INPUTS: bool = true;
    /// Whether a rule is about several documents of a file: they are checked together then.
    const CHECKED_TOGETHER: bool = false;
    /// The document; it borrows what the runs hold.
    type Document<'a>: Serialize;

    /// One run, or the runs of one session in causal order. Never fails: what does not fit is a loss.
    fn assemble<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Self::Document<'a>>>;

    /// Whether the documents of a run contain something of the runs before it in its session.
    fn needs_earlier(options: &Options) -> bool {
        let _ = options;
        false
    }

    /// The documents of the last of a session's runs alone.
    fn assemble_last<'a>(runs: &'a [Run], options: &Options) -> Vec<Assembled<Self::Document<'a>>> {
        Self::assemble(last(runs), options)
    }

    /// Whether all runs of a command become one document.
    fn takes_all(options: &Options) -> bool {
        let _ = options;
        false
    }

    /// A JSON Schema (draft 2020-12) of one document: which fields there are, and of which type. `check` knows more rules.
    #[must_use]
    fn schema() -> Option<Value> {
        None
    }

    /// Which field of a document is from which field of an operation, as a Markdown table; empty if no table says so.
    #[must_use]
    fn mapping() -> String {
        String::new()
    }

    /// Notes which rules of the format these documents of one file break, each with its place. A format without rules of
    /// its own finds nothing.
    fn check(documents: &[(JsonPath<'_>, &Value)], options: &Options, found: &mut Violations) {
        let _ = (documents, options, found);
    }

    /// The name by which readers of the format look for the document's file, if they do.
    fn file_name(document: &Self::Document<'_>) -> Option<String> {
        let _ = document;
        None
    }

    /// Writes the document's JSON text on one line, appended to `text`. `Err` is what cannot be written.
    fn write(document: &Self::Document<'_>, text: &mut Vec<u8>) -> Result<(), String> {
        text::write(document, text)
    }

    /// Writes the same text piece by piece, on lines for every reader of lines.
    ///
    /// # Errors
    ///
    /// `out` takes no more, or the document cannot be written.
    fn stream(document: &Self::Document<'_>, out: &mut dyn Write) -> io::Result<()> {
        text::stream(document, out)
    }
}

/// The last of several runs.
pub(super) fn last(runs: &[Run]) -> &[Run] {
    runs.get(runs.len().saturating_sub(1)..).unwrap_or_default()
}

/// Documents packed for readers that want files: a zip, for example.
#[derive(Debug, Clone, Copy)]
pub struct Container {
    /// How the file's name ends, instead of `json`.
    pub ending: &'static str,
    /// A document's JSON text to the bytes of the file. `Err` is what cannot be packed.
    pub pack: fn(&str) -> Result<Vec<u8>, String>,
    /// The bytes of such a file to the document's JSON text, if they are one.
    #[cfg(feature = "server")]
    pub(crate) unpack: Option<Unpack>,
}

/// Is asked before memory grows by so many bytes.
#[cfg(feature = "server")]
pub(crate) type ReserveMemory<'m> = dyn FnMut(usize) -> Result<(), UnpackError> + 'm;

/// The bytes of a file, and the most bytes of its text; `None` where they are no such file.
#[cfg(feature = "server")]
pub(crate) type Unpack = fn(&[u8], usize, &mut ReserveMemory<'_>) -> Option<Result<Vec<u8>, UnpackError>>;

/// Why a file does not become a document's text.
#[derive(Debug)]
#[non_exhaustive]
pub enum UnpackError {
    /// More bytes come out than are allowed: a large log, or a bomb.
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// Memory may not grow so far just now.
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

/// Files that documents name, written beside them.
#[derive(Debug, Clone, Copy)]
pub struct Files {
    /// The choice with which documents name them.
    pub option: (&'static str, &'static str),
    /// The files of runs, by their names: paths below the folder of the documents.
    pub of: fn(&[Run]) -> BTreeMap<String, Vec<u8>>,
}

/// Schema and check of a format by its table, and by its own rules if it has any.
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
