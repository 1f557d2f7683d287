//! OpenReward's blocks over HTTP, and documents that are imported over HTTP.
#![cfg(feature = "server")]
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

mod cases;
mod client;
mod imports;
mod kept;
mod projects;
mod stress;
#[cfg(feature = "client")]
mod typed;
