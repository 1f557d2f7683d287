//! The read side: documents computed when asked for, and the API over HTTP.
//!
//! | path | answers |
//! |---|---|
//! | `GET /api/v1/traces?service=&session=&since=&until=&limit=&after=` | traces, newest first; times in nanoseconds since 1970; `order=oldest`, or `order=arrival` for those that came last |
//! | `GET /api/v1/traces/{id}` | the trace's spans and log records as OTLP/JSON |
//! | `GET /api/v1/traces/{id}/{format}` | its document; format options as query parameters (`?openreward.subagents=inline`) |
//! | `GET /api/v1/sessions?limit=&after=` | sessions, newest first |
//! | `GET /api/v1/sessions/{id}/{format}` | the document of the session's runs together |
//! | `POST /api/v1/import/{format}` | stores documents of a format as spans; without a format each is recognised |
//! | `GET /v1/organizations/{org}/traces/{id}/blocks` | OpenReward's blocks of a trace, in insertion order |
//! | `POST /v1/organizations/{org}/traces/{id}/blocks` | adds one block, or a list of them, to a trace |
//! | `GET /v1/organizations/{org}/traces/{id}/blocks.stitched` | the same as a tree |
//! | `GET /healthz`, `/readyz`, `/metrics` | for operators |
//! | `GET /api/v1/openapi.json` | all of this as an OpenAPI document |
//!
//! A list has 50 entries unless `limit` says otherwise, and 1000 at most. Where it has more, `next` is what `after` is set to
//! for those behind.
//!
//! One document is answered as it is, several as a JSON array. `documents=array` asks for an array in any case,
//! `documents=ndjson` (or `Accept: application/x-ndjson`) for one document a line.
//!
//! Of a trace that is damaged on the disk there is no document (500, `DAMAGED`) unless the request says `damaged=allow`: then
//! it is made of what is left. Reading has threads and memory of its own ([`ReadLimits`]): 503 with `Retry-After` while others
//! have them, 413 for what takes more than there are.
//!
//! Where there are tokens, `/`, `/healthz`, `/readyz` and the OpenAPI document take none, `/metrics` takes the right `admin`, what writes takes
//! `ingest`, all others `read`; what they show is the token's project alone.

mod answer;
mod blocks;
mod cost;
mod delivery;
pub mod documents;
mod handlers;
mod import;
pub mod listing;
mod lists;
mod readers;
mod reply;
mod single;
mod url;
mod write;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::header::ACCEPT;
use hyper::{Method, Request, Response};
use tokio::sync::oneshot;

use crate::access::{Denied, Right};
use crate::formats::Options;
use crate::formats::openreward::limits::Limits;
use crate::store::Local;
use answer::Answer;
use delivery::Delivery;
pub use delivery::{GivenUp, SlowClient};
use documents::Vocabulary;
use handlers::{Asked, Work};
pub use import::Imported;
pub use readers::{ReadLimits, Readers};
use reply::Problem;
pub use url::{percent_decoded, percent_encoded};
pub use write::Write;

/// The body of a response.
pub type Body = UnsyncBoxBody<Bytes, GivenUp>;

/// Answers questions about a store.
pub struct Web {
    store: Arc<Local>,
    vocabulary: Arc<Vocabulary>,
    organization: String,
    metrics: Metrics,
    options: Options,
    readers: Arc<Readers>,
    ledger: Arc<blocks::Ledger>,
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
    pub fn new(store: Arc<Local>, vocabulary: Arc<Vocabulary>, organization: &str, metrics: Metrics, readers: Arc<Readers>) -> Self {
        Self {
            ledger: Arc::new(blocks::Ledger::new(Arc::clone(&store), Limits::default())),
            store,
            vocabulary,
            organization: organization.to_owned(),
            metrics,
            options: Options::default(),
            readers,
        }
    }

    /// Choices for documents that a request does not make itself.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        let ledger = blocks::Ledger::new(Arc::clone(&self.store), Limits::from_options(&options));
        Self {
            options,
            ledger: Arc::new(ledger),
            ..self
        }
    }

    /// The right that a path takes to be read; `None`: it is answered to anyone, and says nothing of any data.
    #[must_use]
    pub fn right(path: &str) -> Option<Right> {
        handlers::right(path)
    }

    fn is_of(&self, organization: &str) -> Result<(), Problem> {
        if organization == self.organization {
            return Ok(());
        }
        Err(Problem::not_found(format!(
            "there is no organization {organization}; spans belong to {}",
            self.organization
        )))
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
        let written = Write::at(request.uri().path());
        let is_read = request.method() == Method::GET || request.method() == Method::HEAD;
        if !is_read || matches!(written, Some(Write::Import { .. })) {
            return Problem::method(request.method(), written.as_ref()).reply();
        }
        let asked = Asked {
            uri: request.uri().clone(),
            accept: request
                .headers()
                .get(ACCEPT)
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned),
        };
        match handlers::work(asked.uri.path()) {
            Ok(Work::Known(response)) => response,
            Ok(Work::Operator(answer)) => {
                // The disk is asked aside.
                let work = tokio::task::spawn_blocking(move || answer(&self));
                match work.await {
                    Ok(answer) => answer.unwrap_or_else(|problem| problem.reply()),
                    Err(_) => Problem::internal("the answer could not be made").reply(),
                }
            }
            Ok(Work::Reading(read)) => {
                let slow = request.extensions().get().cloned().unwrap_or_default();
                let answer = self.read(asked, read, slow).await;
                answer.unwrap_or_else(|problem| problem.reply())
            }
            Err(problem) => problem.reply(),
        }
    }

    /// Answers by a thread of those that read.
    async fn read(self: Arc<Self>, asked: Asked, read: handlers::Read, slow: SlowClient) -> Result<Response<Body>, Problem> {
        let readers = Arc::clone(&self.readers);
        let permit = readers.thread().await?;
        let delivery = Delivery::new(&readers);
        let (head, answered) = oneshot::channel();
        let mut answer = Answer::new(&readers, &delivery, head);
        let making = Making(Arc::clone(&delivery));
        let waiting = Waiting(Some(Arc::clone(&delivery)));
        // A thread of its own: no reader may keep a receiver's thread, or the process at its end.
        let thread = std::thread::Builder::new().name("read".to_owned()).spawn(move || {
            let _held = (permit, making);
            let outcome = read(&self, &asked, &mut answer);
            answer.end(outcome);
        });
        thread.map_err(|_| Problem::refused(readers::Refusal::Busy))?;
        let response = tokio::select! {
            response = answered => response.map_err(|_| Problem::internal("the answer could not be made"))?,
            () = readers.stopping() => return Err(Problem::refused(readers::Refusal::Cancelled)),
        };
        waiting.end();
        tokio::spawn(delivery.watch(slow));
        Ok(response)
    }
}

/// A thread that makes an answer: also where it ends in a panic, the answer ends.
struct Making(Arc<Delivery>);

impl Drop for Making {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// A client that waits for the head of an answer. Dropped: it is gone.
struct Waiting(Option<Arc<Delivery>>);

impl Waiting {
    fn end(mut self) {
        self.0 = None;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(delivery) = &self.0 {
            delivery.leave();
        }
    }
}
