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
    /// As they are.
    None,
    /// gzip, which every OTLP backend takes.
    Gzip,
    /// zstd, which the Collector and this bridge take.
    Zstd,
}

/// The attribute keys that a destination reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Every span as its producer wrote it, byte by byte.
    #[serde(rename = "as-received")]
    AsReceived,
    /// OpenInference.
    OpenInference,
    /// OTel's GenAI semantic conventions in their attribute form.
    GenAi,
    /// Both on each span.
    Both,
}

/// What becomes of log records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Logs {
    /// They are sent as log records.
    Send,
    /// Their content about spans is written onto these spans. For destinations that show no log records.
    IntoSpans,
    /// They are not sent.
    Leave,
}

/// What becomes of spans without an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unfinished {
    /// They are sent; the finished span follows.
    Send,
    /// Only the finished span is sent. For destinations that keep the first write of a span, or every one.
    Hold,
}

/// Where a destination that is new begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// With the oldest that is stored.
    #[default]
    Beginning,
    /// With what comes from now on.
    Now,
}

/// An API for judgements of people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScoreApi {
    /// `POST /api/public/scores`.
    Langfuse,
    /// `POST /v1/span_annotations`.
    Phoenix,
}

/// Where judgements go, beside their spans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoresText {
    /// The API.
    pub api: ScoreApi,
    /// The server, such as `http://127.0.0.1:6006` [default: the one of the destination].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Certificates of a connection; files in PEM.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsText {
    /// Authorities of the server, instead of the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// Our certificate, for servers that ask for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<PathBuf>,
    /// Its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<PathBuf>,
}
