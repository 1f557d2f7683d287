//! Rows as a Parquet table, in a program that is built with the feature `parquet`.
//!
//! Rows of `messages` have the columns of their documents: `messages` is a list of structs, `tools` a list. What has another shape in
//! every row, the arguments of a call and the definition of a tool, is JSON text of Arrow's type `arrow.json`: `datasets` 5 makes
//! objects of it again, other readers see text. Fields that a message does not have are null.

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
