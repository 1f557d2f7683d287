//! Appending: one write and one sync for all chunks that wait.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::record::{Head, Position};
use super::recovery::{Recovery, Torn, check_segment_head, scan_segment};
use super::{SEGMENT_HEAD, file_name, segment_head, segment_of};
use crate::store::disk::{Disk, DiskFile};
use crate::store::{Chunk, Error};

/// The log, open for appending.
#[derive(Debug)]
pub struct Log {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: Box<dyn DiskFile>,
    end: Position,
    segment_size: u64,
    poisoned: Option<Arc<io::Error>>,
}

impl Log {
    /// Opens the log of a disk. Every whole record from `from` on is given to `visit`; a torn end is cut off.
    /// `path` is for messages.
    ///
    /// # Errors
    ///
    /// The disk cannot be read or written, a segment is of a later version, or `visit` fails.
    pub fn open(
        disk: Arc<dyn Disk>,
        path: &Path,
        segment_size: u64,
        from: Position,
        visit: &mut dyn FnMut(Position, Head, Vec<u8>) -> Result<(), Error>,
    ) -> Result<(Self, Recovery), Error> {
        let io = |doing: &'static str| move |source: io::Error| failure(doing, path, source);
        let mut recovery = Recovery::default();
        let segments = segments(&*disk).map_err(io("list"))?;
        let Some(last) = segments.last().copied() else {
            let (file, end) = new_segment(&*disk, 1).map_err(io("make a segment in"))?;
            return Ok((Self::new(disk, path, file, end, segment_size), recovery));
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
            let whole_head = check_segment_head(&*file, segment)?.map_err(io("read a segment of"))?;
            let size = file.size().map_err(io("read a segment of"))?;
            if !whole_head && segment == last && size <= SEGMENT_HEAD {
                // A crash while the segment was made.
                file.truncate(0).map_err(io("cut"))?;
                file.write_all_at(&segment_head(segment), 0).map_err(io("write"))?;
                file.sync().map_err(io("sync"))?;
                open = Some((file, SEGMENT_HEAD));
                continue;
            }
            let mut visited = |position, head, message| {
                recovery.replayed += 1;
                visit(position, head, message)
            };
            let scanned = scan_segment(&*file, segment, start.min(size), &mut visited)?.map_err(io("read a segment of"))?;
            recovery.damaged.extend(scanned.damaged);
            let at = Position {
                segment,
                offset: scanned.end,
            };
            if scanned.rest > 0 && segment == last {
                file.truncate(scanned.end).map_err(io("cut"))?;
                file.sync().map_err(io("sync"))?;
                recovery.torn = Some(Torn { at, bytes: scanned.rest });
            } else if scanned.rest > 0 {
                recovery.damaged.push(super::Damage { at, bytes: scanned.rest });
            }
            open = Some((file, scanned.end));
        }
        let Some((file, offset)) = open else { return Err(Error::Closed) };
        let end = Position { segment: last, offset };
        Ok((Self::new(disk, path, file, end, segment_size), recovery))
    }

    fn new(disk: Arc<dyn Disk>, path: &Path, file: Box<dyn DiskFile>, end: Position, segment_size: u64) -> Self {
        Self {
            disk,
            path: path.to_owned(),
            file,
            end,
            segment_size,
            poisoned: None,
        }
    }

    /// Where the next record will stand.
    #[must_use]
    pub fn end(&self) -> Position {
        self.end
    }

    /// That the log takes more.
    ///
    /// # Errors
    ///
    /// A sync failed before.
    pub fn check(&self) -> Result<(), Error> {
        match &self.poisoned {
            None => Ok(()),
            Some(source) => Err(Error::Poisoned {
                source: Arc::clone(source),
            }),
        }
    }

    /// Writes chunks and syncs once. On success all of them are on the disk; the positions are theirs.
    ///
    /// # Errors
    ///
    /// None of them counts as written. After a failed sync every further call fails.
    pub fn append(&mut self, chunks: &[&Chunk], arrival: u64) -> Result<Vec<Position>, Error> {
        self.check()?;
        if self.end.offset >= self.segment_size {
            self.roll()?;
        }
        let total: usize = chunks.iter().map(|chunk| chunk.bytes.len() + super::record::HEAD).sum();
        let mut buffer = Vec::with_capacity(total);
        let mut positions = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let head = Head::of(chunk, arrival).ok_or(Error::TooLarge { bytes: chunk.bytes.len() })?;
            positions.push(Position {
                segment: self.end.segment,
                offset: self.end.offset + buffer.len() as u64,
            });
            buffer.extend(head.to_bytes());
            buffer.extend_from_slice(&chunk.bytes);
        }
        if let Err(source) = self.file.write_all_at(&buffer, self.end.offset) {
            // What was written of it is cut off again: the next write begins at a clean end.
            if let Err(worse) = self.file.truncate(self.end.offset) {
                self.poisoned = Some(Arc::new(worse));
            }
            return Err(failure("write", &self.path, source));
        }
        if let Err(source) = self.file.sync() {
            let source = Arc::new(source);
            self.poisoned = Some(Arc::clone(&source));
            return Err(Error::Poisoned { source });
        }
        self.end.offset += buffer.len() as u64;
        Ok(positions)
    }

    /// Begins a new segment. All of the old one is synced already.
    fn roll(&mut self) -> Result<(), Error> {
        let next = self.end.segment + 1;
        let (file, end) = new_segment(&*self.disk, next).map_err(|source| failure("make a segment in", &self.path, source))?;
        (self.file, self.end) = (file, end);
        Ok(())
    }
}

fn segments(disk: &dyn Disk) -> io::Result<Vec<u64>> {
    let mut segments: Vec<u64> = disk.list()?.iter().filter_map(|name| segment_of(name)).collect();
    segments.sort_unstable();
    Ok(segments)
}

fn new_segment(disk: &dyn Disk, segment: u64) -> io::Result<(Box<dyn DiskFile>, Position)> {
    let name = file_name(segment);
    let file = match disk.create(&name) {
        // Left by an earlier attempt that could not be finished.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let file = disk.open(&name)?;
            file.truncate(0)?;
            file
        }
        file => file?,
    };
    file.write_all_at(&segment_head(segment), 0)?;
    file.sync()?;
    disk.sync_names()?;
    let offset = SEGMENT_HEAD;
    Ok((file, Position { segment, offset }))
}

fn failure(doing: &'static str, path: &Path, source: io::Error) -> Error {
    let path = path.to_owned();
    let full = matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    let source = Arc::new(source);
    if full {
        Error::Full { path, source }
    } else {
        Error::Io { doing, path, source }
    }
}
