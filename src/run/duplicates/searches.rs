//! A search inside a search that found the same: a retriever and the method in it (LlamaIndex). Several searches inside one are its
//! parts.

use super::merge::merge;
use crate::hash::HashMap;
use crate::operation::Kind;
use crate::run::id::ReadingId;
use crate::run::node::Node;
use crate::run::readings::Readings;

pub(super) fn merge_all(readings: &mut Readings) {
    let mut inside: HashMap<ReadingId, Vec<ReadingId>> = HashMap::default();
    let around = readings.nearest_above(|kind| !matches!(kind, Kind::Plain | Kind::Chain | Kind::Embedding));
    for index in readings.of_kind(Kind::Retrieval) {
        if let Some(outer) = around.known(index).filter(|up| readings.kind(*up) == Kind::Retrieval) {
            inside.entry(outer).or_default().push(index);
        }
    }
    let mut pairs: Vec<(ReadingId, ReadingId)> = inside
        .into_iter()
        .filter_map(|(outer, inner)| match inner.as_slice() {
            [only] => Some((outer, *only)),
            _ => None,
        })
        .collect();
    // Inner ones first, so that a chain of three becomes one.
    pairs.sort_unstable_by(|a, b| b.cmp(a));
    for (outer, inner) in pairs {
        let pair = (readings.get(outer), readings.get(inner));
        if matches!(pair, (Some(outer), Some(inner)) if found_the_same(outer, inner)) {
            merge(readings, inner, outer);
        }
    }
}

fn found_the_same(outer: &Node, inner: &Node) -> bool {
    let found = |node: &Node| {
        let documents = node.operation.search.as_ref()?.documents.as_ref()?;
        Some(
            documents
                .iter()
                .map(|document| (document.id.clone(), document.content.clone()))
                .collect::<Vec<_>>(),
        )
    };
    let (outer_found, inner_found) = (found(outer), found(inner));
    outer.instrumentation() == inner.instrumentation() && (inner_found.is_none() || inner_found == outer_found)
}
