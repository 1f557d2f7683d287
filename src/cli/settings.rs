//! The settings of `serve`: one list, set by a TOML file, by `SPANBRIDGE_*` variables or by flags, with the same
//! names. A flag wins over a variable, a variable over the file, the file over the defaults.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::data_dir::default_data_dir;
use super::failure::Failure;
use super::format_options::option_of;
use super::log::{Form, Level};
use super::units::{bytes, hours, written_bytes, written_hours};
use super::vocabulary::{priced, vocabulary};
use crate::access::{Grant, HashError, ProjectError, Right, Tokens};
use crate::documents::Vocabulary;
use crate::formats::Options;
use crate::forward::{self, DestinationText};
use crate::receiver::{Cors, Limits};
use crate::redact::RuleText;
use crate::server::{Config, Connections, HashKey, Security, TlsFiles};
use crate::store::{Ack, BucketOptions, Retention};
use crate::web::ReadLimits;

/// The settings. The field names are the keys of the file.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// The directory for the log and the index [default: $XDG_DATA_HOME/spanbridge].
    #[arg(long, value_name = "DIR", env = "SPANBRIDGE_DATA_DIR")]
    pub(super) data_dir: Option<PathBuf>,
    /// Keep spans in a bucket that any number of servers share: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or
    /// file:///FOLDER. The data directory has the rest. Needs a program with the feature `bucket`.
    #[arg(long, value_name = "URL", env = "SPANBRIDGE_STORE")]
    pub(super) store: Option<String>,
    /// The name under which this server writes to the bucket [default: made at the first start, and kept in the data directory].
    #[arg(long, value_name = "NAME", env = "SPANBRIDGE_WRITER")]
    pub(super) writer: Option<String>,
    /// When requests are answered: `bucket`, once the bucket has their spans; `local`, once the disk of the data directory has them,
    /// from where they go to the bucket [default: bucket]. With `local` a lost disk costs what is not in the bucket yet.
    #[arg(long, value_name = "WHERE", env = "SPANBRIDGE_ACK")]
    pub(super) ack: Option<AckText>,
    /// With `--ack local`: maximum number of bytes waiting on disk for the bucket; beyond that, clients must retry
    /// [default: 10GiB].
    #[arg(long, value_name = "BYTES", env = "SPANBRIDGE_STORE_SPOOL_BYTES", value_parser = bytes)]
    #[serde(default, deserialize_with = "written_bytes")]
    pub(super) store_spool_bytes: Option<NonZeroU64>,
    /// Write what came within this time to the bucket as one object [default: 100]. Requests wait for it.
    #[arg(long, value_name = "MILLISECONDS", env = "SPANBRIDGE_STORE_FLUSH_MILLISECONDS")]
    pub(super) store_flush_milliseconds: Option<NonZeroU32>,
    /// How often to look in the bucket for what other servers have written [default: 1000].
    #[arg(long, value_name = "MILLISECONDS", env = "SPANBRIDGE_STORE_POLL_MILLISECONDS")]
    pub(super) store_poll_milliseconds: Option<NonZeroU32>,
    /// The address for OTLP/gRPC; with port 0 the system picks a port [default: 127.0.0.1:4317].
    #[arg(long, value_name = "HOST:PORT", env = "SPANBRIDGE_OTLP_GRPC")]
    pub(super) otlp_grpc: Option<String>,
    /// The address for OTLP/HTTP [default: 127.0.0.1:4318].
    #[arg(long, value_name = "HOST:PORT", env = "SPANBRIDGE_OTLP_HTTP")]
    pub(super) otlp_http: Option<String>,
    /// The address for the HTTP API [default: 127.0.0.1:4319].
    #[arg(long, value_name = "HOST:PORT", env = "SPANBRIDGE_HTTP")]
    pub(super) http: Option<String>,
    /// Allow non-loopback addresses without tokens or client certificates. Anyone who can reach them can read and write.
    #[arg(long, env = "SPANBRIDGE_ALLOW_ANONYMOUS", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) allow_anonymous: Option<bool>,
    /// Keep an index of the words in names, keys, values and payloads, so that search does not read the log.
    #[arg(long, env = "SPANBRIDGE_SEARCH", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) search: Option<bool>,
    /// The certificate chain for all ports, in PEM. Enables TLS on all ports.
    #[arg(long, value_name = "FILE", env = "SPANBRIDGE_TLS_CERTIFICATE")]
    pub(super) tls_certificate: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    #[arg(long, value_name = "FILE", env = "SPANBRIDGE_TLS_KEY")]
    pub(super) tls_key: Option<PathBuf>,
    /// Certificate authorities for clients, in PEM. Clients without a certificate from one of them are rejected.
    #[arg(long, value_name = "FILE", env = "SPANBRIDGE_TLS_CLIENT_CA")]
    pub(super) tls_client_ca: Option<PathBuf>,
    /// The secret key for hashes of redacted text: a long random string.
    #[arg(long, value_name = "TEXT", env = "SPANBRIDGE_REDACT_HASH_KEY", hide_env_values = true)]
    pub(super) redact_hash_key: Option<String>,
    /// The maximum size of a request after decompression [default: 67108864].
    #[arg(long, value_name = "BYTES", env = "SPANBRIDGE_MAX_REQUEST_BYTES")]
    pub(super) max_request_bytes: Option<u64>,
    /// The maximum size of all OTLP requests in progress; clients are asked to retry beyond that [default: 268435456].
    #[arg(long, value_name = "BYTES", env = "SPANBRIDGE_MAX_IN_FLIGHT_BYTES")]
    pub(super) max_in_flight_bytes: Option<u64>,
    /// The maximum memory for all API requests in progress; a request that can never fit is rejected [default: 2147483648].
    #[arg(long, value_name = "BYTES", env = "SPANBRIDGE_MAX_READ_BYTES")]
    pub(super) max_read_bytes: Option<u64>,
    /// The maximum number of API requests that read the store at once, each on its own thread; others wait [default: 16].
    #[arg(long, value_name = "NUMBER", env = "SPANBRIDGE_MAX_CONCURRENT_READS")]
    pub(super) max_concurrent_reads: Option<NonZeroU32>,
    /// Let web pages of this origin send spans (https://app.example; * allows every origin). Repeatable.
    #[arg(long, value_name = "ORIGIN", env = "SPANBRIDGE_CORS_ORIGIN", value_delimiter = ',')]
    pub(super) cors_origin: Option<Vec<String>>,
    /// An additional host name that clients may use when no token is required, besides localhost and IP addresses. Repeatable.
    #[arg(long, value_name = "NAME", env = "SPANBRIDGE_ALLOWED_HOST", value_delimiter = ',')]
    pub(super) allowed_host: Option<Vec<String>>,
    /// Remove spans after this many hours, in whole segments [default: keep forever]. `7d` is 7 days, `2w` two weeks.
    #[arg(long, value_name = "HOURS", env = "SPANBRIDGE_RETAIN_HOURS", value_parser = hours)]
    #[serde(default, deserialize_with = "written_hours")]
    pub(super) retain_hours: Option<NonZeroU64>,
    /// Remove the oldest segments of a project when its log is larger than this [default: no limit]. `10GB` is 10^10 bytes,
    /// `10GiB` is 10 * 2^30.
    #[arg(long, value_name = "BYTES", env = "SPANBRIDGE_RETAIN_BYTES", value_parser = bytes)]
    #[serde(default, deserialize_with = "written_bytes")]
    pub(super) retain_bytes: Option<NonZeroU64>,
    /// The zstd level for log segments that are complete, 1 to 19; 0 disables compression [default: 3].
    #[arg(long, value_name = "LEVEL", env = "SPANBRIDGE_COMPRESSION_LEVEL", value_parser = clap::value_parser!(u8).range(0..=19))]
    pub(super) compression_level: Option<u8>,
    /// The maximum number of header fields in a request [default: 100].
    #[arg(long, value_name = "NUMBER", env = "SPANBRIDGE_MAX_HEADERS")]
    pub(super) max_headers: Option<NonZeroU32>,
    /// The maximum size of all header fields in a request; at least 8192 for HTTP/1.1 [default: 65536].
    #[arg(long, value_name = "BYTES", env = "SPANBRIDGE_MAX_HEADER_BYTES")]
    pub(super) max_header_bytes: Option<NonZeroU32>,
    /// The maximum number of connections per port; further ones are closed [default: 16384].
    #[arg(long, value_name = "NUMBER", env = "SPANBRIDGE_MAX_CONNECTIONS")]
    pub(super) max_connections: Option<NonZeroU32>,
    /// The maximum number of concurrent requests per HTTP/2 connection [default: 256].
    #[arg(long, value_name = "NUMBER", env = "SPANBRIDGE_MAX_STREAMS")]
    pub(super) max_streams: Option<NonZeroU32>,
    /// The timeout for the headers of a request, and for a TLS handshake [default: 30].
    #[arg(long, value_name = "SECONDS", env = "SPANBRIDGE_HEADER_TIMEOUT_SECONDS")]
    pub(super) header_timeout_seconds: Option<NonZeroU64>,
    /// The timeout for a request body that sends no data [default: 30].
    #[arg(long, value_name = "SECONDS", env = "SPANBRIDGE_BODY_TIMEOUT_SECONDS")]
    pub(super) body_timeout_seconds: Option<NonZeroU64>,
    /// The timeout for a whole request body [default: 300].
    #[arg(long, value_name = "SECONDS", env = "SPANBRIDGE_REQUEST_TIMEOUT_SECONDS")]
    pub(super) request_timeout_seconds: Option<NonZeroU64>,
    /// The timeout for a connection without requests [default: 600].
    #[arg(long, value_name = "SECONDS", env = "SPANBRIDGE_IDLE_TIMEOUT_SECONDS")]
    pub(super) idle_timeout_seconds: Option<NonZeroU64>,
    /// The timeout for a client that does not read its response [default: 30].
    #[arg(long, value_name = "SECONDS", env = "SPANBRIDGE_WRITE_TIMEOUT_SECONDS")]
    pub(super) write_timeout_seconds: Option<NonZeroU64>,
    /// The log level: off, error, warn, info, debug or trace [default: info].
    #[arg(long, value_name = "LEVEL", env = "SPANBRIDGE_LOG")]
    pub(super) log_level: Option<Level>,
    /// The log format on standard error: text or json [default: text].
    #[arg(long, value_name = "FORM", env = "SPANBRIDGE_LOG_FORMAT")]
    pub(super) log_format: Option<Form>,
    /// A file with attribute keys of your own, in the form of semconv/<dialect>/attributes.yaml.
    #[arg(long, value_name = "FILE", env = "SPANBRIDGE_SEMCONV")]
    pub(super) semconv: Option<PathBuf>,
    /// A YAML file with prices of models, for calls whose spans record tokens and no cost. A line is a model and its US dollars for a
    /// million tokens: `gpt-4o*: { input: 2.5, cache_read: 1.25, output: 10 }`.
    #[arg(long, value_name = "FILE", env = "SPANBRIDGE_PRICES")]
    pub(super) prices: Option<PathBuf>,
    /// Set the default of a format's option, for requests that do not set it; `spanbridge formats` lists the options.
    /// Repeatable.
    #[arg(long, value_name = "NAME=VALUE", env = "SPANBRIDGE_OPTION", value_delimiter = ',')]
    pub(super) option: Option<Vec<String>>,
    /// Who may do what.
    #[arg(skip)]
    pub(super) tokens: Option<Vec<TokenText>>,
    /// What is taken out of requests before they are stored.
    #[arg(skip)]
    pub(super) redact: Option<Vec<RuleText>>,
    /// Where spans are sent on to.
    #[arg(skip)]
    pub(super) forward: Option<Vec<DestinationText>>,
}

