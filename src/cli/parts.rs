//! Files that ATIF documents name: continuations, and the trajectories of sub-agents.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::decompress::read_bounded;

/// Files that another one names as its continuation or as a sub-agent's.
pub(super) fn of(files: &[PathBuf]) -> HashSet<PathBuf> {
    let mut parts = HashSet::new();
    for file in files.iter().filter(|file| file.as_os_str() != "-") {
        let Ok(bytes) = File::open(file).and_then(|opened| read_bounded(opened, LARGEST_WITH_PARTS)) else {
            continue;
        };
        if !bytes.starts_with(b"{") || bytes.len() > LARGEST_WITH_PARTS {
            continue;
        }
        let Ok(document) = serde_json::from_slice::<Value>(&bytes) else {
            continue;
        };
        let mut names = Vec::new();
        parts_of(&document, &mut names);
        let own = whole_path(file);
        let named = names.into_iter().filter_map(|name| beside(file.parent()?, name));
        parts.extend(named.map(|path| whole_path(&path)).filter(|path| *path != own));
    }
    parts
}

/// Documents of harbor's layout are no larger.
const LARGEST_WITH_PARTS: usize = 256 << 20;

pub(super) fn whole_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Names of files in an ATIF document.
fn parts_of<'a>(value: &'a Value, names: &mut Vec<&'a str>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("trajectory_path" | "continued_trajectory_ref", Value::String(name)) => names.push(name),
                    _ => parts_of(value, names),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| parts_of(value, names)),
        _ => {}
    }
}

/// A file that a document names: one in its folder or below, never above it.
pub(super) fn beside(folder: &Path, name: &str) -> Option<PathBuf> {
    let name = Path::new(name);
    let is_below = name
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    (is_below && !name.as_os_str().is_empty()).then(|| folder.join(name))
}
