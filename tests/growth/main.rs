//! Large and deep runs: the stack holds, and eight times the items are about eight times the work.
//!
//! Work is counted in bytes allocated, in bytes written and in time of the processor, for the run and for each format on
//! its own. Both are counted for one thread: what other tests and other programs do does not count. `SPANBRIDGE_FULL=1` takes
//! 64,000 items.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod commands;
mod imports;
mod lists;
mod log_sessions;
#[path = "../support/long_form.rs"]
mod long_form;
mod loose;
mod measure;
mod messages;
mod names;
mod records;
mod shapes;
mod spans;
mod tools;
