//! The files below a folder.

use std::fs;
use std::path::{Path, PathBuf};

use super::client::Client;
use super::error::SessionError;
use super::recognise::{Found, recognised};

/// The files of the sub-agents that a session file asked for: Claude Code keeps them below a folder that is named as the file.
pub(crate) fn of_sub_agents(file: &Path, found: &Found) -> Vec<(PathBuf, Found)> {
    let folder = file.with_extension("").join("subagents");
    if found.client != Client::ClaudeCode || !folder.is_dir() {
        return Vec::new();
    }
    // What cannot be listed is as if it were not there: the file that was asked for is read.
    let files = below(&folder).unwrap_or_default();
    let of_client = |file: PathBuf| Some((recognised(&file).filter(|found| found.client == Client::ClaudeCode)?, file));
    files.into_iter().filter_map(of_client).map(|(found, file)| (file, found)).collect()
}

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
