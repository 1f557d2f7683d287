//! The configuration of a bridge, and errors that keep it from starting.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::access::{Project, Tokens};
use crate::documents::Vocabulary;
use crate::formats::Options;
use crate::forward::{Destination, ForwardError};
use crate::receiver::{Cors, Limits};
use crate::redact::{RuleError, RuleText, Rules};
use crate::server::tls::{TlsError, TlsFiles};
use crate::store::{self, BucketOptions, OpenOptions, Retention};
use crate::web::ReadLimits;

/// Configuration of a bridge.
#[derive(Debug, Clone)]
pub struct Config {
    /// Directory of the log and the index.
    pub data_dir: PathBuf,
    /// Address for OTLP/gRPC, `host:port`; with port 0 the system chooses.
    pub grpc: String,
    /// Address for OTLP/HTTP.
    pub http: String,
    /// Address for the API.
    pub api: String,
    /// Limits of the receiver.
    pub limits: Limits,
    /// Which other origins' pages may send.
    pub cors: Cors,
    /// Further host names by which clients may reach a loopback port that requires no token.
    pub allowed_hosts: Vec<String>,
    /// What each project's store removes over time.
    pub retention: Retention,
    /// zstd level for sealed segments; `None`: they are not compressed.
    pub compression: Option<i32>,
    /// Limits for reading.
    pub reading: ReadLimits,
    /// The limits of one port.
    pub connections: Connections,
    /// Tokens, certificates and redaction.
    pub security: Security,
    /// The vocabulary for reading spans.
    pub vocabulary: Arc<Vocabulary>,
    /// Default options for documents.
    pub options: Options,
    /// Destinations that spans are forwarded to.
    pub forward: Vec<Destination>,
    /// Whether to keep a search index next to the log.
    pub search: bool,
    /// Keeps the store in this bucket; `None`: in the data directory.
    pub bucket: Option<BucketOptions>,
}

/// Tokens, certificates and redaction. These can be changed while the bridge runs.
#[derive(Debug, Clone, Default)]
pub struct Security {
    /// The tokens. If there are none, every client may do everything.
    pub tokens: Tokens,
    /// Certificates for all ports; `None`: no TLS.
    pub tls: Option<TlsFiles>,
    /// Whether it may listen beyond the loopback interface without authenticating clients.
    pub allow_anonymous: bool,
    /// Redaction before storing.
    pub redaction: Vec<RuleText>,
    /// Key for the hashes of redacted texts.
    pub redact_hash_key: HashKey,
}

/// The key of the hashes that replace redacted texts. Never shown.
#[derive(Clone, Default)]
pub struct HashKey(pub Option<String>);

impl std::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashKey(..)")
    }
}

impl Security {
    /// Whether every client is authenticated, by token or certificate, or need not be.
    #[must_use]
    pub fn may_listen_anywhere(&self) -> bool {
        let certificates = self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
        self.allow_anonymous || certificates || !self.tokens.is_empty()
    }

    /// Checks that the certificates and redaction rules are usable.
    ///
    /// # Errors
    ///
    /// One of them is unusable.
    pub fn check(&self) -> Result<(), StartError> {
        self.rules()?;
        if let Some(files) = &self.tls {
            files.load()?;
        }
        Ok(())
    }

    pub(super) fn rules(&self) -> Result<Rules, RuleError> {
        Rules::new(&self.redaction, self.redact_hash_key.0.as_deref())
    }
}

/// Limits of one port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// Maximum open connections; further ones are closed immediately.
    pub at_once: usize,
    /// Seconds within which the head of a request, or a TLS handshake, must arrive.
    pub header_seconds: u64,
    /// Seconds without a request after which a connection is closed.
    pub idle_seconds: u64,
    /// Maximum header fields of a request.
    pub headers: usize,
    /// Maximum bytes of header names and values.
    pub header_bytes: usize,
    /// Maximum concurrent requests on one HTTP/2 connection.
    pub streams: u32,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            at_once: 16_384,
            header_seconds: 30,
            idle_seconds: 600,
            headers: 100,
            header_bytes: 64 << 10,
            streams: 256,
        }
    }
}

