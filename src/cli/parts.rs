//! Files that ATIF documents name: continuations, and the trajectories of sub-agents.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Component, Path, PathBuf};

use memchr::memmem;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::decompress::read_bounded;

/// Files that another one names as its continuation or as a sub-agent's.
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
        let mut names = Vec::new();
        let walk = Names {
            names: &mut names,
            is_name: false,
        };
        if walk.deserialize(&mut serde_json::Deserializer::from_slice(&bytes)).is_err() {
            continue;
        }
        let own = whole_path(file);
        let named = names.into_iter().filter_map(|name| below(file.parent()?, &name));
        parts.extend(named.map(|path| whole_path(&path)).filter(|path| *path != own));
    }
    parts
}

/// The keys of names of files.
const NAMING: [&str; 2] = ["trajectory_path", "continued_trajectory_ref"];

/// Documents of harbor's layout are no larger.
const LARGEST_WITH_PARTS: usize = 256 << 20;

/// What a file has that begins as a JSON object; nothing of another one.
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

/// Collects the names of files in an ATIF document. Nothing else of it is kept.
struct Names<'n> {
    names: &'n mut Vec<String>,
    /// Whether the value of a key is read that names a file.
    is_name: bool,
}

impl<'de> DeserializeSeed<'de> for Names<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Names<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        if self.is_name {
            self.names.push(text.to_owned());
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let names = self.names;
        while list
            .next_element_seed(Names {
                names: &mut *names,
                is_name: false,
            })?
            .is_some()
        {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let names = self.names;
        while let Some(key) = map.next_key::<String>()? {
            let is_name = NAMING.contains(&key.as_str());
            map.next_value_seed(Names {
                names: &mut *names,
                is_name,
            })?;
        }
        Ok(())
    }
}

/// The place of a file that a document names: in the folder of the document or below, never above it.
fn below(folder: &Path, name: &str) -> Option<PathBuf> {
    let name = Path::new(name);
    let is_below = name
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    (is_below && !name.as_os_str().is_empty()).then(|| folder.join(name))
}

/// The same, if a plain file is there that no symbolic link leads to: a document comes from anywhere, and may name what its reader
/// may see and its writer may not.
///
/// # Errors
///
/// Why it is not read.
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
