//! `spanbridge forward`: the progress of destinations, and retrying or skipping what they refused.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use super::data_dir::{default_data_dir, projects_in};
use super::failure::Failure;
use super::out::{self, Style, Table, plain_cell};
use super::serve::not_forwarded;
use super::settings_file;
use super::time::moment;
use crate::access::Project;
use crate::forward::order::{self, Order};
use crate::forward::progress::Progress;
use crate::forward::{backlog_bytes, dead_letters, folder, progress, removed_segments};
use crate::span::UnixNanos;

const EXAMPLES: &str = "\
`serve --forward URL` forwards stored spans to other backends. This command shows the progress of each destination and \
changes what is sent. A running server applies a change within a second; otherwise it is applied at the next start.

Examples:
  spanbridge forward status
  spanbridge forward dead-letters jaeger        list what it rejected, and why
  spanbridge forward retry jaeger               send the rejected spans again
  spanbridge forward rewind phoenix --since 2h  send everything from the last two hours again
  spanbridge forward skip jaeger                drop what has not been sent yet";

/// Show and control the destinations of `serve --forward`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Forward {
    #[command(subcommand)]
    action: Action,
    /// The data directory [default: that of --config, else $XDG_DATA_HOME/spanbridge].
    #[arg(long, value_name = "DIR", env = "SPANBRIDGE_DATA_DIR", global = true)]
    data_dir: Option<PathBuf>,
    /// The configuration file of `serve`, which names the data directory.
    #[arg(long, value_name = "FILE", env = "SPANBRIDGE_CONFIG", global = true)]
    config: Option<PathBuf>,
    /// The project whose spans are forwarded [default: all projects].
    #[arg(long, value_name = "ORG/PROJECT", env = "SPANBRIDGE_PROJECT", global = true)]
    project: Option<Project>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the progress of each destination.
    Status {
        /// Print one JSON object per line.
        #[arg(long)]
        json: bool,
    },
    /// List spans and log records that a destination rejected permanently, one JSON object per line.
    DeadLetters {
        /// The destination.
        name: String,
    },
    /// Send the dead letters again.
    Retry {
        /// The destination.
        name: String,
    },
    /// Skip everything that has not been sent yet.
    Skip {
        /// The destination.
        name: String,
    },
    /// Send everything received since a time again.
    Rewind {
        /// The destination.
        name: String,
        /// A time (2026-11-21T10:00:00Z, 2026-11-21 in UTC) or a duration ago (90s, 15m, 2h, 7d).
        #[arg(long, value_name = "TIME", value_parser = moment)]
        since: u64,
    },
}

