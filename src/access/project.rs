//! Names of projects, which are also folder names.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A project of an organization, written `ORG/PROJECT`. Each has its own store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Project {
    organization: String,
    name: String,
}

/// Text that is not a project name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a project is ORG/PROJECT, each of 1 to 64 lowercase letters, digits, `-`, `_` and `.`, \
     the first a letter or digit; {text:?} is not"
)]
pub struct ProjectError {
    /// The rejected text.
    pub text: String,
}

/// Organization and project of requests that name neither.
const DEFAULT: &str = "default";

/// Folder in the data directory that holds all projects except the default one.
const FOLDER: &str = "projects";

impl Default for Project {
    fn default() -> Self {
        Self {
            organization: DEFAULT.to_owned(),
            name: DEFAULT.to_owned(),
        }
    }
}

impl Project {
    /// The organization that owns the project.
    #[must_use]
    pub fn organization(&self) -> &str {
        &self.organization
    }

    /// The directory of all projects except the default one; it contains `ORG/PROJECT` folders.
    #[must_use]
    pub fn folder(data_dir: &Path) -> PathBuf {
        data_dir.join(FOLDER)
    }

    /// The project's data directory: `data_dir` itself for `default/default`, else `projects/ORG/PROJECT` below it.
    #[must_use]
    pub fn directory(&self, data_dir: &Path) -> PathBuf {
        if *self == Self::default() {
            return data_dir.to_owned();
        }
        Self::folder(data_dir).join(&self.organization).join(&self.name)
    }
}

impl FromStr for Project {
    type Err = ProjectError;

    fn from_str(text: &str) -> Result<Self, ProjectError> {
        match text.split_once('/') {
            Some((organization, name)) if usable(organization) && usable(name) => Ok(Self {
                organization: organization.to_owned(),
                name: name.to_owned(),
            }),
            _ => Err(ProjectError {
                text: text.chars().take(200).collect(),
            }),
        }
    }
}

/// Lower case only, because some file systems treat `A` and `a` as equal.
fn usable(name: &str) -> bool {
    let plain = |letter: &char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let mut letters = name.chars();
    name.len() <= 64 && letters.next().is_some_and(|first| plain(&first)) && letters.all(|letter| plain(&letter) || "-_.".contains(letter))
}

impl fmt::Display for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.organization, self.name)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test")]
    use super::*;

    #[test]
    fn names_are_folder_names() {
        let of = |text: &str| text.parse::<Project>().unwrap().directory(Path::new("/d"));
        assert_eq!(of("default/default"), Path::new("/d"));
        assert_eq!(of("acme/web-2.x_y"), Path::new("/d/projects/acme/web-2.x_y"));
        assert_eq!(of("default/web"), Path::new("/d/projects/default/web"));
        let long = format!("a/{}", "b".repeat(65));
        for bad in [
            "", "a", "/", "a/", "/b", "a/b/c", "../b", "a/..", "a/.", ".a/b", "A/b", "a/B", "a b/c", "a/b\0", "a\\b/c", "a/é", "-a/b",
            &long,
        ] {
            let error = bad.parse::<Project>().unwrap_err();
            assert!(error.to_string().starts_with("a project is ORG/PROJECT"), "{bad:?}");
        }
    }
}
