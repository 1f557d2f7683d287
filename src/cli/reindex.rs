//! `spanbridge reindex`: rebuilds the index from the log.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::data_dir::default_data_dir;
use super::failure::Failure;
use super::out;
use super::vocabulary::vocabulary;
use crate::access::Project;
use crate::search;
use crate::store::{self, Filter, OpenOptions};

const EXAMPLES: &str = "\
The log matches the data; the index can be rebuilt from it at any time. `serve` rebuilds an index that is missing, broken or \
of another version. Use this command if you suspect that the index is wrong. The index of words (`serve --search`) is removed; `serve` \
builds it anew.

Examples:
  spanbridge reindex
  spanbridge reindex --data-dir /var/lib/spanbridge --project acme/web";

/// Rebuild the index from the log.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Reindex {
    /// The data directory [default: $XDG_DATA_HOME/spanbridge]. No server may be using it.
    #[arg(long, value_name = "DIR", env = "SPANBRIDGE_DATA_DIR")]
    data_dir: Option<PathBuf>,
    /// The project whose index is rebuilt.
    #[arg(long, value_name = "ORG/PROJECT", env = "SPANBRIDGE_PROJECT", default_value_t = Project::default())]
    project: Project,
    /// A file with attribute keys of your own, in the form of semconv/<dialect>/attributes.yaml.
    #[arg(long, value_name = "FILE")]
    semconv: Option<PathBuf>,
}

impl Reindex {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let directory = self.project.directory(&self.data_dir.map_or_else(default_data_dir, Ok)?);
        if !directory.is_dir() {
            return Err(Failure::usage(format!("there is no store in {}", directory.display())));
        }
        let options = OpenOptions {
            session_keys: vocabulary(self.semconv.as_deref())?.session_keys().to_vec(),
            ..OpenOptions::new(&directory)
        };
        let opened = store::reindex(&options)?;
        search::remove(&directory).map_err(|error| Failure::usage(format!("the index of words cannot be removed: {error}")))?;
        out::recovery(&opened.recovery);
        let traces = opened.store.list(&Filter::default())?.len();
        out::note(&format!(
            "{} read, {} in the index",
            out::many(opened.recovery.replayed, "chunk"),
            out::many(traces, "trace")
        ));
        Ok(ExitCode::SUCCESS)
    }
}
