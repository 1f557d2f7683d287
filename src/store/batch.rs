//! Requests that are stored together.

use super::chunk::Chunk;
use super::clock::now;
use super::deletion::Deletions;
use super::error::Error;
use super::index::{self, IndexTransaction};
use super::log::{Log, Position};
use super::repetition::Repetition;
use super::segments::Segments;
use super::state::State;
use super::traits::{OnAppended, Receipt};
use crate::hash::{HashMap, HashSet};
use crate::span::TraceId;

/// Chunks waiting to be stored, and the callback for the result.
pub(super) struct Job {
    pub(super) chunks: Vec<Chunk>,
    /// Store the job's only chunk only if its trace is at this revision.
    pub(super) revision: Option<u64>,
    pub(super) done: OnAppended<Receipt>,
}

/// Requests whose new chunks are in the log but not yet in the index.
#[derive(Default)]
pub(super) struct Batch {
    jobs: Vec<Job>,
    /// The result each job gets once the chunks are on disk and in the index.
    results: Vec<Result<Receipt, Error>>,
    new: Vec<Chunk>,
    /// Positions of the new chunks.
    places: Vec<Position>,
    bytes: usize,
    /// The last new chunk with each checksum.
    last: HashMap<u32, usize>,
    /// For each new chunk, the one before it with the same checksum.
    before: Vec<Option<usize>>,
    touched: Touched,
}

/// Traces that get new chunks; built only when a revision is checked.
#[derive(Default)]
struct Touched {
    traces: HashSet<TraceId>,
    /// How many of the batch's chunks are in `traces`.
    count: usize,
}

/// Requests that were not written, and why.
pub(super) struct NotWritten {
    pub(super) jobs: Vec<Job>,
    pub(super) error: Error,
}

impl Batch {
    /// Compares requests with the store and with the batch, and writes what is new to the log.
    ///
    /// # Errors
    ///
    /// The requests are not in the batch, and the batch accepts no more.
    pub(super) fn write(
        &mut self,
        jobs: Vec<Job>,
        transaction: &mut IndexTransaction<'_>,
        log: &mut Log,
        (segments, state): (&Segments, &State),
    ) -> Result<(), NotWritten> {
        let (results, new) = (self.results.len(), self.new.len());
        let written = self.examine(&jobs, transaction, segments, state).and_then(|()| {
            let new = self.new.get(new..).unwrap_or_default();
            match new.is_empty() {
                true => Ok(Vec::new()),
                false => log.write(new, now()),
            }
        });
        match written {
            Ok(places) => {
                self.bytes += self.new.iter().skip(new).map(Chunk::own_length).sum::<usize>();
                self.jobs.extend(jobs);
                self.places.extend(places);
                Ok(())
            }
            Err(error) => {
                self.results.truncate(results);
                self.new.truncate(new);
                Err(NotWritten { jobs, error })
            }
        }
    }

    fn examine(&mut self, jobs: &[Job], transaction: &mut IndexTransaction<'_>, segments: &Segments, state: &State) -> Result<(), Error> {
        let mut repetition = Repetition::new(segments);
        let deleted = state.deletions();
        for job in jobs {
            if let Some(trace_id) = job.depends_on_deleted(deleted.as_deref()) {
                self.results.push(Err(Error::Deleted { trace_id }));
                continue;
            }
            if let Some(changed) = self.changed(job, transaction)? {
                self.results.push(Err(changed));
                continue;
            }
            let mut receipt = Receipt::default();
            for chunk in &job.chunks {
                let items = chunk.part().items;
                if is_deleted(deleted.as_deref(), chunk) {
                    receipt.deleted += items;
                } else if self.has(chunk, &mut repetition) || repetition.is_stored(transaction, chunk)? {
                    receipt.duplicates += items;
                } else {
                    receipt.stored += items;
                    self.before.push(self.last.insert(chunk.checksum(), self.new.len()));
                    self.new.push(chunk.clone());
                }
            }
            self.results.push(Ok(receipt));
        }
        Ok(())
    }

    /// Whether an earlier request in the batch brought this chunk; one request never has a trace twice.
    fn has(&self, chunk: &Chunk, repetition: &mut Repetition<'_>) -> bool {
        let last = self.last.get(&chunk.checksum()).copied();
        let mut alike = std::iter::successors(last, |at| self.before.get(*at).copied().flatten())
            .filter_map(|at| self.new.get(at))
            .take(index::ALIKE);
        alike.any(|other| {
            let is_of_another = other.request() != chunk.request();
            is_of_another && other.kind() == chunk.kind() && other.part().key == chunk.part().key && repetition.same(other, chunk)
        })
    }

    /// An error if the trace is no longer at the job's revision, in the index or because of chunks in this batch.
    fn changed(&mut self, job: &Job, transaction: &mut IndexTransaction<'_>) -> Result<Option<Error>, Error> {
        let (Some(expected), Some(trace_id)) = (job.revision, job.chunks.first().and_then(Chunk::trace_id)) else {
            return Ok(None);
        };
        let more = self.new.get(self.touched.count..).unwrap_or_default();
        self.touched.traces.extend(more.iter().filter_map(Chunk::trace_id));
        self.touched.count = self.new.len();
        let is_changed = self.touched.traces.contains(&trace_id) || transaction.revision(trace_id)? != expected;
        Ok(is_changed.then_some(Error::Changed { trace_id }))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Whether the batch has chunks that were not stored before.
    pub(super) fn is_new(&self) -> bool {
        !self.new.is_empty()
    }

    /// Total size of the new messages.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds the rows of the new chunks to the index.
    pub(super) fn add_to(&self, transaction: &mut IndexTransaction<'_>) -> Result<(), Error> {
        let mut rows = self.new.iter().zip(&self.places);
        rows.try_for_each(|(chunk, at)| transaction.add(&chunk.listed(), *at))
    }

    /// The jobs with the results they get if the new chunks are stored.
    pub(super) fn answers(self) -> impl Iterator<Item = (Job, Result<Receipt, Error>)> {
        self.jobs.into_iter().zip(self.results)
    }
}

/// Whether a chunk belongs to a trace that was deleted on request.
fn is_deleted(deleted: Option<&Deletions>, chunk: &Chunk) -> bool {
    deleted.is_some_and(|deleted| chunk.trace_id().is_some_and(|trace_id| deleted.has(trace_id)))
}

impl Job {
    /// Its trace, if the job depends on the trace's revision and the trace was deleted.
    fn depends_on_deleted(&self, deleted: Option<&Deletions>) -> Option<TraceId> {
        let chunk = self.revision.and(self.chunks.first())?;
        chunk.trace_id().filter(|_| is_deleted(deleted, chunk))
    }

    /// Total size of its chunks.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.iter().map(Chunk::own_length).sum()
    }
}
