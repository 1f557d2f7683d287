//! OTLP over gRPC and HTTP: transport only.
//!
//! Accepted means durable: the answer leaves after the store's commit. A bad span does not take its batch with it. A
//! request that cannot be taken now is refused with a hint when to come again, and nothing is buffered without bound:
//! bytes of requests in work are counted, decompressed ones too.
//!
//! Both are written on hyper by hand, without a router: there are a few fixed paths, and a body is counted, decompressed and
//! refused while it comes.
//!
//! [`Receiver::handle`] answers both transports, told apart by content type, so either port understands both.

pub mod admission;
mod body;
mod cors;
pub mod counters;
mod documents;
mod grpc;
mod health;
mod http;
mod intake;
pub mod limits;
pub mod prometheus;
mod refusals;
mod reject;
mod status;

use std::convert::Infallible;
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::{Method, Request, Response, Version};
use tokio::sync::{Semaphore, watch};

use crate::redact::Redaction;
use crate::store::Append;
use admission::Budget;
pub use cors::Cors;
use counters::Counters;
pub use documents::{Document, Stored};
pub use health::OpenWatches;
pub use limits::Limits;
pub use refusals::Refusals;
pub use reject::Rejection;

/// The body of a response.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Takes export requests and puts them into a store.
#[derive(Debug)]
pub struct Receiver {
    store: Arc<dyn Append>,
    session_keys: Vec<String>,
    /// Whether metrics are stored: a destination wants them. Else they are counted.
    keeps_metrics: bool,
    limits: Limits,
    cors: Cors,
    budget: Arc<Budget>,
    /// Turns of what is worked on aside.
    aside: Arc<Semaphore>,
    counters: Arc<Counters>,
    redaction: Arc<Redaction>,
    serving: watch::Sender<bool>,
    watches: OpenWatches,
}

impl Receiver {
    /// A receiver in front of a store. `session_keys` are the attribute keys that name a session, best first.
    #[must_use]
    pub fn new(store: Arc<dyn Append>, session_keys: Vec<String>, limits: Limits) -> Self {
        Self {
            store,
            session_keys,
            keeps_metrics: false,
            limits,
            cors: Cors::default(),
            budget: Arc::new(Budget::new(limits.in_flight_bytes)),
            aside: Arc::new(Semaphore::new(available_parallelism().map_or(2, NonZero::get).max(2))),
            counters: Arc::default(),
            redaction: Arc::default(),
            serving: watch::Sender::new(true),
            watches: OpenWatches::default(),
        }
    }

    /// A receiver in front of another store. Limits, counters, redaction and the rest are shared: they are those of the
    /// process.
    #[must_use]
    pub fn beside(&self, store: Arc<dyn Append>) -> Self {
        Self {
            store,
            session_keys: self.session_keys.clone(),
            keeps_metrics: false,
            limits: self.limits,
            cors: self.cors.clone(),
            budget: Arc::clone(&self.budget),
            aside: Arc::clone(&self.aside),
            counters: Arc::clone(&self.counters),
            redaction: Arc::clone(&self.redaction),
            serving: self.serving.clone(),
            watches: self.watches.clone(),
        }
    }

    /// Stores metrics, or counts them only.
    #[must_use]
    pub fn keeping_metrics(self, keeps_metrics: bool) -> Self {
        Self { keeps_metrics, ..self }
    }

    /// With these pages of other origins allowed to send.
    #[must_use]
    pub fn with_cors(self, cors: Cors) -> Self {
        Self { cors, ..self }
    }

    /// What is taken out of requests before they are stored.
    #[must_use]
    pub fn redaction(&self) -> &Redaction {
        &self.redaction
    }

    /// What was counted since the start.
    #[must_use]
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Bytes of requests in work.
    #[must_use]
    pub fn in_flight_bytes(&self) -> usize {
        self.budget.in_flight()
    }

    /// From now on requests are refused, with a hint to come again.
    pub fn shut(&self) {
        self.budget.shut();
        self.serving.send_replace(false);
    }

    /// Whether a request is answered without a token: a health check, and what browsers ask before they send one.
    #[must_use]
    pub fn is_open<B>(request: &Request<B>) -> bool {
        request.method() == Method::OPTIONS || (grpc::is_grpc(request.headers()) && grpc::is_health(request.uri().path()))
    }

    /// That a request comes from no page in a browser, or from one that may send.
    ///
    /// # Errors
    ///
    /// It may not.
    pub fn origin<B>(&self, request: &Request<B>) -> Result<(), Rejection> {
        self.cors.check(request.method(), request.headers())
    }

    /// Refuses one request without a look at what it carries.
    pub async fn refuse<B>(&self, request: Request<B>, rejection: &Rejection) -> Response<Body>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
    {
        self.counters.refused(rejection);
        if grpc::is_grpc(request.headers()) {
            grpc::refuse(rejection)
        } else {
            http::refuse_unread(self, request, rejection).await
        }
    }

    /// Answers one request.
    pub async fn handle<B>(self: Arc<Self>, request: Request<B>) -> Response<Body>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        let is_grpc = grpc::is_grpc(request.headers());
        if is_grpc && request.version() == Version::HTTP_2 && request.method() == Method::POST {
            grpc::handle(self, request).await
        } else {
            http::handle(self, request).await
        }
    }
}

fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}
