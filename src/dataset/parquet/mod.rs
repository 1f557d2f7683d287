//! Writes rows as a Parquet table, in a program built with the feature `parquet`.
//!
//! Rows of `messages` have the columns of their documents: `messages` is a list of structs, `tools` a list. Values whose shape differs
//! between rows, the arguments of a call and the definition of a tool, are JSON text of Arrow's type `arrow.json`: `datasets` 5
//! converts it back to objects, other readers see text. Fields that a message lacks are null.

#[cfg(not(feature = "parquet"))]
mod disabled;
#[cfg(feature = "parquet")]
mod enabled;
mod error;

#[cfg(not(feature = "parquet"))]
pub(super) use disabled::Rows;
#[cfg(feature = "parquet")]
pub(super) use enabled::Rows;
pub use error::{ParquetError, offers};
