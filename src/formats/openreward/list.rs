//! A list of blocks under construction; times and sequence numbers are assigned at the end.

use std::collections::{BTreeMap, BTreeSet};

use crate::blocks::document::{Block, SubType};
use crate::document::json::{Json, Text};
use crate::hash::{HashMap, HashSet};
use crate::run::{ScopeId, StepId};
use crate::span::UnixNanos;
use crate::transcript::ids::Ids;

/// A block under construction.
#[derive(Debug)]
pub(super) struct BlockDraft<'a> {
    /// The block, without times.
    pub(super) block: Block<'a>,
    /// Its sub type.
    pub(super) sub_type: SubType,
    /// Its time.
    pub(super) at: UnixNanos,
    /// The step that produced it; `None` for input of a model call.
    pub(super) author: Option<StepId>,
    /// The stream it belongs to.
    pub(super) stream: ScopeId,
    /// For a result: the draft of its call.
    pub(super) call: Option<usize>,
}

/// Blocks of one trace, or of one sub-agent.
#[derive(Debug, Default)]
pub(super) struct List<'a> {
    /// `tr_...`
    pub(super) trace: Text<'a>,
    pub(super) drafts: Vec<BlockDraft<'a>>,
    /// Call ids in use.
    pub(super) call_ids: Ids<'a>,
    /// Streams written to this list.
    pub(super) streams: BTreeSet<ScopeId>,
    /// Whether any time of the runs was measured; blocks need no times.
    pub(super) has_times: bool,
    /// Where the current run begins.
    pub(super) start: usize,
    /// The latest message of any stream.
    pub(super) last_message: Option<usize>,
    /// Tools whose sub-agents have not been written, and the first block of each.
    pub(super) authors: BTreeMap<StepId, usize>,
    /// Authors have been recorded up to here.
    noted: usize,
    /// The results of each call.
    results: HashMap<usize, Vec<usize>>,
    /// For calls whose results may be repeated: the outputs, and the number of results they cover.
    outputs: HashMap<usize, (HashSet<String>, usize)>,
}

impl<'a> List<'a> {
    pub(super) fn new(trace: Text<'a>) -> Self {
        Self { trace, ..Self::default() }
    }

    /// Adds a draft; returns its index.
    pub(super) fn push(&mut self, draft: BlockDraft<'a>) -> usize {
        let place = self.drafts.len();
        if draft.sub_type == SubType::Message {
            self.last_message = Some(place);
        }
        if let Some(call) = draft.call {
            self.results.entry(call).or_default().push(place);
        }
        self.drafts.push(draft);
        place
    }

    /// The outputs of a call, as JSON text.
    pub(super) fn outputs(&mut self, call: usize) -> &HashSet<String> {
        let (outputs, until) = self.outputs.entry(call).or_default();
        let places = self.results.get(&call).map_or(&[][..], Vec::as_slice);
        let new = places.iter().skip(*until).filter_map(|place| self.drafts.get(*place));
        let payloads = new.filter_map(|draft| draft.block.payload.as_object());
        outputs.extend(payloads.filter_map(|payload| Some(payload.get("output")?.to_string())));
        *until = places.len();
        outputs
    }

    pub(super) fn block(&mut self, place: usize) -> Option<&mut Block<'a>> {
        self.drafts.get_mut(place).map(|draft| &mut draft.block)
    }

    pub(super) fn id(&self, place: usize) -> Option<Text<'a>> {
        self.drafts.get(place).and_then(|draft| draft.block.id.clone())
    }

    /// Begins the next run, of which nothing is written yet.
    pub(super) fn begin_run(&mut self, has_times: bool) {
        self.has_times |= has_times;
        self.start = self.drafts.len();
        self.noted = self.start;
        self.streams.clear();
        self.authors.clear();
    }

    /// Records the authors of new blocks that match.
    pub(super) fn note_authors(&mut self, is_meant: impl Fn(StepId) -> bool) {
        for (place, draft) in self.drafts.iter().enumerate().skip(self.noted) {
            if let Some(author) = draft.author.filter(|author| is_meant(*author)) {
                let _ = self.authors.entry(author).or_insert(place);
            }
        }
        self.noted = self.drafts.len();
    }

    /// The drafts of the current run with their indices.
    pub(super) fn of_run(&self) -> impl Iterator<Item = (usize, &BlockDraft<'a>)> {
        self.drafts.iter().enumerate().skip(self.start)
    }

    /// A free call id: the id itself, else with the prefix, else numbered.
    pub(super) fn free_call_id(&mut self, id: &Text<'a>, prefix: impl Fn() -> Text<'a>) -> Text<'a> {
        self.call_ids.prefixed(id, prefix)
    }

    /// The finished blocks: results of one call are numbered, and times strictly increase.
    pub(super) fn finish(self) -> Vec<Block<'a>> {
        let mut drafts = self.drafts;
        for places in self.results.values().filter(|places| places.len() > 1) {
            for (seq, place) in places.iter().enumerate() {
                if let Some(Json::Object(payload)) = drafts.get_mut(*place).map(|draft| &mut draft.block.payload) {
                    payload.insert("seq", seq);
                }
            }
        }
        let mut last = None;
        let mut times = Vec::with_capacity(drafts.len());
        for draft in &drafts {
            let micros = draft.at.0 / 1_000;
            let micros = last.map_or(micros, |last: u64| micros.max(last.saturating_add(1)));
            last = Some(micros);
            times.push(micros);
        }
        drafts
            .into_iter()
            .zip(times)
            .map(|(draft, micros)| {
                // A fixed width, because readers compare these times as text; a later block never changes an earlier time.
                let text = UnixNanos(micros.saturating_mul(1_000)).rfc3339_micros();
                let mut block = draft.block;
                if self.has_times {
                    block.created_at = Some(text.clone().into());
                    block.updated_at = Some(text.into());
                }
                block
            })
            .collect()
    }
}
