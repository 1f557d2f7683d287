//! All access to the disk: files of one directory, by name.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};

/// A directory with files.
pub trait Disk: Send + Sync + Debug {
    /// Names of the files.
    ///
    /// # Errors
    ///
    /// The directory cannot be read.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Creates a file that must not exist yet.
    ///
    /// # Errors
    ///
    /// It exists, or cannot be created.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;

    /// Opens a file for reading and, unless the disk is read-only, writing.
    ///
    /// # Errors
    ///
    /// It does not exist, or cannot be opened.
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;

    /// Renames a file, replacing a file of the new name.
    ///
    /// # Errors
    ///
    /// The file keeps its old name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// It does not exist, or cannot be removed.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Syncs the directory, so that created, renamed and removed files are durable.
    ///
    /// # Errors
    ///
    /// The sync failed.
    fn sync_names(&self) -> io::Result<()>;
}

/// An open file.
pub trait DiskFile: Send + Sync + Debug {
    /// Its size in bytes.
    ///
    /// # Errors
    ///
    /// The size cannot be determined.
    fn size(&self) -> io::Result<u64>;

    /// Fills the buffer from this offset.
    ///
    /// # Errors
    ///
    /// The file ends too early, or cannot be read.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all pieces one after the other, from this offset on.
    ///
    /// # Errors
    ///
    /// Not all were written; some may be.
    fn write_all_at(&self, pieces: &[&[u8]], offset: u64) -> io::Result<()>;

    /// Waits until everything written is on the medium.
    ///
    /// # Errors
    ///
    /// It is unknown whether the data is on disk.
    fn sync(&self) -> io::Result<()>;

    /// Truncates the file to this size.
    ///
    /// # Errors
    ///
    /// The file was not truncated.
    fn truncate(&self, size: u64) -> io::Result<()>;

    /// Hints that synced data will not be read soon and need not stay in the page cache.
    fn leave_cache(&self) {}
}

/// Maximum pieces in one system call (`IOV_MAX` of Linux).
const PIECES_AT_ONCE: usize = 1_024;

/// A directory of the file system.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
    read_only: bool,
}

impl Directory {
    /// This directory, which must exist.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read_only: false,
        }
    }

    /// This directory, read-only.
    #[must_use]
    pub fn read_only(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read_only: true,
        }
    }
}

impl Disk for Directory {
    fn list(&self) -> io::Result<Vec<String>> {
        fs::read_dir(&self.path)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let path = self.path.join(name);
        Ok(Box::new(File::options().read(true).write(true).create_new(true).open(path)?))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let path = self.path.join(name);
        Ok(Box::new(File::options().read(true).write(!self.read_only).open(path)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

impl DiskFile for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, offset)
    }

    fn write_all_at(&self, pieces: &[&[u8]], offset: u64) -> io::Result<()> {
        let mut at = offset;
        for some in pieces.chunks(PIECES_AT_ONCE) {
            let mut slices: Vec<IoSlice<'_>> = some.iter().map(|piece| IoSlice::new(piece)).collect();
            let mut rest = slices.as_mut_slice();
            // Drop empty slices, so that zero bytes written means that no progress is possible.
            IoSlice::advance_slices(&mut rest, 0);
            while !rest.is_empty() {
                match rustix::io::pwritev(self, rest, at) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(written) => {
                        IoSlice::advance_slices(&mut rest, written);
                        at += written as u64;
                    }
                    Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn truncate(&self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }

    fn leave_cache(&self) {
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fadvise(self, 0, None, rustix::fs::Advice::DontNeed);
    }
}
