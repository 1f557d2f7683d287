//! A list of blocks while it is being written: times and sequence numbers are settled at the end.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::document::{Block, SubType};
use crate::span::UnixNanos;

/// A block to be.
#[derive(Debug)]
pub(super) struct Draft {
    /// The block, without times.
    pub(super) block: Block,
    /// Its meaning.
    pub(super) sub_type: SubType,
    /// When it is due.
    pub(super) at: UnixNanos,
    /// The step that made it; `None` for what went into a model call.
    pub(super) author: Option<usize>,
    /// The stream it stands in.
    pub(super) stream: usize,
    /// For a result: the draft of its call.
    pub(super) call: Option<usize>,
}

/// Blocks of one trace, or of one sub-agent.
#[derive(Debug, Default)]
pub(super) struct List {
    /// `tr_...`
    pub(super) trace: String,
    /// The blocks in order.
    pub(super) drafts: Vec<Draft>,
    /// Call ids that are taken.
    pub(super) call_ids: HashSet<String>,
    /// Streams that are written here.
    pub(super) streams: BTreeSet<usize>,
    /// Where the present run begins.
    pub(super) start: usize,
}

impl List {
    /// An empty list.
    pub(super) fn new(trace: &str) -> Self {
        Self {
            trace: trace.to_owned(),
            ..Self::default()
        }
    }

    /// Adds a draft and gives its place.
    pub(super) fn push(&mut self, draft: Draft) -> usize {
        self.drafts.push(draft);
        self.drafts.len() - 1
    }

    /// The draft's block.
    pub(super) fn block(&mut self, place: usize) -> Option<&mut Block> {
        self.drafts.get_mut(place).map(|draft| &mut draft.block)
    }

    /// The draft's id.
    pub(super) fn id(&self, place: usize) -> Option<String> {
        self.drafts.get(place).and_then(|draft| draft.block.id.clone())
    }

    /// The drafts of the present run with their places.
    pub(super) fn of_run(&self) -> impl DoubleEndedIterator<Item = (usize, &Draft)> {
        self.drafts.iter().enumerate().skip(self.start)
    }

    /// The latest message, of any stream.
    pub(super) fn last_message(&self) -> Option<usize> {
        self.drafts.iter().rposition(|draft| draft.sub_type == SubType::Message)
    }

    /// The latest message of the stream that was there at that time, else the first one after, else any.
    pub(super) fn message_at(&self, stream: usize, at: UnixNanos) -> Option<usize> {
        let is_message = |draft: &Draft| draft.sub_type == SubType::Message;
        let own = || self.of_run().filter(|(_, draft)| is_message(draft) && draft.stream == stream);
        own()
            .rfind(|(_, draft)| draft.at <= at)
            .or_else(|| own().next())
            .map(|(place, _)| place)
            .or_else(|| self.last_message())
    }

    /// A call id that nobody has: the id itself, else with the prefix, else numbered.
    pub(super) fn free_call_id(&mut self, id: &str, prefix: &str) -> String {
        let mut free = id.to_owned();
        let mut number = 1;
        while !self.call_ids.insert(free.clone()) {
            free = if number == 1 {
                format!("{prefix}/{id}")
            } else {
                format!("{prefix}/{id}#{number}")
            };
            number += 1;
        }
        free
    }

    /// The blocks: several results of one call are numbered, times strictly increase.
    pub(super) fn finish(self) -> Vec<Block> {
        let mut drafts = self.drafts;
        let mut results: HashMap<usize, usize> = HashMap::new();
        for draft in &drafts {
            if let Some(call) = draft.call {
                *results.entry(call).or_default() += 1;
            }
        }
        let mut next: HashMap<usize, u64> = HashMap::new();
        let mut last = None;
        let mut times = Vec::with_capacity(drafts.len());
        for draft in &mut drafts {
            if let Some(call) = draft.call
                && results.get(&call).is_some_and(|count| *count > 1)
                && let Value::Object(payload) = &mut draft.block.payload
            {
                let seq = next.entry(call).or_default();
                let _ = payload.insert("seq".into(), (*seq).into());
                *seq += 1;
            }
            let micros = draft.at.0 / 1_000;
            let micros = last.map_or(micros, |last: u64| micros.max(last.saturating_add(1)));
            last = Some(micros);
            times.push(micros);
        }
        // One width in a document: readers compare these times as text.
        let wide = times.iter().any(|micros| !micros.is_multiple_of(1_000));
        drafts
            .into_iter()
            .zip(times)
            .map(|(draft, micros)| {
                let mut text = UnixNanos(micros.saturating_mul(1_000)).rfc3339();
                if wide && micros.is_multiple_of(1_000) {
                    text.truncate(text.len().saturating_sub(1));
                    text.push_str("000Z");
                }
                let mut block = draft.block;
                block.created_at = Some(Value::String(text.clone()));
                block.updated_at = Some(Value::String(text));
                block
            })
            .collect()
    }
}
