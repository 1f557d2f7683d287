//! One export request and its outcome.

use bytes::Bytes;

use super::admission::Reservation;
use super::limits::Encoding;
use crate::span::{Refused, Signal};

/// How a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Grpc,
    Http,
}

impl Transport {
    pub(super) const ALL: [Self; 2] = [Self::Grpc, Self::Http];

    /// The Collector's word.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::Http => "http",
        }
    }
}

/// How the message is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Protobuf,
    Json,
}

/// One export request, as it came.
#[derive(Debug)]
pub(super) struct Export {
    pub(super) signal: Signal,
    pub(super) transport: Transport,
    pub(super) form: Form,
    /// It was made of a document: such spans are compressed when they are stored.
    pub(super) of_document: bool,
    pub(super) encoding: Option<Encoding>,
    pub(super) body: Bytes,
    pub(super) reservation: Reservation,
}

/// What became of a request. `stored + duplicates + deleted + refused_count = received`.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) received: usize,
    pub(super) stored: usize,
    pub(super) duplicates: usize,
    /// Items of traces that were deleted on request.
    pub(super) deleted: usize,
    /// The first of the refused items.
    pub(super) refused: Vec<Refused>,
    pub(super) refused_count: usize,
    /// How often the replacement character replaced something that could not be read as text.
    pub(super) replaced: usize,
}
