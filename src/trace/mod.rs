//! Builds one repaired tree from many spans. [`Trace::from_spans`] never fails: oddities become [`Finding`]s.
//!
//! The order, batching and repetition of the spans do not change the result.

pub mod finding;
mod repair;
mod tree;

pub use finding::{Finding, FindingKind};
pub use tree::Trace;
