//! `spanbridge store adopt`: takes over what a removed server left.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use crate::access::Project;
use crate::cli::failure::Failure;
use crate::cli::log::{Form, Level, Log};
use crate::cli::out;
use crate::cli::settings_sources::{Sources, effective};
use crate::cli::time::second;
use crate::forward::{self, Destination, Forwarder, Via, progress};
use crate::server::Config;
use crate::span::UnixNanos;
use crate::store::{self, Ack, BucketOptions, ListedWriter, Store};

const EXAMPLES: &str = "\
The settings are those of serve: the bucket, and the destinations that the server had. The database is opened for writing, which shuts out \
the server if it runs after all. What its destinations have not had is sent to them, from the position that is in the database. Deletions \
that the server did not hear of are carried out. Then the database is marked as adopted, so that store compact merges it.

If this is interrupted, run it again: it goes on. A server that starts with this name takes the database back.

Examples:
  spanbridge store adopt 3f1c9a2be5d07788 --store s3://my-bucket/traces
  spanbridge store adopt pod-7 --config spanbridge.toml";

/// A server that stored something this recently may still run.
const ALIVE: Duration = Duration::from_secs(5 * 60);

/// How often to check whether everything was sent.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How long requests in progress may take at the end.
const GRACE: Duration = Duration::from_secs(5);

/// Take over the database of a server that is gone: send on what that did not, and mark it as adopted.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Adopt {
    /// The name of the server's database, as store list prints it.
    #[arg(value_name = "WRITER")]
    gone: String,
    /// The project whose database is adopted.
    #[arg(long, value_name = "ORG/PROJECT", env = "SPANBRIDGE_PROJECT", default_value_t = Project::default())]
    project: Project,
    /// Adopt it although it stored something within the last five minutes.
    #[arg(long)]
    force: bool,
    /// Adopt it although a destination of it is not in the settings: what that has not had is never sent.
    #[arg(long)]
    leave_unsent: bool,
    #[command(flatten)]
    sources: Sources,
}

impl Adopt {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let settings = effective(&self.sources.read()?)?;
        let config = settings.config()?;
        let Some(bucket) = &config.bucket else {
            return Err(Failure::usage("a bucket has databases of servers: pass --store URL"));
        };
        let bucket = BucketOptions {
            writer: Some(self.gone.clone()),
            ack: Ack::Bucket,
            ..bucket.with_folder(&self.project.directory(std::path::Path::new("")))
        };
        self.check(&store::writers_of(&bucket)?)?;
        let _log = Log::begin(settings.log_level.unwrap_or(Level::Info), settings.log_format.unwrap_or(Form::Text));
        let mut options = config.store_options(&self.project);
        // Dead letters of this forwarding are stored there; those of the server are on its own disk.
        options.directory = self.project.directory(&config.data_dir.join("adopted").join(&self.gone));
        options.bucket = Some(bucket);
        store::adopt(&options, |adopted, readers| {
            self.check_destinations(&config, &*adopted, &readers)?;
            self.send(&config, &adopted, &options.directory)
        })?;
        out::note(&format!("adopted {}; spanbridge store compact merges it", self.gone));
        Ok(ExitCode::SUCCESS)
    }

    /// Checks that the server is known and seems to be gone.
    fn check(&self, listed: &[ListedWriter]) -> Result<(), Failure> {
        let Some(writer) = listed.iter().find(|writer| writer.name == self.gone) else {
            let names: Vec<&str> = listed.iter().map(|writer| writer.name.as_str()).collect();
            return Err(Failure::missing(format!(
                "there is no database of {}; there are: {}",
                self.gone,
                names.join(", ")
            )));
        };
        let last = writer.last.unwrap_or_default();
        let age = Duration::from_nanos(store::now().saturating_sub(last));
        if age < ALIVE && !self.force {
            return Err(Failure::usage(format!(
                "{} stored something at {}, so it may still run, and would be shut out; if it is gone, pass --force",
                self.gone,
                second(UnixNanos(last))
            )));
        }
        Ok(())
    }

    fn destinations<'a>(&self, config: &'a Config) -> impl Iterator<Item = &'a Destination> {
        let project = self.project.clone();
        config.forward.iter().filter(move |destination| destination.project == project)
    }

    /// Checks that each destination with unsent data is configured.
    fn check_destinations(&self, config: &Config, adopted: &dyn Store, readers: &[String]) -> Result<(), Failure> {
        let Some(end) = adopted.watch_end().map(|end| *end.borrow()) else {
            return Ok(());
        };
        for name in readers {
            let is_there = self.destinations(config).any(|destination| destination.name == *name);
            let behind = progress::kept(adopted, name)?.is_none_or(|progress| progress.position() < end);
            if is_there || !behind {
                continue;
            }
            let fault = format!(
                "{} did not send everything to the destination {name}, which is not in the settings",
                self.gone
            );
            if !self.leave_unsent {
                return Err(Failure::usage(format!(
                    "{fault}: pass --forward {name}=URL or --config FILE, or --leave-unsent"
                )));
            }
            out::note(&format!("{fault}: the rest is left unsent"));
        }
        Ok(())
    }

    /// Sends the unsent data to the destinations.
    fn send(&self, config: &Config, adopted: &Arc<dyn Store>, directory: &std::path::Path) -> Result<(), Failure> {
        let destinations: Vec<Destination> = self.destinations(config).cloned().collect();
        if destinations.is_empty() {
            return Ok(());
        }
        let via = Arc::new(Via::open(directory)?);
        let registry = Arc::new(config.vocabulary.registry().clone());
        let forwarder = Forwarder::start(&destinations, &via, &registry, |_| {
            Some(forward::Source {
                store: Arc::clone(adopted),
                folder: forward::folder(directory),
            })
        })?;
        while !forwarder.is_done() {
            adopted.ready()?;
            std::thread::sleep(POLL_INTERVAL);
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|source| Failure::Runtime { source })?;
        runtime.block_on(forwarder.stop(GRACE));
        for sample in forwarder.samples() {
            let [spans, records, points] = sample.sent;
            out::note(&format!(
                "sent to {}: {}, {}, {}",
                sample.name,
                out::many(spans, "span"),
                out::many(records, "log record"),
                out::many(points, "data point")
            ));
        }
        Ok(())
    }
}
