//! `spanbridge serve`: the bridge.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{Signal, SignalKind, signal};
use toml::Table;

use super::address::reached_here;
use super::failure::Failure;
use super::home;
use super::input::DEFAULT_LIMIT;
use super::log::{Form, Level, Log};
use super::mcp;
use super::out;
use super::session_store::SessionStore;
use super::settings_file;
use super::settings_sources::{Sources, effective, wait_for_restart};
use super::source::{DEFAULT_SERVER, is_spanbridge};
use super::variables;
use super::watch;
use crate::access::Project;
use crate::documents::Vocabulary;
use crate::forward::Destination;
use crate::server::{Addresses, Config, Handle, Server, StartError};
use crate::sessions::{Client, Limits, Watch};
use crate::store::Recovery;

const SHORT_HELP: &str = "\
`spanbridge serve --help` lists all settings.

Examples:
  spanbridge serve
  spanbridge serve --data-dir ./spans --otlp-grpc 127.0.0.1:14317  next to Jaeger or Phoenix";

const EXAMPLES: &str = "\
Spans and log records are acknowledged once they are on disk. By default all ports listen on the loopback interface only. To \
receive spans from other machines, create a token (spanbridge token new) and set an address: --otlp-http 0.0.0.0:4318.

SIGHUP reloads the configuration. Tokens, certificates, redaction rules and the log level change without a restart.

Examples:
  spanbridge serve
  spanbridge serve --print-config > spanbridge.toml                write all settings
  spanbridge serve --config spanbridge.toml
  spanbridge serve --data-dir ./spans --otlp-grpc 127.0.0.1:14317  next to Jaeger or Phoenix
  OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 python agent.py    in another terminal
  spanbridge ls";

/// Receive and store OTLP spans and logs, and serve documents.
#[derive(Debug, Args)]
#[command(after_help = SHORT_HELP, after_long_help = EXAMPLES)]
pub(super) struct Serve {
    #[command(flatten)]
    sources: Sources,
    /// Print the effective settings as TOML, with secrets hidden, and exit.
    #[arg(long)]
    print_config: bool,
    /// Store the sessions of coding agents while they work, in the project default/default. Redaction rules apply to them.
    #[arg(long)]
    watch_sessions: bool,
}

impl Serve {
    /// `program` is the whole command line.
    pub(super) fn run(self, program: &clap::Command) -> Result<ExitCode, Failure> {
        variables::check(program)?;
        let table = self.sources.read()?;
        let settings = effective(&table)?;
        let config = settings.config()?;
        if self.print_config {
            out::line(settings_file::print(&table).trim_end())?;
            return Ok(ExitCode::SUCCESS);
        }
        let log = Log::begin(settings.log_level.unwrap_or(Level::Info), settings.log_format.unwrap_or(Form::Text));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .max_blocking_threads(16)
            .enable_all()
            .build()
            .map_err(|source| Failure::Runtime { source })?;
        let running = Running {
            sources: self.sources,
            table,
            vocabulary: Arc::clone(&config.vocabulary),
            log,
            watches: self.watch_sessions,
        };
        let ended = runtime.block_on(running.serve(config));
        // Do not wait for threads that are still busy.
        runtime.shutdown_background();
        ended
    }
}

/// What is needed to reload the configuration.
struct Running {
    sources: Sources,
    /// The settings at start.
    table: Table,
    /// Read once: changes need a restart.
    vocabulary: Arc<Vocabulary>,
    log: Log,
    /// Whether sessions of coding agents are stored.
    watches: bool,
}

