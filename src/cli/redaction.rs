//! `--redact`: redacts spans before documents are built from them or before they are stored.

use std::path::Path;

use clap::Args;

use super::failure::Failure;
use super::{out, settings_file};
use crate::redact::{RuleError, RuleText, Rules, secrets};
use crate::span::{LogRecord, Span};

/// The rules, by a file or a list.
#[derive(Debug, Clone, Args)]
pub(super) struct Redaction {
    /// Redact spans first, by a TOML file with [[redact]] tables as `serve` has them, or by a list:
    /// [{ value = '\d{16}', action = "mask" }]. `secrets` masks keys and tokens of known forms.
    #[arg(long, value_name = "FILE|LIST|secrets", help_heading = HEADING)]
    redact: Option<String>,
    /// The secret key for hashes of redacted text: a long random string.
    #[arg(long, value_name = "TEXT", env = "SPANBRIDGE_REDACT_HASH_KEY", hide_env_values = true, help_heading = HEADING)]
    redact_hash_key: Option<String>,
}

const HEADING: &str = "Redaction";

impl Redaction {
    /// The rules; `None` if no flag sets any.
    pub(super) fn rules(&self) -> Result<Option<Rules>, Failure> {
        let Some(text) = &self.redact else { return Ok(None) };
        let refuse = |error: RuleError| Failure::usage(format!("--redact: {error}"));
        if text == "secrets" {
            let rules = secrets::rules().map_err(|error| Failure::usage(format!("--redact: {}", out::with_causes(&error))))?;
            return Rules::new(&rules, None).map(Some).map_err(refuse);
        }
        let mut hash_key = self.redact_hash_key.clone();
        let rules = if text.trim_start().starts_with('[') {
            settings_file::list("redact", text)?
        } else {
            let mut table = settings_file::read(Path::new(text))?;
            let of_file = table.remove("redact_hash_key");
            hash_key = hash_key.or_else(|| of_file.and_then(|key| Some(key.as_str()?.to_owned())));
            let rules = table.remove("redact");
            rules.ok_or_else(|| Failure::usage(format!("--redact: {text} has no [[redact]] tables")))?
        };
        let rules: Vec<RuleText> = rules
            .try_into()
            .map_err(|error: toml::de::Error| Failure::usage(format!("--redact: {}", error.message())))?;
        let rules = Rules::new(&rules, hash_key.as_deref());
        rules.map(Some).map_err(refuse)
    }
}

/// Redacts spans and log records.
pub(super) fn redacted(rules: Option<&Rules>, spans: Vec<Span>, logs: Vec<LogRecord>) -> Result<(Vec<Span>, Vec<LogRecord>), Failure> {
    match rules {
        None => Ok((spans, logs)),
        Some(rules) => rules.redacted(spans, logs).map_err(|source| Failure::Redact { source }),
    }
}
