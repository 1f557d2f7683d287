//! Errors of reading documents.

use std::error::Error;
use std::fmt;

/// The result of a document reader.
pub(in crate::formats) type Result<T> = std::result::Result<T, DisassembleError>;

/// Why a text cannot be converted to spans.
#[derive(Debug)]
#[non_exhaustive]
pub enum DisassembleError {
    /// The text is not JSON.
    Json {
        /// Where and why.
        source: serde_json::Error,
    },
    /// No format matches, or more than one does.
    Unrecognised {
        /// What was found instead.
        detail: String,
    },
    /// Documents of this format cannot be converted to spans.
    NoReader {
        /// The format's name.
        format: String,
    },
    /// It is in a form of `semconv/forms/`, whose table makes nothing of it.
    Form {
        /// The place as a JSON path.
        path: String,
        /// The form's name.
        form: String,
        /// What the form reads.
        reads: String,
        /// What is wrong.
        problem: String,
    },
    /// It breaks a rule of its format.
    Refused {
        /// The format's name.
        format: &'static str,
        /// The place as a JSON path: `$[2].tool_calls[0]`.
        path: String,
        /// What is wrong there.
        reason: String,
    },
}

impl fmt::Display for DisassembleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json { source } if source.is_eof() => f.write_str("the JSON ends in the middle"),
            Self::Json { .. } => f.write_str("the text is not JSON"),
            Self::Unrecognised { detail } => write!(f, "the format of the document is not clear: {detail}; name the format"),
            Self::NoReader { format } => write!(f, "documents of the format {format} cannot be converted to spans yet"),
            Self::Form {
                path,
                form,
                reads,
                problem,
            } => write!(
                f,
                "{path}: this is {reads}\nthe form {form} reads nothing of it: {problem}; `--form FILE` reads a form of your own"
            ),
            Self::Refused { format, path, reason } => write!(f, "{format}: {path}: {reason}"),
        }
    }
}

impl Error for DisassembleError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Json { source } => Some(source),
            _ => None,
        }
    }
}
