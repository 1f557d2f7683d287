//! Files and folders for this user alone: what is in them was said to an agent.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Options for a file that nobody else reads, if it is made.
pub(super) fn options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a file, or empties it.
pub(super) fn create(path: &Path) -> io::Result<File> {
    options().write(true).create(true).truncate(true).open(path)
}

/// Makes a folder and those above it, unless they are there.
pub(super) fn make_folders(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}
