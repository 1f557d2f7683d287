//! Whether a store can be written to, and its disk usage.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::disk::Disk;
use super::error::{Error, of_io};
use super::index;
use super::log::segment_of;

/// The file written to test whether writing works.
const PROBE: &str = "probe";
/// Its content. With less free space than this, requests would fail too.
static ROOM: [u8; 64 << 10] = [0; 64 << 10];

/// Disk usage of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of segments of the log.
    pub segments: u64,
    /// Size of the segments.
    pub log_bytes: u64,
    /// Size of the index and its journal.
    pub index_bytes: u64,
    /// Bytes available to this process on the file system.
    pub free_bytes: u64,
    /// Size of the file system.
    pub capacity_bytes: u64,
}

/// How long a test result is reused, since clients may ask often.
const RESULT_LIFETIME: Duration = Duration::from_secs(1);

/// The time and result of the last test.
#[derive(Debug, Default)]
pub(super) struct Probe(Mutex<Option<(Instant, Result<(), Error>)>>);

impl Probe {
    pub(super) fn ask(&self, disk: &dyn Disk, directory: &Path) -> Result<(), Error> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((when, result)) = &*last
            && when.elapsed() < RESULT_LIFETIME
        {
            return result.clone();
        }
        let result = try_out(disk).map_err(|source| of_io("write to", directory, source));
        *last = Some((Instant::now(), result.clone()));
        result
    }
}

/// Writes and removes a file.
fn try_out(disk: &dyn Disk) -> io::Result<()> {
    let file = match disk.create(PROBE) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => disk.open(PROBE),
        file => file,
    }?;
    let written = file.write_all_at(&[&ROOM], 0);
    drop(file);
    written.and(disk.remove(PROBE))
}

pub(super) fn usage(directory: &Path) -> io::Result<Usage> {
    let system = rustix::fs::statvfs(directory)?;
    let mut usage = Usage {
        free_bytes: system.f_bavail.saturating_mul(system.f_frsize),
        capacity_bytes: system.f_blocks.saturating_mul(system.f_frsize),
        ..Usage::default()
    };
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Retention may have removed it meanwhile.
        let Ok(size) = entry.metadata().map(|data| data.len()) else {
            continue;
        };
        if segment_of(&name).is_some() {
            usage.segments += 1;
            usage.log_bytes += size;
        } else if name.starts_with(index::FILE) {
            usage.index_bytes += size;
        }
    }
    Ok(usage)
}
