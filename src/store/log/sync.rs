//! Syncs on a separate thread, so that the index is written while the disk is busy.

use std::io;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::store::disk::DiskFile;

/// Syncs one file at a time.
#[derive(Debug)]
pub(super) struct Syncer {
    files: Sender<Arc<dyn DiskFile>>,
    results: Receiver<io::Result<()>>,
}

impl Syncer {
    /// Starts the thread, which ends when this is dropped.
    pub(super) fn start() -> io::Result<Self> {
        let (files, to_sync) = bounded::<Arc<dyn DiskFile>>(1);
        let (done, results) = bounded(1);
        std::thread::Builder::new().name("sync".to_owned()).spawn(move || {
            for file in to_sync {
                if done.send(file.sync()).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { files, results })
    }

    /// Begins to sync a file. Each call must be followed by [`Syncer::finish`].
    pub(super) fn begin(&self, file: &Arc<dyn DiskFile>) {
        // If the thread is gone, `finish` returns an error.
        let _ = self.files.send(Arc::clone(file));
    }

    /// Receives the result of the current sync.
    pub(super) fn results(&self) -> &Receiver<io::Result<()>> {
        &self.results
    }

    /// Waits for the current sync.
    pub(super) fn finish(&self) -> io::Result<()> {
        let gone = |_| Err(io::Error::other("the syncing thread has ended"));
        self.results.recv().unwrap_or_else(gone)
    }
}
