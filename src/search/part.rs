//! One file of the index: the words of a stretch of the log.
//!
//! A document is the data of one trace that arrived in one batch. Its number consists of the trace's number in the file and, in the
//! lower bits, the batch's, so that the numbers alone show which traces contain a word. A long document is several rows: SQLite
//! collects all words of a row in memory, at a hundred bytes per word. The table of words stores neither text nor positions
//! (`content=''`, `detail=none`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

use super::error::SearchError;
use super::words::Document;
use crate::span::TraceId;
use crate::store::Position;

/// Steps of SQLite between two checks whether to continue the search.
const STEPS: i32 = 10_000;

/// The bits of a document's number for the batch.
const BATCH_BITS: u32 = 24;
/// The number of batches that these bits can count.
const BATCHES: i64 = 1 << BATCH_BITS;
/// The version of the files; others are rebuilt.
const VERSION: i64 = 1;

/// The files of a folder with their numbers, in the order of the log.
pub(super) fn files(folder: &Path) -> Result<Vec<(u64, PathBuf)>, SearchError> {
    let failed = |source: std::io::Error| SearchError::Folder {
        folder: folder.to_owned(),
        source: Arc::new(source),
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "sqlite")
            && let Some(number) = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok())
        {
            files.push((number, path));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// The path of the file with a number.
pub(super) fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:010}.sqlite"))
}

/// Removes a file.
pub(super) fn remove(path: &Path) {
    for end in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        // A file that cannot be removed does no harm.
        let _ = std::fs::remove_file(name);
    }
}

/// Removes the first file that contains one of these traces, and all after it; they are rebuilt from the log.
pub(super) fn forget(folder: &Path, traces: &[TraceId]) -> Result<(), SearchError> {
    let files = files(folder)?;
    let mut first = files.len();
    for (index, (_, path)) in files.iter().enumerate() {
        if has_any(path, traces).map_err(failure("read", path))? {
            first = index;
            break;
        }
    }
    // The last one first, so that the remaining files are consecutive even if this is interrupted.
    files.iter().skip(first).rev().for_each(|(_, path)| remove(path));
    Ok(())
}

fn has_any(path: &Path, traces: &[TraceId]) -> rusqlite::Result<bool> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.execute_batch("PRAGMA busy_timeout = 5000;")?;
    let mut find = connection.prepare("SELECT 1 FROM trace WHERE id = ?")?;
    for trace in traces {
        if find.exists([trace.bytes()])? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn failure<'a>(doing: &'static str, path: &'a Path) -> impl Fn(rusqlite::Error) -> SearchError + 'a {
    move |source| SearchError::Part {
        doing,
        path: path.to_owned(),
        source: Arc::new(source),
    }
}

/// A file being written.
#[derive(Debug)]
pub(super) struct Part {
    path: PathBuf,
    connection: Connection,
    /// Everything before this position is in this part or an earlier one.
    pub(super) next: Position,
    /// Bytes of messages in the part.
    pub(super) bytes: u64,
    batches: i64,
}

impl Part {
    /// Opens a file, creating it if necessary. `next`: the position where a new one begins.
    pub(super) fn open(path: PathBuf, next: Position) -> Result<Self, SearchError> {
        let failed = failure("open", &path);
        let connection = Connection::open(&path).map_err(&failed)?;
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8192; PRAGMA busy_timeout = 5000;
                 CREATE TABLE IF NOT EXISTS state (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL,
                     segment INTEGER NOT NULL, byte INTEGER NOT NULL, bytes INTEGER NOT NULL, batches INTEGER NOT NULL);
                 CREATE TABLE IF NOT EXISTS trace (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE);
                 CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (text, content = '', detail = none, columnsize = 0, tokenize = 'ascii');",
            )
            .map_err(&failed)?;
        connection
            .execute(
                "INSERT OR IGNORE INTO state VALUES (1, ?, ?, ?, 0, 0)",
                params![VERSION, next.segment.cast_signed(), next.offset.cast_signed()],
            )
            .map_err(&failed)?;
        let state = connection.query_row("SELECT segment, byte, bytes, batches, version FROM state", [], |row| {
            let number = |column| row.get::<_, i64>(column);
            Ok((number(0)?, number(1)?, number(2)?, number(3)?, number(4)?))
        });
        let (segment, byte, bytes, batches, version) = state.map_err(&failed)?;
        if version != VERSION {
            return Err(failed(rusqlite::Error::InvalidQuery));
        }
        drop(failed);
        Ok(Self {
            path,
            connection,
            next: Position {
                segment: segment.cast_unsigned(),
                offset: byte.cast_unsigned(),
            },
            bytes: bytes.cast_unsigned(),
            batches,
        })
    }

    /// Whether the part is full.
    pub(super) fn is_full(&self, most: u64) -> bool {
        self.bytes >= most || self.batches >= BATCHES / 2
    }

    /// Adds the documents up to a position.
    pub(super) fn add(&mut self, documents: &[(TraceId, Document)], bytes: u64, next: Position) -> Result<(), SearchError> {
        let failed = failure("write", &self.path);
        let transaction = self.connection.transaction().map_err(&failed)?;
        let mut batches = self.batches + 1;
        let mut numbered = Vec::with_capacity(documents.len());
        {
            let mut insert = transaction
                .prepare_cached("INSERT OR IGNORE INTO trace (id) VALUES (?)")
                .map_err(&failed)?;
            let mut find = transaction
                .prepare_cached("SELECT number FROM trace WHERE id = ?")
                .map_err(&failed)?;
            for (trace, document) in documents {
                insert.execute([trace.bytes()]).map_err(&failed)?;
                let number: i64 = find.query_row([trace.bytes()], |row| row.get(0)).map_err(&failed)?;
                numbered.push((number, document));
            }
            // Ordered by number: FTS5 flushes its buffer whenever a lower number follows.
            numbered.sort_by_key(|(number, _)| *number);
            let mut add = transaction
                .prepare_cached("INSERT INTO words (rowid, text) VALUES (?, ?)")
                .map_err(&failed)?;
            for (number, document) in numbered {
                let mut batch = self.batches;
                for row in document.rows() {
                    add.execute(params![(number << BATCH_BITS) | batch, row]).map_err(&failed)?;
                    batch += 1;
                }
                batches = batches.max(batch);
            }
        }
        transaction
            .execute(
                "UPDATE state SET segment = ?, byte = ?, bytes = ?, batches = ?",
                params![
                    next.segment.cast_signed(),
                    next.offset.cast_signed(),
                    (self.bytes + bytes).cast_signed(),
                    batches
                ],
            )
            .map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        self.next = next;
        self.bytes += bytes;
        self.batches = batches;
        Ok(())
    }

    /// Finishes the part by merging each word's lists into one.
    pub(super) fn finish(self) -> Result<(), SearchError> {
        self.connection
            .execute_batch("INSERT INTO words (words) VALUES ('optimize'); PRAGMA wal_checkpoint(TRUNCATE);")
            .map_err(failure("write", &self.path))
    }
}

