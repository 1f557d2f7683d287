//! Creates files and folders that only this user can read, since they contain an agent's conversations.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Options that make a new file readable only to its owner.
pub(super) fn options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates or truncates a file.
pub(super) fn create(path: &Path) -> io::Result<File> {
    options().write(true).create(true).truncate(true).open(path)
}

/// Creates a folder and its parents, if missing.
pub(super) fn make_folders(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}