impl Running {
    async fn serve(self, mut config: Config) -> Result<ExitCode, Failure> {
        let runtime = |source| Failure::Runtime { source };
        // Before the store is opened, so that a signal during recovery stops it, too.
        let mut interrupt = signal(SignalKind::interrupt()).map_err(runtime)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(runtime)?;
        let mut hang_up = signal(SignalKind::hangup()).map_err(runtime)?;
        make_room(&mut config);
        let starting = tokio::spawn({
            let config = config.clone();
            async move { Server::start(&config).await }
        });
        let server = tokio::select! {
            server = starting => {
                let server = server.map_err(|error| Failure::Runtime { source: io::Error::other(error) })?;
                server.map_err(why_not_started)?.with_mount(mcp::mount())
            }
            // An interrupted opening leaves the store as a crash does: the next start recovers.
            _ = interrupt.recv() => return Ok(ExitCode::SUCCESS),
            _ = terminate.recv() => return Ok(ExitCode::SUCCESS),
        };
        for (project, recovery) in server.recoveries() {
            self.recovered(project, recovery);
        }
        self.greet(&config, server.addresses());
        warn_of_risks(&config, server.addresses());
        let counters = server.counters();
        let handle = server.handle();
        if self.watches {
            self.watch_sessions(&handle)?;
        }
        server
            .run(async {
                let name = tokio::select! {
                    _ = interrupt.recv() => "SIGINT",
                    _ = terminate.recv() => "SIGTERM",
                    () = self.reload_at(&mut hang_up, &handle) => "SIGHUP, terminal closed",
                };
                if self.log.is_json() {
                    tracing::info!(signal = name, "stopping");
                } else {
                    out::note(&format!("{name}: shutting down after the requests in progress"));
                }
            })
            .await;
        let (stored, duplicates) = counters.accepted();
        if self.log.is_json() {
            tracing::info!(stored, duplicates, "stopped");
        } else {
            out::note(&format!(
                "stopped; stored {stored} spans and log records, skipped {duplicates} duplicates"
            ));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Stores sessions from now on, on a thread that ends with the store.
    fn watch_sessions(&self, handle: &Handle) -> Result<(), Failure> {
        let folders = home::folders_of(Client::ALL.into_iter())?;
        let (store, rules) = handle.default_project();
        let store = SessionStore::new(store, Vocabulary::clone(&self.vocabulary), rules).resuming();
        let follow = move || {
            let watch = Watch::new(folders, false);
            watch::follow(&store, watch, WATCHED, &AtomicBool::new(false), &mut |reported| match reported {
                Ok(receipt) => tracing::debug!(spans = receipt.stored, "stored what a session got to have"),
                Err(failure) => tracing::warn!("{}", out::with_causes(&failure)),
            });
        };
        let thread = thread::Builder::new().name("sessions".to_owned()).spawn(follow);
        thread.map(|_| ()).map_err(|source| Failure::Runtime { source })
    }

    /// Reloads at each SIGHUP; returns when the terminal of the process is closed.
    async fn reload_at(&self, hang_up: &mut Signal, handle: &Handle) {
        let on_terminal = io::stderr().is_terminal();
        while hang_up.recv().await.is_some() {
            if on_terminal && !io::stderr().is_terminal() {
                return;
            }
            match self.reload(handle) {
                Ok(waiting) if waiting.is_empty() => tracing::info!("SIGHUP: reloaded the configuration, which is in force"),
                Ok(waiting) => tracing::warn!(
                    "SIGHUP: reloaded the configuration; these settings wait for a restart: {}",
                    waiting.join(", ")
                ),
                Err(failure) => tracing::error!(
                    "SIGHUP: the configuration cannot be used, so the previous one stays in force: {}",
                    out::with_causes(&failure)
                ),
            }
        }
        std::future::pending().await
    }

    /// Reloads the configuration; returns the changes that need a restart.
    fn reload(&self, handle: &Handle) -> Result<Vec<String>, Failure> {
        let table = self.sources.read()?;
        let settings = effective(&table)?;
        let mut config = settings.config_with(Arc::clone(&self.vocabulary))?;
        let waiting = wait_for_restart(&self.table, &table);
        // New projects are added to the existing ones.
        config.data_dir = effective(&self.table)?.config_with(Arc::clone(&self.vocabulary))?.data_dir;
        for (project, recovery) in handle.reload(&config)? {
            self.recovered(&project, &recovery);
        }
        self.log.set_level(settings.log_level.unwrap_or(Level::Info));
        Ok(waiting)
    }

    fn recovered(&self, project: &Project, recovery: &Recovery) {
        for line in out::recovery_lines(recovery) {
            if self.log.is_json() {
                tracing::warn!(%project, "recovery: {line}");
            } else if *project == Project::default() {
                out::note(&line);
            } else {
                out::note(&format!("{project}: {line}"));
            }
        }
    }

    fn greet(&self, config: &Config, addresses: Addresses) {
        let Addresses { grpc, http, api } = addresses;
        if self.log.is_json() {
            let data_dir = config.place();
            let tls = config.security.tls.is_some();
            tracing::info!(%grpc, %http, %api, %data_dir, tls, "serving");
        } else {
            out::note(&greeting(config, addresses));
        }
    }
}

/// Limits for reading a watched session.
const WATCHED: Limits = Limits {
    bytes: DEFAULT_LIMIT,
    memory: Some(1 << 30),
};

/// Raises the limit of open files as far as allowed, since each connection is one, and limits connections accordingly. Some
/// are reserved for the store: what was accepted must get to disk.
fn make_room(config: &mut Config) {
    const PORTS: u64 = 3;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: maximum, maximum };
    let have = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => maximum,
        Err(_) => current,
    };
    let connections = config.connections.at_once;
    let Some(have) = have else { return };
    let reserve = (have / 2 + 8).min(256);
    let room = usize::try_from(have.saturating_sub(reserve) / PORTS).unwrap_or(usize::MAX).max(1);
    if room < connections {
        config.connections.at_once = room;
    }
    if have < connections as u64 {
        tracing::warn!(
            "the system allows {have} open files, so {room} connections a port instead of {connections} (ulimit -n, LimitNOFILE=)"
        );
    }
}

