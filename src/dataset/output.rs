//! The files of a data set.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::hub::Hub;
use super::manifest::{Manifest, RowFile};
use super::parquet::{ParquetError, Rows};
use super::rows::Lines;
use crate::formats::{AnyFormat, Options};

/// The name of the card of a folder for the Hub.
const CARD: &str = "README.md";

/// Whether a folder has a card that this program did not write.
#[must_use]
pub fn has_foreign_card(directory: &Path) -> bool {
    fs::read(directory.join(CARD)).is_ok_and(|text| memchr::memmem::find(&text, super::hub::MARK.as_bytes()).is_none())
}

/// The manifest's name.
const MANIFEST: &str = "manifest.json";

/// The side of a data set without a split; for rows, the one that loaders assume for a file that names none.
const fn only_side(layout: Layout) -> &'static str {
    match layout {
        Layout::Documents => "all",
        Layout::Jsonl | Layout::Parquet | Layout::JsonlAndParquet => "train",
    }
}

/// The layout of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One file per document, in one folder per side.
    Documents,
    /// All documents of a side, one per line.
    Jsonl,
    /// All documents of a side, as a table.
    Parquet,
    /// Both: the same rows in two files.
    JsonlAndParquet,
}

/// Errors while writing files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The file system reports an error.
    #[error("cannot write {path}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A table cannot be written.
    #[error("cannot write {path}", path = path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: ParquetError,
    },
}

/// A data set being written. The manifest is written last, so a directory without one is incomplete.
#[derive(Debug)]
pub struct Output {
    directory: PathBuf,
    sides: Vec<Side>,
}

#[derive(Debug)]
struct Side {
    name: String,
    folder: PathBuf,
    lines: Option<(PathBuf, Lines)>,
    table: Option<(PathBuf, Rows)>,
}

