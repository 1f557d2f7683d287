//! A disk that fails or waits when told to.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use spanbridge::store::disk::{Directory, Disk, DiskFile};

/// A directory whose disk fails when told to.
#[derive(Debug)]
pub(crate) struct Failing {
    pub(crate) inner: Directory,
    pub(crate) faults: Arc<Faults>,
}

#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) sync: AtomicBool,
    pub(crate) full: AtomicBool,
    /// Calls that were made: of writing, also where it failed.
    pub(crate) writes: AtomicUsize,
    pub(crate) syncs: AtomicUsize,
    pub(crate) left_cache: AtomicUsize,
    held: Mutex<bool>,
    released: Condvar,
}

impl Faults {
    /// Syncs do not return from now on, for half a minute or until [`Faults::release`].
    pub(crate) fn hold(&self) {
        *self.held.lock().expect("a lock") = true;
    }

    pub(crate) fn release(&self) {
        *self.held.lock().expect("a lock") = false;
        self.released.notify_all();
    }
}

#[derive(Debug)]
struct FailingFile(Box<dyn DiskFile>, Arc<Faults>);

impl Disk for Failing {
    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(FailingFile(self.inner.create(name)?, Arc::clone(&self.faults))))
    }
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(FailingFile(self.inner.open(name)?, Arc::clone(&self.faults))))
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }
    fn sync_names(&self) -> io::Result<()> {
        self.inner.sync_names()
    }
}

impl DiskFile for FailingFile {
    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }
    fn write_all_at(&self, pieces: &[&[u8]], offset: u64) -> io::Result<()> {
        self.1.writes.fetch_add(1, Ordering::SeqCst);
        if self.1.full.load(Ordering::SeqCst) {
            self.0.write_all_at(&pieces[..pieces.len() / 2], offset)?;
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.0.write_all_at(pieces, offset)
    }
    fn sync(&self) -> io::Result<()> {
        self.1.syncs.fetch_add(1, Ordering::SeqCst);
        let held = self.1.held.lock().expect("a lock");
        let longest = Duration::from_secs(30);
        let (held, waited) = self.1.released.wait_timeout_while(held, longest, |held| *held).expect("a lock");
        drop(held);
        assert!(!waited.timed_out(), "nobody released the syncs");
        if self.1.sync.load(Ordering::SeqCst) {
            return Err(io::Error::other("the medium is gone"));
        }
        self.0.sync()
    }
    fn truncate(&self, size: u64) -> io::Result<()> {
        self.0.truncate(size)
    }
    fn leave_cache(&self) {
        self.1.left_cache.fetch_add(1, Ordering::SeqCst);
        self.0.leave_cache();
    }
}
