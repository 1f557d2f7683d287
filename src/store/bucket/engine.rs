//! The bucket engine, behind the traits of a store.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::keys::Owner;
use super::ownership::Ownership;
use super::place::{Place, unread};
use super::prepare::Prepared;
use super::rows::Rows;
use super::spool::Spool;
use super::summaries::Summaries;
use super::trace::{Placed, each_message, heads};
use super::views::{Cache, Source, Views};
use super::writer::{Writer, WriterSettings};
use super::{claims, collect, counts, list, open, runtime};
use crate::otlp::decode;
use crate::span::{LogRecord, TraceId};
use crate::store::chunk::{Chunk, ChunkKind};
use crate::store::deletion::{Beside, Deleted, DeletedBefore, Unwanted};
use crate::store::error::{Error, of_io};
use crate::store::lists::{Filter, SessionCursor, SessionRow, TraceRow};
use crate::store::local::Opened;
use crate::store::maintain::Maintained;
use crate::store::options::{BucketOptions, OpenOptions};
use crate::store::ready::{self, Usage};
use crate::store::traits::{Administer, Append, Count, EachChunk, OnAppended, Read, Receipt, Stored};

/// A store in a bucket.
#[derive(Debug)]
pub(in crate::store) struct Bucket {
    pub(super) views: Arc<Views>,
    /// `None`: opened for reading only.
    pub(super) writer: Option<Arc<Writer>>,
    /// The local log of chunks waiting for the bucket.
    spool: Option<Arc<Spool>>,
    pub(super) summaries: Summaries,
    /// The data directory, for files that are not in the bucket.
    directory: PathBuf,
}

impl Bucket {
    /// Opens this bridge's database for writing, and all others for reading.
    pub(in crate::store) fn open(options: &OpenOptions, bucket: &BucketOptions) -> Result<Opened<Self>, Error> {
        if options.retention.bytes.is_some() {
            return Err(Error::NotInBucket {
                what: "keep at most a number of bytes (--retain-bytes); --retain-hours works",
            });
        }
        std::fs::create_dir_all(&options.directory).map_err(|source| of_io("make", &options.directory, source))?;
        let id = open::writer_of(bucket, &options.directory)?;
        let how = WriterSettings {
            level: options.compression,
            ttl: options.retention.age,
            in_flight_bytes: bucket.in_flight_bytes,
        };
        let place = Place::of(&bucket.url)?.below(&bucket.folder);
        let asked = place.clone();
        runtime::wait(async move { open::ask(&asked).await })?;
        let (spool, recovery) = Spool::open(options, bucket)?.unzip();
        let (bucket, waiting) = (bucket.clone(), spool.clone());
        let (views, writer) = runtime::wait(async move {
            let cache = Cache::new();
            let (id, db, counter) = open::open_own(&place, &id, &cache, &bucket).await?;
            let views = Views::open(place, cache, Some((id.clone(), db.clone(), waiting)), bucket.poll_interval).await?;
            if let Some(kept) = how.ttl {
                tokio::spawn(collect::follow(Arc::downgrade(&views), kept));
            }
            let ownership = Ownership::of(views.place(), &id, &db, bucket.poll_interval);
            let deletions = Arc::clone(views.deletions());
            Ok((views, Writer::start(ownership, &id, db, counter, (how, deletions))?))
        })?;
        let writer = Arc::new(writer);
        if let Some(spool) = &spool {
            spool.start(&writer)?;
        }
        let store = Self {
            views,
            writer: Some(writer),
            spool,
            summaries: Summaries::default(),
            directory: options.directory.clone(),
        };
        let recovery = recovery.unwrap_or_default();
        Ok(Opened { store, recovery })
    }

    /// The local log, if requests are answered once it has their chunks.
    fn acknowledging(&self) -> Option<&Arc<Spool>> {
        self.spool.as_ref().filter(|spool| spool.acknowledges())
    }

    /// Opens the databases of all bridges for reading.
    pub(in crate::store) fn open_to_read(bucket: &BucketOptions) -> Result<Self, Error> {
        let place = Place::of(&bucket.url)?.below(&bucket.folder);
        let poll = bucket.poll_interval;
        let views = runtime::wait(async move {
            open::ask(&place).await?;
            Views::open(place, Cache::new(), None, poll).await
        })?;
        if views.writers() == 0 {
            return Err(Error::Url {
                url: bucket.url.clone(),
                fault: "no server has written there; check the prefix, or start one with `spanbridge serve --store URL`".to_owned(),
            });
        }
        Ok(Self {
            views,
            writer: None,
            spool: None,
            summaries: Summaries::default(),
            directory: PathBuf::new(),
        })
    }

