//! The read side: documents computed when asked for, and the API over HTTP.
//!
//! | path | answers |
//! |---|---|
//! | `GET /api/v1/traces?service=&session=&since=&until=&limit=` | traces, newest first; times in nanoseconds since 1970 |
//! | `GET /api/v1/traces/{id}` | the trace's spans and log records as OTLP/JSON |
//! | `GET /api/v1/traces/{id}/{format}` | its document; format options as query parameters (`?openreward.subagents=inline`) |
//! | `GET /api/v1/sessions` | sessions, newest first |
//! | `GET /api/v1/sessions/{id}/{format}` | the document of the session's runs together |
//! | `GET /v1/organizations/{org}/traces/{id}/blocks` | OpenReward's blocks of a trace, in insertion order |
//! | `GET /v1/organizations/{org}/traces/{id}/blocks.stitched` | the same as a tree |
//! | `GET /healthz`, `/readyz`, `/metrics` | for operators |
//!
//! Where there are tokens, `/`, `/healthz` and `/readyz` take none, `/metrics` takes the right `admin`, all others `read`;
//! what they show is the token's project alone.

pub mod documents;
mod handlers;
pub mod listing;
mod reply;
mod url;

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::{Method, Request, Response};

use crate::access::{Denied, Right};
use crate::formats::Options;
use crate::store::Local;
use documents::Vocabulary;
use reply::Problem;
pub use url::{percent_decoded, percent_encoded};

/// The body of a response.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Answers questions about a store.
pub struct Web {
    store: Arc<Local>,
    vocabulary: Arc<Vocabulary>,
    organization: String,
    metrics: Metrics,
    options: Options,
}

/// Gives the text of `/metrics`.
pub type Metrics = Arc<dyn Fn() -> String + Send + Sync>;

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Web").field("store", &self.store).finish_non_exhaustive()
    }
}

impl Web {
    /// The read side of the store of one project of this organization.
    #[must_use]
    pub fn new(store: Arc<Local>, vocabulary: Arc<Vocabulary>, organization: &str, metrics: Metrics) -> Self {
        Self {
            store,
            vocabulary,
            organization: organization.to_owned(),
            metrics,
            options: Options::default(),
        }
    }

    /// Choices for documents that a request does not make itself.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        Self { options, ..self }
    }

    /// The right that a path takes; `None`: it is answered to anyone, and says nothing of any data.
    #[must_use]
    pub fn right(path: &str) -> Option<Right> {
        handlers::right(path)
    }

    /// Refuses a request that may not have what it asks for.
    #[must_use]
    pub fn refuse(denied: &Denied) -> Response<Body> {
        Problem::denied(denied).reply()
    }

    /// Refuses a request whose head is larger than allowed.
    #[must_use]
    pub fn too_large_head(message: String) -> Response<Body> {
        Problem::head(message).reply()
    }

    /// Refuses a request for a name that is not this machine's.
    #[must_use]
    pub fn foreign_host(message: String) -> Response<Body> {
        Problem::forbidden(message).reply()
    }

    /// Answers one request.
    pub async fn handle<B>(self: Arc<Self>, request: Request<B>) -> Response<Body> {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return Problem::method(request.method()).reply();
        }
        let uri = request.uri().clone();
        // The disk and large documents are worked on aside.
        let work = tokio::task::spawn_blocking(move || handlers::answer(&self, uri.path(), uri.query().unwrap_or_default()));
        match work.await {
            Ok(Ok(response)) => response,
            Ok(Err(problem)) => problem.reply(),
            Err(_) => Problem::internal("the answer could not be made").reply(),
        }
    }
}
