//! The repaired tree.

use super::finding::Finding;
use crate::span::{Span, SpanId};

/// The spans of one trace as a forest.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// One span per id, ordered by time. Spans are referred to by index into this list.
    pub spans: Vec<Span>,
    /// The parent of each span, if it is among the spans.
    pub parents: Vec<Option<usize>>,
    /// The children of each span, in order.
    pub children: Vec<Vec<usize>>,
    /// Spans without a parent, in order.
    pub roots: Vec<usize>,
    /// Bodies superseded by another body with the same id.
    pub superseded: Vec<Span>,
    /// Oddities.
    pub findings: Vec<Finding>,
}

impl Trace {
    /// The indices in depth-first order, parents before children, with their depth.
    #[must_use]
    pub fn depth_first(&self) -> Vec<(usize, usize)> {
        let mut out = Vec::with_capacity(self.spans.len());
        let mut stack: Vec<(usize, usize)> = self.roots.iter().rev().map(|root| (*root, 0)).collect();
        while let Some((index, depth)) = stack.pop() {
            out.push((index, depth));
            let children = self.children.get(index).map_or(&[][..], Vec::as_slice);
            stack.extend(children.iter().rev().map(|child| (*child, depth + 1)));
        }
        out
    }

    /// The index of the span with this id.
    #[must_use]
    pub fn index_of(&self, id: SpanId) -> Option<usize> {
        self.spans.iter().position(|span| span.span_id == id)
    }
}
