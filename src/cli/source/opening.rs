//! Stores that commands read themselves: a data directory, or a bucket.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::access::Project;
use crate::cli::data_dir::{is_store, projects_in};
use crate::cli::failure::Failure;
use crate::cli::held::{held, over_the_server};
use crate::documents::Vocabulary;
use crate::store::log::Recovery;
use crate::store::{self, BucketOptions, OpenOptions, Opened, Store};

/// A store and its location.
pub(super) type FoundStore = (PathBuf, Arc<dyn Store>);

/// A function that opens a data directory.
pub(super) type Open = fn(&OpenOptions) -> Result<Opened<Arc<dyn Store>>, store::Error>;

pub(super) fn directory_of(
    data_dir: &Path,
    project: &Project,
    vocabulary: &Vocabulary,
    (tell, open): (fn(&Recovery), Open),
) -> Result<FoundStore, Failure> {
    let directory = project.directory(data_dir);
    if !is_store(&directory) {
        let place = data_dir.display();
        let others: Vec<String> = projects_in(data_dir).iter().map(ToString::to_string).collect();
        return Err(Failure::usage(match (*project == Project::default(), others.as_slice()) {
            (true, []) => format!("there is no store in {place}; create one with `spanbridge serve --data-dir {place}`"),
            (_, []) => format!("{place} has no project {project}; a project exists once a token of the server names it"),
            (_, others) => format!("{place} has no project {project}; it has {}: pass --project", others.join(", ")),
        }));
    }
    let options = OpenOptions {
        session_keys: vocabulary.session_keys().to_vec(),
        ..OpenOptions::new(&directory)
    };
    let opened = open(&options).map_err(|error| held(error, data_dir, over_the_server))?;
    tell(&opened.recovery);
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
