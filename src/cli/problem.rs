//! Parts of a file that could not be read.

use std::borrow::Cow;
use std::io;

use super::out;
use crate::formats::{DisassembleError, UnpackError};
use crate::receiver::limits::{Encoding, InflateError};
use crate::sessions::{Client, SessionError};
use crate::span::Refused;
use crate::span::json::JsonError;

/// A part of a file that could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("{file}: cannot read it")]
    Io { file: String, source: io::Error },
    #[error("{file}: cannot decompress it as {encoding}; the file is truncated or damaged")]
    Broken {
        file: String,
        encoding: Encoding,
        source: InflateError,
    },
    #[cfg(feature = "parquet")]
    #[error("{file}: cannot read it as Parquet; the file is truncated or damaged: {source}")]
    Table { file: String, source: arrow_schema::ArrowError },
    #[error("{file}: {source}")]
    Packed { file: String, source: UnpackError },
    #[error("{file}: larger than {limit} bytes after decompression; split the file or raise --max-bytes")]
    TooLarge { file: String, limit: usize },
    #[error(
        "{file}: reading it would take about {needed} bytes of memory, as its {bytes} bytes consist of very many values; the limit is \
         {limit}: split the file, or raise --max-memory"
    )]
    Dense {
        file: String,
        bytes: usize,
        needed: usize,
        limit: usize,
    },
    #[error("{file}: byte {offset}: {error}", error = out::with_causes(source))]
    Json { file: String, offset: usize, source: JsonError },
    #[error("{file}: byte {offset}: neither OTLP protobuf (an export request) nor OTLP/JSON: {detail}")]
    Protobuf { file: String, offset: usize, detail: String },
    #[error("{file}: byte {offset}: not UTF-8, which JSON has to be")]
    Text { file: String, offset: usize },
    #[error("{file}: {}", out::with_causes(source))]
    Document { file: String, source: DisassembleError },
    #[error("{}", out::with_causes(source))]
    Session { source: SessionError },
    #[error("{folder}: no file below this folder is one that spanbridge reads; name one of them to see why")]
    NoInput { folder: String },
    #[error(
        "{file}: this is {what}; spanbridge reads OTLP (protobuf or JSON), documents of the formats that `spanbridge formats` lists, \
         messages and logs in the forms that `spanbridge forms` lists (--form FILE adds one of your own), and session files of {clients}{near}",
        clients = Client::names()
    )]
    Foreign {
        file: String,
        what: Cow<'static, str>,
        /// The nearest known form, as a second line.
        near: String,
    },
    #[error("{file}: this is {what}; check reads documents of the formats that `spanbridge formats` lists, which --format names")]
    NoDocument { file: String, what: String },
    #[error("{file}: {objects} that a console exporter printed are cut off or broken, and left out; export the spans as OTLP to have them")]
    Console { file: String, objects: String },
    #[error("{file}: {refused}")]
    Refused { file: String, refused: Refused },
    #[error("{file}: and {more} more errors like this")]
    More { file: String, more: usize },
}

impl Problem {
    /// Whether the file is none that is read.
    pub(super) fn is_of_no_input(&self) -> bool {
        matches!(self, Self::Foreign { .. } | Self::Protobuf { offset: 0, .. })
    }

    /// Whether the rest of the file was read.
    pub(super) fn is_of_a_part(&self) -> bool {
        match self {
            Self::Document { source, .. } => !matches!(source, DisassembleError::Json { .. }),
            Self::More { .. } => true,
            _ => false,
        }
    }
}