    pub(super) fn heads(&self, owner: Owner) -> Result<(Vec<Source>, Vec<Placed>), Error> {
        let views = Arc::clone(&self.views);
        runtime::wait(async move {
            let sources = views.sources();
            let heads = heads(&sources, &owner).await.map_err(unread(views.place()))?;
            Ok((sources, heads))
        })
    }

    fn each(&self, trace_id: TraceId, keep: fn(ChunkKind) -> bool, each: &mut EachChunk<'_>) -> Result<Vec<String>, Error> {
        let owner = Owner::trace(trace_id);
        let (sources, mut heads) = self.heads(owner.clone())?;
        heads.retain(|placed| placed.head.kind().is_some_and(keep));
        each_message(&self.views, sources, owner, heads, &mut |kind, message| each(kind, &message))
    }
}

impl Append for Bucket {
    fn submit(&self, chunks: Vec<Chunk>, done: OnAppended<Receipt>) {
        match &self.writer {
            None => done(Err(Error::ReadOnly)),
            Some(_) if chunks.is_empty() => done(Ok(Receipt::default())),
            Some(writer) => match self.acknowledging() {
                Some(spool) => spool.submit(writer, chunks, done),
                None => writer.submit(chunks, done),
            },
        }
    }

    fn submit_at(&self, revision: u64, chunk: Chunk, done: OnAppended<u64>) {
        let Some(writer) = self.writer.clone() else {
            return done(Err(Error::ReadOnly));
        };
        if writer.is_closed() {
            return done(Err(Error::Closed));
        }
        let handle = match runtime::handle() {
            Ok(handle) => handle,
            Err(error) => return done(Err(error)),
        };
        let (views, level) = (Arc::clone(&self.views), writer.how.level);
        handle.spawn(async move {
            let appended = claims::append_at(views, writer, revision, Prepared::of(&chunk, level)).await;
            done(appended);
        });
    }
}

impl Read for Bucket {
    fn list(&self, filter: &Filter) -> Result<Vec<TraceRow>, Error> {
        let (views, filter) = (Arc::clone(&self.views), filter.clone());
        runtime::wait(async move { list::list(views.sources(), filter).await.map_err(unread(views.place())) })
    }

    fn sessions(&self, limit: usize, after: Option<&SessionCursor>) -> Result<Vec<SessionRow>, Error> {
        let (views, after) = (Arc::clone(&self.views), after.cloned());
        runtime::wait(async move {
            let found = list::sessions(views.sources(), limit, after).await;
            found.map_err(unread(views.place()))
        })
    }

    fn read_trace_while(&self, trace_id: TraceId, may: &mut EachChunk<'_>) -> Result<Option<Stored>, Error> {
        let owner = Owner::trace(trace_id);
        let (sources, heads) = self.heads(owner.clone())?;
        let Some(row) = super::rows::fold(trace_id, &heads).filter(|row| row.row.spans > 0) else {
            return Ok(None);
        };
        let row = row.row;
        let mut stored = Stored::default();
        let damaged = each_message(&self.views, sources, owner, heads, &mut |kind, message| {
            may(kind, &message)?;
            add(&mut stored, kind, &message);
            Ok(())
        })?;
        stored.damaged.extend(damaged);
        if let Some(session) = &row.session {
            self.add_loose(&mut stored, session, row.start..=row.end, may)?;
        }
        // An unreadable database may have had chunks of this trace.
        stored.damaged.extend(self.views.unreadable());
        Ok(Some(stored))
    }

    fn each_chunk(&self, trace_id: TraceId, each: &mut EachChunk<'_>) -> Result<Vec<String>, Error> {
        self.each(trace_id, |_| true, each)
    }

    fn read_logs(&self, trace_id: TraceId) -> Result<Vec<LogRecord>, Error> {
        let mut stored = Stored::default();
        self.each(trace_id, |kind| kind != ChunkKind::Spans, &mut |kind, message| {
            add(&mut stored, kind, message);
            Ok(())
        })?;
        Ok(stored.logs)
    }

    fn read_session_logs(&self, session: &str, may: &mut EachChunk<'_>) -> Result<Vec<LogRecord>, Error> {
        let mut stored = Stored::default();
        self.add_loose(&mut stored, session, 0..=u64::MAX, may)?;
        Ok(stored.logs)
    }