/// When requests are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum AckText {
    Bucket,
    Local,
}

impl AckText {
    fn ack(self) -> Ack {
        match self {
            Self::Bucket => Ack::Bucket,
            Self::Local => Ack::Local,
        }
    }
}

/// A token as it is configured.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenText {
    pub(super) name: String,
    pub(super) hash: String,
    pub(super) rights: Vec<Right>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) project: Option<String>,
}

impl Settings {
    /// Builds the server's configuration.
    pub(super) fn config(&self) -> Result<Config, Failure> {
        self.config_with(Arc::new(priced(vocabulary(self.semconv.as_deref())?, self.prices.as_deref())?))
    }

    /// The same, with a vocabulary that was read before.
    pub(super) fn config_with(&self, vocabulary: Arc<Vocabulary>) -> Result<Config, Failure> {
        let settings = self;
        let (limits, connections, reading) = (Limits::default(), Connections::default(), ReadLimits::default());
        let size = |bytes: Option<u64>, default: usize| bytes.map_or(default, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let number = |number: Option<NonZeroU32>, default: usize| number.map_or(default, |number| number.get() as usize);
        let seconds = |seconds: Option<NonZeroU64>, default: u64| seconds.map_or(default, NonZeroU64::get);
        let data_dir = settings.data_dir.clone().map_or_else(default_data_dir, Ok)?;
        let defaults = Config::new(data_dir);
        Ok(Config {
            grpc: settings.otlp_grpc.clone().unwrap_or(defaults.grpc),
            http: settings.otlp_http.clone().unwrap_or(defaults.http),
            api: settings.http.clone().unwrap_or(defaults.api),
            limits: Limits {
                request_bytes: size(settings.max_request_bytes, limits.request_bytes),
                in_flight_bytes: size(settings.max_in_flight_bytes, limits.in_flight_bytes),
                body_seconds: seconds(settings.body_timeout_seconds, limits.body_seconds),
                request_seconds: seconds(settings.request_timeout_seconds, limits.request_seconds),
            },
            reading: ReadLimits {
                bytes: size(settings.max_read_bytes, reading.bytes),
                at_once: number(settings.max_concurrent_reads, reading.at_once),
                write_seconds: seconds(settings.write_timeout_seconds, reading.write_seconds),
            },
            cors: Cors {
                origins: settings.cors_origin.clone().unwrap_or_default(),
            },
            retention: Retention {
                age: settings
                    .retain_hours
                    .map(|hours| Duration::from_secs(hours.get().saturating_mul(3_600))),
                bytes: settings.retain_bytes.map(NonZeroU64::get),
            },
            compression: match settings.compression_level {
                None => defaults.compression,
                Some(0) => None,
                Some(level @ 1..=19) => Some(level.into()),
                Some(level) => return Err(Failure::usage(format!("compression_level is 0 to 19, not {level}"))),
            },
            connections: Connections {
                at_once: number(settings.max_connections, connections.at_once),
                header_seconds: seconds(settings.header_timeout_seconds, connections.header_seconds),
                idle_seconds: seconds(settings.idle_timeout_seconds, connections.idle_seconds),
                headers: number(settings.max_headers, connections.headers),
                header_bytes: number(settings.max_header_bytes, connections.header_bytes),
                streams: settings.max_streams.map_or(connections.streams, NonZeroU32::get),
            },
            security: Security {
                tokens: self.tokens()?,
                tls: self.tls()?,
                allow_anonymous: settings.allow_anonymous.unwrap_or(false),
                redaction: self.redact.clone().unwrap_or_default(),
                redact_hash_key: HashKey(settings.redact_hash_key.clone()),
            },
            search: settings.search.unwrap_or(false),
            bucket: self.bucket()?,
            forward: forward::resolve_all(self.forward.as_deref().unwrap_or_default(), settings.redact_hash_key.as_deref())
                .map_err(|(name, error)| Failure::usage(format!("destination {name}: {error}")))?,
            allowed_hosts: settings.allowed_host.clone().unwrap_or_default(),
            vocabulary,
            options: self.options()?,
            data_dir: defaults.data_dir,
        })
    }

    fn bucket(&self) -> Result<Option<BucketOptions>, Failure> {
        let Some(url) = &self.store else {
            let alone = [("writer", self.writer.is_some()), ("ack", self.ack.is_some())];
            return match alone.iter().find(|(_, is_set)| *is_set) {
                Some((name, _)) => Err(Failure::usage(format!(
                    "{name} is for a bucket, and there is none: pass --store URL too"
                ))),
                None => Ok(None),
            };
        };
        let defaults = BucketOptions::new(url);
        let milliseconds = |set: Option<NonZeroU32>, default| set.map_or(default, |set| Duration::from_millis(set.get().into()));
        Ok(Some(BucketOptions {
            writer: self.writer.clone(),
            ack: self.ack.map_or(defaults.ack, AckText::ack),
            spool_bytes: self.store_spool_bytes.map_or(defaults.spool_bytes, NonZeroU64::get),
            flush_interval: milliseconds(self.store_flush_milliseconds, defaults.flush_interval),
            poll_interval: milliseconds(self.store_poll_milliseconds, defaults.poll_interval),
            ..defaults
        }))
    }

    fn options(&self) -> Result<Options, Failure> {
        let options = self.option.iter().flatten().filter(|text| !text.is_empty());
        let options: Result<Vec<_>, String> = options.map(|text| option_of(text)).collect();
        let options = options.map_err(|error| Failure::usage(format!("option: {error}")))?;
        Options::of(options).map_err(|error| Failure::usage(format!("option: {error}")))
    }

    fn tls(&self) -> Result<Option<TlsFiles>, Failure> {
        match (&self.tls_certificate, &self.tls_key) {
            (Some(certificate), Some(key)) => Ok(Some(TlsFiles {
                certificate: certificate.clone(),
                key: key.clone(),
                client_ca: self.tls_client_ca.clone(),
            })),
            (None, None) if self.tls_client_ca.is_none() => Ok(None),
            _ => Err(Failure::usage(
                "TLS takes a certificate and its key: --tls-certificate FILE --tls-key FILE (tls_certificate and tls_key in a file)",
            )),
        }
    }

    fn tokens(&self) -> Result<Tokens, Failure> {
        let tokens = self.tokens.iter().flatten().map(|token| {
            let refused = |words: String| Failure::usage(format!("token {}: {words}", token.name));
            let project = token.project.as_deref().map(str::parse).transpose();
            if token.rights.is_empty() {
                return Err(refused(
                    "it has no rights; the rights are ingest, read, annotate, delete and admin".to_owned(),
                ));
            }
            let grant = Grant {
                name: token.name.clone(),
                rights: token.rights.clone(),
                project: project
                    .map_err(|error: ProjectError| refused(error.to_string()))?
                    .unwrap_or_default(),
            };
            let hash = token.hash.parse();
            Ok((hash.map_err(|error: HashError| refused(error.to_string()))?, grant))
        });
        let tokens = tokens.collect::<Result<Vec<_>, Failure>>()?;
        Tokens::new(tokens).map_err(|error| Failure::usage(error.to_string()))
    }
}

/// Makes the paths in a file relative to the file's folder.
pub(super) fn paths_from(settings: &mut Table, folder: &Path) {
    for name in ["data_dir", "semconv", "prices", "tls_certificate", "tls_key", "tls_client_ca"] {
        if let Some(Value::String(path)) = settings.get_mut(name) {
            *path = folder.join(&*path).to_string_lossy().into_owned();
        }
    }
    for destination in settings.get_mut("forward").and_then(Value::as_array_mut).into_iter().flatten() {
        let files = destination.get_mut("tls").and_then(Value::as_table_mut);
        for (_, path) in files.into_iter().flatten() {
            if let Value::String(path) = path {
                *path = folder.join(&*path).to_string_lossy().into_owned();
            }
        }
    }
}
