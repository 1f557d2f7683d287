//! The running server: store, receiver and API wired together, and the order in which they start and stop.
//!
//! Start: the store (lock, recovery), then the ports, then requests. Stop: no new connections, requests in progress are
//! answered, the log is closed, the lock is released.
//!
//! ```
//! use spanbridge::server::{Config, Server};
//!
//! # let folder = std::env::temp_dir().join(format!("spanbridge-serving-{}", std::process::id()));
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let mut config = Config::new(&folder);
//! config.http = "127.0.0.1:0".parse()?;
//! config.grpc = "127.0.0.1:0".parse()?;
//! config.api = "127.0.0.1:0".parse()?;
//! let server = Server::start(&config).await?;
//! println!("{:?}", server.addresses());
//! // It serves until this future is ready.
//! server.run(async {}).await;
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod api;
mod config;
mod connection;
mod cookie;
mod gate;
mod hosts;
mod listen;
mod log_sessions;
mod login;
mod metrics;
mod mount;
mod projects;
mod tls;
mod upkeep;
mod writes;

pub(crate) use log_sessions::Settling;

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;

pub use config::{COMPRESSION, Config, Connections, HashKey, Security, StartError};
pub(crate) use listen::SPEAKS_TLS;
pub(crate) use mount::Mount;
pub use tls::{TlsError, TlsFiles};

use crate::access::Project;
use crate::forward::{self, Destination, Forwarder, Via};
use crate::pages;
use crate::receiver::Refusals;
use crate::receiver::counters::Counters;
use crate::redact::Rules;
use crate::store::{Recovery, Served, Store};
use crate::web::Readers;
use gate::Gate;
use hosts::Hosts;
use listen::Ports;
use projects::Projects;
use tls::Tls;

/// How often to check for renewed certificates.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// How long requests in progress may take after a shutdown is requested.
const GRACE: Duration = Duration::from_secs(5);

/// How long the stores may take to close after that. Everything acknowledged is on disk already.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// A bridge with open ports and store; it answers once [`Server::run`] is called.
#[derive(Debug)]
pub struct Server {
    gate: Arc<Gate>,
    ports: Arc<Ports>,
    listeners: [TcpListener; 3],
    addresses: Addresses,
    recoveries: Vec<(Project, Recovery)>,
    forwarder: Arc<Forwarder>,
    mounts: Vec<Mount>,
}

/// Changes a running bridge.
#[derive(Debug, Clone)]
pub struct Handle {
    gate: Arc<Gate>,
    ports: Arc<Ports>,
    addresses: Addresses,
}

/// The addresses a bridge listens on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// OTLP/gRPC.
    pub grpc: SocketAddr,
    /// OTLP/HTTP.
    pub http: SocketAddr,
    /// The API.
    pub api: SocketAddr,
}

impl Addresses {
    /// Whether a destination is one of these addresses.
    fn are_those_of(&self, destination: &Destination) -> bool {
        let host = destination.uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let ip: Option<IpAddr> = match host {
            "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
            host => host.parse().ok(),
        };
        let own = [self.grpc, self.http, self.api];
        own.iter().any(|own| {
            let same = |ip: IpAddr| ip == own.ip() || ip.is_unspecified() || (ip.is_loopback() && own.ip().is_unspecified());
            destination.uri.port_u16() == Some(own.port()) && ip.is_some_and(same)
        })
    }
}

