//! Converts OTLP protobuf bytes to spans and back. Pure: bytes in, values out.
//!
//! [`decode`] and [`encode`] use the prost types of `opentelemetry-proto`. Messages from SDK encoders round-trip byte for byte if each
//! resource occurs once. Unknown fields are lost; keep the bytes where they matter.

#[cfg(feature = "server")]
pub(crate) mod answers;
#[cfg(feature = "server")]
pub mod census;
pub mod cut;
pub mod decode;
pub mod encode;
pub mod items;
#[cfg(feature = "server")]
pub mod json;
mod layout;
mod member;
#[cfg(feature = "server")]
pub mod metrics;
mod names;
mod part;
pub mod rewrite;
pub mod scan;
mod schema;
pub mod signal;
mod wire;
#[cfg(feature = "server")]
pub(crate) mod words;

pub use cut::Cuts;
pub use decode::DecodeError;
pub use wire::{Fault, FaultKind};
