//! A search inside a search with the same results, and an embedding inside one of the same texts: a retriever and its inner method
//! (LlamaIndex). Several inside one are its parts.

use super::merge::merge;
use crate::hash::HashMap;
use crate::operation::Kind;
use crate::run::id::ReadingId;
use crate::run::node::Node;
use crate::run::readings::Readings;

pub(super) fn merge_all(readings: &mut Readings) {
    for kind in [Kind::Retrieval, Kind::Embedding] {
        merge_inside(readings, kind);
    }
}

fn merge_inside(readings: &mut Readings, kind: Kind) {
    let mut inside: HashMap<ReadingId, Vec<ReadingId>> = HashMap::default();
    let around = readings.nearest_above(|up| up == kind || !matches!(up, Kind::Plain | Kind::Chain | Kind::Embedding));
    for index in readings.of_kind(kind) {
        if let Some(outer) = around.known(index).filter(|up| readings.kind(*up) == kind) {
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
        if matches!(pair, (Some(outer), Some(inner)) if is_same(outer, inner)) {
            merge(readings, inner, outer);
        }
    }
}

fn is_same(outer: &Node, inner: &Node) -> bool {
    let found = |node: &Node| {
        let documents = node.operation.search.as_ref()?.documents.as_ref()?;
        let what = documents.iter().map(|document| (document.id.clone(), document.content.clone()));
        Some(what.collect::<Vec<_>>())
    };
    let (outer_found, inner_found) = (found(outer), found(inner));
    let (outer_texts, inner_texts) = (&outer.operation.embedded_texts, &inner.operation.embedded_texts);
    outer.instrumentation() == inner.instrumentation()
        && (inner_found.is_none() || inner_found == outer_found)
        && (inner_texts.is_empty() || inner_texts == outer_texts)
}
