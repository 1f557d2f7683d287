//! Reads the OpenTelemetry spans of LLM agents, and writes documents for evaluation, training and replay.
//!
//! Most users run the program `spanbridge`: see the [README](https://docs.rs/crate/spanbridge). As a library this crate has two uses:
//!
//! * **In your agent.** [`init`] or [`layer()`] sends the spans of `tracing` to any OTLP backend. The module [`mod@layer`] is the guide.
//! * **On existing spans.** Read them with [`span::json`] or [`otlp`]; build runs and documents with [`documents`], as the program does.
//!
//! ```
//! use spanbridge::documents::{self, Vocabulary};
//! use spanbridge::formats::{Layout, Options};
//! use spanbridge::span::json;
//!
//! let request = br#"{"resourceSpans": [{"scopeSpans": [{"spans": [{
//!     "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "weather",
//!     "startTimeUnixNano": "1795262685000000000", "endTimeUnixNano": "1795262686000000000",
//!     "attributes": [
//!         {"key": "openinference.span.kind", "value": {"stringValue": "TOOL"}},
//!         {"key": "tool.name", "value": {"stringValue": "weather"}},
//!         {"key": "output.value", "value": {"stringValue": "18 C"}}
//!     ]
//! }]}]}]}"#;
//! let spans = json::traces(request)?.items;
//! let contextforge = documents::format("contextforge")?;
//! for run in Vocabulary::built_in().runs(spans, Vec::new()) {
//!     for document in documents::of_run(&run, contextforge, &Options::default()).documents {
//!         assert!(document.text(Layout::Compact)?.contains(r#""tool_name":"weather""#));
//!         // The format requires the agent's name, and no span has it: the document says "unknown".
//!         assert!(document.losses.iter().any(|loss| loss.what == "agent_info.name"));
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `server` | yes | the program, receiver and store, forwarding |
//! | `documents` | with `server` | runs of spans, and their documents |
//! | `layer` | yes | the `tracing` layer; OTLP over HTTP, no async runtime |
//! | `layer-documents` | no | documents in the process of the agent |
//! | `layer-grpc` | no | OTLP over gRPC for the layer; needs tokio |
//! | `protobuf` | with each of the others | OTLP protobuf |
//!
//! Without features the crate reads OTLP/JSON, and the operations of spans.
//!
//! # Modules
//!
//! [`docs::architecture`] describes how they work together.
//!
//! ```text
//! 4  documents              spans -> documents: uses `formats` beside it
//! 4  formats                runs -> documents
//! 3  transcript             a run, prepared for the formats
//! 3  run                    operations -> causal order, agent scopes, conversations, joined tool calls
//! 2  events                 what happened, as readers tell it; becomes spans
//! 2  trace  dialect  otlp   spans -> tree;  span attributes -> Operation, by table;  OTLP bytes <-> spans
//! 1  span   operation       values
//! 0  semconv/               the dialects as data
//! ```
//!
//! A module uses only lower floors; `tests/floors.rs` checks it.
#![cfg_attr(docsrs, feature(doc_cfg))]
// Runs and formats use more of the lower floors than the Layer does.
#![cfg_attr(not(feature = "documents"), allow(dead_code, unused_imports, reason = "runs and formats use them"))]

#[cfg(feature = "server")]
pub mod access;
#[cfg(feature = "documents")]
pub mod blocks;
#[cfg(feature = "server")]
pub mod cli;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
pub mod dataset;
pub mod dialect;
#[cfg(feature = "documents")]
mod document;
#[cfg(feature = "documents")]
pub mod documents;
#[cfg(feature = "documents")]
mod events;
#[cfg(feature = "documents")]
pub mod formats;
#[cfg(feature = "server")]
mod forms;
#[cfg(feature = "server")]
pub mod forward;
mod hash;
mod json_tokens;
#[cfg(feature = "layer")]
pub mod layer;
pub mod operation;
#[cfg(feature = "protobuf")]
pub mod otlp;
#[cfg(feature = "server")]
pub mod pages;
#[cfg(feature = "server")]
pub mod receiver;
#[cfg(feature = "server")]
pub mod redact;
#[cfg(feature = "documents")]
pub mod run;
#[cfg(feature = "server")]
mod search;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
mod sessions;
pub mod span;
#[cfg(feature = "server")]
pub mod store;
pub mod trace;
#[cfg(feature = "documents")]
mod transcript;
#[cfg(feature = "server")]
mod view;
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
    #[doc = include_str!("docs/reading_your_own_format.md")]
    pub mod reading_your_own_format {}
    #[doc = include_str!("docs/security.md")]
    pub mod security {}
    #[doc = include_str!("docs/blocks.md")]
    pub mod blocks {}
    #[doc = include_str!("docs/durability.md")]
    pub mod durability {}
    #[doc = include_str!("docs/operating.md")]
    pub mod operating {}
    #[doc = include_str!("docs/bucket.md")]
    pub mod bucket {}
    #[doc = include_str!("docs/forward.md")]
    pub mod forward {}
    #[doc = include_str!("docs/pages.md")]
    pub mod pages {}
    #[doc = include_str!("docs/sessions.md")]
    pub mod sessions {}
    #[doc = include_str!("docs/performance.md")]
    pub mod performance {}
    #[doc = include_str!("docs/fidelity.md")]
    pub mod fidelity {}
}