impl Output {
    /// Creates the directory and the files.
    ///
    /// # Errors
    ///
    /// The file system reports an error, or the format has no tables.
    pub fn create(
        directory: &Path,
        layout: Layout,
        format: &AnyFormat,
        options: &Options,
        sides: &[Option<String>],
    ) -> Result<Self, OutputError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| OutputError::Write { path, source }
        };
        fs::create_dir_all(directory).map_err(at(directory))?;
        let manifest = directory.join(MANIFEST);
        match fs::remove_file(&manifest) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&manifest)(error)),
            _ => {}
        }
        let mut made = Vec::new();
        for side in sides {
            let name = side.clone().unwrap_or_else(|| only_side(layout).to_owned());
            let folder = side.as_ref().map_or_else(|| directory.to_owned(), |side| directory.join(side));
            if layout == Layout::Documents {
                fs::create_dir_all(&folder).map_err(at(&folder))?;
            }
            let mut side = Side {
                name,
                folder,
                lines: None,
                table: None,
            };
            if matches!(layout, Layout::Jsonl | Layout::JsonlAndParquet) {
                let path = directory.join(format!("{}.jsonl", side.name));
                let lines = Lines::create(&path).map_err(at(&path))?;
                side.lines = Some((path, lines));
            }
            if matches!(layout, Layout::Parquet | Layout::JsonlAndParquet) {
                let path = directory.join(format!("{}.parquet", side.name));
                let rows = Rows::create(&path, format, options).map_err(|source| OutputError::Parquet {
                    path: path.clone(),
                    source,
                })?;
                side.table = Some((path, rows));
            }
            made.push(side);
        }
        Ok(Self {
            directory: directory.to_owned(),
            sides: made,
        })
    }

    /// The name of a side.
    #[must_use]
    pub fn name(&self, side: usize) -> &str {
        self.sides.get(side).map_or("", |side| &side.name)
    }

    /// The folder of a side's documents, if these are separate files.
    #[must_use]
    pub fn folder(&self, side: usize) -> &Path {
        self.sides.get(side).map_or(&self.directory, |side| &side.folder)
    }

    /// Writes a document, which must be on one line, as a row.
    ///
    /// # Errors
    ///
    /// The file system reports an error.
    pub fn row(&mut self, side: usize, text: &str) -> Result<(), OutputError> {
        let Some(side) = self.sides.get_mut(side) else { return Ok(()) };
        if let Some((path, lines)) = &mut side.lines {
            lines.row(text).map_err(|source| OutputError::Write {
                path: path.clone(),
                source,
            })?;
        }
        if let Some((path, table)) = &mut side.table {
            table.row(text).map_err(|source| OutputError::Parquet {
                path: path.clone(),
                source,
            })?;
        }
        Ok(())
    }

    /// Files with rows that are not from this data set, but that loaders of the directory would take for part of it.
    #[must_use]
    pub fn others(&self) -> Vec<String> {
        let ours = |path: &Path| {
            let files = self
                .sides
                .iter()
                .flat_map(|side| [side.lines.as_ref().map(|(path, _)| path), side.table.as_ref().map(|(path, _)| path)]);
            files.flatten().any(|file| file == path)
        };
        let is_rows = |path: &Path| path.extension().is_some_and(|ending| ending == "jsonl" || ending == "parquet");
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let mut others: Vec<String> = entries
            .filter(|path| is_rows(path) && !ours(path))
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .collect();
        others.sort();
        others
    }

    /// Removes the files with rows, which must not be published, and the card of an earlier export.
    ///
    /// # Errors
    ///
    /// The file system reports an error.
    pub fn abandon(self) -> Result<(), OutputError> {
        for side in self.sides {
            let table = side.table.map(|(path, _)| path);
            for path in side.lines.map(|(path, _)| path).into_iter().chain(table) {
                fs::remove_file(&path).map_err(|source| OutputError::Write { path, source })?;
            }
        }
        let card = self.directory.join(CARD);
        match fs::remove_file(&card) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(OutputError::Write { path: card, source }),
            _ => Ok(()),
        }
    }

    /// Finishes the files and writes the card, if wanted, and the manifest. A side without documents has no file.
    ///
    /// # Errors
    ///
    /// The file system reports an error.
    pub fn finish(self, mut manifest: Manifest, hub: Option<&Hub>) -> Result<(), OutputError> {
        for side in self.sides {
            manifest.side(&side.name);
            if let Some((path, lines)) = side.lines {
                let file = lines.finish(file_name(&path)).map_err(|source| OutputError::Write {
                    path: path.clone(),
                    source,
                })?;
                keep(&mut manifest, &side.name, &path, file)?;
            }
            if let Some((path, table)) = side.table {
                let file = table.finish(file_name(&path)).map_err(|source| OutputError::Parquet {
                    path: path.clone(),
                    source,
                })?;
                keep(&mut manifest, &side.name, &path, file)?;
            }
        }
        if let Some(hub) = hub {
            let path = self.directory.join(CARD);
            let written = super::rows::new_file(&path).and_then(|mut file| file.write_all(hub.card(&manifest).as_bytes()));
            written.map_err(|source| OutputError::Write { path, source })?;
        }
        let path = self.directory.join(MANIFEST);
        let text = serde_json::to_string_pretty(&manifest).map_err(io::Error::from);
        // Renamed, so that the file is either complete or missing.
        let unfinished = self.directory.join(".manifest.json.unfinished");
        let written = text
            .and_then(|text| fs::write(&unfinished, format!("{text}\n")))
            .and_then(|()| fs::rename(&unfinished, &path));
        written.map_err(|source| OutputError::Write { path, source })
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn keep(manifest: &mut Manifest, side: &str, path: &Path, file: RowFile) -> Result<(), OutputError> {
    if file.rows > 0 {
        manifest.file(side, file);
        return Ok(());
    }
    fs::remove_file(path).map_err(|source| OutputError::Write {
        path: path.to_owned(),
        source,
    })
}
