//! Settings for well-known backends.

use super::settings::{Compression, Dialect, Logs, Protocol, Unfinished};

/// Default settings for a kind of backend; the destination's own settings take precedence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Preset {
    /// Its name.
    pub name: &'static str,
    /// The transport; `None`: gRPC for a port that ends in 4317, else HTTP.
    pub protocol: Option<Protocol>,
    /// How requests to another machine are compressed.
    pub compression: Compression,
    /// The vocabulary it reads.
    pub dialect: Dialect,
    /// How log records are handled.
    pub logs: Logs,
    /// How spans without an end are handled.
    pub unfinished: Unfinished,
    /// Maximum bytes of one message before compression.
    pub max_message_bytes: usize,
    /// How often RESOURCE_EXHAUSTED without a hint is retried before the batch is split.
    pub exhausted_retries: u32,
    /// Appended to the base URL before `/v1/traces`.
    pub base_path: &'static str,
    /// Headers of every request.
    pub headers: &'static [(&'static str, &'static str)],
}

/// Any OTLP backend.
pub(crate) const OTLP: Preset = Preset {
    name: "otlp",
    protocol: None,
    compression: Compression::Gzip,
    dialect: Dialect::AsReceived,
    logs: Logs::Send,
    unfinished: Unfinished::Send,
    max_message_bytes: 4_000_000,
    exhausted_retries: 0,
    base_path: "",
    headers: &[],
};

/// All presets.
pub(crate) const ALL: &[Preset] = &[
    OTLP,
    // Keeps the first version of a span, reads OpenInference, and sends RESOURCE_EXHAUSTED without a hint when it wants retries.
    Preset {
        name: "phoenix",
        dialect: Dialect::OpenInference,
        logs: Logs::IntoSpans,
        unfinished: Unfinished::Hold,
        exhausted_retries: 20,
        ..OTLP
    },
    // Has no logs, keeps both versions of a repeated span, and its agent view reads only GenAI.
    Preset {
        name: "jaeger",
        dialect: Dialect::GenAi,
        logs: Logs::IntoSpans,
        unfinished: Unfinished::Hold,
        ..OTLP
    },
    Preset {
        name: "langfuse",
        protocol: Some(Protocol::HttpProtobuf),
        dialect: Dialect::GenAi,
        logs: Logs::IntoSpans,
        base_path: "/api/public/otel",
        headers: &[("x-langfuse-ingestion-version", "4")],
        ..OTLP
    },
    // Reads GenAI below its own path, and takes the project from a header.
    Preset {
        name: "langsmith",
        protocol: Some(Protocol::HttpProtobuf),
        dialect: Dialect::GenAi,
        logs: Logs::IntoSpans,
        unfinished: Unfinished::Hold,
        base_path: "/otel",
        ..OTLP
    },
    Preset {
        name: "datadog",
        dialect: Dialect::Both,
        logs: Logs::IntoSpans,
        unfinished: Unfinished::Hold,
        ..OTLP
    },
    Preset {
        name: "mlflow",
        protocol: Some(Protocol::HttpProtobuf),
        dialect: Dialect::GenAi,
        logs: Logs::IntoSpans,
        unfinished: Unfinished::Hold,
        ..OTLP
    },
];

/// The preset with this name.
#[must_use]
pub(crate) fn by_name(name: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.name == name)
}

/// The preset of which a name is a likely misspelling (`phonix`). A preset's name with a suffix (`jaeger-2`) is a name of
/// its own.
pub(super) fn meant(name: &str) -> Option<&'static Preset> {
    const SLIPS: usize = 2;
    const SHORT: usize = 5;
    let named = ALL.iter().filter(|preset| preset.name != OTLP.name);
    let near = named.map(|preset| (strsim::damerau_levenshtein(preset.name, name), preset));
    let (distance, preset) = near.min_by_key(|(distance, _)| *distance)?;
    let slips = if preset.name.len() <= SHORT { 1 } else { SLIPS };
    (distance > 0 && distance <= slips && !name.starts_with(preset.name)).then_some(preset)
}
