//! The log of `serve`, on standard error.

use std::io;
use std::str::FromStr;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Registry, fmt, reload};

/// The message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// The form of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    Text,
    Json,
}

/// The log, whose level can be changed while it is written.
#[derive(Debug)]
pub(super) struct Log {
    level: reload::Handle<Targets, Registry>,
    form: Form,
}

/// Only this program's own messages: at lower levels, libraries log what passes through them, including headers.
fn targets(level: Level) -> Targets {
    let level = level
        .to_possible_value()
        .and_then(|level| LevelFilter::from_str(level.get_name()).ok());
    let level = level.unwrap_or(LevelFilter::INFO);
    Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target(env!("CARGO_PKG_NAME"), level)
}

impl Log {
    /// Starts logging. A process has one log; starting a second one has no effect.
    pub(super) fn begin(level: Level, form: Form) -> Self {
        let (filter, handle) = reload::Layer::new(targets(level));
        let text = (form == Form::Text).then(|| fmt::layer().with_writer(io::stderr).with_ansi(false));
        let json = (form == Form::Json).then(|| fmt::layer().json().flatten_event(true).with_writer(io::stderr));
        let subscriber = Registry::default().with(filter).with(text).with(json);
        let _ = tracing::subscriber::set_global_default(subscriber);
        Self { level: handle, form }
    }

    /// Whether the log is for programs rather than people.
    pub(super) fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    pub(super) fn set_level(&self, level: Level) {
        let _ = self.level.reload(targets(level));
    }
}
