//! Errors while writing a table.

use std::io;

use crate::formats::AnyFormat;

/// An error while writing a table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParquetError {
    /// The program was built without Parquet.
    #[error("this program was built without Parquet; build it with `cargo install --path . --features parquet`")]
    NotBuilt,
    /// Rows of this format have no columns.
    #[error("only `messages` has columns for Parquet; write {format} as JSONL")]
    Format {
        /// The format.
        format: &'static str,
    },
    /// The file system reports an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A row does not fit the columns.
    #[error("a row does not fit into the columns: {message}")]
    Row {
        /// The cause.
        message: String,
    },
}

/// Checks whether this program can write tables of this format.
///
/// # Errors
///
/// It cannot; the error says why.
pub fn offers(format: &AnyFormat) -> Result<(), ParquetError> {
    if cfg!(not(feature = "parquet")) {
        return Err(ParquetError::NotBuilt);
    }
    match format.id {
        "messages" => Ok(()),
        other => Err(ParquetError::Format { format: other }),
    }
}
