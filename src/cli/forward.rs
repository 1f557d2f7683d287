//! `spanbridge forward`: how far destinations are, and what becomes of what they did not take.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::json;

use super::data_dir::default_data_dir;
use super::failure::Failure;
use super::out::{self, Style, Table};
use super::time::moment;
use crate::access::Project;
use crate::forward::order::{self, Order};
use crate::forward::progress::Progress;
use crate::forward::{backlog_bytes, dead_letters, folder, progress};
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
    /// The data directory [default: $XDG_DATA_HOME/spanbridge].
    #[arg(long, value_name = "DIR", env = "SPANBRIDGE_DATA_DIR", global = true)]
    data_dir: Option<PathBuf>,
    /// The project whose spans are forwarded.
    #[arg(long, value_name = "ORG/PROJECT", env = "SPANBRIDGE_PROJECT", default_value_t = Project::default(), global = true)]
    project: Project,
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
        let data_dir = self.data_dir.map_or_else(default_data_dir, Ok)?;
        let store = Store(self.project.directory(&data_dir));
        match self.action {
            Action::Status { json } => store.status(json)?,
            Action::DeadLetters { name } => store.dead_letters(&name)?,
            Action::Retry { name } => store.order(&name, Order::Retry)?,
            Action::Skip { name } => store.order(&name, Order::Skip)?,
            Action::Rewind { name, since } => store.order(&name, Order::Rewind(since))?,
        }
        out::flush().map_err(|source| Failure::Output { source })?;
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

/// The directory of a store.
struct Store(PathBuf);

impl Store {
    fn folder(&self) -> PathBuf {
        folder(&self.0)
    }

    fn known(&self, name: &str) -> Result<(), Failure> {
        let names = progress::names(&self.folder());
        if names.iter().any(|known| known == name) {
            return Ok(());
        }
        Err(Failure::usage(match names.as_slice() {
            [] => format!("{} has no destinations; start the server with --forward URL", self.0.display()),
            names => format!("there is no destination {name}; the destinations are {}", names.join(", ")),
        }))
    }

    fn status(&self, as_json: bool) -> Result<(), Failure> {
        let folder = self.folder();
        let names = progress::names(&folder);
        if names.is_empty() {
            out::note("no destinations; start the server with --forward URL");
        }
        let mut table = Table::new(&["DESTINATION", "SENT", "WAITING", "FAILED", "DEAD LETTERS", "UPDATED", "LAST ERROR"]);
        for name in names {
            let Some(progress) = progress::read(&folder, &name)? else {
                continue;
            };
            let letters = dead_letters::read(&folder, &name)?.len();
            let waiting = backlog_bytes(&self.0, progress.position());
            if as_json {
                let line = json!({
                    "destination": name,
                    "segment": progress.segment,
                    "offset": progress.offset,
                    "sent_spans": progress.sent_spans,
                    "sent_log_records": progress.sent_log_records,
                    "sent_metric_points": progress.sent_metric_points,
                    "failed": progress.failed,
                    "as_received_spans": progress.as_received_spans,
                    "removed_segments": progress.removed_segments,
                    "dead_letters": letters,
                    "queue_bytes": waiting,
                    "last_error": progress.last_error,
                    "updated_unix_nano": progress.updated,
                });
                out::json(line.to_string()).map_err(|source| Failure::Output { source })?;
                continue;
            }
            let failed = if progress.failed > 0 { Style::Bad } else { Style::Plain };
            table.row(vec![
                (name, Style::Strong),
                (sent(&progress), Style::Plain),
                (format!("{waiting} bytes"), Style::Plain),
                (progress.failed.to_string(), failed),
                (letters.to_string(), failed),
                (UnixNanos(progress.updated).rfc3339(), Style::Plain),
                (out::shown(progress.last_error.as_deref().unwrap_or("-"), 60), Style::Plain),
            ]);
        }
        if !as_json {
            for line in table.lines() {
                out::line(&line).map_err(|source| Failure::Output { source })?;
            }
        }
        Ok(())
    }

    fn dead_letters(&self, name: &str) -> Result<(), Failure> {
        self.known(name)?;
        for letter in dead_letters::read(&self.folder(), name)? {
            let line = serde_json::to_string(&letter).unwrap_or_default();
            out::json(&line).map_err(|source| Failure::Output { source })?;
        }
        Ok(())
    }

    fn order(&self, name: &str, order: Order) -> Result<(), Failure> {
        self.known(name)?;
        order::give(&self.folder(), name, order)?;
        out::note("requested; a running server applies this within a second, otherwise it is applied at the next start");
        Ok(())
    }
}