    fn revision(&self, trace_id: TraceId) -> Result<u64, Error> {
        let views = Arc::clone(&self.views);
        runtime::wait(async move {
            let mut rows = Rows::new(views.sources());
            let revision = async {
                let of_trace = heads(rows.sources(), &Owner::trace(trace_id)).await?;
                rows.revision_of(&of_trace).await
            };
            revision.await.map_err(unread(views.place()))
        })
    }

    fn deleted(&self, what: &Unwanted) -> Result<Option<DeletedBefore>, Error> {
        Ok(self.views.deletions().before(what))
    }

    fn summary(&self, trace_id: TraceId, revision: u64) -> Result<Option<String>, Error> {
        Ok(self.summaries.get(trace_id, revision))
    }

    fn put_summary(&self, trace_id: TraceId, revision: u64, summary: &str) -> Result<(), Error> {
        self.summaries.put(trace_id, revision, summary);
        Ok(())
    }
}

impl Bucket {
    /// Adds the session's log records without a trace from this time.
    fn add_loose(
        &self,
        stored: &mut Stored,
        session: &str,
        time: std::ops::RangeInclusive<u64>,
        may: &mut EachChunk<'_>,
    ) -> Result<(), Error> {
        let owner = Owner::session(session);
        let (sources, mut heads) = self.heads(owner.clone())?;
        heads.retain(|Placed { head, .. }| head.start <= *time.end() && head.end >= *time.start());
        let mut of_session = Stored::default();
        let damaged = each_message(&self.views, sources, owner, heads, &mut |kind, message| {
            may(kind, &message)?;
            add(&mut of_session, kind, &message);
            Ok(())
        })?;
        let in_time = |record: &LogRecord| time.contains(&record.when().0);
        stored.logs.extend(of_session.logs.into_iter().filter(in_time));
        stored.damaged.extend(of_session.damaged.into_iter().chain(damaged));
        Ok(())
    }
}

/// Decodes a message and adds its spans or log records.
fn add(stored: &mut Stored, kind: ChunkKind, message: &[u8]) {
    let decoded = match kind {
        ChunkKind::Spans => decode::traces(message).map(|decoded| stored.spans.extend(decoded.items)),
        _ => decode::logs(message).map(|decoded| stored.logs.extend(decoded.items)),
    };
    if let Err(error) = decoded {
        stored.damaged.push(error.to_string());
    }
    stored.ends.push((stored.spans.len(), stored.logs.len()));
}

impl Administer for Bucket {
    fn ready(&self) -> Result<(), Error> {
        self.writer.as_ref().ok_or(Error::ReadOnly)?.ready()?;
        self.acknowledging().map_or(Ok(()), |spool| spool.ready())
    }

    fn usage(&self) -> Result<Usage, Error> {
        let writer = self.writer.as_ref().ok_or(Error::ReadOnly)?;
        let beside = ready::usage(&self.directory).map_err(|source| of_io("read", &self.directory, source))?;
        Ok(Usage {
            log_bytes: writer.stored(),
            ..beside
        })
    }

    fn appended_bytes(&self) -> u64 {
        let Some(writer) = &self.writer else { return 0 };
        match self.acknowledging() {
            Some(spool) => spool.local.appended_bytes() + writer.state().posted.load(Ordering::Relaxed),
            None => writer.appended(),
        }
    }

    /// Nothing to do: the engine compacts and removes in the background.
    fn maintain(&self) -> Result<Maintained, Error> {
        self.writer.as_ref().ok_or(Error::ReadOnly)?;
        Ok(Maintained::default())
    }

    fn maintained(&self) -> Maintained {
        Maintained::default()
    }

    fn to_delete(&self, what: &Unwanted) -> Result<Deleted, Error> {
        self.find_to_delete(what).map(|(deleted, _)| deleted)
    }

    fn delete(&self, what: &Unwanted, beside: &mut Beside<'_>) -> Result<Deleted, Error> {
        self.delete_at_once(what, beside)
    }

    /// Includes deletions that other servers began: each server must clean the files next to its own store.
    fn finish_deletions(&self, beside: &mut Beside<'_>) -> Result<(), Error> {
        match self.views.deletions().traces() {
            traces if traces.is_empty() => Ok(()),
            traces => beside(&traces),
        }
    }

    fn counts(&self) -> Vec<Count> {
        counts::of(&self.views, self.writer.as_deref(), self.spool.as_deref())
    }

    fn close(&self) {
        if let Some(spool) = &self.spool {
            spool.close();
        }
        if let Some(writer) = &self.writer {
            writer.close();
        }
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        self.close();
    }
}
