//! A store in memory: that another engine can stand behind the traits of a store.
#![expect(clippy::expect_used, reason = "a test")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use spanbridge::otlp::decode;
use spanbridge::otlp::scan::{Key, Part};
use spanbridge::span::{LogRecord, TraceId};
use spanbridge::store::{
    Administer, Append, Arrival, ArrivalLimits, Arrivals, Beside, Chunk, ChunkKind, Deleted, DeletedBefore, EachChunk, Error, Filter,
    Maintained, OnAppended, Order, Position, Read, Receipt, SessionCursor, SessionRow, Stored, Subscribe, TraceRow, Unwanted, Usage,
};
use tokio::sync::watch;

#[derive(Debug, Default)]
pub(crate) struct Memory {
    kept: Mutex<Kept>,
    end: watch::Sender<Position>,
    /// The next reads of a chunk fail, so many.
    pub(crate) failing_reads: AtomicU32,
}

#[derive(Debug, Default)]
struct Kept {
    chunks: Vec<KeptChunk>,
    /// How often loose log records raised the revision of a trace.
    raised: HashMap<TraceId, u64>,
    summaries: HashMap<(TraceId, u64), String>,
    /// Of deleted traces: their sessions.
    deleted: HashMap<TraceId, Option<String>>,
    closed: bool,
}

#[derive(Debug)]
struct KeptChunk {
    kind: ChunkKind,
    part: Part,
    message: Vec<u8>,
    is_deleted: bool,
}

fn place(index: usize) -> Position {
    Position {
        segment: 1,
        offset: index as u64,
    }
}

/// Whether a chunk is one of those that are deleted.
fn is_unwanted(chunk: &KeptChunk, what: &Unwanted, deleted: &Deleted) -> bool {
    match (&chunk.part.key, what) {
        (Key::Trace(id), _) => deleted.traces.contains(id),
        (Key::Session(name), Unwanted::Session(session)) => **name == **session,
        (Key::Session(_), Unwanted::Trace(_)) => false,
    }
}

impl Kept {
    /// The chunks that are there, with their places.
    fn all(&self) -> impl Iterator<Item = (usize, &KeptChunk)> {
        self.chunks.iter().enumerate().filter(|(_, chunk)| !chunk.is_deleted)
    }

    fn to_delete(&self, what: &Unwanted) -> Deleted {
        let is_of = |row: &TraceRow| match what {
            Unwanted::Trace(id) => row.trace_id == *id,
            Unwanted::Session(name) => row.session.as_ref() == Some(name),
        };
        let mut deleted = Deleted::default();
        for row in self.rows().into_iter().filter(is_of) {
            deleted.traces.push(row.trace_id);
            deleted.spans += row.spans;
            deleted.log_records += row.logs;
            deleted.bytes += row.bytes;
        }
        for (_, chunk) in self.all() {
            if matches!(chunk.part.key, Key::Session(_)) && is_unwanted(chunk, what, &deleted) {
                deleted.log_records += 1;
                deleted.bytes += chunk.message.len() as u64;
            }
        }
        deleted
    }

    fn of(&self, trace_id: TraceId) -> impl Iterator<Item = (usize, &KeptChunk)> {
        let is_of = move |(_, chunk): &(usize, &KeptChunk)| matches!(chunk.part.key, Key::Trace(id) if id == trace_id);
        self.all().filter(is_of)
    }

    fn revision(&self, trace_id: TraceId) -> u64 {
        self.of(trace_id).count() as u64 + self.raised.get(&trace_id).copied().unwrap_or_default()
    }

    fn add(&mut self, chunks: &[Chunk]) -> Result<Receipt, Error> {
        if self.closed {
            return Err(Error::Closed);
        }
        let mut receipt = Receipt::default();
        for chunk in chunks {
            if chunk.trace_id().is_some_and(|id| self.deleted.contains_key(&id)) {
                receipt.deleted += chunk.part().items;
                continue;
            }
            let message = chunk.message();
            let is_same = |kept: &KeptChunk| kept.kind == chunk.kind() && kept.part.key == chunk.part().key && kept.message == message;
            if self.all().any(|(_, kept)| is_same(kept)) {
                receipt.duplicates += chunk.part().items;
                continue;
            }
            receipt.stored += chunk.part().items;
            if let Key::Session(session) = &chunk.part().key {
                for row in self.rows().into_iter().filter(|row| row.session.as_deref() == Some(session)) {
                    *self.raised.entry(row.trace_id).or_default() += 1;
                }
            }
            self.chunks.push(KeptChunk {
                kind: chunk.kind(),
                part: chunk.part().clone(),
                message,
                is_deleted: false,
            });
        }
        Ok(receipt)
    }