/// The default zstd level, as in zstd itself.
pub const COMPRESSION: i32 = 3;

impl Config {
    /// A bridge with its data in this directory, on loopback ports chosen by the system.
    #[must_use]
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        let any = || "127.0.0.1:0".to_owned();
        Self {
            data_dir: data_dir.into(),
            grpc: any(),
            http: any(),
            api: any(),
            limits: Limits::default(),
            cors: Cors::default(),
            allowed_hosts: Vec::new(),
            retention: Retention::default(),
            compression: Some(COMPRESSION),
            reading: ReadLimits::default(),
            connections: Connections::default(),
            security: Security::default(),
            vocabulary: Arc::new(Vocabulary::built_in()),
            options: Options::default(),
            forward: Vec::new(),
            search: false,
            bucket: None,
        }
    }

    /// Whether some destination wants the metrics of a project: only then are they stored.
    pub(super) fn wants_metrics(&self, project: &Project) -> bool {
        self.forward
            .iter()
            .any(|destination| destination.metrics && destination.project == *project)
    }

    /// Projects that clients can send to but that are not forwarded. Empty if there are no destinations at all.
    #[must_use]
    pub fn projects_without_destination(&self) -> Vec<Project> {
        if self.forward.is_empty() {
            return Vec::new();
        }
        let tokens = &self.security.tokens;
        let granted = tokens.grants().map(|grant| grant.project.clone());
        // Without tokens, clients send to the default project.
        let open = tokens.is_empty().then(Project::default);
        let projects: BTreeSet<Project> = granted.chain(open).collect();
        let sent_on = |project: &Project| self.forward.iter().any(|destination| destination.project == *project);
        projects.into_iter().filter(|project| !sent_on(project)).collect()
    }

    /// Location of the store, for messages.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.bucket {
            Some(bucket) => bucket.url.clone(),
            None => self.data_dir.display().to_string(),
        }
    }

    /// Options for opening the store of a project.
    #[must_use]
    pub fn store_options(&self, project: &Project) -> OpenOptions {
        OpenOptions {
            session_keys: self.vocabulary.session_keys().to_vec(),
            retention: self.retention,
            compression: self.compression,
            bucket: self
                .bucket
                .as_ref()
                .map(|bucket| bucket.with_folder(&project.directory(Path::new("")))),
            ..OpenOptions::new(&project.directory(&self.data_dir))
        }
    }
}

/// Why a bridge did not start, or keeps its former configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Another program listens on this port.
    #[error("{address} is in use by another program (Jaeger and Phoenix use 4317 too); stop it, or choose another: {flag} HOST:PORT")]
    PortInUse {
        /// The address.
        address: String,
        /// The flag that sets the address.
        flag: &'static str,
    },
    /// Not a valid address.
    #[error("{address} ({flag}) is not an address; write HOST:PORT, for example 127.0.0.1:4318")]
    Address {
        /// The configured value.
        address: String,
        /// The flag that sets the address.
        flag: &'static str,
    },
    /// Listening at this address failed.
    #[error("cannot listen on {address} ({flag})")]
    Bind {
        /// The address.
        address: String,
        /// The flag that sets the address.
        flag: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Anyone could reach the port without a token.
    #[error(
        "{address} ({flag}) can be reached from other machines, and anyone who can reach it could read and write: \
         add tokens to the configuration (`spanbridge token new` makes one), or require client certificates (--tls-client-ca); \
         if the network keeps others out, pass --allow-anonymous"
    )]
    Exposed {
        /// The address.
        address: String,
        /// The flag that sets the address.
        flag: &'static str,
    },
    /// An unusable certificate, key or client authority.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Search needs an index that is fed only by what this server receives.
    #[error(
        "--search has an index of what one server receives, and the store is in a bucket that others write to; pass one of --search and --store"
    )]
    SearchOfBucket,
    /// An unusable redaction rule.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// An unusable destination.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// A destination is this bridge itself.
    #[error(
        "destination {destination} ({url}) is this server itself; Jaeger and Phoenix use port 4317 too: start one of them on another port"
    )]
    ForwardToItself {
        /// The destination.
        destination: String,
        /// Its URL.
        url: String,
    },
}
