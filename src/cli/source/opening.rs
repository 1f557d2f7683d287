//! Stores that commands read themselves: a data directory, or a bucket.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::access::Project;
use crate::cli::data_dir::{is_store, projects_in};
use crate::cli::failure::Failure;
use crate::cli::held::{held, over_the_server};
use crate::cli::out;
use crate::documents::Vocabulary;
use crate::forward::{self, dead_letters};
use crate::search;
use crate::span::TraceId;
use crate::store::{self, BucketOptions, Error, OpenOptions, Store};

/// A store and its location.
pub(super) type FoundStore = (PathBuf, Arc<dyn Store>);

/// What a source is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Read,
    /// Without reporting what was found on opening.
    ReadSilently,
    Annotate,
    Delete,
}

pub(super) fn directory_of(data_dir: &Path, project: &Project, vocabulary: &Vocabulary, to: To) -> Result<FoundStore, Failure> {
    let directory = project.directory(data_dir);
    if !is_store(&directory) {
        let place = data_dir.display();
        let others: Vec<String> = projects_in(data_dir).iter().map(ToString::to_string).collect();
        return Err(Failure::usage(match (*project == Project::default(), others.as_slice()) {
            _ if to == To::Delete => format!("there is no store in {}", directory.display()),
            (true, []) => format!("there is no store in {place}; create one with `spanbridge serve --data-dir {place}`"),
            (_, []) => format!("{place} has no project {project}; a project exists once a token of the server names it"),
            (_, others) => format!("{place} has no project {project}; it has {}: pass --project", others.join(", ")),
        }));
    }
    let options = OpenOptions {
        session_keys: vocabulary.session_keys().to_vec(),
        ..OpenOptions::new(&directory)
    };
    let opened = match to {
        To::Read | To::ReadSilently => store::open_up_to_date(&options),
        To::Annotate | To::Delete => store::open(&options),
    };
    let opened = opened.map_err(|error| held(error, data_dir, over_the_server))?;
    if to != To::ReadSilently {
        out::recovery(&opened.recovery);
    }
    if to == To::Delete {
        opened.store.finish_deletions(&mut |traces| forget(&directory, traces))?;
    }
    Ok((directory, opened.store))
}

pub(super) fn bucket_of(url: &str, project: &Project, vocabulary: &Vocabulary) -> Result<FoundStore, Failure> {
    let options = OpenOptions {
        session_keys: vocabulary.session_keys().to_vec(),
        bucket: Some(BucketOptions::new(url).with_folder(&project.directory(Path::new("")))),
        ..OpenOptions::new(Path::new(""))
    };
    let opened = store::open_up_to_date(&options)?;
    Ok((PathBuf::from(url), opened.store))
}

/// Removes traces from data outside a store that no server uses.
pub(super) fn forget(directory: &Path, traces: &[TraceId]) -> Result<(), Error> {
    search::forget(directory, traces).map_err(|source| Error::Beside {
        what: "the index of words",
        source: Arc::new(source),
    })?;
    dead_letters::forget(&forward::folder(directory), traces).map_err(|source| Error::Beside {
        what: "the dead letters",
        source: Arc::new(source),
    })
}
