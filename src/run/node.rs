//! One span while a run is being made of a trace.

use std::cell::Cell;
use std::sync::Arc;

use super::own::Own;
use crate::dialect::{self, ChildResult, Registry};
use crate::hash::HashMap;
use crate::operation::{Kind, Operation};
use crate::span::{LogRecord, Resource, Scope, Span, SpanId, UnixNanos};
use crate::trace::{Finding, Trace};

/// A span with what it says, and where it went.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) span_id: SpanId,
    pub(super) operation: Own,
    /// The parent in the span tree.
    pub(super) tree_parent: Option<usize>,
    /// The node that this one became a part of.
    pub(super) merged_into: Cell<Option<usize>>,
    pub(super) evidence: Vec<SpanId>,
    pub(super) child_results: Vec<ChildResult>,
    pub(super) start: UnixNanos,
    pub(super) end: Option<UnixNanos>,
    scope: Arc<Scope>,
    resource: Arc<Resource>,
    pub(super) is_server: bool,
    /// Whether the client dropped attributes of the span: lists of messages may lack some.
    pub(super) is_partial: bool,
    /// Whether the client sums tokens up over the calls of an agent.
    pub(super) sums_usage: bool,
}

impl Node {
    pub(super) fn kind(&self) -> Kind {
        self.operation.kind()
    }

    /// The name of the instrumentation scope.
    pub(super) fn instrumentation(&self) -> &str {
        &self.scope.name
    }

    /// `service.name` of the resource.
    pub(super) fn service(&self) -> Option<&str> {
        self.resource.attributes.text("service.name")
    }

    pub(super) fn end_or_start(&self) -> UnixNanos {
        self.end.unwrap_or(self.start)
    }

    /// Whether this node's time lies within the other's.
    pub(super) fn within(&self, other: &Self) -> bool {
        self.start >= other.start && (other.end.is_none() || self.end_or_start() <= other.end_or_start())
    }

    /// Whether any message was captured.
    pub(super) fn has_messages(&self) -> bool {
        self.operation.input_messages.is_some() || self.operation.output_messages.is_some()
    }
}

/// The nodes of a trace, one a span, and the ways between them.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub(super) list: Vec<Node>,
    pub(super) findings: Vec<Finding>,
}

impl Nodes {
    /// Takes the spans' longest texts out of them.
    pub(super) fn read(registry: &Registry, trace: &mut Trace, logs: &HashMap<SpanId, Vec<&LogRecord>>) -> Self {
        let mut nodes = Self {
            list: Vec::with_capacity(trace.spans.len()),
            findings: Vec::new(),
        };
        for (index, span) in trace.spans.iter_mut().enumerate() {
            let records = logs.get(&span.span_id).map_or(&[][..], Vec::as_slice);
            let read = dialect::take(registry, span, records);
            nodes.findings.extend(read.findings);
            let tree_parent = trace.parents.get(index).copied().flatten();
            nodes.list.push(Node {
                sums_usage: read.sums_usage,
                ..Self::node(span, read.operation, read.child_results, tree_parent)
            });
        }
        nodes
    }

    fn node(span: &Span, operation: Box<Operation>, child_results: Vec<ChildResult>, tree_parent: Option<usize>) -> Node {
        Node {
            span_id: span.span_id,
            operation: Own::new(operation),
            tree_parent,
            merged_into: Cell::default(),
            evidence: Vec::new(),
            child_results,
            start: span.start,
            end: (!span.is_running()).then_some(span.end),
            scope: Arc::clone(&span.scope),
            resource: Arc::clone(&span.resource),
            is_server: span.kind == crate::span::SpanKind::Server,
            is_partial: span.dropped_attributes > 0,
            sums_usage: false,
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<&Node> {
        self.list.get(index)
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Node> {
        self.list.get_mut(index)
    }

    pub(super) fn kind(&self, index: usize) -> Kind {
        self.get(index).map_or(Kind::Plain, Node::kind)
    }

    /// The node that stands for this one.
    pub(super) fn standing(&self, index: usize) -> usize {
        let next = |index: usize| self.get(index).and_then(|node| node.merged_into.get());
        let mut at = index;
        // A node is merged into one that stands then, and may be merged later: the way ends, and is made shorter.
        while let Some(up) = next(at) {
            let Some(further) = next(up) else { return up };
            if let Some(node) = self.get(at) {
                node.merged_into.set(Some(further));
            }
            at = further;
        }
        at
    }

    /// Whether this node stands for itself.
    pub(super) fn stands(&self, index: usize) -> bool {
        self.get(index).is_some_and(|node| node.merged_into.get().is_none())
    }

    /// The nearest standing ancestor.
    pub(super) fn parent(&self, index: usize) -> Option<usize> {
        let parent = self.get(index)?.tree_parent?;
        let standing = self.standing(parent);
        if standing == index {
            self.parent(parent).filter(|up| *up != index)
        } else {
            Some(standing)
        }
    }

    /// Standing ancestors, nearest first.
    pub(super) fn ancestors(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let mut seen = 0usize;
        std::iter::successors(self.parent(index), move |at| {
            seen += 1;
            // Merges across siblings can bend the tree; a walk longer than the tree is a loop.
            if seen > self.list.len() { None } else { self.parent(*at) }
        })
    }

    /// For each node the nearest standing ancestor of such a kind. One walk for all: what is known of a node above is used.
    pub(super) fn nearest_above(&self, is: impl Fn(Kind) -> bool) -> Vec<Option<usize>> {
        let mut known: Vec<Option<Option<usize>>> = vec![None; self.list.len()];
        let mut way = Vec::new();
        for index in 0..self.list.len() {
            let mut at = index;
            let found = loop {
                match known.get_mut(at) {
                    Some(Some(found)) => break *found,
                    // On a way that comes back to itself there is none.
                    Some(slot) => *slot = Some(None),
                    None => break None,
                }
                way.push(at);
                match self.parent(at) {
                    Some(up) if is(self.kind(up)) => break Some(up),
                    Some(up) => at = up,
                    None => break None,
                }
            };
            for at in way.drain(..) {
                if let Some(slot) = known.get_mut(at) {
                    *slot = Some(found);
                }
            }
        }
        known.into_iter().map(Option::flatten).collect()
    }

    /// Indices of standing nodes of a kind, by start.
    pub(super) fn of_kind(&self, kind: Kind) -> Vec<usize> {
        (0..self.list.len())
            .filter(|index| self.stands(*index) && self.kind(*index) == kind)
            .collect()
    }
}
