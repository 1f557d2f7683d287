//! A disk in memory that remembers what was asked of it, and the images that a loss of power may leave of it.
#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test")]

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use spanbridge::store::disk::{Disk, DiskFile};

/// What was asked of a disk. Files are known by a number: names come and go.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Create { name: String, file: usize },
    Rename { from: String, to: String },
    Remove { name: String },
    SyncNames,
    Write { file: usize, bytes: Vec<u8>, offset: usize },
    Truncate { file: usize, size: usize },
    Sync { file: usize },
}

/// Names and contents.
#[derive(Debug, Clone, Default)]
pub(crate) struct Image {
    names: BTreeMap<String, usize>,
    files: BTreeMap<usize, Vec<u8>>,
}

/// Numbers that look random, the same each time (SplitMix64).
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit.max(1)
    }
}

/// What a disk writes at once or not at all.
const SECTOR: usize = 512;

impl Image {
    fn apply(&mut self, op: &Op) {
        match op {
            Op::Create { name, file } => {
                self.names.insert(name.clone(), *file);
                self.files.entry(*file).or_default();
            }
            Op::Rename { from, to } => {
                if let Some(file) = self.names.remove(from) {
                    self.names.insert(to.clone(), file);
                }
            }
            Op::Remove { name } => {
                self.names.remove(name);
            }
            Op::Write { file, bytes, offset } => self.write(*file, bytes, *offset),
            Op::Truncate { file, size } => self.files.entry(*file).or_default().resize(*size, 0),
            Op::SyncNames | Op::Sync { .. } => {}
        }
    }

    fn write(&mut self, file: usize, bytes: &[u8], offset: usize) {
        let content = self.files.entry(file).or_default();
        let end = offset + bytes.len();
        if content.len() < end {
            content.resize(end, 0);
        }
        content[offset..end].copy_from_slice(bytes);
    }

    /// What may be on the medium when the power goes after these operations.
    pub(crate) fn after_crash(ops: &[Op], dice: &mut Dice) -> Self {
        let mut image = Self::default();
        // Names are kept in the order in which they changed: all that were synced, and some that were not.
        let is_name = |op: &Op| matches!(op, Op::Create { .. } | Op::Rename { .. } | Op::Remove { .. });
        let synced = ops.iter().rposition(|op| matches!(op, Op::SyncNames)).map_or(0, |at| at + 1);
        let unsynced = ops[synced..].iter().filter(|op| is_name(op)).count() as u64;
        let kept = ops[..synced].iter().filter(|op| is_name(op)).count() as u64 + dice.below(unsynced + 1);
        ops.iter()
            .filter(|op| is_name(op))
            .take(usize::try_from(kept).expect("small"))
            .for_each(|op| image.apply(op));
        for (at, op) in ops.iter().enumerate() {
            let (Op::Write { file, .. } | Op::Truncate { file, .. }) = op else {
                continue;
            };
            let is_synced = ops[at..]
                .iter()
                .any(|later| matches!(later, Op::Sync { file: synced } if synced == file));
            match (op, if is_synced { 0 } else { dice.below(4) }) {
                (_, 0) => image.apply(op),
                (Op::Write { bytes, offset, .. }, 1) => {
                    let torn = usize::try_from(dice.below(bytes.len() as u64)).expect("small");
                    image.write(*file, &bytes[..torn], *offset);
                }
                (Op::Write { bytes, offset, .. }, 2) => {
                    for (sector, part) in bytes.chunks(SECTOR).enumerate() {
                        if dice.below(2) == 0 {
                            image.write(*file, part, offset + sector * SECTOR);
                        }
                    }
                }
                _ => {}
            }
        }
        image
    }
}

#[derive(Debug, Default)]
struct State {
    image: Image,
    ops: Vec<Op>,
    next: usize,
    reads_fail: bool,
}

/// The disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryDisk(Arc<Mutex<State>>);

#[derive(Debug)]
struct MemoryFile {
    disk: MemoryDisk,
    file: usize,
}

impl MemoryDisk {
    /// A disk that holds this.
    pub(crate) fn of_image(image: &Image) -> Self {
        let disk = Self::default();
        disk.with(|state| {
            state.next = image.files.keys().next_back().map_or(0, |last| last + 1);
            state.image = image.clone();
        });
        disk
    }

    /// What was asked of it.
    pub(crate) fn ops(&self) -> Vec<Op> {
        self.with(|state| state.ops.clone())
    }

    /// From now on nothing can be read, or all again.
    pub(crate) fn fail_reads(&self, fail: bool) {
        self.with(|state| state.reads_fail = fail);
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn act(&self, op: Op) {
        self.with(|state| {
            state.image.apply(&op);
            state.ops.push(op);
        });
    }

    fn file(&self, file: usize) -> Box<dyn DiskFile> {
        Box::new(MemoryFile { disk: self.clone(), file })
    }

    fn number(&self, name: &str) -> io::Result<usize> {
        self.with(|state| state.image.names.get(name).copied())
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Disk for MemoryDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.with(|state| state.image.names.keys().cloned().collect()))
    }
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        if self.number(name).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = self.with(|state| {
            state.next += 1;
            state.next - 1
        });
        self.act(Op::Create {
            name: name.to_owned(),
            file,
        });
        Ok(self.file(file))
    }
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.file(self.number(name)?))
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.number(from)?;
        self.act(Op::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
        });
        Ok(())
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.number(name)?;
        self.act(Op::Remove { name: name.to_owned() });
        Ok(())
    }
    fn sync_names(&self) -> io::Result<()> {
        self.act(Op::SyncNames);
        Ok(())
    }
}

impl DiskFile for MemoryFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.disk.with(|state| state.image.files.get(&self.file).map_or(0, Vec::len)) as u64)
    }
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.disk.with(|state| {
            if state.reads_fail {
                return Err(io::Error::other("the medium does not answer"));
            }
            let from = usize::try_from(offset).expect("small");
            let content = state.image.files.get(&self.file).map(Vec::as_slice).unwrap_or_default();
            let part = content.get(from..from + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
            buffer.copy_from_slice(part);
            Ok(())
        })
    }
    fn write_all_at(&self, pieces: &[&[u8]], offset: u64) -> io::Result<()> {
        self.disk.act(Op::Write {
            file: self.file,
            bytes: pieces.concat(),
            offset: usize::try_from(offset).expect("small"),
        });
        Ok(())
    }
    fn sync(&self) -> io::Result<()> {
        self.disk.act(Op::Sync { file: self.file });
        Ok(())
    }
    fn truncate(&self, size: u64) -> io::Result<()> {
        self.disk.act(Op::Truncate {
            file: self.file,
            size: usize::try_from(size).expect("small"),
        });
        Ok(())
    }
}