/// The matches of a query in one part.
#[derive(Debug)]
pub(super) struct PartHits {
    path: PathBuf,
    connection: Connection,
    /// For each word, the numbers of the traces that contain it.
    terms: Vec<Numbers>,
}

#[derive(Debug, Default)]
struct Numbers {
    bits: Vec<u64>,
    count: usize,
}

impl Numbers {
    fn set(&mut self, number: u64) {
        let (word, bit) = (usize::try_from(number / 64).unwrap_or(usize::MAX), 1 << (number % 64));
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        if let Some(bits) = self.bits.get_mut(word)
            && *bits & bit == 0
        {
            *bits |= bit;
            self.count += 1;
        }
    }

    fn has(&self, number: u64) -> bool {
        let word = usize::try_from(number / 64).ok().and_then(|word| self.bits.get(word));
        word.is_some_and(|bits| bits & (1 << (number % 64)) != 0)
    }

    fn iter(&self) -> impl Iterator<Item = u64> {
        (0..self.bits.len() as u64 * 64).filter(|number| self.has(*number))
    }
}

impl PartHits {
    /// Finds words in a file; `None` if it is gone or incomplete.
    pub(super) fn in_part(path: &Path, terms: &[String], goes_on: impl Fn() -> bool + Send + 'static) -> Result<Option<Self>, SearchError> {
        let failed = failure("read", path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = match Connection::open_with_flags(path, flags) {
            Ok(connection) => connection,
            Err(_) if !path.exists() => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        connection
            .execute_batch("PRAGMA busy_timeout = 5000; PRAGMA query_only = ON; PRAGMA cache_size = -4096;")
            .map_err(&failed)?;
        let is_whole = "SELECT 1 FROM sqlite_schema WHERE name = 'words' AND EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'state')";
        let is_whole = connection.query_row(is_whole, [], |_| Ok(())).optional().map_err(&failed)?;
        if is_whole.is_none() {
            return Ok(None);
        }
        let mut found = Vec::with_capacity(terms.len());
        connection.progress_handler(STEPS, Some(move || !goes_on())).map_err(&failed)?;
        {
            let mut statement = connection.prepare("SELECT rowid FROM words WHERE words MATCH ?").map_err(&failed)?;
            for term in terms {
                let mut numbers = Numbers::default();
                // Words consist of letters and digits, so nothing must be escaped.
                let mut rows = statement.query([format!("\"{term}\" *")]).map_err(&failed)?;
                while let Some(row) = rows.next().map_err(&failed)? {
                    let document: i64 = row.get(0).map_err(&failed)?;
                    numbers.set((document >> BATCH_BITS).cast_unsigned());
                }
                found.push(numbers);
            }
        }
        connection.progress_handler(0, None::<fn() -> bool>).map_err(&failed)?;
        Ok(Some(Self {
            path: path.to_owned(),
            connection,
            terms: found,
        }))
    }

    /// The number of a trace in this part.
    pub(super) fn number(&self, trace: TraceId) -> Result<Option<u64>, SearchError> {
        let failed = failure("read", &self.path);
        let mut find = self
            .connection
            .prepare_cached("SELECT number FROM trace WHERE id = ?")
            .map_err(&failed)?;
        let number: Option<i64> = find.query_row([trace.bytes()], |row| row.get(0)).optional().map_err(&failed)?;
        Ok(number.map(i64::cast_unsigned))
    }

    /// Whether the trace with a number contains a word.
    pub(super) fn has(&self, term: usize, number: u64) -> bool {
        self.terms.get(term).is_some_and(|numbers| numbers.has(number))
    }

    /// The number of traces that contain a word.
    pub(super) fn count(&self, term: usize) -> usize {
        self.terms.get(term).map_or(0, |numbers| numbers.count)
    }

    /// The traces that contain a word.
    pub(super) fn ids(&self, term: usize) -> Result<Vec<TraceId>, SearchError> {
        let failed = failure("read", &self.path);
        let mut find = self
            .connection
            .prepare_cached("SELECT id FROM trace WHERE number = ?")
            .map_err(&failed)?;
        let mut ids = Vec::new();
        for number in self.terms.get(term).into_iter().flat_map(Numbers::iter) {
            let id: Option<Vec<u8>> = find
                .query_row([number.cast_signed()], |row| row.get(0))
                .optional()
                .map_err(&failed)?;
            ids.extend(id.and_then(|id| TraceId::from_bytes(&id)));
        }
        Ok(ids)
    }
}
