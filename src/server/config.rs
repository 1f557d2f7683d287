//! What a bridge is started with, and why it may not start.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::receiver::{Cors, Limits};
use crate::store::{self, OpenOptions};
use crate::web::documents::Vocabulary;

/// What a bridge is started with.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the log and the index are.
    pub data_dir: PathBuf,
    /// Where OTLP/gRPC listens, `host:port`; port 0: the system chooses.
    pub grpc: String,
    /// Where OTLP/HTTP listens.
    pub http: String,
    /// Where the API listens.
    pub api: String,
    /// What the receiver takes at most.
    pub limits: Limits,
    /// Pages of which other origins may send.
    pub cors: Cors,
    /// The vocabulary that spans are read with.
    pub vocabulary: Arc<Vocabulary>,
}

impl Config {
    /// How the store is opened.
    #[must_use]
    pub fn store_options(&self) -> OpenOptions {
        OpenOptions {
            session_keys: self.vocabulary.session_keys(),
            ..OpenOptions::new(&self.data_dir)
        }
    }
}

/// Why a bridge did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The store.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Another program listens there.
    #[error("{address} is in use by another program (Jaeger and Phoenix take 4317 too); stop it, or choose another: {flag} HOST:PORT")]
    PortInUse {
        /// Where.
        address: String,
        /// The flag that says where.
        flag: &'static str,
    },
    /// It cannot be listened there.
    #[error("cannot listen on {address} ({flag})")]
    Bind {
        /// Where.
        address: String,
        /// The flag that says where.
        flag: &'static str,
        /// What the system says.
        source: io::Error,
    },
}
