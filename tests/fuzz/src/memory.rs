//! A disk and a store that are only memory.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use spanbridge::store::disk::{Disk, DiskFile};
use spanbridge::store::{Append, Chunk, Error, OnAppended, Receipt};

type Bytes = Arc<Mutex<Vec<u8>>>;

/// Files by name.
#[derive(Debug, Default, Clone)]
pub struct MemoryDisk(Arc<Mutex<BTreeMap<String, Bytes>>>);

impl MemoryDisk {
    /// Deletes the files behind so many.
    pub fn keep(&self, files: u64) {
        let mut at = 0;
        locked(&self.0).retain(|_, _| {
            at += 1;
            at <= files
        });
    }

    /// Changes the bytes of every file, in order of name.
    pub fn each(&self, mut change: impl FnMut(usize, &mut Vec<u8>)) {
        for (at, bytes) in locked(&self.0).values().enumerate() {
            change(at, &mut locked(bytes));
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Disk for MemoryDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(locked(&self.0).keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut files = locked(&self.0);
        if files.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let bytes = Bytes::default();
        let _ = files.insert(name.to_owned(), Arc::clone(&bytes));
        Ok(Box::new(MemoryFile(bytes)))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let files = locked(&self.0);
        let bytes = files.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(MemoryFile(Arc::clone(bytes))))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = locked(&self.0);
        let bytes = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        let _ = files.insert(to.to_owned(), bytes);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        locked(&self.0).remove(name).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryFile(Bytes);

impl DiskFile for MemoryFile {
    fn size(&self) -> io::Result<u64> {
        Ok(locked(&self.0).len() as u64)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let bytes = locked(&self.0);
        let from = usize::try_from(offset).map_err(io::Error::other)?;
        let wanted = from.checked_add(buffer.len()).and_then(|to| bytes.get(from..to));
        buffer.copy_from_slice(wanted.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_all_at(&self, pieces: &[&[u8]], offset: u64) -> io::Result<()> {
        let new = pieces.concat();
        let mut bytes = locked(&self.0);
        let from = usize::try_from(offset).map_err(io::Error::other)?;
        let to = from + new.len();
        if bytes.len() < to {
            bytes.resize(to, 0);
        }
        bytes.get_mut(from..to).ok_or(io::ErrorKind::InvalidInput)?.copy_from_slice(&new);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&self, size: u64) -> io::Result<()> {
        locked(&self.0).resize(usize::try_from(size).map_err(io::Error::other)?, 0);
        Ok(())
    }
}

/// Takes everything and holds it.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<Vec<Chunk>>);

impl MemoryStore {
    /// What was given to it.
    pub fn take(&self) -> Vec<Chunk> {
        std::mem::take(&mut locked(&self.0))
    }
}

impl Append for MemoryStore {
    fn submit(&self, chunks: Vec<Chunk>, done: OnAppended<Receipt>) {
        let stored = chunks.iter().map(|chunk| chunk.part().items).sum();
        locked(&self.0).extend(chunks);
        done(Ok(Receipt {
            stored,
            duplicates: 0,
            deleted: 0,
        }));
    }

    fn submit_at(&self, _: u64, _: Chunk, done: OnAppended<u64>) {
        done(Err(Error::ReadOnly));
    }
}
