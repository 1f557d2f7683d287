//! The operations of a trace during assembly, each once, in the span tree.

use std::sync::Arc;

use super::id::{IdVec, NodeId};
use super::tree;
use crate::dialect::Beside;
use crate::operation::{Kind, Operation};
use crate::span::{Resource, Scope, SpanId, UnixNanos};
use crate::trace::{Finding, FindingKind};

/// A span with its operation.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) span_id: SpanId,
    pub(super) operation: Box<Operation>,
    /// Other spans of the operation.
    pub(super) evidence: Vec<SpanId>,
    /// Facts that the span records about other operations.
    pub(super) beside: Beside,
    pub(super) start: UnixNanos,
    pub(super) end: Option<UnixNanos>,
    pub(super) scope: Arc<Scope>,
    pub(super) resource: Arc<Resource>,
    pub(super) is_server: bool,
    /// Whether the client dropped attributes of the span, so that message lists may be incomplete.
    pub(super) is_partial: bool,
    /// For a model call known only from the messages on its agent's span: its index among those.
    pub(super) agent_turn: Option<usize>,
}

impl Node {
    pub(super) fn kind(&self) -> Kind {
        self.operation.kind
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

/// The nodes of a trace by start, and their tree.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    pub(super) list: IdVec<NodeId, Node>,
    pub(super) parents: IdVec<NodeId, Option<NodeId>>,
    pub(super) findings: Vec<Finding>,
}

impl Nodes {
    pub(super) fn get(&self, id: NodeId) -> Option<&Node> {
        self.list.get(id)
    }

    pub(super) fn get_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.list.get_mut(id)
    }

    pub(super) fn kind(&self, id: NodeId) -> Kind {
        self.get(id).map_or(Kind::Plain, Node::kind)
    }

    pub(super) fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.parents.known(id)
    }

    /// Drops the messages shared with other calls from a call's input, to save space.
    pub(super) fn leave_out_continued(&mut self, id: NodeId) {
        let Some(node) = self.get_mut(id) else { return };
        let Some(messages) = node.operation.input_messages.as_mut() else {
            return;
        };
        let count = messages.continued();
        messages.leave_out_continued();
        let detail = format!("{count} messages that went in before are left to earlier model calls: all inputs of the trace take too much");
        let span_id = node.span_id;
        self.findings.push(Finding::new(Some(span_id), FindingKind::InputLeftOut, detail));
    }

    /// Ancestors, nearest first.
    pub(super) fn ancestors(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        tree::ancestors(id, self.list.len(), |at| self.parent(at))
    }

    /// For each node, the nearest ancestor of such a kind.
    pub(super) fn nearest_above(&self, is: impl Fn(Kind) -> bool) -> IdVec<NodeId, Option<NodeId>> {
        tree::nearest_above(self.list.len(), |at| self.parent(at), |up| is(self.kind(up)))
    }

    /// The nodes of a kind, by start.
    pub(super) fn of_kind(&self, kind: Kind) -> Vec<NodeId> {
        let of_kind = self.list.enumerate().filter(|(_, node)| node.kind() == kind);
        of_kind.map(|(id, _)| id).collect()
    }
}