impl Server {
    /// Opens the store and binds the ports.
    ///
    /// # Errors
    ///
    /// The store is in use or cannot be opened, a port is in use or anyone could reach it, a certificate or rule is
    /// unusable.
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        let rules = config.security.rules()?;
        if config.search && config.bucket.is_some() {
            return Err(StartError::SearchOfBucket);
        }
        let tls = config.security.tls.as_ref().map(Tls::load).transpose()?;
        let ports = Arc::new(Ports {
            limits: config.connections,
            tls: tls.map(Arc::new),
            closed: Refusals::default(),
            accepted: AtomicU64::new(0),
            open: AtomicU64::new(0),
            grace: GRACE,
        });
        let grpc = listen::look_up(config, &config.grpc, "--otlp-grpc").await?;
        let http = listen::look_up(config, &config.http, "--otlp-http").await?;
        let api = listen::look_up(config, &config.api, "--http").await?;
        let refused = Arc::<Refusals>::default();
        let readers = Arc::new(Readers::new(config.reading));
        let forwarding = Arc::<OnceLock<Arc<Forwarder>>>::default();
        let metrics = |receiver: &_, stores: &_| metrics::writer(receiver, stores, &readers, &ports, &refused, &forwarding);
        let (projects, recovery) = Projects::open(config, &readers, metrics)?;
        let mut recoveries = vec![(Project::default(), recovery)];
        recoveries.extend(projects.open_others(config)?);
        projects.first().receiver.redaction().set(rules);
        let (grpc, grpc_address) = listen::bind(grpc)?;
        let (http, http_address) = listen::bind(http)?;
        let (api, api_address) = listen::bind(api)?;
        let hosts = Hosts::new(&config.allowed_hosts);
        let addresses = Addresses {
            grpc: grpc_address,
            http: http_address,
            api: api_address,
        };
        if let Some(own) = config.forward.iter().find(|destination| addresses.are_those_of(destination)) {
            return Err(StartError::ForwardToItself {
                destination: own.name.clone(),
                url: own.uri.to_string(),
            });
        }
        let served = Served {
            scheme: if ports.tls.is_some() { "https" } else { "http" }.to_owned(),
            http: http_address.to_string(),
            api: api_address.to_string(),
        };
        served.announce(&config.data_dir);
        let via = Arc::new(Via::open(&config.data_dir)?);
        let registry = Arc::new(config.vocabulary.registry().clone());
        let forwarder = Forwarder::start(&config.forward, &via, &registry, |project| {
            Some(forward::Source {
                store: Arc::clone(&projects.of(project)?.store),
                folder: forward::folder(&config.store_options(project).directory),
            })
        })?;
        let forwarder = Arc::clone(forwarding.get_or_init(|| Arc::new(forwarder)));
        let gate = Gate::new(projects, &config.security, config.connections, hosts, refused, via);
        Ok(Self {
            gate: Arc::new(gate),
            ports,
            listeners: [grpc, http, api],
            addresses,
            recoveries,
            forwarder,
            mounts: Vec::new(),
        })
    }

    /// The addresses it listens on.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// What a crash or failing disk left behind, by project.
    #[must_use]
    pub fn recoveries(&self) -> &[(Project, Recovery)] {
        &self.recoveries
    }

    /// Counts of received data since the start.
    #[must_use]
    pub fn counters(&self) -> Arc<Counters> {
        self.gate.projects.first().receiver.counters()
    }

    /// Adds a service of another module to the API port.
    pub(crate) fn with_mount(mut self, mount: Mount) -> Self {
        self.mounts.push(mount);
        self
    }

    /// A handle to change it while it runs.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle {
            gate: Arc::clone(&self.gate),
            ports: Arc::clone(&self.ports),
            addresses: self.addresses,
        }
    }

    /// Answers requests until `end` is ready, then shuts down within ten seconds: exports in progress have five seconds, and
    /// reading is cancelled. Some threads may still be busy then, so shut the runtime down with
    /// [`tokio::runtime::Runtime::shutdown_background`].
    pub async fn run(self, end: impl Future<Output = ()>) {
        let (stop, stopped) = watch::channel(false);
        let [grpc, http, api] = self.listeners;
        let mut tasks = Vec::new();
        let Addresses {
            grpc: grpc_at,
            http: http_at,
            api: api_at,
        } = self.addresses;
        for (listener, at) in [(grpc, grpc_at), (http, http_at)] {
            let gate = Arc::clone(&self.gate);
            let answer = move |request| Arc::clone(&gate).otlp(request, at);
            let ports = Arc::clone(&self.ports);
            tasks.push(tokio::spawn(listen::serve(listener, ports, answer, stopped.clone())));
        }
        let gate = Arc::clone(&self.gate);
        let tls = self.ports.tls.is_some();
        let scheme = if tls { "https" } else { "http" };
        let addresses = pages::Addresses {
            http: format!("{scheme}://{http_at}"),
            grpc: format!("{scheme}://{grpc_at}"),
        };
        let router = api::router(&gate, addresses, Arc::clone(&self.forwarder), &self.mounts, tls);
        let answer = move |request| Arc::clone(&gate).api(router.clone(), request, api_at);
        tasks.push(tokio::spawn(listen::serve(api, Arc::clone(&self.ports), answer, stopped)));
        tokio::select! {
            () = end => {}
            () = look_at_certificates(&self.ports) => {}
            () = upkeep::log_upkeep(self.gate.projects.stores()) => {}
        }
        self.gate.projects.first().receiver.shut();
        self.gate.projects.stop_reading();
        let _ = stop.send(true);
        let forwarded = self.forwarder.stop(GRACE);
        let answered = async {
            for task in tasks {
                let _ = task.await;
            }
        };
        tokio::join!(forwarded, answered);
        let gate = self.gate;
        let (closed, close) = tokio::sync::oneshot::channel();
        // Not a thread of the runtime: all of those may be busy.
        let thread = std::thread::Builder::new().name("close".to_owned()).spawn(move || {
            gate.projects.close();
            let _ = closed.send(());
        });
        if thread.is_ok() && tokio::time::timeout(CLOSE_TIMEOUT, close).await.is_err() {
            tracing::warn!("the store did not close in time; nothing that was acknowledged is lost");
        }
    }
}

