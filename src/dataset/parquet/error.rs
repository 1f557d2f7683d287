//! Why a table cannot be written.

use std::io;

use crate::formats::AnyFormat;

/// A table that cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParquetError {
    /// The program cannot write any.
    #[error("this program was built without Parquet; build it with `cargo install --path . --features parquet`")]
    NotBuilt,
    /// Rows of this format have no columns.
    #[error("only `messages` has columns for Parquet; write {format} as JSONL")]
    Format {
        /// Which.
        format: &'static str,
    },
    /// The disk does not take it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A row does not fit into the columns.
    #[error("a row does not fit into the columns: {message}")]
    Row {
        /// Why.
        message: String,
    },
}

/// Whether this program writes tables of this format.
///
/// # Errors
///
/// It does not; the error is why.
pub fn offers(format: &AnyFormat) -> Result<(), ParquetError> {
    if cfg!(not(feature = "parquet")) {
        return Err(ParquetError::NotBuilt);
    }
    match format.id {
        "messages" => Ok(()),
        other => Err(ParquetError::Format { format: other }),
    }
}