impl Forward {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let data_dir = match (self.data_dir, &self.config) {
            (Some(data_dir), _) => data_dir,
            (None, Some(config)) => settings_file::data_dir(config)?.map_or_else(default_data_dir, Ok)?,
            (None, None) => default_data_dir()?,
        };
        let projects = self.project.map_or_else(|| projects_in(&data_dir), |project| vec![project]);
        let stores = projects.into_iter().map(|project| Store {
            directory: project.directory(&data_dir),
            project,
        });
        let stores = stores.collect();
        let stores = Stores { data_dir, stores };
        match self.action {
            Action::Status { json } => stores.status(json)?,
            Action::DeadLetters { name } => stores.that_has(&name)?.dead_letters(&name)?,
            Action::Retry { name } => stores.that_has(&name)?.order(&name, Order::Retry)?,
            Action::Skip { name } => stores.that_has(&name)?.order(&name, Order::Skip)?,
            Action::Rewind { name, since } => stores.that_has(&name)?.order(&name, Order::Rewind(since))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn sent(progress: &Progress) -> String {
    let as_received = match progress.as_received_spans {
        0 => String::new(),
        count => format!(" ({count} as received)"),
    };
    let mut sent = vec![
        out::many(progress.sent_spans, "span") + &as_received,
        out::many(progress.sent_log_records, "log record"),
    ];
    if progress.sent_metric_points > 0 {
        sent.push(out::many(progress.sent_metric_points, "data point"));
    }
    sent.join(", ")
}

/// The columns of the table of destinations.
#[rustfmt::skip]
const HEADS: &[&str] = &["DESTINATION", "PROJECT", "SENT", "WAITING", "REMOVED", "FAILED", "DEAD LETTERS", "UPDATED", "LAST ERROR"];

/// The stores to look at.
struct Stores {
    data_dir: PathBuf,
    stores: Vec<Store>,
}

/// The store of a project.
struct Store {
    project: Project,
    directory: PathBuf,
}

impl Stores {
    /// The store with a destination of this name.
    fn that_has(&self, name: &str) -> Result<&Store, Failure> {
        let has = |store: &&Store| store.names().iter().any(|known| known == name);
        let found: Vec<&Store> = self.stores.iter().filter(has).collect();
        let all: Vec<String> = self.stores.iter().flat_map(Store::names).collect();
        Err(Failure::usage(match (found.as_slice(), all.as_slice()) {
            ([store], _) => return Ok(store),
            ([], []) => format!(
                "{} has no destinations; start the server with --forward URL",
                self.data_dir.display()
            ),
            ([], names) => format!("there is no destination {name}; the destinations are {}", names.join(", ")),
            (several, _) => {
                let projects: Vec<String> = several.iter().map(|store| store.project.to_string()).collect();
                format!(
                    "several projects have a destination {name}; pass --project with one of {}",
                    projects.join(", ")
                )
            }
        }))
    }

    fn status(&self, as_json: bool) -> Result<(), Failure> {
        if self.stores.iter().all(|store| store.names().is_empty()) {
            out::note("no destinations; start the server with --forward URL");
            return Ok(());
        }
        for store in self.stores.iter().filter(|store| store.names().is_empty()) {
            out::note(&not_forwarded(&store.project));
        }
        let mut table = Table::new(HEADS);
        let of_store = |store| Store::names(store).into_iter().map(move |name| (store, name));
        let each = self.stores.iter().flat_map(of_store);
        for (store, name) in each {
            let folder = store.folder();
            let progress = match progress::read(&folder, &name) {
                Ok(Some(progress)) => progress,
                Ok(None) => continue,
                Err(error) => {
                    out::note(&format!("{name}: {}", out::with_causes(&error)));
                    continue;
                }
            };
            let removed = progress.removed_segments + removed_segments(&store.directory, progress.position());
            let letters = dead_letters::each(&folder, &name)?.count();
            let waiting = backlog_bytes(&store.directory, progress.position());
            if as_json {
                let line = json!({
                    "destination": name,
                    "project": store.project.to_string(),
                    "segment": progress.segment,
                    "offset": progress.offset,
                    "sent_spans": progress.sent_spans,
                    "sent_log_records": progress.sent_log_records,
                    "sent_metric_points": progress.sent_metric_points,
                    "failed": progress.failed,
                    "as_received_spans": progress.as_received_spans,
                    "removed_segments": removed,
                    "dead_letters": letters,
                    "queue_bytes": waiting,
                    "last_error": progress.last_error,
                    "updated_unix_nano": progress.updated,
                });
                out::json(line.to_string())?;
                continue;
            }
            let failed = if progress.failed > 0 { Style::Bad } else { Style::Plain };
            table.row(vec![
                (name, Style::Strong),
                plain_cell(&store.project),
                plain_cell(sent(&progress)),
                plain_cell(format!("{waiting} bytes")),
                match removed {
                    0 => plain_cell("-"),
                    count => (out::many(count, "segment"), Style::Bad),
                },
                (progress.failed.to_string(), failed),
                (letters.to_string(), failed),
                plain_cell(UnixNanos(progress.updated).rfc3339()),
                plain_cell(out::shown(progress.last_error.as_deref().unwrap_or("-"), 60)),
            ]);
        }
        if as_json { Ok(()) } else { table.print() }
    }
}

impl Store {
    fn folder(&self) -> PathBuf {
        folder(&self.directory)
    }

    fn names(&self) -> Vec<String> {
        progress::names(&self.folder())
    }

    fn dead_letters(&self, name: &str) -> Result<(), Failure> {
        for letter in dead_letters::each(&self.folder(), name)? {
            out::json(serde_json::to_string(&letter?).unwrap_or_default())?;
        }
        Ok(())
    }

    fn order(&self, name: &str, order: Order) -> Result<(), Failure> {
        order::give(&self.folder(), name, order)?;
        out::note("requested; a running server applies this within a second, otherwise it is applied at the next start");
        Ok(())
    }
}
