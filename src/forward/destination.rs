//! A destination and its configuration.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use serde::{Deserialize, Serialize};

use super::choice::{Choice, ChooseText, SampleText};
use super::error::ConfigError;
use super::header::HeaderText;
use super::preset::{self, Preset};
use super::settings::{Compression, Dialect, Logs, Protocol, ScoreApi, ScoresText, Start, TlsText, Unfinished};
use crate::access::Project;
use crate::redact::{RuleText, Rules};
use crate::span::Signal;

/// A destination as it is configured: one `[[forward]]` table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DestinationText {
    /// Its address. `/v1/traces` is added to a base URL; a URL that already ends this way is used as it is.
    pub url: String,
    /// Its name in files, metrics and commands [default: the preset's name, else host and port].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The backend: phoenix, jaeger, langfuse, langsmith, datadog, mlflow or otlp [default: the preset of the same name, else otlp].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The transport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// How requests are compressed [default: gzip; none to a destination on this machine].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<Compression>,
    /// The attribute keys it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// What is sent: traces, logs, metrics [default: traces and logs]. Metrics are stored only if some destination wants them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signals: Option<Vec<Signal>>,
    /// How log records are handled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs: Option<Logs>,
    /// How spans without an end are handled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<Unfinished>,
    /// Headers of every request; a value may contain `${env:NAME}` and `${file:PATH}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Certificates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsText>,
    /// Timeout of a request in seconds [default: 10].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
    /// Maximum bytes of one message before compression [default: 4000000].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_message_bytes: Option<usize>,
    /// Maximum pause between two attempts, in seconds [default: 30].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_backoff_seconds: Option<f64>,
    /// The project it is fed from [default: default/default].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// What is sent [default: everything].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choose: Option<ChooseText>,
    /// What share of the traces is sent [default: all].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleText>,
    /// Redaction before sending, in addition to redaction before storing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redact: Vec<RuleText>,
    /// Where a new destination begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
    /// Where people's labels and scores are sent in addition to their spans [default: nowhere].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<ScoresText>,
    /// Minimum age of chunks in seconds before they are read, so that the log records of a span have arrived [default: 5 if
    /// log records go into spans, else 0].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle_seconds: Option<f64>,
}

/// A destination.
#[derive(Debug, Clone)]
pub struct Destination {
    /// Its name, which is also a file name.
    pub name: String,
    /// The preset its settings come from.
    pub preset: &'static str,
    /// Base URL, or the URL for traces.
    pub uri: Uri,
    /// The transport.
    pub protocol: Protocol,
    /// How requests are compressed.
    pub compression: Compression,
    /// The attribute keys it reads.
    pub dialect: Dialect,
    /// Whether spans are sent.
    pub traces: bool,
    /// How log records are handled.
    pub logs: Logs,
    /// Whether metrics are sent.
    pub metrics: bool,
    /// How spans without an end are handled.
    pub unfinished: Unfinished,
    /// Headers of every request.
    pub(super) headers: Vec<HeaderText>,
    /// Certificates.
    pub tls: TlsText,
    /// Timeout of a request.
    pub timeout: Duration,
    /// Maximum bytes of one message before compression.
    pub max_message_bytes: usize,
    /// Maximum pause between two attempts.
    pub max_backoff: Duration,
    /// How often RESOURCE_EXHAUSTED without a hint is retried before the batch is split.
    pub exhausted_retries: u32,
    /// The project it is fed from.
    pub project: Project,
    /// What is sent.
    pub(crate) choice: Choice,
    /// Redaction before sending.
    pub redaction: Option<Arc<Rules>>,
    /// Where a new destination begins.
    pub start: Start,
    /// Where people's labels and scores are sent.
    pub(super) scores: Option<Scores>,
    /// Minimum age of a chunk before it is read.
    pub settle: Duration,
}

/// Where people's labels and scores are sent.
#[derive(Debug, Clone)]
pub(super) struct Scores {
    pub(super) api: ScoreApi,
    /// The server.
    pub(super) uri: Uri,
}

/// Signals whose paths a URL may end with.
const SIGNALS: [Signal; 3] = [Signal::Traces, Signal::Logs, Signal::Metrics];

