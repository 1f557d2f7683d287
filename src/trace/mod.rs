//! Many spans to one mended tree. [`Trace::from_spans`] never fails: oddities become [`Finding`]s.

pub mod finding;

pub use finding::{Finding, FindingKind};
