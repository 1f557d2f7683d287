//! Settings of destinations and presets.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// OTLP/gRPC.
    #[serde(rename = "grpc")]
    Grpc,
    /// OTLP/HTTP with protobuf.
    #[serde(rename = "http/protobuf")]
    HttpProtobuf,
    /// OTLP/HTTP with JSON.
    #[serde(rename = "http/json")]
    HttpJson,
}

/// How requests are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Uncompressed.
    None,
    /// gzip, supported by every OTLP backend.
    Gzip,
    /// zstd, supported by the Collector and this bridge.
    Zstd,
}

/// The attribute keys a destination reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Every span exactly as its producer wrote it.
    #[serde(rename = "as-received")]
    AsReceived,
    /// OpenInference.
    OpenInference,
    /// OTel's GenAI semantic conventions in their attribute form.
    GenAi,
    /// The keys of both on each span.
    Both,
}

/// How log records are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Logs {
    /// They are sent as log records.
    Send,
    /// Their content is written onto the spans they name. For destinations that do not show log records.
    IntoSpans,
    /// They are not sent.
    Leave,
}

/// How spans without an end are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unfinished {
    /// They are sent; the finished span follows.
    Send,
    /// Only the finished span is sent. For destinations that keep the first version of a span, or every one.
    Hold,
}

/// Where a new destination begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// With the oldest stored data.
    #[default]
    Beginning,
    /// With data that arrives from now on.
    Now,
}

/// An API for people's judgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScoreApi {
    /// `POST /api/public/scores`.
    Langfuse,
    /// `POST /v1/span_annotations`.
    Phoenix,
}

/// Where people's judgements are sent in addition to their spans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoresText {
    /// The API.
    pub api: ScoreApi,
    /// The server, such as `http://127.0.0.1:6006` [default: that of the destination].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Certificates for a connection, as PEM files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsText {
    /// Certificate authorities for the server, instead of the default ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// Client certificate, for servers that ask for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// The certificate's private key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
}