    /// In order of arrival.
    fn rows(&self) -> Vec<TraceRow> {
        let mut rows: Vec<(TraceRow, u64)> = Vec::new();
        for (_, KeptChunk { kind, part, message, .. }) in self.all() {
            let Key::Trace(trace_id) = part.key else { continue };
            let at = rows.iter().position(|(row, _)| row.trace_id == trace_id).unwrap_or_else(|| {
                rows.push((empty(trace_id), u64::MAX));
                rows.len() - 1
            });
            let (row, root_start) = rows.get_mut(at).expect("a row");
            if let Some((start, name)) = &part.root
                && start < root_start
            {
                (row.root, *root_start) = (Some(name.clone()), *start);
            }
            row.root_ended |= part.root_ended;
            row.service = row.service.take().or_else(|| part.service.as_deref().map(str::to_owned));
            row.session = row.session.take().or_else(|| part.session.as_deref().map(str::to_owned));
            match kind {
                ChunkKind::Spans => {
                    row.spans += part.items as u64;
                    row.start = if row.start == 0 { part.start } else { row.start.min(part.start) };
                    row.end = row.end.max(part.end);
                }
                _ => row.logs += part.items as u64,
            }
            row.errors += part.errors as u64;
            row.bytes += message.len() as u64;
        }
        let mut rows: Vec<TraceRow> = rows.into_iter().map(|(row, _)| row).filter(|row| row.spans > 0).collect();
        for row in &mut rows {
            row.revision = self.revision(row.trace_id);
        }
        rows
    }
}

fn empty(trace_id: TraceId) -> TraceRow {
    TraceRow {
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
        revision: 0,
    }
}

impl Memory {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no panic")
    }

    fn notify(&self) {
        let end = place(self.kept().chunks.len());
        self.end.send_replace(end);
    }
}

impl Append for Memory {
    fn submit(&self, chunks: Vec<Chunk>, done: OnAppended<Receipt>) {
        let receipt = self.kept().add(&chunks);
        self.notify();
        done(receipt);
    }

    fn submit_at(&self, revision: u64, chunk: Chunk, done: OnAppended<u64>) {
        let trace_id = chunk.trace_id().expect("of a trace");
        let mut kept = self.kept();
        if kept.deleted.contains_key(&trace_id) {
            return done(Err(Error::Deleted { trace_id }));
        }
        let result = match kept.revision(trace_id) == revision {
            true => kept.add(&[chunk]).map(|_| kept.revision(trace_id)),
            false => Err(Error::Changed { trace_id }),
        };
        drop(kept);
        self.notify();
        done(result);
    }
}

impl Read for Memory {
    fn list(&self, filter: &Filter) -> Result<Vec<TraceRow>, Error> {
        let kept = self.kept();
        let has_service = |trace_id: TraceId, service: &str| {
            let of_trace = kept.all().filter(|(_, chunk)| chunk.part.key == Key::Trace(trace_id));
            of_trace.flat_map(|(_, chunk)| chunk.part.services()).any(|name| name == service)
        };
        let mut rows = kept.rows();
        match filter.order {
            Order::NewestFirst => rows.sort_by_key(|row| std::cmp::Reverse((row.start, row.trace_id))),
            Order::OldestFirst => rows.sort_by_key(|row| (row.start, row.trace_id)),
            Order::LatestArrivalFirst => rows.reverse(),
        }
        rows.retain(|row| {
            let is_behind = filter.after.is_none_or(|after| {
                let (place, after) = ((row.start, row.trace_id), (after.start, after.trace_id));
                if filter.order == Order::OldestFirst {
                    place > after
                } else {
                    place < after
                }
            });
            is_behind
                && filter.id.as_ref().is_none_or(|id| id.range().contains(row.trace_id.bytes()))
                && (filter.traces.is_empty() || filter.traces.contains(&row.trace_id))
                && filter.service.as_ref().is_none_or(|service| has_service(row.trace_id, service))
                && (filter.session.is_none() || filter.session == row.session)
                && filter.since.is_none_or(|since| row.start >= since)
                && filter.until.is_none_or(|until| row.start < until)
        });
        rows.truncate(filter.limit.unwrap_or(usize::MAX));
        Ok(rows)
    }

