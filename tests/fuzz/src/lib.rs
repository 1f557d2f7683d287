//! What the fuzzers run, one module a target: each takes any bytes and holds a law over them.
//!
//! `tests/fuzz_replay.rs` includes this file by path and gives the same functions the seeds and the regressions.

pub mod bodies;
pub mod convert;
pub mod convert_made;
pub mod cost;
pub mod documents;
pub mod format_read;
pub mod log_recovery;
pub mod made;
pub mod memory;
pub mod otlp_json;
pub mod query;
pub mod receive;
pub mod seeds;
pub mod semconv_file;
pub mod wire_scan;

/// A target's name and its function.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 10] = [
    ("wire_scan", wire_scan::run),
    ("otlp_json", otlp_json::run),
    ("convert", convert::run),
    ("convert_made", convert_made::run),
    ("cost", cost::run),
    ("format_read", format_read::run),
    ("log_recovery", log_recovery::run),
    ("query", query::run),
    ("receive", receive::run),
    ("semconv_file", semconv_file::run),
];
