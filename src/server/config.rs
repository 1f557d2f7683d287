//! The configuration of a bridge, and why it may not start.

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
    /// Names by which clients may reach a port of the loopback interface that asks for no token, beside its own.
    pub allowed_hosts: Vec<String>,
    /// What each project's store removes in time.
    pub retention: Retention,
    /// Level of zstd for sealed segments; `None`: they stay as they came.
    pub compression: Option<i32>,
    /// What reading may take.
    pub reading: ReadLimits,
    /// The limits of one port.
    pub connections: Connections,
    /// Who may do what, and what is not kept.
    pub security: Security,
    /// The vocabulary that spans are read with.
    pub vocabulary: Arc<Vocabulary>,
    /// Choices for documents that a request does not make itself.
    pub options: Options,
    /// Where spans are sent on to.
    pub forward: Vec<Destination>,
    /// Whether an index of words is kept beside the log.
    pub search: bool,
    /// Keep spans in this bucket; `None`: in the data directory.
    pub bucket: Option<BucketOptions>,
}

/// Who may do what, and what is not kept. This can be changed while the bridge runs.
#[derive(Debug, Clone, Default)]
pub struct Security {
    /// The tokens. Without any, everybody may do everything.
    pub tokens: Tokens,
    /// Certificates for all ports; `None`: no TLS.
    pub tls: Option<TlsFiles>,
    /// Whether it may listen beyond the loopback interface without asking who sends.
    pub allow_anonymous: bool,
    /// What is taken out of requests before they are stored.
    pub redaction: Vec<RuleText>,
    /// What hashes of redacted texts are made with.
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
    /// Whether every sender is known, by a token or a certificate, or need not be.
    #[must_use]
    pub fn may_listen_anywhere(&self) -> bool {
        let certificates = self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
        self.allow_anonymous || certificates || !self.tokens.is_empty()
    }

    /// Checks that certificates and redaction rules can be used.
    ///
    /// # Errors
    ///
    /// One of them cannot be used.
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

/// What one port bears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// Connections at once; further ones are closed at once.
    pub at_once: usize,
    /// Seconds in which the head of a request, or a TLS handshake, must have come.
    pub header_seconds: u64,
    /// Seconds without a request after which a connection is closed.
    pub idle_seconds: u64,
    /// Header fields of a request.
    pub headers: usize,
    /// Bytes of these, names and values.
    pub header_bytes: usize,
    /// Requests at once in one HTTP/2 connection.
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

/// The default level of zstd: its own default.
pub const COMPRESSION: i32 = 3;

impl Config {
    /// A bridge with its data in this directory, on ports of the loopback interface that the system chooses.
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

    /// Whether a destination is sent the metrics of a project: only then they are stored.
    pub(super) fn wants_metrics(&self, project: &Project) -> bool {
        self.forward
            .iter()
            .any(|destination| destination.metrics && destination.project == *project)
    }

    /// The projects that clients can send to, none of whose spans are forwarded. None, if there are no destinations at all.
    #[must_use]
    pub fn projects_without_destination(&self) -> Vec<Project> {
        if self.forward.is_empty() {
            return Vec::new();
        }
        let tokens = &self.security.tokens;
        let granted = tokens.grants().map(|grant| grant.project.clone());
        // Whoever has no token sends to the default project.
        let open = tokens.is_empty().then(Project::default);
        let projects: BTreeSet<Project> = granted.chain(open).collect();
        let sent_on = |project: &Project| self.forward.iter().any(|destination| destination.project == *project);
        projects.into_iter().filter(|project| !sent_on(project)).collect()
    }

    /// Where spans are kept, for people.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.bucket {
            Some(bucket) => bucket.url.clone(),
            None => self.data_dir.display().to_string(),
        }
    }

    /// How the store of a project is opened.
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

/// Why a bridge did not start, or goes on with its former configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The store.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// Another program listens there.
    #[error("{address} is in use by another program (Jaeger and Phoenix use 4317 too); stop it, or choose another: {flag} HOST:PORT")]
    PortInUse {
        /// Where.
        address: String,
        /// The flag for the place.
        flag: &'static str,
    },
    /// What was given is no address.
    #[error("{address} ({flag}) is not an address; write HOST:PORT, for example 127.0.0.1:4318")]
    Address {
        /// What was given.
        address: String,
        /// The flag for the place.
        flag: &'static str,
    },
    /// Listening at this address failed.
    #[error("cannot listen on {address} ({flag})")]
    Bind {
        /// Where.
        address: String,
        /// The flag for the place.
        flag: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Anyone could reach the port and would need no token.
    #[error(
        "{address} ({flag}) can be reached from other machines, and anyone who can reach it could read and write: \
         add tokens to the configuration (`spanbridge token new` makes one), or require client certificates (--tls-client-ca); \
         if the network keeps others out, pass --allow-anonymous"
    )]
    Exposed {
        /// Where.
        address: String,
        /// The flag for the place.
        flag: &'static str,
    },
    /// The certificate, its key, or the authority of clients.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Search reads an index that is fed by what this server receives.
    #[error(
        "--search has an index of what one server receives, and the store is in a bucket that others write to; pass one of --search and --store"
    )]
    SearchOfBucket,
    /// A redaction rule.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// A destination.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// A destination is the bridge that sends to it.
    #[error(
        "destination {destination} ({url}) is this server itself; Jaeger and Phoenix use port 4317 too: start one of them on another port"
    )]
    ForwardToItself {
        /// Which.
        destination: String,
        /// Its URL.
        url: String,
    },
}
