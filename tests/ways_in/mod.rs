//! What comes in as JSON costs what it may: memory of the real processes, and of one thread for requests that are made at random.
//!
//! `SPANBRIDGE_FULL=1` takes many times as many of these, and larger ones.
#![expect(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
#![cfg(feature = "server")]

mod costs;
mod documents;
mod files;
#[cfg(target_os = "linux")]
mod peaks;
