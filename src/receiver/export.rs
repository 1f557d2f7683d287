//! One export request and its outcome.

use bytes::Bytes;

use super::admission::Reservation;
use super::limits::Encoding;
use crate::span::{Refused, Signal};

/// The transport of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Grpc,
    Http,
}

impl Transport {
    pub(super) const ALL: [Self; 2] = [Self::Grpc, Self::Http];

    /// The Collector's name for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::Http => "http",
        }
    }
}

/// The encoding of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Protobuf,
    Json,
}

/// One export request as received.
#[derive(Debug)]
pub(super) struct Export {
    pub(super) signal: Signal,
    pub(super) transport: Transport,
    pub(super) form: Form,
    /// Built from a document: such spans are compressed when they are stored.
    pub(super) of_document: bool,
    pub(super) encoding: Option<Encoding>,
    pub(super) body: Bytes,
    pub(super) reservation: Reservation,
}

/// The outcome of a request. `stored + duplicates + deleted + refused_count = received`.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) received: usize,
    pub(super) stored: usize,
    pub(super) duplicates: usize,
    /// Items of traces that were deleted on request.
    pub(super) deleted: usize,
    /// The first refused items.
    pub(super) refused: Vec<Refused>,
    pub(super) refused_count: usize,
    /// How often invalid text was replaced by the replacement character.
    pub(super) replaced: usize,
}