fn warn_of_risks(config: &Config, addresses: Addresses) {
    let security = &config.security;
    for project in config.projects_without_destination() {
        tracing::warn!("{}", not_forwarded(&project));
    }
    let Addresses { grpc, http, api } = addresses;
    let open = [grpc, http, api].iter().any(|address| !address.ip().to_canonical().is_loopback());
    if open && security.tls.is_none() {
        tracing::warn!("spans and tokens cross the network unencrypted; set --tls-certificate and --tls-key");
    }
    let certificates = security.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    if open && security.tokens.is_empty() && !certificates {
        tracing::warn!("anyone who can reach this machine can read and write (--allow-anonymous)");
    }
}

/// The warning for a project without a destination while others have one.
pub(super) fn not_forwarded(project: &Project) -> String {
    format!("the spans of project {project} are forwarded nowhere: each [[forward]] table is for one project")
}

/// The destinations of stored spans, one per line.
fn destinations(config: &Config) -> String {
    let line = |to: &Destination| format!("\n  {}  {}  (preset {}, project {})", to.name, to.uri, to.preset, to.project);
    match config.forward.iter().map(line).collect::<String>() {
        lines if lines.is_empty() => lines,
        lines => format!("\n\nForwards to:\n{lines}"),
    }
}

fn greeting(config: &Config, addresses: Addresses) -> String {
    let Addresses { grpc, http, api } = addresses;
    let scheme = if config.security.tls.is_some() { "https" } else { "http" };
    let token = match config.security.tokens.is_empty() {
        true => "",
        false => "\n  export OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20TOKEN",
    };
    let [to_http, to_grpc, to_api] = [http, grpc, api].map(|address| reached_here(&address.to_string()));
    let to_api = format!("{scheme}://{to_api}");
    // Commands look there by default.
    let server = match &*to_api {
        DEFAULT_SERVER => String::new(),
        other => format!(" --server {other}"),
    };
    format!(
        "serving, data in {}\n\
         \n  OTLP/gRPC  {scheme}://{grpc}\
         \n  OTLP/HTTP  {scheme}://{http}  (/v1/traces, /v1/logs, /v1/metrics; protobuf or JSON)\
         \n  API        {scheme}://{api}  (runs as pages in a browser; documents for programs)\
         \n\n\
         Point an exporter here:\n\
         \n  export OTEL_EXPORTER_OTLP_ENDPOINT={scheme}://{to_http} OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\
         \n  export OTEL_EXPORTER_OTLP_ENDPOINT={scheme}://{to_grpc} OTEL_EXPORTER_OTLP_PROTOCOL=grpc{token}{}\
         \n\n\
         Then run spanbridge ls{server}, spanbridge show TRACE{server} or spanbridge export --to FORMAT{server}. Ctrl-C stops the \
         server.\n",
        config.place(),
        destinations(config)
    )
}

/// Names the holder of a port in use, if that is another spanbridge.
fn why_not_started(error: StartError) -> Failure {
    match error {
        StartError::PortInUse { address, flag } if is_spanbridge(&address) => Failure::Held { address, flag },
        error => error.into(),
    }
}
