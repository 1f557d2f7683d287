//! Rows of lists, built from the heads of a trace's chunks.

use std::collections::{BTreeSet, HashMap};

use super::keys::Owner;
use super::trace::{Placed, heads};
use super::views::Source;
use crate::span::TraceId;
use crate::store::chunk::ChunkKind;
use crate::store::lists::TraceRow;

/// The row of a trace, with the arrival of its first chunk: time, database and number.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) row: TraceRow,
    /// All services of its chunks.
    services: BTreeSet<String>,
    pub(super) came: (u64, usize, u64),
}

/// Builds a row from the heads; its revision counts only those.
pub(super) fn fold(trace_id: TraceId, heads: &[Placed]) -> Option<Row> {
    let first = heads.first()?;
    let mut row = TraceRow {
        trace_id,
        root: None,
        root_ended: false,
        service: None,
        session: None,
        start: 0,
        end: 0,
        spans: 0,
        logs: 0,
        errors: 0,
        bytes: 0,
        revision: heads.len() as u64,
    };
    let (mut root_start, mut services) = (u64::MAX, BTreeSet::new());
    for Placed { head, .. } in heads {
        if let Some(root) = &head.root
            && (row.root.is_none() || head.root_start < root_start)
        {
            (row.root, root_start) = (Some(root.clone()), head.root_start);
        }
        row.root_ended |= head.root_ended;
        row.service = row.service.or_else(|| head.service.clone());
        services.extend(head.service.iter().chain(&head.further_services).cloned());
        if head.session_of_root || row.session.is_none() {
            row.session = head.session.clone().or(row.session);
        }
        match head.kind() {
            Some(ChunkKind::Spans) => row.spans += head.items,
            _ => row.logs += head.items,
        }
        if head.start != 0 && (row.start == 0 || head.start < row.start) {
            row.start = head.start;
        }
        row.end = row.end.max(head.end);
        row.errors += head.errors;
        row.bytes += head.bytes;
    }
    let came = (first.head.arrival, first.source, first.head.number);
    Some(Row { row, services, came })
}

impl Row {
    /// Whether this service did a part of the trace.
    pub(super) fn has_service(&self, service: &str) -> bool {
        self.services.contains(service)
    }
}

/// The sessions named by chunks of a trace. The revision adds the loose log chunks of each, so it never falls.
fn sessions_of(heads: &[Placed]) -> BTreeSet<String> {
    heads.iter().filter_map(|placed| placed.head.session.clone()).collect()
}

/// A cache of rows for one answer.
pub(super) struct Rows {
    sources: Vec<Source>,
    known: HashMap<TraceId, Option<Row>>,
    /// How many loose log chunks each session has.
    loose: HashMap<String, u64>,
}

/// Maximum traces read at once.
pub(super) const AT_ONCE: usize = 32;

impl Rows {
    pub(super) fn new(sources: Vec<Source>) -> Self {
        Self {
            sources,
            known: HashMap::new(),
            loose: HashMap::new(),
        }
    }

    pub(super) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Reads the rows that are not yet cached.
    pub(super) async fn read(&mut self, traces: impl IntoIterator<Item = TraceId>) -> Result<(), slatedb::Error> {
        let wanted: BTreeSet<TraceId> = traces.into_iter().filter(|id| !self.known.contains_key(id)).collect();
        let wanted: Vec<TraceId> = wanted.into_iter().collect();
        for some in wanted.chunks(AT_ONCE) {
            let tasks: Vec<_> = some
                .iter()
                .map(|trace_id| {
                    let (sources, owner) = (self.sources.clone(), Owner::trace(*trace_id));
                    tokio::spawn(async move { heads(&sources, &owner).await })
                })
                .collect();
            for (trace_id, task) in some.iter().zip(tasks) {
                let heads = task.await.map_err(|error| slatedb::Error::unavailable(error.to_string()))??;
                let row = self.row_of(*trace_id, &heads).await?;
                self.known.insert(*trace_id, row);
            }
        }
        Ok(())
    }

    /// The row of a trace, if it has spans.
    pub(super) fn get(&self, trace_id: TraceId) -> Option<&Row> {
        self.known.get(&trace_id)?.as_ref()
    }

    async fn row_of(&mut self, trace_id: TraceId, heads: &[Placed]) -> Result<Option<Row>, slatedb::Error> {
        let Some(mut row) = fold(trace_id, heads) else { return Ok(None) };
        row.row.revision = self.revision_of(heads).await?;
        Ok((row.row.spans > 0).then_some(row))
    }

    /// The revision of a trace with these chunks.
    pub(super) async fn revision_of(&mut self, of_trace: &[Placed]) -> Result<u64, slatedb::Error> {
        let mut revision = of_trace.len() as u64;
        for session in sessions_of(of_trace) {
            let loose = match self.loose.get(&session) {
                Some(loose) => *loose,
                None => heads(&self.sources, &Owner::session(&session)).await?.len() as u64,
            };
            self.loose.insert(session, loose);
            revision += loose;
        }
        Ok(revision)
    }
}
