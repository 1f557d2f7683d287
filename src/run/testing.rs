//! Nodes and steps for tests, built by hand.

use std::ops::Range;
use std::sync::Arc;

use super::id::{Id, NodeId, ScopeId};
use super::model::Step;
use super::node::{Node, Nodes};
use crate::dialect::Beside;
use crate::operation::{Kind, Operation};
use crate::span::{SpanId, UnixNanos};

/// A node with this span id, from an unnamed instrumentation.
pub(super) fn reading(number: u64, kind: Kind, time: Range<u64>) -> Node {
    Node {
        span_id: SpanId::from_bytes(&number.to_be_bytes()).expect("not zero"),
        operation: Box::new(Operation {
            kind,
            ..Operation::default()
        }),
        evidence: Vec::new(),
        beside: Beside::default(),
        start: UnixNanos(time.start),
        end: Some(UnixNanos(time.end)),
        scope: Arc::default(),
        resource: Arc::default(),
        is_server: false,
        is_partial: false,
        agent_turn: None,
    }
}

/// A tree of nodes, each with the index of its parent.
pub(super) fn nodes<const N: usize>(list: [(Node, Option<usize>); N]) -> Nodes {
    let (list, parents): (Vec<Node>, Vec<_>) = list.into_iter().map(|(node, parent)| (node, parent.map(NodeId::new))).unzip();
    Nodes {
        list: list.into(),
        parents: parents.into(),
        findings: Vec::new(),
    }
}

/// A step of the first scope, without a span.
pub(crate) fn step(id: String, kind: Kind, name: &str, started_at: UnixNanos, ended_at: UnixNanos) -> Step {
    let operation = Operation {
        kind,
        name: name.to_owned(),
        ..Operation::default()
    };
    Step::new(id, ScopeId::FIRST, operation, (started_at, Some(ended_at)))
}
