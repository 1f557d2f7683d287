//! Reads the chunks that the index names.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::chunk::kind::ChunkKind;
use super::error::Error;
use super::index::{self, ChunkLocation};
use super::log::Position;
use super::segments::Segments;
use super::traits::{May, Stored};
use crate::otlp::decode;

#[derive(Debug)]
pub(super) struct Reader {
    pub(super) segments: Arc<Segments>,
    directory: PathBuf,
    /// Connections that nobody reads with now: a reader takes one, or opens a further one, so that none waits for another.
    idle: Mutex<Vec<index::Reading>>,
    /// Opens a further one.
    open: fn(&Path) -> Result<Connection, Error>,
}

/// Connections to the index that are kept for the next readers.
const IDLE: usize = 4;

impl Reader {
    pub(super) fn new(directory: &Path, segments: Arc<Segments>, first: Connection, open: fn(&Path) -> Result<Connection, Error>) -> Self {
        Self {
            segments,
            directory: directory.to_owned(),
            idle: Mutex::new(vec![index::Reading::new(first)]),
            open,
        }
    }

    pub(super) fn index<T>(&self, read: impl FnOnce(&mut index::Reading) -> Result<T, Error>) -> Result<T, Error> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = idle().pop();
        let mut reading = match reading {
            Some(reading) => reading,
            None => index::Reading::new((self.open)(&self.directory)?),
        };
        let found = read(&mut reading)?;
        let mut idle = idle();
        if idle.len() < IDLE {
            idle.push(reading);
        }
        Ok(found)
    }

    /// The message at a place; the inner error says why it is not there.
    pub(super) fn message(&self, at: Position) -> Result<Result<Vec<u8>, String>, Error> {
        let Position { segment, offset } = at;
        match self.segments.message(at) {
            // Retention was faster.
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                Ok(Err(format!("segment {segment}, byte {offset}: removed")))
            }
            message => Ok(message?.ok_or_else(|| format!("segment {segment}, byte {offset}: damaged on the disk"))),
        }
    }

    pub(super) fn add(&self, stored: &mut Stored, place: ChunkLocation, may: &mut May<'_>) -> Result<(), Error> {
        let Position { segment, offset } = place.at;
        let message = match self.message(place.at)? {
            Ok(message) => message,
            Err(damaged) => {
                stored.damaged.push(damaged);
                return Ok(());
            }
        };
        may(place.kind, &message)?;
        let decoded = match place.kind {
            ChunkKind::Spans => decode::traces(&message).map(|decoded| stored.spans.extend(decoded.items)),
            _ => decode::logs(&message).map(|decoded| stored.logs.extend(decoded.items)),
        };
        if let Err(error) = decoded {
            stored.damaged.push(format!("segment {segment}, byte {offset}: {error}"));
        }
        Ok(())
    }
}
