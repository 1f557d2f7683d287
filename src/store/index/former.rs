//! The former index, kept during a rebuild: it shows what the log has lost.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::connection::{FILE, open_beside};
use crate::store::error::{Error, of_io};

/// An index that was renamed; it is removed on drop.
#[derive(Debug)]
pub(in crate::store) struct Former(Option<PathBuf>);

impl Former {
    /// Renames the index of a directory. An unusable one stays where it is.
    ///
    /// # Errors
    ///
    /// It cannot be renamed.
    pub(in crate::store) fn set_aside(directory: &Path) -> Result<Self, Error> {
        let journal_is_in_it = open_beside(directory).is_ok_and(|connection| {
            // The last connection that closes puts the journal into the file.
            connection.close().is_ok()
        });
        let journal = directory.join(format!("{FILE}-wal"));
        if !journal_is_in_it || journal.metadata().is_ok_and(|data| data.len() > 0) {
            return Ok(Self(None));
        }
        let aside = directory.join(format!("{FILE}.former"));
        std::fs::rename(directory.join(FILE), &aside).map_err(|source| of_io("set aside", &directory.join(FILE), source))?;
        Ok(Self(Some(aside)))
    }

    /// Opens it, if it was set aside.
    pub(in crate::store) fn connection(&self) -> Option<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(self.0.as_deref()?, flags).ok()?;
        // An index of an early version does not record where segments end.
        let query = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'ends')";
        let knows_ends: bool = connection.query_row(query, [], |row| row.get(0)).ok()?;
        knows_ends.then_some(connection)
    }
}

impl Drop for Former {
    fn drop(&mut self) {
        if let Some(aside) = &self.0 {
            for suffix in ["", "-wal", "-shm"] {
                let _ = std::fs::remove_file(format!("{}{suffix}", aside.display()));
            }
        }
    }
}