impl DestinationText {
    /// Parses the value of `--forward`: `URL`, or `NAME=URL`.
    #[must_use]
    pub fn of_flag(text: &str) -> Self {
        let named = text.split_once('=').filter(|(name, _)| !name.contains([':', '/']));
        let (name, url) = named.map_or((None, text), |(name, url)| (Some(name.trim().to_owned()), url));
        Self {
            url: url.trim().to_owned(),
            name,
            ..Self::default()
        }
    }

    /// Its name, configured or derived.
    #[must_use]
    pub fn name(&self) -> String {
        let by_host = || {
            let host = self
                .url
                .split("://")
                .last()
                .unwrap_or_default()
                .split('/')
                .next()
                .and_then(|authority| authority.split('@').next_back())
                .unwrap_or_default();
            host.to_lowercase().replace([':', '[', ']'], "-").trim_matches('-').to_owned()
        };
        self.name.clone().or_else(|| self.preset.clone()).unwrap_or_else(by_host)
    }

    /// The configured preset; else the one with the destination's name. A likely misspelling of a preset is an error:
    /// otherwise the destination would silently get spans without the attributes it reads.
    fn preset(&self) -> Result<&'static Preset, ConfigError> {
        if let Some(name) = &self.preset {
            let known = || preset::ALL.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
            return preset::by_name(name).ok_or_else(|| ConfigError::Preset {
                preset: name.clone(),
                known: known(),
            });
        }
        let Some(name) = &self.name else { return Ok(&preset::OTLP) };
        match (preset::by_name(name), preset::meant(name)) {
            (Some(preset), _) => Ok(preset),
            (None, Some(meant)) => Err(ConfigError::NearPreset {
                name: name.clone(),
                meant: meant.name,
            }),
            (None, None) => Ok(&preset::OTLP),
        }
    }

    /// Builds the described destination. `hash_key` is for redaction rules with the action hash.
    ///
    /// # Errors
    ///
    /// A value is not allowed.
    pub fn resolve(&self, hash_key: Option<&str>) -> Result<Destination, ConfigError> {
        let preset = self.preset()?;
        let name = self.name();
        let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
        if name.len() > 64 || !name.starts_with(plain) || !name.chars().all(|letter| plain(letter) || "-_.".contains(letter)) {
            return Err(ConfigError::Name { name });
        }
        let uri = self.uri(preset)?;
        let is_loopback = uri.host().is_some_and(is_loopback);
        let guessed = match uri.port_u16() {
            Some(port) if port % 10_000 == 4_317 => Protocol::Grpc,
            _ => Protocol::HttpProtobuf,
        };
        let dialect = self.dialect.unwrap_or(preset.dialect);
        let takes = |signal| {
            self.signals
                .as_ref()
                .map_or(signal != Signal::Metrics, |signals| signals.contains(&signal))
        };
        let (traces, metrics) = (takes(Signal::Traces), takes(Signal::Metrics));
        let logs = self.logs(dialect, preset, traces, takes(Signal::Logs))?;
        if !traces && !metrics && logs == Logs::Leave {
            return Err(ConfigError::NoSignal);
        }
        let settle = if logs == Logs::IntoSpans { 5.0 } else { 0.0 };
        let of_preset = preset
            .headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), ((*value).to_owned(), true)));
        let mut headers: BTreeMap<String, (String, bool)> = of_preset.collect();
        let own = self.headers.iter();
        headers.extend(own.map(|(name, value)| (name.to_ascii_lowercase(), (value.clone(), false))));
        let headers = headers
            .into_iter()
            .map(|(name, (value, of_preset))| HeaderText::new(name, value, of_preset));
        let project = self.project.as_deref().map(str::parse).transpose();
        let max_message_bytes = self.max_message_bytes.unwrap_or(preset.max_message_bytes);
        if max_message_bytes == 0 {
            return Err(ConfigError::Number {
                key: "max_message_bytes",
                expected: "1 or more",
            });
        }
        Ok(Destination {
            name,
            preset: preset.name,
            protocol: self.protocol.or(preset.protocol).unwrap_or(guessed),
            uri,
            // On loopback, compression costs more than it saves.
            compression: self.compression.unwrap_or(match is_loopback {
                true => Compression::None,
                false => preset.compression,
            }),
            dialect,
            traces,
            logs,
            metrics,
            unfinished: self.unfinished.unwrap_or(preset.unfinished),
            headers: headers.collect::<Result<_, _>>()?,
            tls: self.tls.clone().unwrap_or_default(),
            timeout: seconds("timeout_seconds", self.timeout_seconds.unwrap_or(10.0), 0.001)?,
            max_message_bytes,
            max_backoff: seconds("max_backoff_seconds", self.max_backoff_seconds.unwrap_or(30.0), 0.001)?,
            exhausted_retries: preset.exhausted_retries,
            project: project
                .map_err(|error: crate::access::ProjectError| ConfigError::Project { reason: error.to_string() })?
                .unwrap_or_default(),
            choice: Choice::new(&self.choose.clone().unwrap_or_default(), self.sample.as_ref())?,
            redaction: match self.redact.as_slice() {
                [] => None,
                rules => Some(Arc::new(Rules::new(rules, hash_key)?)),
            },
            start: self.start.unwrap_or_default(),
            scores: self.scores.as_ref().map(|scores| self.scores(scores)).transpose()?,
            settle: seconds("settle_seconds", self.settle_seconds.unwrap_or(settle), 0.0)?,
        })
    }

    /// How log records are handled, depending on whether spans and log records are sent.
    fn logs(&self, dialect: Dialect, preset: &Preset, traces: bool, logs: bool) -> Result<Logs, ConfigError> {
        let usual = match dialect {
            // Nothing is written onto spans that are sent byte for byte.
            Dialect::AsReceived => Logs::Send,
            _ => preset.logs,
        };
        match self.logs {
            Some(Logs::IntoSpans) if dialect == Dialect::AsReceived => Err(ConfigError::IntoSpans),
            Some(Logs::IntoSpans) if !traces => Err(ConfigError::NoSpans),
            Some(Logs::Send) if !logs => Err(ConfigError::NoLogs),
            Some(chosen) => Ok(chosen),
            None if usual == Logs::IntoSpans && traces => Ok(Logs::IntoSpans),
            None if logs => Ok(Logs::Send),
            None => Ok(Logs::Leave),
        }
    }

    fn scores(&self, scores: &ScoresText) -> Result<Scores, ConfigError> {
        let server = Self {
            url: scores.url.clone().unwrap_or_else(|| self.url.clone()),
            ..Self::default()
        };
        let uri = server.uri(&preset::OTLP)?;
        Ok(Scores { api: scores.api, uri })
    }

    fn uri(&self, preset: &Preset) -> Result<Uri, ConfigError> {
        let wrong = || ConfigError::Url { url: self.url.clone() };
        let base = self.url.trim_end_matches('/');
        let path = base
            .split_once("://")
            .and_then(|(_, rest)| rest.split_once('/'))
            .map(|(_, path)| path);
        let path = path.map_or(preset.base_path, |_| "");
        let uri: Uri = format!("{base}{path}").parse().map_err(|_| wrong())?;
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(ConfigError::Credentials);
        }
        let known = matches!(uri.scheme_str(), Some("http" | "https"));
        if !known || uri.host().is_none_or(str::is_empty) || uri.query().is_some() {
            return Err(wrong());
        }
        Ok(uri)
    }
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn seconds(key: &'static str, value: f64, least: f64) -> Result<Duration, ConfigError> {
    Duration::try_from_secs_f64(value)
        .ok()
        .filter(|_| value >= least)
        .ok_or(ConfigError::Number {
            key,
            expected: "a number of seconds",
        })
}

/// Resolves all destinations of a configuration.
///
/// # Errors
///
/// One of them is invalid, or two in one project share a name; the error includes the name.
pub fn resolve_all(texts: &[DestinationText], hash_key: Option<&str>) -> Result<Vec<Destination>, (String, ConfigError)> {
    let mut out: Vec<Destination> = Vec::new();
    for text in texts {
        let destination = text.resolve(hash_key).map_err(|error| (text.name(), error))?;
        if out
            .iter()
            .any(|other| other.name == destination.name && other.project == destination.project)
        {
            let name = destination.name;
            return Err((name.clone(), ConfigError::Twice { name }));
        }
        out.push(destination);
    }
    Ok(out)
}

impl Destination {
    /// The HTTP path for requests of a signal.
    pub(super) fn path(&self, signal: Signal) -> String {
        let base = self.uri.path().trim_end_matches('/');
        let base = SIGNALS.iter().find_map(|known| base.strip_suffix(known.path())).unwrap_or(base);
        format!("{base}{}", signal.path())
    }

    /// Whether it uses TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }
}
