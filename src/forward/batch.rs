//! The unsent rest of the chunks that were read together, in order.

use std::collections::VecDeque;

use bytes::Bytes;

use super::counts::Counts;
use crate::otlp::items;
use crate::span::TraceId;
use crate::store::{Arrival, ChunkKind, Position};

/// A message with more bytes is alone in the process while it is prepared and sent.
pub(super) const LARGE: usize = 2 << 20;

/// What is left of the chunks that were read together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) pieces: VecDeque<Piece>,
    /// What is in none of the requests so far.
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

/// How far a piece is.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// A chunk; whether it is sent is not decided yet.
    Undecided(Bytes),
    /// A chunk in the log that is sent, because its trace is.
    InLog,
    /// A chunk that is sent.
    Whole(Bytes),
    /// A part of a chunk, small or with a single item.
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
    /// Bytes of its message, as far as it is in memory.
    pub(super) fn bytes(&self) -> usize {
        match &self.content {
            Content::Undecided(message) | Content::Whole(message) | Content::Part(message) => message.len(),
            Content::InLog => 0,
        }
    }

    /// Its parts of at most this many bytes; a single item may have more.
    pub(super) fn divide(self, message: Bytes, most: usize) -> Vec<Self> {
        let Self { at, kind, trace_id, .. } = self;
        let part = |message: Bytes| Self {
            at,
            kind,
            trace_id,
            content: Content::Part(message),
        };
        let most = most.min(LARGE);
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
