//! Appending: one write and one sync for all waiting chunks.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossbeam_channel::Receiver;

use super::files::{SEGMENT_HEAD, VERSION, file_name, segment_head, segments_of};
use super::form::{Form, form_of};
use super::out::{Out, Refused};
use super::read::first_arrival;
use super::record::{Head, Position};
use super::recovery::{Damage, Recovery, Torn};
use super::segment::Segment;
use super::sync::Syncer;
use super::table::Row;
use crate::store::chunk::Chunk;
use crate::store::disk::{Disk, DiskFile};
use crate::store::error::{Error, of_io};

/// How many sealed segments may stay in the page cache until they are compressed. Older ones are dropped from it, to leave
/// the memory to other programs.
const MAX_CACHED_SEGMENTS: u64 = 4;

/// The log, open for appending.
#[derive(Debug)]
pub struct Log {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: Arc<dyn DiskFile>,
    /// End of what is on disk.
    end: Position,
    /// End of what is written.
    written: Position,
    segment_size: u64,
    /// Age of the first record, in nanoseconds, at which a segment is sealed.
    segment_age: Option<u64>,
    first_arrival: Option<u64>,
    /// Buffer for small pieces of a write.
    small: Vec<u8>,
    syncer: Syncer,
    /// The new end once the current sync is done.
    syncing: Option<Position>,
    poisoned: Option<Arc<io::Error>>,
}

impl Log {
    /// Opens the log of a disk. Passes every whole record from `from` on to `visit`; a torn end is cut off. `path` is for
    /// messages; a segment is sealed at a size in bytes, or at an age in nanoseconds.
    ///
    /// # Errors
    ///
    /// The disk cannot be read or written, a segment has a later version, or `visit` fails.
    pub fn open(
        disk: Arc<dyn Disk>,
        path: &Path,
        (segment_size, segment_age): (u64, Option<u64>),
        from: Position,
        visit: &mut dyn FnMut(Position, Head, Vec<u8>) -> Result<(), Error>,
    ) -> Result<(Self, Recovery), Error> {
        let io = |doing: &'static str| move |source: io::Error| of_io(doing, path, source);
        let mut recovery = Recovery::default();
        let segments = segments_of(&*disk).map_err(io("list"))?;
        let Some(last) = segments.last().copied() else {
            let (file, end) = new_segment(&*disk, 1).map_err(io("make a segment in"))?;
            let log = Self::new(disk, path, (file, end), (segment_size, segment_age)).map_err(io("start the syncing thread for"))?;
            return Ok((log, recovery));
        };
        let mut open = None;
        for segment in segments {
            if segment < from.segment && segment != last {
                continue;
            }
            let start = if segment == from.segment {
                from.offset
            } else if segment < from.segment {
                u64::MAX
            } else {
                0
            };
            let file = disk.open(&file_name(segment)).map_err(io("open a segment of"))?;
            let form = form_of(&*file, segment)?.map_err(io("read a segment of"))?;
            let size = file.size().map_err(io("read a segment of"))?;
            if form.is_none() && segment == last && size <= SEGMENT_HEAD {
                // A crash interrupted the creation of the segment.
                file.truncate(0).map_err(io("cut"))?;
                file.write_all_at(&[&segment_head(segment, VERSION)], 0).map_err(io("write"))?;
                file.sync().map_err(io("sync"))?;
                open = Some((file, SEGMENT_HEAD));
                continue;
            }
            let mut visited = |row: Row, head, message| {
                recovery.replayed += 1;
                let offset = row.raw;
                visit(Position { segment, offset }, head, message)
            };
            let opened = Segment::open(file, segment)?.map_err(io("read a segment of"))?;
            let scanned = opened.scan(start, &mut visited).map_err(io("read a segment of"))??;
            recovery.damaged.extend(scanned.damaged);
            let at = Position {
                segment,
                offset: scanned.end,
            };
            // The later segments are gone; a compressed one is neither appended to nor cut.
            let compressed = form == Some(Form::Compressed) || scanned.rest > 0 && opened.has_table().map_err(io("read a segment of"))?;
            let open_for_more = segment == last && !compressed;
            let file = opened.file;
            if scanned.rest > 0 && open_for_more {
                file.truncate(scanned.end).map_err(io("cut"))?;
                file.sync().map_err(io("sync"))?;
                recovery.torn = Some(Torn {
                    at,
                    bytes: scanned.rest,
                    acknowledged: false,
                });
            } else if scanned.rest > 0 {
                recovery.damaged.push(Damage { at, bytes: scanned.rest });
            }
            if open_for_more {
                open = Some((file, scanned.end));
            }
        }
        let (file, end) = match open {
            Some((file, offset)) => (file, Position { segment: last, offset }),
            None => new_segment(&*disk, last + 1).map_err(io("make a segment in"))?,
        };
        let log = Self::new(disk, path, (file, end), (segment_size, segment_age)).map_err(io("start the syncing thread for"))?;
        Ok((log, recovery))
    }

    fn new(
        disk: Arc<dyn Disk>,
        path: &Path,
        (file, end): (Box<dyn DiskFile>, Position),
        (segment_size, segment_age): (u64, Option<u64>),
    ) -> io::Result<Self> {
        Ok(Self {
            first_arrival: first_arrival(&*file)?,
            disk,
            path: path.to_owned(),
            file: file.into(),
            end,
            written: end,
            segment_size,
            segment_age,
            small: Vec::new(),
            syncer: Syncer::start()?,
            syncing: None,
            poisoned: None,
        })
    }

