//! The content of a request.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Path};
use axum::response::Response;
use http::Extensions;
use http::request::Parts;
use hyper::Uri;
use hyper::header::ACCEPT;
use serde::de::DeserializeOwned;

use super::delivery::SlowClient;
use super::reply::Problem;

/// The content of a path.
#[derive(Debug)]
pub struct Named<T>(
    /// Its parts, decoded.
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

/// A request that is answered by a thread of those that read.
#[derive(Debug)]
pub struct Reading(pub(crate) Asked);

impl<S: Sync> FromRequestParts<S> for Reading {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        Asked::from_request_parts(parts, state).await.map(Self)
    }
}

/// What is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    uri: Uri,
    accept: Option<String>,
    extensions: Extensions,
    pub(crate) slow: SlowClient,
}

impl<S: Sync> FromRequestParts<S> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let accept = parts.headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        Ok(Self {
            uri: parts.uri.clone(),
            accept: accept.map(str::to_owned),
            extensions: parts.extensions.clone(),
            slow: parts.extensions.get().cloned().unwrap_or_default(),
        })
    }
}

impl Asked {
    pub(crate) fn query(&self) -> &str {
        self.uri.query().unwrap_or_default()
    }

    /// Something that the server knows of the request.
    pub(crate) fn extension<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.extensions.get()
    }

    /// Whether one document a line is asked for.
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
