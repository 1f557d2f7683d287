//! Reads files into spans and log records. The content of a file determines its compression, encoding and signal; its name
//! does not matter.

mod batch;
mod console;
mod from;
mod printed;
mod recognise;
mod requests;
mod stored_content;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;

use super::begin::Begin;
use super::failure::Failure;
use super::own_form::OwnForm;
use super::parts;
use super::vocabulary::vocabulary;
use crate::documents::Vocabulary;
use crate::sessions::Limits;
pub(super) use batch::{Batch, Rows};
pub(super) use from::{From, from_of};
use stored_content::ContentFolders;

/// Default maximum size of a file after decompression.
pub(super) const DEFAULT_LIMIT: usize = 1 << 30;

/// The files of `convert`, `import` and `send`, and how they are read.
#[derive(Debug, Args)]
pub(super) struct Files {
    /// The format of the documents to read; `auto` detects spans, log records and documents by their content.
    #[arg(long, value_name = "FORMAT|auto", value_parser = from_of, default_value = "auto")]
    from: From,
    /// A file with attribute keys of your own, in the form of semconv/<dialect>/attributes.yaml.
    #[arg(long, value_name = "FILE")]
    semconv: Option<PathBuf>,
    #[command(flatten)]
    form: OwnForm,
    /// The maximum size of a file after decompression.
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_LIMIT)]
    max_bytes: usize,
    /// The maximum memory for reading one file of documents, or one session [default: 1 GiB, or 8 times its size if that is more].
    #[arg(long, value_name = "BYTES")]
    max_memory: Option<usize>,
    /// Read content that spans refer to by `file://` (`gen_ai.input.messages_ref` and its like) from files in this directory; without
    /// it, none is read. Repeatable.
    #[arg(long, value_name = "DIR", value_parser = stored_content::folder)]
    content_from: Vec<PathBuf>,
    /// The files to read: spans, log records, documents or session files; a folder with such files; `-` is standard input.
    #[arg(required = true, value_name = "FILE|FOLDER|-")]
    files: Vec<PathBuf>,
}

impl Files {
    /// These files, recognised by their content.
    pub(super) fn of(files: &[PathBuf], semconv: Option<&Path>, form: &OwnForm) -> Self {
        Self {
            from: From::Auto,
            semconv: semconv.map(Path::to_owned),
            form: form.clone(),
            max_bytes: DEFAULT_LIMIT,
            max_memory: None,
            content_from: Vec::new(),
            files: files.to_vec(),
        }
    }

    pub(super) fn vocabulary(&self) -> Result<Vocabulary, Failure> {
        vocabulary(self.semconv.as_deref())
    }

    /// The files and folders to read.
    pub(super) fn paths(&self) -> &[PathBuf] {
        &self.files
    }

    /// Limits for reading session files.
    pub(super) fn limits(&self) -> Limits {
        Limits {
            bytes: self.max_bytes,
            memory: self.max_memory,
        }
    }

    /// Adds further files.
    pub(super) fn extend(&mut self, files: Vec<PathBuf>) {
        self.files.extend(files);
    }

    /// Reads the files, and reports on standard error what could not be read. `reads_others`: whether to read a file
    /// although some of its documents are refused.
    pub(super) fn read<'r>(&self, begin: Begin, reads_others: bool) -> Batch<'r> {
        let batch = self.batch(begin, reads_others, None, &HashSet::new());
        batch.report();
        batch
    }

    /// The same, passing on rows of training data one by one.
    pub(super) fn read_rows<'r>(&self, begin: Begin, reads_others: bool, rows: &'r mut Rows<'r>) -> Batch<'r> {
        let batch = self.batch(begin, reads_others, Some(rows), &HashSet::new());
        batch.report();
        batch
    }

    /// Reads the rows once more, except those of these files. Standard input cannot be read again.
    pub(super) fn read_rows_again<'r>(&self, begin: Begin, rows: &'r mut Rows<'r>, but: &HashSet<PathBuf>) {
        self.batch(begin, false, Some(rows), but);
    }

    pub(super) fn has_standard_input(&self) -> bool {
        self.files.iter().any(|file| file.as_os_str() == "-")
    }

    fn batch<'r>(&self, begin: Begin, reads_others: bool, rows: Option<&'r mut Rows<'r>>, but: &HashSet<PathBuf>) -> Batch<'r> {
        let mut batch = Batch {
            begin,
            reads_others,
            rows,
            from: self.from,
            form: self.form.get().cloned(),
            ..Batch::new(self.max_bytes, self.max_memory)
        };
        // The files of a folder are told of together.
        let given = self.files.iter().map(|path| match path.is_dir() {
            true => (Some(path), batch.sessions_below(path)),
            false => (None, vec![path.clone()]),
        });
        let given: Vec<(Option<&PathBuf>, Vec<PathBuf>)> = given.collect();
        let parts = parts::of(given.iter().flat_map(|(_, files)| files));
        let is_part = |file: &PathBuf| !parts.is_empty() && parts.contains(&parts::whole_path(file));
        for (folder, files) in &given {
            let files = files.iter().filter(|file| !but.contains(*file));
            let (read_elsewhere, files): (Vec<_>, Vec<_>) = files.partition(|file| is_part(file));
            let note = |file: &PathBuf| format!("{}: read as a part of another document", file.display());
            batch.notes.extend(read_elsewhere.into_iter().map(note));
            match folder {
                Some(folder) => batch.read_below(folder, &files),
                None => files.into_iter().for_each(|file| batch.read(file)),
            }
        }
        if !self.content_from.is_empty() {
            let folders = ContentFolders::new(&self.content_from, self.max_bytes);
            batch.notes.extend(folders.fill(&mut batch.spans, &mut batch.logs));
        }
        batch
    }
}
