//! One writer a directory: a lock file that names the process which holds it.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use super::Error;

/// Held while the store is open for writing. The system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a directory.
    pub(super) fn take(directory: &Path) -> Result<Self, Error> {
        let path = directory.join("lock");
        let io = |doing| {
            let path = path.clone();
            move |source| Error::Io {
                doing,
                path,
                source: Arc::new(source),
            }
        };
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io("open"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let holder = holder.trim();
                return Err(Error::Locked {
                    path: directory.to_owned(),
                    holder: if holder.is_empty() {
                        "another process".to_owned()
                    } else {
                        holder.to_owned()
                    },
                });
            }
            Err(TryLockError::Error(source)) => return Err(io("lock")(source)),
        }
        // Who holds the lock is a courtesy to people: on a full disk it stays unsaid.
        let _ = file.set_len(0);
        let _ = file.rewind();
        let _ = writeln!(file, "process {}", std::process::id());
        Ok(Self { _file: file })
    }
}
