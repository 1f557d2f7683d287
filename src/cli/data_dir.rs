//! The default data directory, and the stores of projects in it.

use std::env;
use std::path::{Path, PathBuf};

use super::failure::Failure;
use crate::access::Project;
use crate::store;

/// `$XDG_DATA_HOME/spanbridge`, else `~/.local/share/spanbridge`.
pub(super) fn default_data_dir() -> Result<PathBuf, Failure> {
    let of = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    of("XDG_DATA_HOME")
        .or_else(|| of("HOME").map(|home| home.join(".local/share")))
        .map(|base| base.join("spanbridge"))
        .ok_or_else(|| Failure::usage("neither XDG_DATA_HOME nor HOME is set; pass --data-dir DIR"))
}

/// The projects that have a store in a data directory, the default one first.
pub(super) fn projects_in(data_dir: &Path) -> Vec<Project> {
    let names = |path: &Path| {
        let entries = std::fs::read_dir(path).into_iter().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    };
    let folder = Project::folder(data_dir);
    let others = names(&folder).into_iter().flat_map(|organization| {
        let projects = names(&folder.join(&organization)).into_iter();
        projects.filter_map(move |name| format!("{organization}/{name}").parse().ok())
    });
    let all = std::iter::once(Project::default()).chain(others);
    all.filter(|project| is_store(&project.directory(data_dir))).collect()
}

/// Whether a directory has a log or an index.
pub(super) fn is_store(directory: &Path) -> bool {
    directory.join(store::index::FILE).exists() || store::log::segments(directory).is_ok_and(|numbers| !numbers.is_empty())
}
