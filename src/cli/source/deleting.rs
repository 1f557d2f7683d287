//! Where commands delete from: a running server over its API, or a store that no server uses.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::server::Server;
use super::{Chosen, DEFAULT_SERVER, Where};
use crate::access::Project;
use crate::cli::data_dir::default_data_dir;
use crate::cli::failure::Failure;
use crate::cli::held::{held, over_the_server};
use crate::cli::out;
use crate::cli::vocabulary::vocabulary;
use crate::forward::{self, dead_letters};
use crate::search;
use crate::span::TraceId;
use crate::store::{self, BucketOptions, Error, OpenOptions, Store, Unwanted};
use crate::web::percent_encoded;

/// Where a command deletes from.
pub(in crate::cli) enum Deleting {
    /// A server.
    Server(Server),
    /// A store.
    Store {
        store: Arc<dyn Store>,
        /// Directory of the files outside the store.
        directory: PathBuf,
    },
}

/// How much is deleted.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(in crate::cli) struct Amount {
    pub(in crate::cli) traces: usize,
    pub(in crate::cli) spans: u64,
    pub(in crate::cli) log_records: u64,
    pub(in crate::cli) bytes: u64,
}

impl Where {
    /// Opens the source to delete from. A data directory is opened for writing.
    pub(in crate::cli) fn open_to_delete(&self) -> Result<Deleting, Failure> {
        let apart = self.project != Project::default();
        match self.chosen()? {
            Chosen::Server(_) if apart => Err(Failure::usage(
                "with a server, the token selects the project; --project is for a data directory or a bucket",
            )),
            Chosen::Server(url) => self.server(url).map(Deleting::Server),
            // Opened without a database of its own: each server removes the data from its own.
            Chosen::Bucket(url) => {
                let options = OpenOptions {
                    session_keys: vocabulary(self.semconv())?.session_keys().to_vec(),
                    bucket: Some(BucketOptions::new(url).with_folder(&self.project.directory(Path::new("")))),
                    ..OpenOptions::new(Path::new(""))
                };
                Ok(Deleting::Store {
                    store: store::open_up_to_date(&options)?.store,
                    directory: PathBuf::from(url),
                })
            }
            Chosen::Directory(directory) => self.store_to_delete(directory),
            Chosen::None => match self.server(DEFAULT_SERVER) {
                Ok(server) if !apart => Ok(Deleting::Server(server)),
                _ => self.store_to_delete(&default_data_dir()?),
            },
        }
    }

    fn store_to_delete(&self, data_dir: &Path) -> Result<Deleting, Failure> {
        let directory = self.project.directory(data_dir);
        if !crate::cli::data_dir::is_store(&directory) {
            return Err(Failure::usage(format!("there is no store in {}", directory.display())));
        }
        let options = OpenOptions {
            session_keys: vocabulary(self.semconv())?.session_keys().to_vec(),
            ..OpenOptions::new(&directory)
        };
        let opened = store::open(&options).map_err(|error| held(error, data_dir, over_the_server))?;
        out::recovery(&opened.recovery);
        let store = opened.store;
        store.finish_deletions(&mut |traces| forget(&directory, traces))?;
        Ok(Deleting::Store { store, directory })
    }
}

/// Removes traces from data outside a store that no server uses.
fn forget(directory: &Path, traces: &[TraceId]) -> Result<(), Error> {
    search::forget(directory, traces).map_err(|source| Error::Beside {
        what: "the index of words",
        source: Arc::new(source),
    })?;
    dead_letters::forget(&forward::folder(directory), traces).map_err(|source| Error::Beside {
        what: "the dead letters",
        source: Arc::new(source),
    })
}

impl Deleting {
    /// Its location, for people.
    pub(in crate::cli) fn place(&self) -> String {
        match self {
            Self::Server(server) => server.url.clone(),
            Self::Store { directory, .. } => directory.display().to_string(),
        }
    }

    /// How much would be deleted; `None`: it does not exist.
    pub(in crate::cli) fn count(&self, what: &Unwanted) -> Result<Option<Amount>, Failure> {
        match self {
            Self::Server(server) => of_server(server, what, "?dry_run=true"),
            Self::Store { store, .. } => Ok(amount(&store.to_delete(what)?)),
        }
    }

    /// Deletes, and returns once the bytes are gone; `None`: it does not exist.
    pub(in crate::cli) fn delete(&self, what: &Unwanted) -> Result<Option<Amount>, Failure> {
        match self {
            Self::Server(server) => of_server(server, what, ""),
            Self::Store { store, directory } => Ok(amount(&store.delete(what, &mut |traces| forget(directory, traces))?)),
        }
    }
}

fn amount(deleted: &store::Deleted) -> Option<Amount> {
    (!deleted.is_empty()).then_some(Amount {
        traces: deleted.traces.len(),
        spans: deleted.spans,
        log_records: deleted.log_records,
        bytes: deleted.bytes,
    })
}

fn of_server(server: &Server, what: &Unwanted, query: &str) -> Result<Option<Amount>, Failure> {
    let path = match what {
        Unwanted::Trace(id) => format!("/api/v1/traces/{id}{query}"),
        Unwanted::Session(session) => format!("/api/v1/sessions/{}{query}", percent_encoded(session)),
    };
    let Some(body) = server.delete(&path)? else { return Ok(None) };
    let amount = serde_json::from_slice(&body).map_err(|error| server.unreadable(error.to_string()))?;
    Ok(Some(amount))
}
