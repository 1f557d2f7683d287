//! Forwarding: what a destination gets, whatever it answers.
#![expect(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod answers;
mod choice;
mod command;
mod failed_reads;
mod killed;
mod memory;
mod metrics;
mod patience;
mod projects;
mod records;
mod scores;
mod sink;
mod status;
mod support;
mod tls;

use crate::serving;
