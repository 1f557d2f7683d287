//! Runs and documents: each format, both ways, over the recorded and the made cases.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

#[path = "support/long_form.rs"]
mod long_form;
#[path = "support/serving.rs"]
mod serving;
mod support;

mod check;
mod dataset;
mod dataset_laws;
mod every_field;
mod exports;
mod first_steps;
mod formats;
mod import;
mod limits;
mod log_sessions;
mod options;
mod runs;
mod schemas;
mod session_bounds;
mod session_databases;
mod session_files;
mod session_forks;
mod session_records;
mod session_variations;
mod session_versions;
mod session_vscode;
mod session_words;
mod sessions;
mod unknown_dialects;
mod way_back;
mod way_back_laws;
mod write;
