//! Errors in registry files.

use std::fmt;

/// Why a registry file cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// It is not YAML of the expected form.
    Yaml(Box<serde_saphyr::Error>),
    /// A user's file has no rules.
    NoRules {
        /// Its attributes, events and spans, all without rules.
        entries: Vec<String>,
    },
    /// A rule has an unknown word.
    Rule {
        /// The attribute's key, event's name or span's type.
        entry: String,
        /// What is wrong.
        problem: String,
    },
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yaml(error) => write!(f, "not a registry file (file_format: definition/2): {error}"),
            Self::NoRules { entries } => {
                let place = "rules are in `annotations.spanbridge` of its attributes, events and spans (semconv/README.md has an example)";
                match entries.as_slice() {
                    [] => write!(f, "there is no rule in it: {place}"),
                    [one] => write!(f, "there is no rule in it, and none at {one}: {place}"),
                    [first, more @ ..] => write!(f, "there is no rule in it, neither at {first} nor at {} more: {place}", more.len()),
                }
            }
            Self::Rule { entry, problem } => write!(f, "{entry}: {problem}"),
        }
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Yaml(error) => Some(error),
            Self::NoRules { .. } | Self::Rule { .. } => None,
        }
    }
}
