//! The files below a folder.

use std::fs;
use std::path::{Path, PathBuf};

use super::client::Client;
use super::error::SessionError;
use super::recognise::{Found, recognised};

/// The files of a session file's sub-agents: Claude Code keeps them below a folder with the same name as the file.
pub(crate) fn of_sub_agents(file: &Path, found: &Found) -> Vec<(PathBuf, Found)> {
    let folder = file.with_extension("").join("subagents");
    if found.client != Client::ClaudeCode || !folder.is_dir() {
        return Vec::new();
    }
    // Ignore a folder that cannot be listed: the requested file is read anyway.
    let files = below(&folder).unwrap_or_default();
    let of_client = |file: PathBuf| Some((recognised(&file).filter(|found| found.client == Client::ClaudeCode)?, file));
    files.into_iter().filter_map(of_client).map(|(found, file)| (file, found)).collect()
}

/// All files below a folder, ordered by name. Links are not followed, because a folder may be linked into itself.
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