    fn sessions(&self, limit: usize, after: Option<&SessionCursor>) -> Result<Vec<SessionRow>, Error> {
        let mut rows: Vec<SessionRow> = Vec::new();
        for trace in self.kept().rows() {
            let Some(session) = trace.session else { continue };
            let at = rows.iter().position(|row| row.session == session).unwrap_or_else(|| {
                rows.push(SessionRow {
                    session,
                    traces: 0,
                    start: u64::MAX,
                    last_start: 0,
                    end: 0,
                });
                rows.len() - 1
            });
            let row = rows.get_mut(at).expect("a row");
            row.traces += 1;
            row.start = row.start.min(trace.start);
            row.last_start = row.last_start.max(trace.start);
            row.end = row.end.max(trace.end);
        }
        rows.sort_by(|a, b| b.last_start.cmp(&a.last_start).then(a.session.cmp(&b.session)));
        let first = after.map_or(0, |after| {
            let is_until = |row: &SessionRow| {
                row.last_start > after.last_start || (row.last_start == after.last_start && row.session <= after.session)
            };
            rows.iter().take_while(|row| is_until(row)).count()
        });
        Ok(rows.into_iter().skip(first).take(limit).collect())
    }

    fn read_trace_while(&self, trace_id: TraceId, may: &mut EachChunk<'_>) -> Result<Option<Stored>, Error> {
        let kept = self.kept();
        let Some(row) = kept.rows().into_iter().find(|row| row.trace_id == trace_id) else {
            return Ok(None);
        };
        let mut stored = Stored::default();
        for (_, chunk) in kept.of(trace_id) {
            may(chunk.kind, &chunk.message)?;
            match chunk.kind {
                ChunkKind::Spans => stored.spans.extend(decode::traces(&chunk.message).expect("spans").items),
                _ => stored.logs.extend(decode::logs(&chunk.message).expect("records").items),
            }
            stored.ends.push((stored.spans.len(), stored.logs.len()));
        }
        for (_, chunk) in kept.all() {
            if matches!(&chunk.part.key, Key::Session(session) if Some(&**session) == row.session.as_deref()) {
                may(chunk.kind, &chunk.message)?;
                let records = decode::logs(&chunk.message).expect("records").items;
                let in_time = records
                    .into_iter()
                    .filter(|record| (row.start..=row.end).contains(&record.when().0));
                stored.logs.extend(in_time);
            }
        }
        Ok(Some(stored))
    }

    fn read_session_logs(&self, session: &str, may: &mut EachChunk<'_>) -> Result<Vec<LogRecord>, Error> {
        let kept = self.kept();
        let of_session = kept
            .all()
            .filter(|(_, chunk)| matches!(&chunk.part.key, Key::Session(named) if **named == *session));
        let mut records = Vec::new();
        for (_, chunk) in of_session {
            may(ChunkKind::LooseLogs, &chunk.message)?;
            records.extend(decode::logs(&chunk.message).expect("records").items);
        }
        Ok(records)
    }

    fn each_chunk(&self, trace_id: TraceId, each: &mut EachChunk<'_>) -> Result<Vec<String>, Error> {
        for (_, chunk) in self.kept().of(trace_id) {
            each(chunk.kind, &chunk.message)?;
        }
        Ok(Vec::new())
    }

    fn revision(&self, trace_id: TraceId) -> Result<u64, Error> {
        Ok(self.kept().revision(trace_id))
    }

    fn deleted(&self, what: &Unwanted) -> Result<Option<DeletedBefore>, Error> {
        let kept = self.kept();
        let of = kept.deleted.iter().filter(|(id, session)| match what {
            Unwanted::Trace(trace_id) => *id == trace_id,
            Unwanted::Session(name) => session.as_ref() == Some(name),
        });
        let traces = of.count() as u64;
        Ok((traces > 0).then_some(DeletedBefore { traces, time: 0 }))
    }

