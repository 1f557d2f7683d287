//! The files below a folder.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::SessionError;

/// Every file below a folder, in the order of their names. Links are not followed: a folder may be linked into itself.
pub(crate) fn below(folder: &Path) -> Result<Vec<PathBuf>, SessionError> {
    let mut out = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        let failed = |source| SessionError::Io {
            path: folder.clone(),
            source,
        };
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() {
                out.push(entry.path());
            }
        }
    }
    out.sort();
    Ok(out)
}
