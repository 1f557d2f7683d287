//! Data sets: many runs as files that trainers and evaluators load.
//!
//! ```text
//! run ─ where ─ dedup ─ split ─> documents ─> train.jsonl, test.jsonl, manifest.json
//! ```
//!
//! * [`Expression`] selects runs by their facts. The page of [`expression`] has its grammar and its fields.
//! * [`fingerprint`] identifies equal conversations by messages and actions.
//! * [`Split`] puts a run on a side by a hash of its session, the same on every machine.
//! * [`Manifest`] counts what was read, left out and written.
//! * [`Hub`] scans the rows for secrets, and writes the card of a data set for the Hugging Face Hub.
//! * [`Output`] writes the files, one row at a time.
//!
//! Runs are processed one by one and not kept, so the size of a data set is not limited by memory. Dropping duplicates keeps 32 bytes
//! per run.

pub mod expression;
pub mod fingerprint;
mod hub;
mod manifest;
mod output;
pub mod parquet;
mod rows;
mod selection;
pub mod split;

pub use expression::{Expression, ExpressionError, Facts};
pub use hub::Hub;
pub use manifest::{Manifest, Redacted, Source};
pub use output::{Layout, Output, OutputError, has_foreign_card};
pub use selection::{Selection, Skipped, Verdict};
pub use split::{Split, SplitBy, SplitError};