/// Reloads renewed certificates; never returns.
async fn look_at_certificates(ports: &Ports) {
    let Some(tls) = &ports.tls else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        match tls.refresh() {
            None => {}
            Some(Ok(())) => tracing::info!("the certificate files changed; new connections use the new certificate"),
            Some(Err(error)) => {
                tracing::error!(%error, "the certificate files changed and cannot be used; the previous certificate stays in use")
            }
        }
    }
}

impl Handle {
    /// The store of the default project, and a function that returns the redaction rules in force.
    pub(crate) fn default_project(&self) -> (Arc<dyn Store>, impl Fn() -> Option<Arc<Rules>> + Send + use<>) {
        let first = self.gate.projects.first();
        let receiver = Arc::clone(&first.receiver);
        (Arc::clone(&first.store), move || receiver.redaction().rules())
    }

    /// Applies the tokens, certificates and redaction rules of a configuration; on an error, none of them. Opens new
    /// projects, and returns what was found while opening them.
    ///
    /// # Errors
    ///
    /// A certificate, a rule or a new project's store is unusable, or anyone could reach the server now.
    pub fn reload(&self, config: &Config) -> Result<Vec<(Project, Recovery)>, StartError> {
        let mut security = config.security.clone();
        if self.ports.tls.is_none() {
            // Switching TLS on or off takes a restart.
            security.tls = None;
        }
        let Addresses { grpc, http, api } = self.addresses;
        for (address, flag) in [(grpc, "--otlp-grpc"), (http, "--otlp-http"), (api, "--http")] {
            if !security.may_listen_anywhere() && !listen::is_loopback(&address) {
                let address = address.to_string();
                return Err(StartError::Exposed { address, flag });
            }
        }
        let rules = security.rules()?;
        let tls = match (&self.ports.tls, &security.tls) {
            (Some(in_use), Some(files)) => Some((in_use, Tls::load(files)?)),
            _ => None,
        };
        let recoveries = self.gate.projects.open_others(config)?;
        if let Some((in_use, tls)) = tls {
            in_use.set(tls);
        }
        self.gate.projects.first().receiver.redaction().set(rules);
        self.gate.set_security(&security);
        Ok(recoveries)
    }
}
