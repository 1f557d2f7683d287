//! Choices of the caller: each format declares those that it knows.

use std::collections::BTreeMap;
use std::fmt;

/// Choices, by `<format>.<name>` (for example `openreward.subagents=inline`). Each is one that a format declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options(pub(super) BTreeMap<String, String>);

/// A choice that a format declares.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// `<format>.<name>`.
    pub name: &'static str,
    /// What it may be.
    pub values: Values,
    /// What holds without it, in words.
    pub default: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// A variable of the environment that command line and server read it from.
    pub variable: Option<&'static str>,
}

/// What the value of a choice may be.
#[derive(Debug, Clone, Copy)]
pub enum Values {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A number of bytes, 1 or more.
    Bytes,
    /// Any text but an empty one; its name.
    Text(&'static str),
}

/// A choice that no format declares, or a value that it does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionError {
    /// No format declares it.
    Unknown {
        /// The name.
        name: String,
    },
    /// It does not have this value.
    Value {
        /// The name.
        name: String,
        /// The value.
        value: String,
        /// What it may be.
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

/// Every choice of every format.
pub fn choices() -> impl Iterator<Item = &'static Choice> {
    super::FORMATS.into_iter().flat_map(|format| format.options)
}

impl Values {
    fn has(self, value: &str) -> bool {
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
    /// These choices; of two with one name the last holds.
    ///
    /// # Errors
    /// The first that no format declares, or whose value it does not have.
    pub fn of(choices: impl IntoIterator<Item = (String, String)>) -> Result<Self, OptionError> {
        let mut options = Self::default();
        for (name, value) in choices {
            options.set(name, value)?;
        }
        Ok(options)
    }

    /// What variables of the environment choose.
    ///
    /// # Errors
    /// The first whose value the choice does not have.
    pub fn of_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, OptionError> {
        let said = choices().filter_map(|choice| Some((choice.name.to_owned(), variable(choice.variable?)?)));
        Self::of(said)
    }

    /// These choices go before those that stand here.
    #[must_use]
    pub fn with(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
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

    /// The value of an option.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// What was chosen, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether an option has this value.
    #[must_use]
    pub fn is(&self, name: &str, value: &str) -> bool {
        self.get(name) == Some(value)
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
