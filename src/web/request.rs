//! The content of requests.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Path};
use axum::response::Response;
use http::Extensions;
use http::request::Parts;
use hyper::HeaderMap;
use hyper::Uri;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, IF_NONE_MATCH};
use serde::de::DeserializeOwned;

use super::delivery::SlowClient;
use super::reply::Problem;

/// The variable parts of a path.
#[derive(Debug)]
pub struct Named<T>(
    /// The decoded parts.
    pub T,
);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Named<T> {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let Path(named) = Path::from_request_parts(parts, state)
            .await
            .map_err(|_| Problem::invalid("the path is not UTF-8").reply())?;
        Ok(Self(named))
    }
}

/// A request that is answered on a reader thread.
#[derive(Debug)]
pub struct Reading(pub(crate) Asked);

impl<S: Sync> FromRequestParts<S> for Reading {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        Asked::from_request_parts(parts, state).await.map(Self)
    }
}

/// The content of a read request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    uri: Uri,
    accept: Option<String>,
    takes_gzip: bool,
    known: Option<String>,
    extensions: Extensions,
    pub(crate) slow: SlowClient,
}

impl<S: Sync> FromRequestParts<S> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        Ok(Self {
            uri: parts.uri.clone(),
            accept: header(ACCEPT).map(str::to_owned),
            takes_gzip: takes_gzip(&parts.headers),
            known: header(IF_NONE_MATCH).map(str::to_owned),
            extensions: parts.extensions.clone(),
            slow: parts.extensions.get().cloned().unwrap_or_default(),
        })
    }
}

impl Asked {
    pub(crate) fn query(&self) -> &str {
        self.uri.query().unwrap_or_default()
    }

    /// An extension of the request, set by the server.
    pub(crate) fn extension<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.extensions.get()
    }

    /// Whether the answer may be compressed.
    pub(crate) fn takes_gzip(&self) -> bool {
        self.takes_gzip
    }

    /// Whether the client already has the version with this entity tag.
    pub(crate) fn knows(&self, tag: &str) -> bool {
        let known = self.known.iter().flat_map(|known| known.split(','));
        known.map(str::trim).any(|known| known == tag || known == "*")
    }

    /// Whether the client asks for one document per line.
    pub(crate) fn accepts_lines(&self) -> bool {
        let types = self.accept.iter().flat_map(|accept| accept.split(','));
        let mut essences = types.map(|one| one.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
        essences.any(|essence| {
            matches!(
                essence.as_str(),
                "application/x-ndjson" | "application/ndjson" | "application/jsonl"
            )
        })
    }
}

/// Parses a number of a query.
pub(super) fn number(name: &str, value: &str) -> Result<u64, Problem> {
    value
        .parse::<u64>()
        .map_err(|_| Problem::invalid(format!("{name}={value} is not a whole number of 0 or more")))
}

/// Whether a client accepts gzip, that is, with a weight other than 0.
pub(crate) fn takes_gzip(headers: &HeaderMap) -> bool {
    let named = headers
        .get(ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    named.split(',').any(|one| {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let weight = weight
            .trim()
            .strip_prefix("q=")
            .map(|weight| weight.trim().trim_matches(['0', '.']));
        name.trim().eq_ignore_ascii_case("gzip") && weight != Some("")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_taken_unless_its_weight_is_nothing() {
        let takes = |text: &'static str| {
            let header = (ACCEPT_ENCODING, hyper::header::HeaderValue::from_static(text));
            takes_gzip(&HeaderMap::from_iter([header]))
        };
        assert_eq!(["gzip, br", "br;q=1, GZIP;q=0.5", "gzip;q=1"].map(takes), [true; 3]);
        assert_eq!(["", "br", "gzip;q=0", "br, gzip;q=0.00"].map(takes), [false; 4]);
    }
}
