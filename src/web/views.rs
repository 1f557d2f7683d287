//! Saved views: names for addresses of the list of runs, in a file of the project's directory.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::reply::Problem;

/// The file: a list of views as JSON.
const FILE: &str = "views.json";
/// Maximum number of views of a project.
const MAX_VIEWS: usize = 200;
/// Maximum characters of a name.
pub(crate) const NAME: usize = 80;
/// Maximum bytes of an address.
const ADDRESS: usize = 4 << 10;

/// A name for an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct View {
    /// Its name.
    pub(crate) name: String,
    /// The address of the list with its filters, such as `/?status=error`.
    pub(crate) address: String,
}

/// The views of a project.
#[derive(Debug, Default)]
pub(crate) struct Views {
    /// `None` if views cannot be stored.
    directory: Option<PathBuf>,
    writing: Mutex<()>,
}

impl Views {
    /// The views stored in this directory.
    pub(crate) fn of(directory: &Path) -> Self {
        Self {
            directory: Some(directory.to_owned()),
            writing: Mutex::default(),
        }
    }

    /// All views, oldest first.
    pub(crate) fn list(&self) -> Result<Vec<View>, Problem> {
        let Some(directory) = &self.directory else { return Ok(Vec::new()) };
        let path = directory.join(FILE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text.map_err(|error| unreadable(&path, &error))?,
        };
        serde_json::from_str(&text).map_err(|error| unreadable(&path, &error))
    }

    /// Saves a view, replacing one with the same name. The address must be one of the list.
    pub(crate) fn save(&self, name: &str, address: &str) -> Result<(), Problem> {
        let name = name.trim();
        if name.is_empty() || name.chars().count() > NAME {
            return Err(Problem::invalid(format!("a view needs a name of at most {NAME} characters")));
        }
        let is_of_list = address.starts_with("/?") && address.len() <= ADDRESS && address.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_of_list {
            return Err(Problem::invalid(
                "a view is the address of a list with its filters, as /?status=error",
            ));
        }
        let (name, address) = (name.to_owned(), address.to_owned());
        self.change(|views| {
            if let Some(view) = views.iter_mut().find(|view| view.name == name) {
                view.address = address;
            } else if views.len() < MAX_VIEWS {
                views.push(View { name, address });
            } else {
                return Err(Problem::invalid(format!("there are {MAX_VIEWS} views: delete one first")));
            }
            Ok(())
        })
    }

    /// Deletes the view of this name.
    pub(crate) fn delete(&self, name: &str) -> Result<(), Problem> {
        self.change(|views| {
            let before = views.len();
            views.retain(|view| view.name != name);
            match views.len() == before {
                true => Err(Problem::not_found(format!("there is no view {name}"))),
                false => Ok(()),
            }
        })
    }

    /// Replaces the file atomically.
    fn change(&self, change: impl FnOnce(&mut Vec<View>) -> Result<(), Problem>) -> Result<(), Problem> {
        let Some(directory) = &self.directory else {
            return Err(Problem::invalid("this server has no directory to keep views in"));
        };
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut views = self.list()?;
        change(&mut views)?;
        let text = serde_json::to_string_pretty(&views).map_err(|error| Problem::internal(error.to_string()))?;
        let (path, beside) = (directory.join(FILE), directory.join(format!("{FILE}.new")));
        let written = File::create(&beside).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &path)
        });
        written.map_err(|error| Problem::internal(format!("{} cannot be written: {error}", path.display())))
    }
}

fn unreadable(path: &Path, error: &dyn std::error::Error) -> Problem {
    Problem::internal(format!("{} cannot be read: {error}; repair it, or remove it", path.display()))
}

#[cfg(test)]
#[expect(clippy::expect_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_kept_under_its_name_alone_and_never_leads_elsewhere() {
        let directory = tempfile::tempdir().expect("a directory");
        let views = Views::of(directory.path());
        assert!(views.list().expect("none").is_empty());
        views.save(" failed ", "/?status=error").expect("saves");
        views.save("slow", "/?where=duration%20%3E%2010").expect("saves");
        views.save("failed", "/?status=error&since=1d").expect("replaces");
        let again = Views::of(directory.path());
        let list = again.list().expect("reads");
        let names: Vec<&str> = list.iter().map(|view| view.name.as_str()).collect();
        assert_eq!(
            (names, list.first().map(|view| view.address.as_str())),
            (vec!["failed", "slow"], Some("/?status=error&since=1d"))
        );
        for address in ["//evil.example/?a", "https://evil.example", "/runs", "/?a b", "javascript:1"] {
            assert!(views.save("x", address).is_err(), "{address}");
        }
        assert!(views.save(" ", "/?a=1").is_err() && views.save(&"n".repeat(NAME + 1), "/?a=1").is_err());
        again.delete("failed").expect("deletes");
        assert!(again.delete("failed").is_err());
        assert_eq!(views.list().expect("reads").len(), 1);
        fs::write(directory.path().join(FILE), "[").expect("writes");
        assert!(views.list().is_err() && views.save("y", "/?a=1").is_err(), "nothing is overwritten");
        assert!(Views::default().save("y", "/?a=1").is_err());
    }
}
