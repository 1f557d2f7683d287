//! The options of all formats, and the caller's choices, which are checked against them.

use std::fmt;

use super::registry::all;

use crate::document::choice::{Choice, Options, Values};

/// An option that no format declares, or a value that it does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionError {
    /// No format declares it.
    Unknown {
        /// The name.
        name: String,
    },
    /// The option does not allow this value.
    Value {
        /// The name.
        name: String,
        /// The value.
        value: String,
        /// The allowed values.
        wanted: String,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => {
                let known: Vec<&str> = choices().map(|choice| choice.name).collect();
                write!(f, "there is no option {name}; the options are {}", known.join(", "))
            }
            Self::Value { name, value, wanted } => write!(f, "{name}={value}: the value must be {wanted}"),
        }
    }
}

impl std::error::Error for OptionError {}

/// Every option of every format.
pub fn choices() -> impl Iterator<Item = &'static Choice> {
    all().flat_map(|format| format.options)
}

impl Options {
    /// Collects choices; of two with the same name the last wins.
    ///
    /// # Errors
    /// Returns the first choice that no format declares, or whose value is not allowed.
    pub fn of(choices: impl IntoIterator<Item = (String, String)>) -> Result<Self, OptionError> {
        let mut options = Self::default();
        for (name, value) in choices {
            options.set(name, value)?;
        }
        Ok(options)
    }

    /// Collects choices from environment variables.
    ///
    /// # Errors
    /// Returns the first choice whose value is not allowed.
    pub fn of_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, OptionError> {
        let chosen = choices().filter_map(|choice| Some((choice.name.to_owned(), variable(choice.variable?)?)));
        Self::of(chosen)
    }

    fn set(&mut self, name: String, value: String) -> Result<(), OptionError> {
        let Some(choice) = choices().find(|choice| choice.name == name) else {
            return Err(OptionError::Unknown { name });
        };
        if !choice.values.has(&value) {
            let wanted = match choice.values {
                Values::Words(words) => words.join(" or "),
                Values::Bytes => "a number of bytes, 1 or more".to_owned(),
                Values::Text(name) => format!("{name}, which must not be empty"),
            };
            return Err(OptionError::Value { name, value, wanted });
        }
        self.0.insert(name, value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, value: &str) -> Result<Options, OptionError> {
        Options::of([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn unknown_names_and_values_are_refused() {
        assert!(of("openreward.subagents", "inline").is_ok_and(|options| options.is("openreward.subagents", "inline")));
        let error = of("openreward.subagent", "inline").expect_err("no such name").to_string();
        assert!(error.contains("openreward.subagents"), "{error}");
        for (name, value) in [
            ("openreward.subagents", "outline"),
            ("openreward.limit_msg_bytes", "0"),
            ("openreward.limit_msg_bytes", "64 KB"),
            ("reflex.optimize", " "),
        ] {
            assert!(matches!(of(name, value), Err(OptionError::Value { .. })), "{name}={value}");
        }
    }

    #[test]
    fn limits_come_from_the_environment() {
        let variable = |name: &str| (name == "LIMIT_THINK_BYTES").then(|| "12".to_owned());
        let options = Options::of_variables(variable).expect("a number");
        assert_eq!(options.get("openreward.limit_think_bytes"), Some("12"));
        assert!(Options::of_variables(|_| Some("many".to_owned())).is_err());
    }
}
