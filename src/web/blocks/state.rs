//! The state of a trace that blocks are written to.

use serde_json::Value;

use crate::blocks::limits::Limits;
use crate::blocks::rules::{self, Accepted, Known, KnownBlock, Refusal, Seen};
use crate::formats::openreward::written::{self, Facts, Sent};
use crate::otlp::decode;
use crate::span::{Span, TraceId, UnixNanos};
use crate::store::{ChunkKind, Error, Read};

use super::super::reply::Problem;
use super::name::Name;
use super::post::Posted;

/// Times of blocks are in whole microseconds.
const MICRO: u64 = 1_000;

/// What the rules need to know of a trace's blocks.
#[derive(Debug, Default)]
pub(super) struct BlockState {
    seen: Seen,
    /// The revision of the trace in the store with exactly these blocks.
    pub(super) revision: u64,
    /// Insertion time of the last block.
    last: UnixNanos,
    /// Number of blocks.
    pub(super) blocks: usize,
    /// The trace's name in its blocks.
    name: Option<String>,
    /// Whether the trace has spans that are not blocks.
    has_spans: bool,
}

/// New blocks of one request.
#[derive(Debug)]
pub(super) struct NewBlocks {
    pub(super) spans: Vec<Span>,
    /// The answer: the blocks as stored.
    pub(super) answer: String,
}

impl BlockState {
    /// Reads a trace's state from the store.
    pub(super) fn load(store: &dyn Read, trace: TraceId) -> Result<Self, Error> {
        // Read before the chunks, so that the next append detects later ones.
        let revision = store.revision(trace)?;
        let mut state = Self {
            revision,
            ..Self::default()
        };
        store.each_chunk(trace, &mut |kind, message| {
            if kind == ChunkKind::Spans {
                let spans = decode::traces(message).map(|decoded| decoded.items).unwrap_or_default();
                spans.iter().for_each(|span| state.know(span));
            }
            Ok(())
        })?;
        Ok(state)
    }

    fn know(&mut self, span: &Span) {
        let Some(facts) = written::text_of(span).and_then(Facts::of) else {
            self.has_spans = true;
            return;
        };
        self.name.get_or_insert_with(|| facts.trace_id.to_string());
        self.last = self.last.max(span.start);
        if let Some(accepted) = facts.accepted() {
            self.seen.insert(accepted);
            self.blocks += 1;
        }
    }

    /// Checks the blocks of one request, all or none, and adds them. If they cannot be stored, this state must be dropped.
    pub(super) fn accept(&mut self, trace: &Name, posted: &Posted, now: UnixNanos, limits: &Limits) -> Result<NewBlocks, Problem> {
        if self.has_spans {
            let message = format!(
                "trace {} was recorded as spans; blocks can only be added to traces that have nothing else",
                trace.text
            );
            return Err(Problem::recorded(message));
        }
        if let Some(name) = self.name.as_ref().filter(|name| **name != trace.text) {
            return Err(Problem::recorded(format!(
                "the trace {} was created as {name}; use that name",
                trace.text
            )));
        }
        let mut new = New {
            before: &self.seen,
            seen: Seen::default(),
        };
        let mut accepted: Vec<Accepted> = Vec::with_capacity(posted.blocks.len());
        let (mut spans, mut texts) = (Vec::new(), Vec::new());
        let mut last = self.last;
        let scope = written::scope();
        for (index, text) in posted.blocks.iter().enumerate() {
            let refused = |refusal: Refusal| Problem::of_block(refusal, posted.as_list.then_some(index));
            // Only one is parsed at a time.
            let mut one = {
                let value: Value = serde_json::from_str(text).map_err(|error| match posted.as_list {
                    true => Problem::invalid(format!("block {index} cannot be read: {error}")),
                    false => Problem::invalid(format!("the block cannot be read: {error}")),
                })?;
                rules::check(&value, &trace.text, &new, limits).map_err(refused)?
            };
            let now = now.0 / MICRO * MICRO;
            last = UnixNanos(now.max(last.0.saturating_add(MICRO)));
            let id = one.id.get_or_insert_with(|| written::block_id(&trace.text, last));
            let sent: Sent<'_> =
                serde_json::from_str(text).map_err(|error| Problem::invalid(format!("the block cannot be read: {error}")))?;
            let stored = sent.stored(id, &trace.text, last);
            let facts = Facts::of(&stored).ok_or_else(|| Problem::internal("the block cannot be read back"))?;
            let span = written::span_of(trace.id, &facts, last, stored.clone(), &scope);
            new.seen.insert(one.clone());
            accepted.push(one);
            spans.push(span);
            texts.push(stored);
        }
        self.blocks += accepted.len();
        accepted.into_iter().for_each(|one| self.seen.insert(one));
        self.last = last;
        self.name.get_or_insert_with(|| trace.text.clone());
        let answer = match texts.as_slice() {
            [alone] if !posted.as_list => alone.clone(),
            list => format!("[{}]", list.join(",")),
        };
        Ok(NewBlocks { spans, answer })
    }
}

/// The stored blocks, and earlier ones of the same request.
struct New<'a> {
    before: &'a Seen,
    seen: Seen,
}

impl Known for New<'_> {
    fn block(&self, id: &str) -> Option<KnownBlock> {
        self.before.block(id).or_else(|| self.seen.block(id))
    }

    fn has_call(&self, trace: &str, call_id: &str) -> bool {
        self.before.has_call(trace, call_id) || self.seen.has_call(trace, call_id)
    }

    fn has_result(&self, trace: &str, call_id: &str, seq: u64) -> bool {
        self.before.has_result(trace, call_id, seq) || self.seen.has_result(trace, call_id, seq)
    }
}
