//! Stage "reading": takes the spans of a mended trace and its log records and returns the operation that the dialect reads
//! in each span.
//!
//! This runs first because no later stage knows attribute keys. Log records are assigned to their spans before that, because a
//! dialect reads a span together with them.

use std::cell::Cell;
use std::sync::Arc;

use super::id::{Id, IdVec, NodeId, ReadingId};
use super::node::{Node, Nodes};
use super::{log_records, tree};
use crate::dialect::{self, Continuation, Registry};
use crate::hash::HashMap;
use crate::operation::Kind;
#[cfg(feature = "server")]
use crate::operation::Operation;
use crate::span::{LogRecord, SpanId, SpanKind};
use crate::trace::{Finding, FindingKind, Trace};

/// One node per span; several may record the same operation.
#[derive(Debug, Default)]
pub(super) struct Readings {
    list: IdVec<ReadingId, Node>,
    /// The parents in the span tree.
    tree_parents: IdVec<ReadingId, Option<ReadingId>>,
    /// The reading that each one was merged into. Lookups shorten the path.
    merged_into: IdVec<ReadingId, Cell<Option<ReadingId>>>,
    pub(super) findings: Vec<Finding>,
}

/// Reads all spans. The longest texts are moved out of them.
pub(super) fn read(trace: &mut Trace, mut records: Vec<LogRecord>, registry: &Registry) -> Readings {
    if trace.findings.iter().any(|finding| finding.kind == FindingKind::TimesInOtherUnit) {
        log_records::in_nanoseconds(&mut records);
    }
    log_records::settle(&mut records);
    let (of_span, stray) = log_records::of_spans(&records, trace, registry);
    let mut readings = Readings {
        findings: stray,
        ..Readings::default()
    };
    for (index, span) in trace.spans.iter_mut().enumerate() {
        let records = of_span.get(&span.span_id).map_or(&[][..], Vec::as_slice);
        let read = dialect::take(registry, span, records);
        readings.findings.extend(read.findings);
        let node = Node {
            span_id: span.span_id,
            operation: read.operation,
            evidence: Vec::new(),
            beside: read.beside,
            start: span.start,
            end: (!span.is_running()).then_some(span.end),
            scope: Arc::clone(&span.scope),
            resource: Arc::clone(&span.resource),
            is_server: span.kind == SpanKind::Server,
            is_partial: span.dropped_attributes > 0,
            agent_turn: None,
        };
        readings.add(node, trace.parents.get(index).copied().flatten().map(ReadingId::new));
    }
    readings
}

impl Readings {
    /// The reading of each span.
    pub(super) fn by_span(&self) -> HashMap<SpanId, ReadingId> {
        self.list.enumerate().map(|(id, node)| (node.span_id, id)).collect()
    }

    /// The readings that continue another span's conversation, in order.
    pub(super) fn continuations(&self) -> Vec<(ReadingId, Continuation)> {
        let continuations = self.list.enumerate().filter_map(|(id, node)| Some((id, node.beside.continues?)));
        continuations.collect()
    }

    /// The reading of each span.
    #[cfg(feature = "server")]
    pub(super) fn operations(&self) -> impl Iterator<Item = (SpanId, &Operation)> {
        self.list.iter().map(|node| (node.span_id, &*node.operation))
    }

    pub(super) fn add(&mut self, node: Node, parent: Option<ReadingId>) -> ReadingId {
        self.tree_parents.push(parent);
        self.merged_into.push(Cell::default());
        self.list.push(node)
    }

    pub(super) fn get(&self, id: ReadingId) -> Option<&Node> {
        self.list.get(id)
    }

    pub(super) fn get_mut(&mut self, id: ReadingId) -> Option<&mut Node> {
        self.list.get_mut(id)
    }

    pub(super) fn kind(&self, id: ReadingId) -> Kind {
        self.get(id).map_or(Kind::Plain, Node::kind)
    }

    /// Merges a reading into another one, which must be independent.
    pub(super) fn merge(&mut self, lost: ReadingId, kept: ReadingId) {
        self.merged_into.set(lost, Cell::new(Some(kept)));
    }

    /// The reading that this one was merged into, or itself.
    pub(super) fn standing(&self, id: ReadingId) -> ReadingId {
        let next = |id: ReadingId| self.merged_into.get(id).and_then(Cell::get);
        let mut at = id;
        // A reading is merged into one that was independent at that time but may be merged later: paths are finite, and shortened here.
        while let Some(up) = next(at) {
            let Some(further) = next(up) else { return up };
            if let Some(merged) = self.merged_into.get(at) {
                merged.set(Some(further));
            }
            at = further;
        }
        at
    }

