//! Headers whose values may come from the environment or a file.

use http::{HeaderName, HeaderValue};

use super::error::ConfigError;

/// A header, its value not yet looked up.
#[derive(Clone)]
pub(super) struct HeaderText {
    name: HeaderName,
    value: String,
}

/// The value may be a secret.
impl std::fmt::Debug for HeaderText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HeaderText({})", self.name)
    }
}

impl HeaderText {
    pub(super) fn new(name: String, value: String) -> Result<Self, ConfigError> {
        match HeaderName::from_bytes(name.as_bytes()) {
            Ok(name) => Ok(Self { name, value }),
            Err(_) => Err(ConfigError::Header { header: name }),
        }
    }

    /// The header with its current value: a changed file takes effect with the next request.
    pub(super) fn look_up(&self) -> Result<(HeaderName, HeaderValue), ConfigError> {
        let header = || self.name.to_string();
        let mut text = String::new();
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
            text.push_str(&value.ok_or_else(|| ConfigError::HeaderValue {
                header: header(),
                from: from.to_owned(),
            })?);
            rest = behind;
        }
        text.push_str(rest);
        let mut value = HeaderValue::from_str(&text).map_err(|_| ConfigError::Header { header: header() })?;
        value.set_sensitive(true);
        Ok((self.name.clone(), value))
    }
}
