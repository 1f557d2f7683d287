//! Who may do what: rights, projects, and tokens (stored only as hashes).
//!
//! A token has 256 random bits and cannot be guessed, so its plain SHA-256 is stored. A request's token is hashed and looked up by that
//! hash, so the comparison time does not depend on the token.

mod project;
mod token;

pub use project::{Project, ProjectError};
pub use token::{HashError, Secret, TokenHash};

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// What a token may do. No right implies another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// Send spans, log records and metrics, documents and blocks.
    Ingest,
    /// Read traces, sessions and documents of its project.
    Read,
    /// Annotate the project's data with notes, labels and scores.
    Annotate,
    /// Delete traces and sessions of its project.
    Delete,
    /// Read data about the whole bridge: `/metrics`.
    Admin,
}

impl Right {
    /// All rights.
    pub const ALL: [Self; 5] = [Self::Ingest, Self::Read, Self::Annotate, Self::Delete, Self::Admin];

    /// The name used in configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Read => "read",
            Self::Annotate => "annotate",
            Self::Delete => "delete",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a token grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Display name of the token.
    pub name: String,
    /// What the token may do.
    pub rights: Vec<Right>,
    /// The project it gives access to.
    pub project: Project,
}

/// The tokens a bridge knows. With none configured, anyone may do anything in the default project.
#[derive(Debug, Clone, Default)]
pub struct Tokens(HashMap<TokenHash, Arc<Grant>>);

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Denied {
    /// It carries no token.
    #[error("this request needs a token: send the header `authorization: Bearer TOKEN`")]
    NoToken,
    /// The token is not in the configuration.
    #[error("the token is unknown")]
    UnknownToken,
    /// The token lacks the required right.
    #[error("the token `{name}` lacks the right `{right}`")]
    NoRight {
        /// The token's name.
        name: String,
        /// The missing right.
        right: Right,
    },
}

impl Denied {
    /// The value of the header `WWW-Authenticate` (RFC 6750).
    #[must_use]
    pub fn challenge(&self) -> &'static str {
        match self {
            Self::NoToken => "Bearer realm=\"spanbridge\"",
            Self::UnknownToken => "Bearer realm=\"spanbridge\", error=\"invalid_token\"",
            Self::NoRight { .. } => "Bearer realm=\"spanbridge\", error=\"insufficient_scope\"",
        }
    }
}

/// Two tokens that conflict.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokensError {
    /// Both have the same name.
    #[error("two tokens have the name {name}")]
    Name {
        /// The name.
        name: String,
    },
    /// Both have the same hash.
    #[error("the tokens {first} and {second} have the same hash")]
    Hash {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
}

impl Tokens {
    /// The tokens of a configuration.
    ///
    /// # Errors
    ///
    /// Two tokens have the same name or hash.
    pub fn new(tokens: impl IntoIterator<Item = (TokenHash, Grant)>) -> Result<Self, TokensError> {
        let mut known: HashMap<TokenHash, Arc<Grant>> = HashMap::new();
        for (hash, grant) in tokens {
            if known.values().any(|other| other.name == grant.name) {
                return Err(TokensError::Name { name: grant.name });
            }
            let second = grant.name.clone();
            if let Some(other) = known.insert(hash, Arc::new(grant)) {
                let first = other.name.clone();
                return Err(TokensError::Hash { first, second });
            }
        }
        Ok(Self(known))
    }

    /// Whether no tokens are configured; then requests need none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The grants of all tokens, in no particular order.
    pub fn grants(&self) -> impl Iterator<Item = &Grant> {
        self.0.values().map(AsRef::as_ref)
    }

    /// The project a request has access to, from the values of its `Authorization` headers.
    ///
    /// # Errors
    ///
    /// The request has no token, an unknown one, or one without the right.
    pub fn allow<'a>(&self, authorization: impl IntoIterator<Item = &'a [u8]>, right: Right) -> Result<Project, Denied> {
        let grant = self.grant(authorization, right)?;
        Ok(grant.map(|grant| grant.project.clone()).unwrap_or_default())
    }

    /// The grant of a request's token; `None` if requests need no token.
    ///
    /// # Errors
    ///
    /// As for [`Tokens::allow`].
    pub fn grant<'a>(&self, authorization: impl IntoIterator<Item = &'a [u8]>, right: Right) -> Result<Option<Arc<Grant>>, Denied> {
        if self.is_empty() {
            return Ok(None);
        }
        let mut values = authorization.into_iter();
        // With two headers, a proxy may have checked the other one.
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(Denied::NoToken);
        };
        let token = bearer(value).ok_or(Denied::NoToken)?;
        let grant = self.0.get(&TokenHash::of(token)).ok_or(Denied::UnknownToken)?;
        if !grant.rights.contains(&right) {
            let name = grant.name.clone();
            return Err(Denied::NoRight { name, right });
        }
        Ok(Some(Arc::clone(grant)))
    }
}

/// The token of an `Authorization` header; the scheme's case does not matter.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test")]
    use super::*;

    fn grant(name: &str, rights: &[Right]) -> Grant {
        Grant {
            name: name.to_owned(),
            rights: rights.to_vec(),
            project: "acme/web".parse().unwrap(),
        }
    }

    #[test]
    fn a_token_may_do_what_its_rights_say() {
        let secret = Secret::new().unwrap();
        let tokens = Tokens::new([(secret.hash(), grant("ci", &[Right::Ingest]))]).unwrap();
        let header = format!("Bearer {}", secret.text());
        let lower = format!("bearer  {} ", secret.text());
        let allow = |header: &str, right| tokens.allow([header.as_bytes()], right);
        assert_eq!(allow(&header, Right::Ingest).unwrap().to_string(), "acme/web");
        assert_eq!(allow(&lower, Right::Ingest).unwrap().to_string(), "acme/web");
        let no_right = |right| Denied::NoRight {
            name: "ci".to_owned(),
            right,
        };
        assert_eq!(allow(&header, Right::Read).unwrap_err(), no_right(Right::Read));
        assert_eq!(allow(&header, Right::Admin).unwrap_err(), no_right(Right::Admin));
        assert_eq!(allow("Bearer spanbridge_other", Right::Ingest).unwrap_err(), Denied::UnknownToken);
        assert_eq!(allow("Basic YTpi", Right::Ingest).unwrap_err(), Denied::NoToken);
        assert_eq!(allow("Bear", Right::Ingest).unwrap_err(), Denied::NoToken);
        assert_eq!(tokens.allow([], Right::Ingest).unwrap_err(), Denied::NoToken);
        let twice = [header.as_bytes(), header.as_bytes()];
        assert_eq!(tokens.allow(twice, Right::Ingest).unwrap_err(), Denied::NoToken);
    }

    #[test]
    fn without_tokens_everybody_may_do_everything() {
        for right in Right::ALL {
            assert_eq!(Tokens::default().allow([], right).unwrap(), Project::default());
        }
    }

    #[test]
    fn names_and_hashes_are_used_once() {
        let (one, two) = (TokenHash::of(b"1"), TokenHash::of(b"2"));
        let same_name = Tokens::new([(one.clone(), grant("a", &[])), (two, grant("a", &[]))]);
        assert_eq!(same_name.unwrap_err().to_string(), "two tokens have the name a");
        let same_hash = Tokens::new([(one.clone(), grant("a", &[])), (one, grant("b", &[]))]);
        assert_eq!(same_hash.unwrap_err().to_string(), "the tokens a and b have the same hash");
    }
}