    /// The position after the last record on disk.
    #[must_use]
    pub fn end(&self) -> Position {
        self.end
    }

    /// Checks that the log accepts writes.
    ///
    /// # Errors
    ///
    /// An earlier sync failed.
    pub fn check(&self) -> Result<(), Error> {
        match &self.poisoned {
            None => Ok(()),
            Some(source) => Err(Error::Poisoned {
                source: Arc::clone(source),
            }),
        }
    }

    /// Appends chunks, and returns their positions. The chunks are on disk once the next sync that [`Log::begin_sync`]
    /// begins is done.
    ///
    /// # Errors
    ///
    /// None of the chunks counts as written.
    pub fn write(&mut self, chunks: &[Chunk], arrival: u64) -> Result<Vec<Position>, Error> {
        self.check()?;
        if self.written == self.end {
            self.seal_if_due(arrival)?;
        }
        let mut out = Out::new(&*self.file, self.written.offset, arrival, &mut self.small);
        let mut positions = Vec::with_capacity(chunks.len());
        let segment = self.written.segment;
        for chunk in chunks {
            match out.chunk(chunk) {
                Ok(offset) => positions.push(Position { segment, offset }),
                Err(refused) => {
                    drop(out);
                    return Err(self.not_written(refused));
                }
            }
        }
        let offset = match out.end() {
            Ok(offset) => offset,
            Err(source) => return Err(self.not_written(Refused::Disk(source))),
        };
        self.first_arrival = self.first_arrival.or(Some(arrival));
        self.written = Position { segment, offset };
        Ok(positions)
    }

    /// Begins to sync what is written. No other sync may be in progress; [`Log::finish`] waits for this one.
    pub fn begin_sync(&mut self) {
        self.syncer.begin(&self.file);
        self.syncing = Some(self.written);
    }

    /// Receives the result of the current sync; never ready if none was begun.
    pub fn synced(&self) -> &Receiver<io::Result<()>> {
        self.syncer.results()
    }

    /// Cuts off a failed write, so that the next one begins at a clean end.
    fn not_written(&mut self, refused: Refused) -> Error {
        if let Err(worse) = self.file.truncate(self.written.offset) {
            self.poisoned = Some(Arc::new(worse));
        }
        match refused {
            Refused::TooLarge { bytes } => Error::TooLarge { bytes },
            Refused::Disk(source) => of_io("write", &self.path, source),
        }
    }

    /// Waits for the current sync. What it covers is then on disk.
    ///
    /// # Errors
    ///
    /// A sync failed, so it is unknown whether the data is on disk. All further calls fail.
    pub fn finish(&mut self) -> Result<(), Error> {
        let Some(end) = self.syncing.take() else { return self.check() };
        let synced = self.syncer.finish();
        // After a failure the system may report success for a later sync of data it has lost.
        self.check()?;
        if let Err(source) = synced {
            let source = Arc::new(source);
            self.poisoned = Some(Arc::clone(&source));
            return Err(Error::Poisoned { source });
        }
        self.end = end;
        Ok(())
    }

    /// Begins a new segment if this one is large or old enough.
    ///
    /// # Errors
    ///
    /// The new one cannot be created; this one stays active.
    pub fn seal_if_due(&mut self, now: u64) -> Result<(), Error> {
        match self.is_due(now) {
            true => self.roll(),
            false => Ok(()),
        }
    }

    /// Whether this segment is large or old enough to be sealed.
    #[must_use]
    pub fn is_due(&self, now: u64) -> bool {
        let age = self.first_arrival.map(|first| now.saturating_sub(first));
        let is_old = self.segment_age.zip(age).is_some_and(|(most, age)| age > most);
        is_old || self.written.offset >= self.segment_size
    }

    /// Begins a new segment, unless this one is empty.
    ///
    /// # Errors
    ///
    /// The new one cannot be created; this one stays active.
    pub fn seal(&mut self) -> Result<(), Error> {
        self.finish()?;
        match self.end.offset > SEGMENT_HEAD {
            true => self.roll(),
            false => Ok(()),
        }
    }

    /// Begins a new segment. All of the old one must be synced.
    fn roll(&mut self) -> Result<(), Error> {
        let next = self.end.segment + 1;
        let (file, end) = new_segment(&*self.disk, next).map_err(|source| of_io("make a segment in", &self.path, source))?;
        (self.file, self.end, self.written, self.first_arrival) = (file.into(), end, end, None);
        self.leave_cache(next.saturating_sub(1 + MAX_CACHED_SEGMENTS));
        Ok(())
    }

    fn leave_cache(&self, segment: u64) {
        if let Ok(file) = self.disk.open(&file_name(segment))
            && let Ok(Ok(Some(Form::Raw))) = form_of(&*file, segment)
        {
            file.leave_cache();
        }
    }
}

fn new_segment(disk: &dyn Disk, segment: u64) -> io::Result<(Box<dyn DiskFile>, Position)> {
    let name = file_name(segment);
    let file = match disk.create(&name) {
        // Left by an earlier attempt that failed.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let file = disk.open(&name)?;
            file.truncate(0)?;
            file
        }
        file => file?,
    };
    file.write_all_at(&[&segment_head(segment, VERSION)], 0)?;
    file.sync()?;
    disk.sync_names()?;
    let offset = SEGMENT_HEAD;
    Ok((file, Position { segment, offset }))
}
