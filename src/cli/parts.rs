//! Files referenced by ATIF documents: continuations, and the trajectories of sub-agents.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Component, Path, PathBuf};

use memchr::memmem;
use serde::de::IgnoredAny;

use super::decompress::read_bounded;
use crate::json_tokens::{Kind, Tokens};

/// Files that another one references as its continuation or as a sub-agent's.
pub(super) fn of<'p>(files: impl Iterator<Item = &'p PathBuf> + Clone) -> HashSet<PathBuf> {
    let mut parts = HashSet::new();
    if files.clone().nth(1).is_none() {
        return parts;
    }
    for file in files.filter(|file| file.as_os_str() != "-") {
        // A pipe can be read only once.
        if !fs::metadata(file).is_ok_and(|about| about.is_file()) {
            continue;
        }
        let Ok(bytes) = File::open(file).and_then(read_object) else {
            continue;
        };
        let names_a_file = NAMING.iter().any(|key| memmem::find(&bytes, key.as_bytes()).is_some());
        if !names_a_file || bytes.len() > LARGEST_WITH_PARTS {
            continue;
        }
        if !is_json(&bytes) {
            continue;
        }
        let own = whole_path(file);
        let named = names(&bytes).filter_map(|name| below(file.parent()?, &name));
        parts.extend(named.map(|path| whole_path(&path)).filter(|path| *path != own));
    }
    parts
}

/// Keys whose values are names of files.
const NAMING: [&str; 2] = ["trajectory_path", "continued_trajectory_ref"];

fn is_naming(key: Option<&[u8]>) -> bool {
    key.is_some_and(|key| NAMING.iter().any(|name| name.as_bytes() == key))
}

/// Documents of harbor's layout are no larger.
const LARGEST_WITH_PARTS: usize = 256 << 20;

/// The content of a file that begins as a JSON object; empty for other files.
fn read_object(file: File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    let mut file = BufReader::new(file);
    if file.fill_buf()?.starts_with(b"{") {
        read_bounded(file, length, LARGEST_WITH_PARTS)
    } else {
        Ok(Vec::new())
    }
}

pub(super) fn whole_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

/// The names of files in an ATIF document.
fn names(json: &[u8]) -> impl Iterator<Item = String> {
    let mut tokens = Tokens::of(json);
    std::iter::from_fn(move || {
        loop {
            tokens.find(|token| token.kind == Kind::Text && is_naming(json.get(token.content())))?;
            if !tokens.is_after_key() {
                continue;
            }
            let value = tokens.nth(1).and_then(|value| serde_json::from_slice(json.get(value.range)?).ok());
            if value.is_some() {
                return value;
            }
        }
    })
}

/// The path of a referenced file: in the folder of the document or below, never above.
fn below(folder: &Path, name: &str) -> Option<PathBuf> {
    let name = Path::new(name);
    let is_below = name
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    (is_below && !name.as_os_str().is_empty()).then(|| folder.join(name))
}

/// The same, if it is a regular file not reached through a symbolic link: documents come from anywhere, and may name files
/// that their reader may see but their writer may not.
///
/// # Errors
///
/// Why the file is not read.
pub(super) fn beside(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let path = below(folder, name).ok_or("it is not in the folder of the document or below")?;
    let mut at = folder.to_owned();
    for part in Path::new(name).components().filter(|part| matches!(part, Component::Normal(_))) {
        at.push(part);
        let about = fs::symlink_metadata(&at).map_err(|error| error.to_string())?;
        if about.is_symlink() {
            return Err(format!("{} is a symbolic link, which is not followed", at.display()));
        }
        if at.components().eq(path.components()) && !about.is_file() {
            return Err("it is not a plain file".to_owned());
        }
    }
    Ok(path)
}
