//! Files that commands write: never through a symbolic link, and never over somebody else's file unless asked to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

use super::failure::Failure;

/// A file that is there to be written, empty.
#[derive(Debug)]
pub(super) struct NewFile {
    pub(super) file: File,
    /// Another one of this name was there before.
    pub(super) replaces: bool,
}

/// So many bytes of a file determine what it is.
const HEAD: u64 = 1 << 10;

/// Opens a file with a name that the program gives, such as a document in a directory. A plain file of this name is replaced, anything
/// else is not touched.
pub(super) fn in_directory(path: &Path) -> Result<NewFile, Failure> {
    open(path).map_err(|source| write_failure(path, source))
}

/// Opens a file that must not be there yet: what other programs may have gone on with.
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

/// Opens a file that the call names. A plain file is replaced if it is one that this command wrote, which `is_own` determines by
/// its first bytes, or if it is asked to. Devices and pipes are written to.
pub(super) fn named(path: &Path, force: bool, is_own: fn(&[u8]) -> bool) -> Result<File, Failure> {
    let about = fs::metadata(path).ok();
    if about.as_ref().is_some_and(|about| !about.is_file()) {
        return OpenOptions::new()
            .write(true)
            .open(path)
            .map_err(|source| write_failure(path, source));
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
    open(path).map(|new| new.file).map_err(|source| write_failure(path, source))
}

fn write_failure(path: &Path, source: io::Error) -> Failure {
    Failure::Write {
        path: path.to_owned(),
        source,
    }
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
        // Another name of the same file keeps its contents.
        fs::remove_file(path)?;
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        return Ok(NewFile { file, replaces: true });
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    // Whatever comes there meanwhile is not followed either.
    let file = OpenOptions::new().write(true).create_new(true).open(path)?;
    Ok(NewFile { file, replaces: false })
}
