//! The running bridge: store, receiver and API wired together, and the order in which they end.
//!
//! Start: store (lock, recovery), then ports, then requests. End: no new connections, requests in work are answered, the
//! log is closed, the lock is let go of.

mod config;
mod listen;
mod metrics;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;

pub use config::{Config, StartError};

use crate::receiver::Receiver;
use crate::receiver::counters::Counters;
use crate::store::log::Recovery;
use crate::store::{Local, Opened, Store};
use crate::web::Web;

/// How long requests in work may take after the end was asked for.
const GRACE: Duration = Duration::from_secs(10);

/// A bridge that has its ports and its store, and answers once [`Server::run`] runs.
#[derive(Debug)]
pub struct Server {
    store: Arc<Local>,
    receiver: Arc<Receiver>,
    web: Arc<Web>,
    listeners: [TcpListener; 3],
    addresses: Addresses,
    recovery: Recovery,
}

/// Where a bridge listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// OTLP/gRPC.
    pub grpc: SocketAddr,
    /// OTLP/HTTP.
    pub http: SocketAddr,
    /// The API.
    pub api: SocketAddr,
}

impl Server {
    /// Opens the store and binds the ports.
    ///
    /// # Errors
    ///
    /// The store is in use or cannot be opened, or a port is taken.
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        let Opened { store, recovery } = Local::open(&config.store_options())?;
        let store = Arc::new(store);
        let (grpc, grpc_address) = listen::bind(&config.grpc, "--otlp-grpc").await?;
        let (http, http_address) = listen::bind(&config.http, "--otlp-http").await?;
        let (api, api_address) = listen::bind(&config.api, "--http").await?;
        let as_store: Arc<dyn Store> = Arc::<Local>::clone(&store);
        let receiver = Receiver::new(as_store, config.vocabulary.session_keys(), config.limits);
        let receiver = Arc::new(receiver.with_cors(config.cors.clone()));
        let metrics = metrics::writer(&receiver, &store);
        let web = Arc::new(Web::new(Arc::clone(&store), Arc::clone(&config.vocabulary), metrics));
        Ok(Self {
            store,
            receiver,
            web,
            listeners: [grpc, http, api],
            addresses: Addresses {
                grpc: grpc_address,
                http: http_address,
                api: api_address,
            },
            recovery,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// What a crash or a disk left behind.
    #[must_use]
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// What was received since the start.
    #[must_use]
    pub fn counters(&self) -> Arc<Counters> {
        self.receiver.counters()
    }

    /// Answers until `end` is ready, then ends in order.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let (stop, stopped) = watch::channel(false);
        let [grpc, http, api] = self.listeners;
        let mut tasks = Vec::new();
        for listener in [grpc, http] {
            let receiver = Arc::clone(&self.receiver);
            let answer = move |request| Arc::clone(&receiver).handle(request);
            tasks.push(tokio::spawn(listen::serve(listener, answer, stopped.clone(), GRACE)));
        }
        let web = self.web;
        let answer = move |request| Arc::clone(&web).handle(request);
        tasks.push(tokio::spawn(listen::serve(api, answer, stopped, GRACE)));
        end.await;
        self.receiver.shut();
        let _ = stop.send(true);
        for task in tasks {
            let _ = task.await;
        }
        let store = self.store;
        let _ = tokio::task::spawn_blocking(move || store.close()).await;
    }
}