    fn summary(&self, trace_id: TraceId, revision: u64) -> Result<Option<String>, Error> {
        Ok(self.kept().summaries.get(&(trace_id, revision)).cloned())
    }

    fn put_summary(&self, trace_id: TraceId, revision: u64, summary: &str) -> Result<(), Error> {
        self.kept().summaries.insert((trace_id, revision), summary.to_owned());
        Ok(())
    }
}

impl Subscribe for Memory {
    fn watch_end(&self) -> Option<watch::Receiver<Position>> {
        Some(self.end.subscribe())
    }

    fn read_arrivals(&self, from: Position, limits: ArrivalLimits) -> Result<Arrivals, Error> {
        let kept = self.kept();
        let first = usize::try_from(from.offset).expect("small");
        let mut out = Arrivals {
            next: from,
            ..Arrivals::default()
        };
        let mut bytes = 0;
        out.next = place(kept.chunks.len().max(first));
        for (index, chunk) in kept.all().filter(|(index, _)| *index >= first) {
            if bytes >= limits.bytes && !out.chunks.is_empty() {
                out.next = out
                    .chunks
                    .last()
                    .map_or(from, |last| place(usize::try_from(last.at.offset).expect("small") + 1));
                break;
            }
            bytes += chunk.message.len();
            out.chunks.push(Arrival {
                at: place(index),
                kind: chunk.kind,
                trace_id: match chunk.part.key {
                    Key::Trace(trace_id) => Some(trace_id),
                    Key::Session(_) => None,
                },
                time: 0,
                message: chunk.message.clone(),
            });
        }
        Ok(out)
    }

    fn position_at(&self, time: u64) -> Result<Position, Error> {
        // All came at time zero.
        Ok(if time == 0 { place(0) } else { place(self.kept().chunks.len()) })
    }

    fn chunks_of(&self, trace_id: TraceId) -> Result<Vec<(Position, ChunkKind)>, Error> {
        Ok(self.kept().of(trace_id).map(|(index, chunk)| (place(index), chunk.kind)).collect())
    }

    fn chunk_at(&self, at: Position) -> Result<Option<Vec<u8>>, Error> {
        let one_less = |left: u32| left.checked_sub(1);
        if self
            .failing_reads
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
            .is_ok()
        {
            return Err(Error::Io {
                doing: "read",
                path: "segment-1.log".into(),
                source: Arc::new(std::io::Error::other("input/output error")),
            });
        }
        let index = usize::try_from(at.offset).expect("small");
        let kept = self.kept();
        let chunk = kept.chunks.get(index).filter(|chunk| !chunk.is_deleted);
        Ok(chunk.map(|chunk| chunk.message.clone()))
    }

    fn bytes_behind(&self, position: Position) -> u64 {
        let first = usize::try_from(position.offset).expect("small");
        self.kept().chunks.iter().skip(first).map(|chunk| chunk.message.len() as u64).sum()
    }
}

impl Administer for Memory {
    fn ready(&self) -> Result<(), Error> {
        if self.kept().closed { Err(Error::Closed) } else { Ok(()) }
    }

    fn usage(&self) -> Result<Usage, Error> {
        Ok(Usage::default())
    }

    fn appended_bytes(&self) -> u64 {
        self.bytes_behind(place(0))
    }

    fn maintain(&self) -> Result<Maintained, Error> {
        Ok(Maintained::default())
    }

    fn maintained(&self) -> Maintained {
        Maintained::default()
    }

    fn to_delete(&self, what: &Unwanted) -> Result<Deleted, Error> {
        Ok(self.kept().to_delete(what))
    }

    fn delete(&self, what: &Unwanted, beside: &mut Beside<'_>) -> Result<Deleted, Error> {
        let mut kept = self.kept();
        let deleted = kept.to_delete(what);
        for trace_id in &deleted.traces {
            let session = kept.rows().into_iter().find(|row| row.trace_id == *trace_id);
            kept.deleted.insert(*trace_id, session.and_then(|row| row.session));
            kept.summaries.retain(|(id, _), _| id != trace_id);
        }
        for chunk in &mut kept.chunks {
            chunk.is_deleted |= is_unwanted(chunk, what, &deleted);
        }
        drop(kept);
        beside(&deleted.traces)?;
        Ok(deleted)
    }

    fn close(&self) {
        self.kept().closed = true;
    }
}
