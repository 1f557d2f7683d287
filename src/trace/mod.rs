//! Builds one repaired tree from many spans. [`Trace::from_spans`] never fails: oddities become [`Finding`]s.
//!
//! Any order, batching or repetition of the same spans gives the same trace.

pub mod finding;
mod repair;
mod tree;

pub use finding::{Finding, FindingKind};
pub use tree::Trace;
