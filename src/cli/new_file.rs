//! Files written by commands: never through a symbolic link, and never replacing another program's file unless asked to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use super::failure::Failure;

/// An empty file to be written.
#[derive(Debug)]
pub(super) struct NewFile {
    pub(super) file: File,
    /// Whether a file of this name was replaced.
    pub(super) replaces: bool,
}

/// Bytes that determine the kind of a file.
const HEAD: u64 = 1 << 10;

/// Opens a file whose name the program chooses, such as a document in a directory. A regular file of this name is replaced;
/// anything else is not touched.
pub(super) fn in_directory(path: &Path) -> Result<NewFile, Failure> {
    open(path).map_err(Failure::write(path))
}

/// Opens a file that must not exist: other programs may have continued it.
pub(super) fn not_there(path: &Path) -> Result<NewFile, Failure> {
    if fs::symlink_metadata(path).is_ok() {
        let message = format!(
            "{} is there already, and may have been continued; remove it, or name another directory",
            path.display()
        );
        return Err(Failure::usage(message));
    }
    in_directory(path)
}

/// Opens a file named on the command line. A regular file is replaced if this command wrote it, which `is_own` determines by
/// its first bytes, or if asked to. Devices and pipes are written to.
pub(super) fn named(path: &Path, force: bool, is_own: fn(&[u8]) -> bool) -> Result<File, Failure> {
    let about = fs::metadata(path).ok();
    if about.as_ref().is_some_and(|about| !about.is_file()) {
        return OpenOptions::new().write(true).open(path).map_err(Failure::write(path));
    }
    if about.is_some() && !force {
        let mut head = Vec::new();
        let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
        if read.is_ok() && !head.is_empty() && !is_own(&head) {
            let message = format!(
                "{} is there already, and spanbridge did not write it; name another file, or pass --force to replace it",
                path.display()
            );
            return Err(Failure::usage(message));
        }
    }
    open(path).map(|new| new.file).map_err(Failure::write(path))
}

fn open(path: &Path) -> io::Result<NewFile> {
    if let Ok(about) = fs::symlink_metadata(path) {
        if about.is_symlink() {
            return Err(io::Error::other(
                "it is a symbolic link, which is not followed; remove it, or name the file that it leads to",
            ));
        }
        if !about.is_file() {
            return Err(io::Error::other("something is there that is not a plain file"));
        }
        // Removed rather than truncated: another link to the file keeps its content.
        fs::remove_file(path)?;
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        return Ok(NewFile { file, replaces: true });
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    // A link created meanwhile is not followed either.
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    Ok(NewFile { file, replaces: false })
}
