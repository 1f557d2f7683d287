//! The program: its server over the network, and its commands.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::expect_used, reason = "a test")]

#[path = "support/authority.rs"]
mod authority;
#[path = "support/load.rs"]
mod load;
#[path = "support/long_form.rs"]
mod long_form;
#[path = "support/memory_store.rs"]
mod memory_store;
#[path = "support/requests.rs"]
mod requests;
#[path = "support/serving.rs"]
mod serving;
mod support;

mod blocks;
mod cli;
mod conformance;
mod forward;
mod fuzz_replay;
mod guard;
mod kill;
mod looking;
mod mcp;
mod operating;
mod otlp;
mod pages;
mod receiver;
mod scan;
mod security;
mod ways_in;
