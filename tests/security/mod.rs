//! Who may do what, what is kept of it, and what a client can take from the bridge: the real program, over real sockets.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]
#![cfg(feature = "server")]

#[cfg(target_os = "linux")]
mod bounds;
mod broken_items;
mod config;
mod deleting;
mod hosts;
mod limits;
mod reading;
mod reading_faults;
mod redaction;
mod reload;
pub(crate) mod serving;
mod terminal;
mod tls;
mod tokens;
mod way_out;

use crate::serving as launch;
