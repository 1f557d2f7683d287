//! Reads settings from a TOML file, variables and flags. A flag wins over a variable, a variable over the file, the file
//! over the defaults.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize as _;
use toml::{Table, Value};

use super::data_dir::default_data_dir;
use super::failure::Failure;
use super::format_options::options_of_environment;
use super::log::{Form, Level};
use super::settings::Settings;
use super::settings_file as file;
use crate::forward::DestinationText;
use crate::receiver::Limits;
use crate::server::{COMPRESSION, Connections};
use crate::web::ReadLimits;

/// The settings that are lists. The file has a table for each entry, `[[tokens]]`; flags and variables take them in one line.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Lists {
    /// Tokens, as a TOML list: [{ name = "ci", hash = "sha256:...", rights = ["ingest"], project = "acme/web" }].
    #[arg(long, value_name = "LIST", env = "SPANBRIDGE_TOKENS", hide_env_values = true)]
    tokens: Option<String>,
    /// Redaction rules, as a TOML list: [{ key = "*password*", action = "remove" }].
    #[arg(long, value_name = "LIST", env = "SPANBRIDGE_REDACT", hide_env_values = true)]
    redact: Option<String>,
    /// Forward stored spans to an OTLP backend. The names phoenix, jaeger, langfuse, langsmith, datadog and mlflow select presets for
    /// these backends. Repeatable; [[forward]] tables in the file have more settings.
    #[arg(long, value_name = "[NAME=]URL", env = "SPANBRIDGE_FORWARD", value_delimiter = ',')]
    forward: Option<Vec<String>>,
}

/// Settings that take effect on a reload. All others need a restart.
const RELOADABLE: &[&str] = &[
    "allow_anonymous",
    "log_level",
    "redact",
    "redact_hash_key",
    "tls_certificate",
    "tls_client_ca",
    "tls_key",
    "tokens",
];

/// Where settings come from, to be read again at any time.
#[derive(Debug, Clone, Args)]
pub(super) struct Sources {
    /// A TOML file with settings, named like the flags with `_` instead of `-`; `--print-config` shows them all.
    #[arg(long, value_name = "FILE", env = "SPANBRIDGE_CONFIG")]
    config: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    lists: Lists,
}

impl Sources {
    /// The settings file.
    pub(super) fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// Reads the file again, and applies variables and flags.
    pub(super) fn read(&self) -> Result<Table, Failure> {
        let mut table = table(&built_in());
        if let Some(path) = &self.config {
            table.extend(file::read(path)?);
        }
        let flags = set(&self.settings);
        let options = [table.get("option").cloned(), variables_of_options()?, flags.get("option").cloned()];
        table.extend(flags);
        // A later option overrides an earlier one of the same name.
        let options: Vec<Value> = options
            .into_iter()
            .flatten()
            .flat_map(|options| options.try_into::<Vec<Value>>().unwrap_or_default())
            .collect();
        if !options.is_empty() {
            table.insert("option".to_owned(), Value::Array(options));
        }
        for (name, text) in [("tokens", &self.lists.tokens), ("redact", &self.lists.redact)] {
            if let Some(text) = text {
                table.insert(name.to_owned(), file::list(name, text)?);
            }
        }
        if let Some(list) = self.lists.forward.as_ref().filter(|list| list.iter().any(|text| !text.is_empty())) {
            let destinations = list
                .iter()
                .filter(|text| !text.is_empty())
                .map(|text| DestinationText::of_flag(text));
            let destinations = Value::try_from(destinations.collect::<Vec<_>>());
            let destinations = destinations.map_err(|error| Failure::usage(format!("--forward: {error}")))?;
            table.insert("forward".to_owned(), destinations);
        }
        if !table.contains_key("data_dir") {
            let directory = default_data_dir()?.to_string_lossy().into_owned();
            table.insert("data_dir".to_owned(), Value::String(directory));
        }
        Ok(table)
    }
}

/// Format options set by variables, in the form of the setting `option`.
fn variables_of_options() -> Result<Option<Value>, Failure> {
    let chosen = options_of_environment()?;
    let options: Vec<Value> = chosen
        .iter()
        .map(|(name, value)| Value::String(format!("{name}={value}")))
        .collect();
    Ok((!options.is_empty()).then_some(Value::Array(options)))
}

fn built_in() -> Settings {
    let (limits, connections, reading) = (Limits::default(), Connections::default(), ReadLimits::default());
    let small = |number: usize| u32::try_from(number).ok().and_then(NonZeroU32::new);
    Settings {
        otlp_grpc: Some("127.0.0.1:4317".to_owned()),
        otlp_http: Some("127.0.0.1:4318".to_owned()),
        http: Some("127.0.0.1:4319".to_owned()),
        allow_anonymous: Some(false),
        search: Some(false),
        max_request_bytes: Some(limits.request_bytes as u64),
        max_in_flight_bytes: Some(limits.in_flight_bytes as u64),
        max_read_bytes: Some(reading.bytes as u64),
        max_concurrent_reads: small(reading.at_once),
        write_timeout_seconds: NonZeroU64::new(reading.write_seconds),
        compression_level: u8::try_from(COMPRESSION).ok(),
        max_headers: small(connections.headers),
        max_header_bytes: small(connections.header_bytes),
        max_connections: small(connections.at_once),
        max_streams: NonZeroU32::new(connections.streams),
        header_timeout_seconds: NonZeroU64::new(connections.header_seconds),
        body_timeout_seconds: NonZeroU64::new(limits.body_seconds),
        request_timeout_seconds: NonZeroU64::new(limits.request_seconds),
        idle_timeout_seconds: NonZeroU64::new(connections.idle_seconds),
        log_level: Some(Level::Info),
        log_format: Some(Form::Text),
        ..Settings::default()
    }
}

fn table(settings: &Settings) -> Table {
    Table::try_from(settings).unwrap_or_default()
}

/// The settings from flags and variables. An empty variable counts as unset.
fn set(settings: &Settings) -> Table {
    let mut table = table(settings);
    table.retain(|_, value| value.as_str() != Some(""));
    table
}

/// Names of changed settings that need a restart.
pub(super) fn wait_for_restart(before: &Table, after: &Table) -> Vec<String> {
    let tls = |table: &Table| table.contains_key("tls_certificate");
    let mut names: Vec<String> = before.keys().chain(after.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names.retain(|name| {
        let to_or_from_tls = name.starts_with("tls_") && tls(before) != tls(after);
        before.get(name) != after.get(name) && (to_or_from_tls || !RELOADABLE.contains(&name.as_str()))
    });
    names
}

/// Parses the settings.
pub(super) fn effective(table: &Table) -> Result<Settings, Failure> {
    Settings::deserialize(table.clone()).map_err(|error| Failure::usage(error.message().to_owned()))
}
