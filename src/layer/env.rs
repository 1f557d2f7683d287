//! Reads the environment as the OpenTelemetry specification requires: empty values count as unset, bad ones are reported and ignored.

use std::collections::BTreeMap;
use std::time::Duration;

use super::undelivered::report_line;

/// The variables of the process, or of a test.
#[derive(Debug, Clone, Default)]
pub(super) struct Env(Option<BTreeMap<String, String>>);

impl Env {
    /// Reads the variables of this process.
    pub(super) fn process() -> Self {
        Self(None)
    }

    #[cfg(test)]
    pub(super) fn of(pairs: &[(&str, &str)]) -> Self {
        Self(Some(
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        ))
    }

    /// The trimmed value, unless it is blank.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let value = match &self.0 {
            Some(map) => map.get(name).cloned(),
            None => std::env::var(name).ok(),
        };
        value.map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// The first of these variables that is set.
    pub(super) fn first(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.text(name))
    }

    /// True for `true` in any case and, like OpenInference, for `1`, `yes` and `on`.
    pub(super) fn flag(&self, name: &str) -> bool {
        match self.text(name) {
            Some(word) if ["true", "1", "yes", "on"].iter().any(|on| word.eq_ignore_ascii_case(on)) => true,
            Some(word) if ["false", "0", "no", "off"].iter().any(|off| word.eq_ignore_ascii_case(off)) => false,
            Some(word) => {
                bad(name, &word);
                false
            }
            None => false,
        }
    }

    /// The value as a number.
    pub(super) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        let text = self.text(name)?;
        let number = text.parse().ok();
        if number.is_none() {
            bad(name, &text);
        }
        number
    }

    /// The first of these variables that is a number, as milliseconds.
    pub(super) fn millis(&self, names: &[&str]) -> Option<Duration> {
        names.iter().find_map(|name| self.number(name)).map(Duration::from_millis)
    }
}

/// Reports an invalid variable on standard error, since no subscriber exists yet.
pub(super) fn bad(name: &str, value: &str) {
    report_line(format_args!("{name}={value:?} is not understood and has no effect"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_bad_values_are_unset() {
        let env = Env::of(&[("A", " "), ("B", "TRUE"), ("C", "maybe"), ("D", "12"), ("E", "x")]);
        assert_eq!(env.text("A"), None);
        assert!(env.flag("B") && !env.flag("C") && !env.flag("Z"));
        assert_eq!((env.number("D"), env.number::<u64>("E")), (Some(12_u64), None));
    }
}
