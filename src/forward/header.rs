//! Headers whose values may come from the environment or a file.

use http::{HeaderName, HeaderValue};

use super::error::ConfigError;

/// A header whose value is not resolved yet.
#[derive(Clone)]
pub(super) struct HeaderText {
    name: HeaderName,
    value: String,
    /// Whether its value comes from a preset and so is not a secret.
    of_preset: bool,
}

/// Leaves out the value, which may be a secret.
impl std::fmt::Debug for HeaderText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HeaderText({})", self.name)
    }
}

impl HeaderText {
    pub(super) fn new(name: String, value: String, of_preset: bool) -> Result<Self, ConfigError> {
        match HeaderName::from_bytes(name.as_bytes()) {
            Ok(name) => Ok(Self { name, value, of_preset }),
            Err(_) => Err(ConfigError::Header { header: name }),
        }
    }

    /// The header with its current value: a changed file takes effect with the next request.
    pub(super) fn look_up(&self) -> Result<(HeaderName, HeaderValue), ConfigError> {
        let (text, _) = self.resolved()?;
        let header = || self.name.to_string();
        let mut value = HeaderValue::from_str(&text).map_err(|_| ConfigError::Header { header: header() })?;
        value.set_sensitive(true);
        Ok((self.name.clone(), value))
    }

    /// The current value, and its parts from the environment or files; empty for a preset's value.
    pub(super) fn secrets(&self) -> Vec<String> {
        match self.resolved() {
            Ok((text, mut looked_up)) if !self.of_preset => {
                looked_up.push(text);
                looked_up
            }
            _ => Vec::new(),
        }
    }

    fn resolved(&self) -> Result<(String, Vec<String>), ConfigError> {
        let header = || self.name.to_string();
        let mut text = String::new();
        let mut looked_up = Vec::new();
        let mut rest = self.value.as_str();
        while let Some((before, reference)) = rest.split_once("${") {
            text.push_str(before);
            let Some((from, behind)) = reference.split_once('}') else {
                text.push_str("${");
                rest = reference;
                continue;
            };
            let value = match from.split_once(':') {
                Some(("env", name)) => std::env::var(name).ok(),
                Some(("file", path)) => std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned()),
                _ => None,
            };
            let value = value.ok_or_else(|| ConfigError::HeaderValue {
                header: header(),
                from: from.to_owned(),
            })?;
            text.push_str(&value);
            looked_up.push(value);
            rest = behind;
        }
        text.push_str(rest);
        Ok((text, looked_up))
    }
}
