//! `spanbridge`: OpenTelemetry spans of LLM agents in, documents for evaluation, training and replay out.
//!
//! ```text
//! 4  formats                runs -> documents
//! 3  transcript             a run, laid out to be told
//! 3  run                    operations -> causal order, agent scopes, conversations, stitched tool calls
//! 2  trace  dialect  otlp   spans -> tree;  span attributes -> Operation, by table;  OTLP bytes <-> spans
//! 1  span   operation       values
//! 0  semconv/               the dialects as data
//! ```
//!
//! A module uses only lower floors; `tests/floors.rs` checks it.

#[cfg(feature = "server")]
pub mod access;
#[cfg(feature = "server")]
pub mod cli;
#[cfg(feature = "server")]
pub mod dataset;
pub mod dialect;
pub mod formats;
#[cfg(feature = "server")]
pub mod forward;
mod hash;
#[cfg(feature = "layer")]
pub mod layer;
mod members;
pub mod operation;
#[cfg(feature = "protobuf")]
pub mod otlp;
#[cfg(feature = "server")]
pub mod receiver;
#[cfg(feature = "server")]
pub mod redact;
pub mod run;
#[cfg(feature = "server")]
pub mod server;
mod skip;
pub mod span;
#[cfg(feature = "server")]
pub mod store;
pub mod trace;
mod transcript;
#[cfg(feature = "server")]
pub mod view;
#[cfg(feature = "server")]
pub mod web;
mod withheld;

#[cfg(feature = "layer")]
pub use layer::{init, layer};

/// The README's Rust snippet, compiled as it is printed.
#[cfg(all(doctest, feature = "layer"))]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod docs {
    //! Long pages.

    #[doc = include_str!("docs/architecture.md")]
    pub mod architecture {}
    #[doc = include_str!("docs/vocabulary.md")]
    pub mod vocabulary {}
    #[doc = include_str!("docs/adding_a_format.md")]
    pub mod adding_a_format {}
    #[doc = include_str!("docs/adding_a_dialect.md")]
    pub mod adding_a_dialect {}
    #[doc = include_str!("docs/security.md")]
    pub mod security {}
    #[doc = include_str!("docs/blocks.md")]
    pub mod blocks {}
    #[doc = include_str!("docs/durability.md")]
    pub mod durability {}
    #[doc = include_str!("docs/operating.md")]
    pub mod operating {}
    #[doc = include_str!("docs/forward.md")]
    pub mod forward {}
    #[doc = include_str!("docs/performance.md")]
    pub mod performance {}
}
