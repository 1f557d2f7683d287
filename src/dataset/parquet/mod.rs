//! Rows as a Parquet table, in a program that is built with the feature `parquet`.
//!
//! Rows of `messages` have the columns of their documents: `messages` is a list of structs, `tools` a list. What has another shape in
//! every row, the arguments of a call and the definition of a tool, is JSON text of Arrow's type `arrow.json`: `datasets` 5 makes
//! objects of it again, other readers see text. Fields that a message does not have are null.

#[cfg(not(feature = "parquet"))]
mod disabled;
#[cfg(feature = "parquet")]
mod enabled;

use std::io;

#[cfg(not(feature = "parquet"))]
pub(super) use disabled::Rows;
#[cfg(feature = "parquet")]
pub(super) use enabled::Rows;

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
/// It does not; the error says why.
pub fn offers(format: &AnyFormat) -> Result<(), ParquetError> {
    if cfg!(not(feature = "parquet")) {
        return Err(ParquetError::NotBuilt);
    }
    match format.id {
        "messages" => Ok(()),
        other => Err(ParquetError::Format { format: other }),
    }
}
