//! The unsent rest of chunks that were read together, in order.

use std::collections::VecDeque;

use bytes::Bytes;

use super::counts::Counts;
use crate::otlp::items;
use crate::span::TraceId;
use crate::store::{Arrival, ChunkKind, Position};

/// A message larger than this is prepared and sent while no other one is in the process.
pub(super) const LARGE_BYTES: usize = 2 << 20;

/// The rest of the chunks that were read together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) pieces: VecDeque<Piece>,
    /// Counts of what no request so far contains.
    pub(super) unsent: Counts,
}

/// A chunk, or a part of one.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) at: Position,
    pub(super) kind: ChunkKind,
    pub(super) trace_id: Option<TraceId>,
    pub(super) content: Content,
}

/// State of a piece.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// A chunk for which it is not yet decided whether it is sent.
    Undecided(Bytes),
    /// A chunk that is sent because its trace is; its message is still in the log.
    InLog,
    /// A chunk to be sent.
    Whole(Bytes),
    /// Part of a chunk, small or with a single item.
    Part(Bytes),
}

impl Batch {
    pub(super) fn new(chunks: Vec<Arrival>) -> Self {
        let piece = |chunk: Arrival| Piece {
            at: chunk.at,
            kind: chunk.kind,
            trace_id: chunk.trace_id,
            content: Content::Undecided(chunk.message.into()),
        };
        Self {
            pieces: chunks.into_iter().map(piece).collect(),
            unsent: Counts::default(),
        }
    }
}

impl Piece {
    /// Size of its message, if in memory.
    pub(super) fn bytes(&self) -> usize {
        match &self.content {
            Content::Undecided(message) | Content::Whole(message) | Content::Part(message) => message.len(),
            Content::InLog => 0,
        }
    }

    /// Splits the message into parts of at most this many bytes; a single item may be larger.
    pub(super) fn divide(self, message: Bytes, most: usize) -> Vec<Self> {
        let Self { at, kind, trace_id, .. } = self;
        let part = |message: Bytes| Self {
            at,
            kind,
            trace_id,
            content: Content::Part(message),
        };
        let most = most.min(LARGE_BYTES);
        if message.len() <= most {
            return vec![part(message)];
        }
        let items = match items::items(&message) {
            Ok(items) if items.len() > 1 => items,
            _ => return vec![part(message)],
        };
        drop(message);
        let mut out = Vec::new();
        let (mut group, mut bytes) = (Vec::new(), 0);
        for item in items {
            if bytes + item.length() > most && !group.is_empty() {
                out.push(part(items::join(&std::mem::take(&mut group)).into()));
                bytes = 0;
            }
            bytes += item.length();
            group.push(item);
        }
        out.push(part(items::join(&group).into()));
        out
    }
}
