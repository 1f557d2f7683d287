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

/// Chunks that wait to be stored, and who wants to know.
pub(super) struct Job {
    pub(super) chunks: Vec<Chunk>,
    /// Of the trace of its one chunk, which is stored at this revision alone.
    pub(super) revision: Option<u64>,
    pub(super) done: OnAppended<Receipt>,
}

/// Requests whose new chunks are written to the log, and not in the index yet.
#[derive(Default)]
pub(super) struct Batch {
    jobs: Vec<Job>,
    /// What each of them gets once the chunks are on the disk and in the index.
    results: Vec<Result<Receipt, Error>>,
    new: Vec<Chunk>,
    /// Where they are.
    places: Vec<Position>,
    bytes: usize,
    /// Of each checksum, the last new chunk that has it.
    last: HashMap<u32, usize>,
    /// Of each new chunk, the one before it that has the same checksum.
    before: Vec<Option<usize>>,
    touched: Touched,
}

/// Traces that get new chunks, as far as anybody asked.
#[derive(Default)]
struct Touched {
    traces: HashSet<TraceId>,
    /// They are those of so many chunks.
    count: usize,
}

/// Requests of which nothing is written, and why.
pub(super) struct NotWritten {
    pub(super) jobs: Vec<Job>,
    pub(super) error: Error,
}

impl Batch {
    /// Compares requests with what is stored and with what is in the batch, and writes what is new to the log.
    ///
    /// # Errors
    ///
    /// They are not in the batch, and it takes no more.
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

    /// Whether a request brought this chunk. Another request did: none has a trace twice.
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

    /// That the trace on whose revision a job depends has another one, in the index or by chunks that are stored with it.
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

    /// Whether there is no request.
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Whether anything was not stored before.
    pub(super) fn is_new(&self) -> bool {
        !self.new.is_empty()
    }

    /// Bytes of messages that are new.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds the rows of the new chunks.
    pub(super) fn add_to(&self, transaction: &mut IndexTransaction<'_>) -> Result<(), Error> {
        let mut rows = self.new.iter().zip(&self.places);
        rows.try_for_each(|(chunk, at)| transaction.add(&chunk.listed(), *at))
    }

    /// The requests, and what they get if the new chunks are stored.
    pub(super) fn answers(self) -> impl Iterator<Item = (Job, Result<Receipt, Error>)> {
        self.jobs.into_iter().zip(self.results)
    }
}

/// Whether a chunk is of a trace that was deleted on request.
fn is_deleted(deleted: Option<&Deletions>, chunk: &Chunk) -> bool {
    deleted.is_some_and(|deleted| chunk.trace_id().is_some_and(|trace_id| deleted.has(trace_id)))
}

impl Job {
    /// Its trace, if that was deleted and the job depends on its revision.
    fn depends_on_deleted(&self, deleted: Option<&Deletions>) -> Option<TraceId> {
        let chunk = self.revision.and(self.chunks.first())?;
        chunk.trace_id().filter(|_| is_deleted(deleted, chunk))
    }

    /// Bytes of its chunks.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.iter().map(Chunk::own_length).sum()
    }
}