    /// Whether this one is independent (not merged).
    pub(super) fn is_independent(&self, id: ReadingId) -> bool {
        self.merged_into.get(id).is_some_and(|merged| merged.get().is_none())
    }

    /// Moves a reading below another parent than recorded.
    pub(super) fn set_parent(&mut self, id: ReadingId, parent: Option<ReadingId>) {
        self.tree_parents.set(id, parent);
    }

    /// The nearest independent ancestor.
    pub(super) fn parent(&self, id: ReadingId) -> Option<ReadingId> {
        let parent = self.tree_parents.known(id)?;
        let standing = self.standing(parent);
        if standing == id {
            self.parent(parent).filter(|up| *up != id)
        } else {
            Some(standing)
        }
    }

    /// For each reading, the nearest independent ancestor of such a kind.
    pub(super) fn nearest_above(&self, is: impl Fn(Kind) -> bool) -> IdVec<ReadingId, Option<ReadingId>> {
        tree::nearest_above(self.list.len(), |at| self.parent(at), |up| is(self.kind(up)))
    }

    /// The independent readings of a kind, by start.
    pub(super) fn of_kind(&self, kind: Kind) -> Vec<ReadingId> {
        let of_kind = self
            .list
            .enumerate()
            .filter(|(id, node)| node.kind() == kind && self.is_independent(*id));
        of_kind.map(|(id, _)| id).collect()
    }

    /// Orders model calls with equal starts: the one with more input messages was later, else the one that ended later.
    fn settle_equal_starts(&self, standing: &mut [ReadingId]) {
        let start = |id: &ReadingId| self.get(*id).map(|node| node.start);
        for same in standing.chunk_by_mut(|a, b| start(a) == start(b)) {
            let places: Vec<usize> = same
                .iter()
                .enumerate()
                .filter(|(_, id)| self.kind(**id) == Kind::Llm)
                .map(|(place, _)| place)
                .collect();
            if places.len() < 2 {
                continue;
            }
            let mut calls: Vec<ReadingId> = places.iter().filter_map(|place| same.get(*place).copied()).collect();
            calls.sort_by_key(|id| {
                let node = self.get(*id);
                let given = node
                    .and_then(|node| node.operation.input_messages.as_ref())
                    .map_or(0, |input| input.len());
                (given, node.map(Node::end_or_start), *id)
            });
            for (place, call) in places.into_iter().zip(calls) {
                if let Some(slot) = same.get_mut(place) {
                    *slot = call;
                }
            }
        }
    }

    /// The independent readings as nodes. Merged ones are dropped.
    pub(super) fn into_nodes(self) -> Nodes {
        let mut standing: Vec<ReadingId> = self.list.ids().filter(|id| self.is_independent(*id)).collect();
        self.settle_equal_starts(&mut standing);
        let mut places: IdVec<ReadingId, Option<NodeId>> = IdVec::filled(None, self.list.len());
        for (index, id) in standing.iter().enumerate() {
            places.set(*id, Some(NodeId::new(index)));
        }
        let parents = standing.iter().map(|id| places.known(self.parent(*id)?)).collect();
        let mut slots: Vec<Option<Node>> = self.list.into_iter().map(Some).collect();
        let list = standing.iter().filter_map(|id| slots.get_mut(id.index())?.take());
        Nodes {
            list: list.collect(),
            parents,
            findings: self.findings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::testing::reading;

    #[test]
    fn what_is_merged_leaves_the_tree() {
        let mut readings = Readings::default();
        let root = readings.add(reading(1, Kind::Agent, 0..90), None);
        let outer = readings.add(reading(2, Kind::Llm, 10..50), Some(root));
        let inner = readings.add(reading(3, Kind::Llm, 20..40), Some(outer));
        let below = readings.add(reading(4, Kind::Tool, 30..35), Some(inner));
        readings.merge(inner, outer);
        assert_eq!((readings.standing(inner), readings.parent(below)), (outer, Some(outer)));
        let nodes = readings.into_nodes();
        let spans: Vec<u64> = nodes.list.iter().map(|node| u64::from_be_bytes(*node.span_id.bytes())).collect();
        assert_eq!(spans, [1, 2, 4]);
        let parents: Vec<Option<usize>> = nodes.parents.iter().map(|parent| parent.map(Id::index)).collect();
        assert_eq!(parents, [None, Some(0), Some(1)]);
    }
}
