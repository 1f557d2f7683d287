//! Secrets of known forms: keys and tokens of services, passwords in URLs. `semconv/secrets.toml` lists the forms.

use std::collections::BTreeMap;

use regex::{Regex, RegexSet};
use serde::Deserialize;

use super::{RuleError, RuleText, Rules};

#[derive(Debug, Deserialize)]
struct Table {
    redact: Vec<RuleText>,
}

/// Why the table of forms cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("semconv/secrets.toml")]
#[non_exhaustive]
pub enum SecretsError {
    /// It cannot be parsed.
    Table(#[from] toml::de::Error),
    /// One of its rules is invalid.
    Rule(#[from] RuleError),
}

/// The rules that mask secrets of known forms.
///
/// # Errors
///
/// The table cannot be parsed.
pub fn rules() -> Result<Vec<RuleText>, SecretsError> {
    let table: Table = toml::from_str(include_str!("../../semconv/secrets.toml"))?;
    Ok(table.redact)
}

/// Looks for secrets in text that leaves this machine, and counts them.
#[derive(Debug)]
pub struct Scan {
    forms: Vec<(String, Regex)>,
    any: RegexSet,
    found: BTreeMap<String, Found>,
}

/// Secrets of one form that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Their number.
    pub count: u64,
    /// Where the first one is.
    pub first: String,
}

impl Scan {
    /// Looks for the secrets that [`rules`] mask.
    ///
    /// # Errors
    ///
    /// The table cannot be used.
    pub fn new() -> Result<Self, SecretsError> {
        let rules = Rules::new(&rules()?, None)?;
        let forms: Vec<(String, Regex)> = rules
            .rules
            .into_iter()
            .filter_map(|(name, rule)| Some((name, rule.value?)))
            .collect();
        let any = RegexSet::new(forms.iter().map(|(_, form)| form.as_str())).unwrap_or_default();
        Ok(Self {
            forms,
            any,
            found: BTreeMap::new(),
        })
    }

    /// The names of the forms.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.forms.iter().map(|(name, _)| name.as_str())
    }

    /// Scans a text. `place` names what it belongs to.
    pub fn text(&mut self, place: &str, text: &str) {
        for (name, form) in self.any.matches(text).into_iter().filter_map(|index| self.forms.get(index)) {
            let count = form.find_iter(text).count() as u64;
            let new = || Found {
                count: 0,
                first: place.to_owned(),
            };
            self.found.entry(name.clone()).or_insert_with(new).count += count;
        }
    }

    /// The secrets found so far, by form.
    #[must_use]
    pub fn found(&self) -> &BTreeMap<String, Found> {
        &self.found
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    /// Of each form a secret that was never valid, in parts: scanners look through this file, too.
    const SECRETS: &[(&str, &[&str])] = &[
        ("private-key", &["-----BEGIN OPENSSH PRIV", "ATE KEY-----"]),
        ("aws-access-key", &["AKIA", "IOSFODNN7EXAMPLE"]),
        ("google-api-key", &["AIza", "SyA-0123456789abcdefghijklmnopqrstu"]),
        ("google-oauth-token", &["ya29.", "a0AfH6SMBxExampleExample"]),
        (
            "azure-storage-key",
            &[
                "AccountKey=",
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==",
            ],
        ),
        (
            "openai-key",
            &["sk-proj-", "aaaaaaaaaaaaaaaaaaaaaaaa", "T3BlbkFJ", "bbbbbbbbbbbbbbbbbbbbbbbb"],
        ),
        ("anthropic-key", &["sk-ant-", "api03-aaaaaaaaaaaaaaaaaaaaaaaa"]),
        (
            "openrouter-key",
            &["sk-or-v1-", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],
        ),
        ("langfuse-key", &["sk-lf-", "01234567-89ab-cdef-0123-456789abcdef"]),
        ("langsmith-key", &["lsv2_pt_", "0123456789abcdef0123456789abcdef_0123456789"]),
        ("groq-key", &["gsk_", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]),
        (
            "xai-key",
            &[
                "xai-",
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            ],
        ),
        ("hugging-face-token", &["hf_", "abcdefghijklmnopqrstuvwxyzABCDEFGH"]),
        ("github-token", &["ghp_", "abcdefghijklmnopqrstuvwxyz0123456789"]),
        ("gitlab-token", &["glpat-", "abcdefghij0123456789"]),
        ("npm-token", &["npm_", "abcdefghijklmnopqrstuvwxyz0123456789"]),
        (
            "pypi-token",
            &["pypi-AgEIcHlwaS5vcmc", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],
        ),
        ("slack-token", &["xoxb-", "123456789012-abcdefghijkl"]),
        (
            "slack-webhook",
            &["https://hooks.slack.com/", "services/T0AAAA/B0BBBB/abcdefghijklmnopqrstuvwx"],
        ),
        ("stripe-key", &["sk_live_", "abcdefghijklmnopqrstuvwx"]),
        (
            "sendgrid-key",
            &["SG.", "abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"],
        ),
        ("telegram-bot-token", &["123456789:", "AAabcdefghijklmnopqrstuvwxyz0123456"]),
        (
            "json-web-token",
            &["eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.", "abcdefghijklmnopqrstuvwx"],
        ),
        ("bearer-token", &["Authorization: Bearer ", "abcdefghijklmnopqrstuvwx"]),
        ("password-in-url", &["postgres://app:", "correct-horse@db.example.com"]),
    ];

    #[test]
    fn each_form_finds_its_secret_alone() {
        let names: Vec<&str> = SECRETS.iter().map(|(name, _)| *name).collect();
        assert_eq!(Scan::new().unwrap().names().collect::<Vec<_>>(), names);
        for (name, parts) in SECRETS {
            let mut scan = Scan::new().unwrap();
            scan.text("run 1", &format!("before {} after", parts.concat()));
            let wanted = Found {
                count: 1,
                first: "run 1".to_owned(),
            };
            assert_eq!(scan.found(), &BTreeMap::from([((*name).to_owned(), wanted)]));
        }
    }

    #[test]
    fn words_about_secrets_are_none() {
        let mut scan = Scan::new().unwrap();
        for text in [
            "Set OPENAI_API_KEY=sk-... first, and AWS_ACCESS_KEY_ID.",
            "postgres://user:password@localhost:5432 and postgres://${USER}:${PASSWORD}@host/db",
            "Authorization: Bearer $TOKEN",
            "risk-assessment-of-the-whole-project-2024-and-more",
        ] {
            scan.text("", text);
        }
        assert_eq!(
            scan.found().keys().collect::<Vec<_>>(),
            ["password-in-url"],
            "a default password is one, too"
        );
    }
}
