//! Choices that a format declares, and the caller's options.

use std::collections::BTreeMap;
use std::fmt;

/// The caller's options by `<format>.<name>` (for example `openreward.subagents=inline`), each for a choice that a format declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options(pub(crate) BTreeMap<String, String>);

/// A choice that a format declares.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// `<format>.<name>`.
    pub name: &'static str,
    /// The allowed values.
    pub values: Values,
    /// The default, in words.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// The environment variable that command line and server read it from.
    pub variable: Option<&'static str>,
}

/// Choices of a format: name, values, the default in words, and the meaning.
macro_rules! choices {
    ($($name:literal of $kind:ident $(($of:expr))?, $default:literal, $meaning:literal $(, env $variable:literal)?;)*) => {
        &[$($crate::document::choice::Choice {
            name: $name,
            values: $crate::document::choice::Values::$kind $(($of))?,
            default: $default,
            meaning: $meaning,
            variable: $crate::document::shape::first(&[$($variable)?]),
        },)*]
    };
}

pub(crate) use choices;

/// The allowed values of a choice.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Values {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A number of bytes, 1 or more.
    Bytes,
    /// Any non-empty text; its name in help texts.
    Text(&'static str),
}

impl Values {
    pub(crate) fn has(self, value: &str) -> bool {
        match self {
            Self::Words(words) => words.contains(&value),
            Self::Bytes => value.trim().parse::<usize>().is_ok_and(|bytes| bytes > 0),
            Self::Text(_) => !value.trim().is_empty(),
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => f.write_str(&words.join("|")),
            Self::Bytes => f.write_str("BYTES"),
            Self::Text(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}  {} [default: {}]", self.name, self.values, self.meaning, self.default)?;
        match self.variable {
            Some(variable) => write!(f, " [env: {variable}]"),
            None => Ok(()),
        }
    }
}

impl Options {
    /// Adds options, which override those that are already present.
    #[must_use]
    pub fn with(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// The value of an option.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All options by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether an option has this value.
    #[must_use]
    pub fn is(&self, name: &str, value: &str) -> bool {
        self.get(name) == Some(value)
    }
}
